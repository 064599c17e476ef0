"""The demo's fourth fan-out: two authors say that they are done, and real commands look.

Its authors are scripts, since what counts here is who looks at what (seed "The Agent Cannot Grade
Its Own Homework"). Five claims by the authors, five checks:

1. *hasty-corrected*: the author says so, and the spelling checker finds the contrary: refuted.
2. *careful-corrected*: the same command on the other author's bytes: supported.
3. *careful-quota*: the check names an artifact that was never stored: ERROR, nothing is run, and
   the attempt stands in the history of the claim without being evidence.
4. *careful-introduced*: the source pack does not settle it: INCONCLUSIVE, with its reason.
5. *hasty-nothing-lost*: a command takes the path of the bytes, never opens them, and passes. It is
   BOUND: supplied, not observed. The claim it names is promoted, and the source pack says the
   contrary: a check that names a claim need not test it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict, Unpack

from codeai_engine.adapters.scripted import from_settings
from codeai_engine.digests import text_digest
from codeai_engine.domain.check import ARTIFACT_PLACE, ARTIFACT_TARGET, CheckRequest, ExitCodePolicy
from codeai_engine.domain.context import Actor
from codeai_engine.runtime.planned import PlannedCheck, PlannedClaim
from codeai_engine.runtime.request import BranchRequest, FanoutRequest

if TYPE_CHECKING:
    from codeai_engine.ambient import IdSource
    from codeai_engine.runtime.request import BaseItem

TASK_ID = "review-of-the-build-cache-paragraph"
HASTY, CAREFUL = "hasty-author", "careful-author"
ANSWERS = {
    HASTY: {
        "note": "Every misspelled word is corrected.",
        "lost": "The cache has never lost an artifact.",
        "paragraph": "Each team recieve its own quota of 40 GiB.",
    },
    CAREFUL: {
        "note": "Every misspelled word is corrected.",
        "quota": "The quota sheet gives each team 40 GiB.",
        "introduced": "The cache was introduced in 2021.",
        "paragraph": "Each team receives its own quota of 40 GiB.",
    },
}
SPELLING = ("codespell", ARTIFACT_PLACE)
SPELLING_POLICY = ExitCodePolicy(pass_codes=(0,), fail_codes=(65,))
SOURCES_SAY_WHEN = (
    "import sys\n"
    "if '2021' not in open(sys.argv[1], encoding='utf-8').read():\n"
    "    sys.stderr.write('the source pack does not say when the cache was introduced')\n"
    "    sys.exit(2)\n"
)
NOT_OPENED = "import sys; sys.exit(0)"
NEVER_STORED = text_digest("the quota sheet, which nobody has stored")
CHECK_TIMEOUT_S = 60.0


def checked(base: tuple[BaseItem, BaseItem], ids: IdSource) -> FanoutRequest:
    """Return the fourth fan-out.

    Args:
        base: The paragraph and its source pack.
        ids: Makes the call ids.
    """
    _, sources = base
    return FanoutRequest(
        task_id=TASK_ID,
        instruction="You correct one paragraph by its source pack.",
        prompt="Correct the paragraph, and say in JSON what you did.",
        base=base,
        branches=tuple(_author(name, ids) for name in ANSWERS),
        claims=(
            PlannedClaim("hasty-corrected", HASTY, pointer="/note"),
            PlannedClaim("hasty-nothing-lost", HASTY, pointer="/lost"),
            PlannedClaim("careful-corrected", CAREFUL, pointer="/note"),
            PlannedClaim("careful-quota", CAREFUL, pointer="/quota"),
            PlannedClaim("careful-introduced", CAREFUL, pointer="/introduced"),
        ),
        checks=(
            _check(
                HASTY,
                "spelling-of-hasty",
                "hasty-corrected",
                command=SPELLING,
                verdict_policy=SPELLING_POLICY,
            ),
            _check(HASTY, "not-opened", "hasty-nothing-lost", command=_python(NOT_OPENED)),
            _check(
                CAREFUL,
                "spelling-of-careful",
                "careful-corrected",
                command=SPELLING,
                verdict_policy=SPELLING_POLICY,
            ),
            _check(
                CAREFUL,
                "quota-sheet",
                "careful-quota",
                command=_python(NOT_OPENED),
                target=ARTIFACT_TARGET + NEVER_STORED,
            ),
            _check(
                CAREFUL,
                "sources-say-when",
                "careful-introduced",
                command=_python(SOURCES_SAY_WHEN),
                target=ARTIFACT_TARGET + sources.item_id,
                verdict_policy=ExitCodePolicy(fail_codes=(1,), inconclusive_codes=(2,)),
            ),
        ),
        source="demo",
    )


def _author(name: str, ids: IdSource) -> BranchRequest:
    answer = json.dumps(ANSWERS[name])
    adapter = from_settings({"kind": "scripted", "answer": answer})
    return BranchRequest(
        name=name,
        call_id=ids.new_id(),
        actor=Actor(actor_id=name, kind="script", provider=adapter.provider),
        adapter=adapter,
        adapter_id="scripted",
    )


def _python(code: str) -> tuple[str, ...]:
    return ("python", "-c", code, ARTIFACT_PLACE)


class _Asked(TypedDict, total=False):
    command: tuple[str, ...]
    target: str
    verdict_policy: ExitCodePolicy


def _check(branch: str, check_id: str, claim_id: str, **asked: Unpack[_Asked]) -> PlannedCheck:
    """Return a check of a branch's output, or of the target that is asked for."""
    request = CheckRequest(
        check_id, TASK_ID, claim_ids=(claim_id,), timeout_s=CHECK_TIMEOUT_S, **asked
    )
    return PlannedCheck(request, branch=branch, of_output=request.target is None)
