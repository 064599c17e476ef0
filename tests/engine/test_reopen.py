"""A reopened ledger says of every proposal whose it is and what it was shown."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import anyio

from codeai_engine.domain.context import Seal
from tests.engine.runtime.doubles import FakeProvider, answering, branch, fanout, item, run_on

if TYPE_CHECKING:
    from pathlib import Path

READ = """
import json, sys
from codeai_engine import open_ledger, read_fanout, read_fanouts
with open_ledger(sys.argv[1]) as ledger:
    (summary,) = read_fanouts(ledger).items
    view = read_fanout(ledger, summary.fanout_id)
print(json.dumps([
    {
        "task": branch.task_id,
        "variant": branch.variant.get("prompt_variant"),
        "call": branch.call_id,
        "package": [branch.package_id, branch.package_recomputed],
        "rendered": branch.rendered_recomputed,
        "request": branch.request_recomputed,
        "seal": [branch.seal.call_ids, branch.seal.lineage_ids, branch.seal_names_every_sibling],
        "output": branch.output.text,
        "level": branch.level,
        "compiled_first": branch.compiled_before_any_answer,
    }
    for branch in view.branches
]))
"""


async def test_another_process_attributes_every_proposal(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    request = fanout(
        branch("A", FakeProvider(answering(b"first")), variant={"prompt_variant": "v1"}),
        branch("B", FakeProvider(answering(b"second")), variant={"prompt_variant": "v2"}),
        base=(item("The base."), item("None.", declared_none=("editor", "by hand"))),
        seal=Seal(forbidden_lineage_ids=frozenset({"elsewhere"})),
    )
    await run_on(path, request)
    done = await anyio.run_process([sys.executable, "-c", READ, str(path)])
    a, b = json.loads(done.stdout)
    assert (a["task"], a["variant"], a["call"], a["output"]) == ("task-1", "v1", "call-A", "first")
    assert (b["task"], b["variant"], b["call"], b["output"]) == ("task-1", "v2", "call-B", "second")
    assert a["package"][0] != b["package"][0]
    for view, sibling in ((a, "call-B"), (b, "call-A")):
        assert view["package"][1] == view["rendered"] == view["request"] == "match"
        assert view["seal"] == [[sibling], sorted([sibling, "elsewhere"]), True]
        assert view["level"] == "final-input blind"
        assert view["compiled_first"] is True
