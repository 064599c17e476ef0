"""No word on any screen says more than the record does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import codeai_tui
from codeai_engine import ChecksView
from codeai_tui.present import checks, claims
from codeai_tui.present.branches import BranchBoard, below_line, fanout_text
from codeai_tui.present.line import plain
from codeai_tui.present.overview import overview_text, why_lines
from tests.tui.check_views import a_check, a_claim, a_claims_view
from tests.tui.views import a_fanout, an_info, an_overview

UPGRADES = re.compile(
    r"independen|divers|\bverif|\bprove[sdn]?\b|\bproof|tamper|guarantee|\btrust|\bvalid",
    re.IGNORECASE,
)
DENIALS = ("answers independent or diverse: a record of inputs cannot show either",)
WRONG_WORDS = re.compile(
    r"\b(agent|trace id|hash|checksum|blob|log file|payload hash)\b", re.IGNORECASE
)


def said_by_screens() -> list[str]:
    overview, fanout = an_overview(unread_events=1), a_fanout()
    board = BranchBoard(fanout)
    keys = (*overview.levels, "digests", "orphans", "branches", "unread")
    lines = [
        *overview_text(overview),
        *(entry for key in keys for entry in why_lines(key, overview, an_info())),
        *fanout_text(fanout),
        below_line(),
        *checks.detail_lines(a_check()),
        *checks.policy_lines(a_check()),
        *checks.checks_text(ChecksView((a_check(),), 1)),
        *claims.claims_text(a_claims_view(a_claim())),
        *(
            entry
            for index in range(len(board))
            for key, _ in board.fields
            for entry in board.detail(index, key)
        ),
    ]
    return [plain(entry) for entry in lines]


def test_a_word_that_upgrades_a_claim_stands_only_where_it_is_denied() -> None:
    for said in said_by_screens():
        if UPGRADES.search(said):
            assert any(denial in said for denial in DENIALS), said


def test_the_denial_is_really_there() -> None:
    said = "\n".join(said_by_screens())
    assert all(denial in said for denial in DENIALS)


@pytest.mark.parametrize("pattern", [UPGRADES, WRONG_WORDS], ids=["upgrades", "glossary"])
def test_no_text_in_the_source_of_the_app_says_it_either(pattern: re.Pattern[str]) -> None:
    texts = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
    folder = Path(codeai_tui.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        source = re.sub(r'"""(?:.|\n)*?"""', "", file.read_text(encoding="utf-8"))
        for text in texts.findall(source):
            if pattern.search(text):
                assert "answers independent or diverse" in text, f"{file.name}: {text}"
