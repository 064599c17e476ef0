"""The record of a fixed fan-out, pinned: changing a byte of it changes the format."""

from __future__ import annotations

import json
from pathlib import Path

from codeai_engine import open_ledger
from codeai_engine.domain.context import Seal
from tests.engine.runtime.doubles import branch, fanout, item, run_on

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "golden" / "fanout.json"
PINNED = ("fanout.requested", "context.compiled", "call.requested", "call.manifest")


async def recorded(path: Path) -> list[dict[str, str]]:
    """Run the fixed fan-out and return its pinned events as they are stored."""
    request = fanout(
        branch("A", parameters={"max_output_tokens": 64}, variant={"seed": 7}),
        branch("B", prompt="What is missing?"),
        base=(
            item("The cache keeps every artifact for ninety days — naïvely.", name="paragraph"),
            item("A note of B.", lineage=("call-B",), name="note"),
            item("By hand.", declared_none=("editor", "written by hand")),
        ),
        required=frozenset(),
        seal=Seal(forbidden_lineage_ids=frozenset({"elsewhere"})),
        concurrency=1,
    )
    await run_on(path, request)
    with open_ledger(path) as ledger:
        rows = [row for row in ledger.rows() if row.kind in PINNED]
        stored = {
            row.sequence: {
                "kind": row.kind,
                "stream_id": row.stream_id,
                "event_id": row.event_id,
                "payload_json": row.payload_json,
            }
            for row in rows
        }
        for row in rows:
            if row.kind == "call.manifest":
                manifest = json.loads(row.payload_json)
                for name in ("rendered_context_artifact", "request_body_artifact"):
                    content = ledger.artifact_bytes(manifest[name]["sha256"])
                    assert content is not None
                    stored[row.sequence][name] = content.decode("utf-8")
    return list(stored.values())


async def test_the_record_of_a_fixed_fanout_is_pinned(tmp_path: Path) -> None:
    assert await recorded(tmp_path / "l.db") == json.loads(GOLDEN.read_text("utf-8"))
