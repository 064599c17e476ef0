"""What a reader answers, about ledgers of ours and of the peer, whatever stands in their rows."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from codeai_engine.errors import LedgerError
from codeai_engine.ledger.reader import open_ledger
from tests.engine.ledger.ledgers import draft, make, run_child, source, tamper
from tests.peers import PEER_NAMES, expected_facts, needs_peer_ledgers, peer_ledger

if TYPE_CHECKING:
    from pathlib import Path

LOOSE = (
    "CREATE TABLE events (sequence INTEGER PRIMARY KEY, event_id, stream_id, kind, actor_id,"
    " payload_json, created_at, causation_id, correlation_id)"
)


def loose_ledger(path: Path, *rows: tuple[object, ...]) -> Path:
    """Make a file of the peer's shape whose columns take anything."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(LOOSE)
        connection.executemany(f"INSERT INTO events VALUES ({', '.join('?' * 9)})", rows)  # noqa: S608 - constants
        connection.commit()
    return path


@needs_peer_ledgers
@pytest.mark.parametrize("name", PEER_NAMES)
def test_a_ledger_of_the_peer_is_read_as_it_is_expected(name: str) -> None:
    facts = expected_facts(name)
    with open_ledger(peer_ledger(name)) as ledger:
        rows = ledger.rows(limit=10_000)
        info = ledger.info()
        lines = [
            f"{r.sequence} {r.event_id} {r.kind} {sha256(r.payload_json.encode()).hexdigest()}"
            for r in rows
        ]
        assert sha256("\n".join(lines).encode()).hexdigest() == facts["events_digest"]
        assert sum(len(row.payload_json.encode()) for row in rows) == facts["payload_bytes"]
        assert info.event_count == facts["event_count"]
        assert info.first_sequence == facts["first_sequence"]
        assert info.last_sequence == ledger.last_sequence() == facts["last_sequence"]
        assert dict(ledger.kind_counts()) == facts["kinds"]
        assert [
            {"attempt_id": attempt, "sequence": sequence}
            for attempt, sequence in ledger.open_attempts()
        ] == [
            {key: item[key] for key in ("attempt_id", "sequence")}
            for item in facts["orphan_attempts"]["items"]
        ]
        sizes = {page.sequence: page.payload_bytes for page in ledger.summaries(limit=999).items}
    assert sizes == {row.sequence: len(row.payload_json.encode()) for row in rows}


@needs_peer_ledgers
@pytest.mark.parametrize("name", PEER_NAMES)
def test_the_artifacts_of_a_ledger_of_the_peer_are_read_from_its_folder(name: str) -> None:
    facts = expected_facts(name)["artifacts"]
    with open_ledger(peer_ledger(name)) as ledger:
        artifacts = ledger.artifacts(limit=10_000)
        found = {row.artifact_id: ledger.artifact_bytes(row.artifact_id) for row in artifacts}
        assert all(ledger.artifact(row.artifact_id) == row for row in artifacts)
    missing = [digest for digest, content in found.items() if content is None]
    corrupt = [
        digest
        for digest, content in found.items()
        if content is not None and sha256(content).hexdigest() != digest
    ]
    assert (missing, corrupt) == (facts["missing"], facts["corrupt"])
    assert len(artifacts) == facts["registered"]
    assert sum(row.byte_length for row in artifacts) == facts["total_declared_bytes"]


@needs_peer_ledgers
def test_an_old_ledger_without_artifacts_opens_and_says_so() -> None:
    with open_ledger(peer_ledger("v0_legacy")) as ledger:
        assert "an old ledger: it has no artifacts table" in ledger.info().notes
        assert ledger.artifacts() == ()
        assert ledger.artifact("0" * 64) is None
        assert ledger.artifact_bytes("0" * 64) is None


def test_a_valid_ledger_may_be_empty(tmp_path: Path) -> None:
    with open_ledger(make(tmp_path / "ledger.db")) as ledger:
        info = ledger.info()
        assert (info.event_count, info.first_sequence, info.last_sequence) == (0, None, None)
        assert (ledger.last_sequence(), ledger.rows(), ledger.kind_counts()) == (0, (), ())
        assert ledger.summaries().items == ()
        assert info.notes == ()


def test_events_are_found_by_place_id_stream_and_kind(tmp_path: Path) -> None:
    drafts = [draft(stream_id=f"s{n % 3}", kind=f"k{n % 2}") for n in range(12)]
    with open_ledger(make(tmp_path / "ledger.db", *drafts)) as ledger:
        rows = ledger.rows()
        assert [row.event_id for row in rows] == [event.event_id for event in drafts]
        assert ledger.event(5) == ledger.event_by_id(drafts[4].event_id) == rows[4]
        assert ledger.rows(after=2, until=6, limit=3) == rows[2:5]
        assert ledger.rows(after=10) == rows[10:]
        assert ledger.stream("s1") == rows[1::3]
        assert ledger.stream("s1", after=2, until=8) == (rows[4], rows[7])
        assert ledger.of_kind("k0") == rows[0::2]
        assert ledger.of_kind("k0", after=1, until=9, limit=2) == (rows[2], rows[4])
        assert ledger.of_kind("k0", limit=2, newest_first=True) == (rows[10], rows[8])


@pytest.mark.parametrize("number", [0, -1, 99, 2**63, 2**200])
def test_a_place_that_no_event_has_is_none(tmp_path: Path, number: int) -> None:
    with open_ledger(make(tmp_path / "ledger.db", draft())) as ledger:
        assert ledger.event(number) is None


@pytest.mark.parametrize("text", ["", "nothing", "\udcff", "a\x00b", "' OR 1=1 --"])
def test_a_name_that_nothing_has_finds_nothing(tmp_path: Path, text: str) -> None:
    with open_ledger(make(tmp_path / "ledger.db", draft())) as ledger:
        assert ledger.event_by_id(text) is None
        assert ledger.stream(text) == ledger.of_kind(text) == ()
        assert ledger.summaries(stream_id=text).items == ()
        assert ledger.summaries(kind=text).items == ()
        assert ledger.summaries(kind=f"{text}.*").items == ()
        assert ledger.artifact(text) is None
        assert ledger.artifact_bytes(text) is None


def test_rows_of_odd_types_are_shown_and_never_a_crash(tmp_path: Path) -> None:
    text = b'{"a":"\xff"}'
    path = loose_ledger(
        tmp_path / "ledger.db",
        (1, None, None, None, None, None, None, None, None),
        (2, "e", "s", "k", "a", b'{"blob":1}', "t", b"c", 7),
        (3, 1, 2.5, "k", b"\xfe", 12, 0, None, None),
        (4, "nul", "s\x00t", "k", "a", '{"a":"\x00b"}', "t", None, None),
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO events VALUES (5, 'u', 's', 'k', 'a', CAST(? AS TEXT), 't', NULL, NULL)",
            (text,),
        )
        connection.commit()
    with open_ledger(path) as ledger:
        rows = ledger.rows()
        heads = {item.sequence: item.payload_head for item in ledger.summaries().items}
        sizes = {item.sequence: item.payload_bytes for item in ledger.summaries().items}
        assert ledger.stream("s\x00t") == (rows[3],)
        assert ledger.kind_counts() == (("NULL", 1), ("k", 4))
    assert (rows[0].event_id, rows[0].payload_json, rows[0].causation_id) == ("NULL", "NULL", None)
    assert (rows[1].payload_json, rows[1].causation_id, rows[1].correlation_id) == (
        '{"blob":1}',
        "c",
        "7",
    )
    assert (rows[2].event_id, rows[2].stream_id, rows[2].actor_id) == ("1", "2.5", "\\xfe")
    assert rows[3].payload_json == '{"a":"\x00b"}'
    assert rows[4].payload_json == '{"a":"\\xff"}'
    assert heads == {row.sequence: row.payload_json for row in rows}
    assert sizes == {1: 0, 2: 10, 3: 2, 4: 10, 5: len(text)}


def test_a_payload_that_is_no_json_is_text_as_it_is(tmp_path: Path) -> None:
    texts = ['{"score":NaN}', '{"text":"\\ud800"}', '{"n":900719925474099267}', "not json"]
    rows = [(n, f"e{n}", "s", "k", "a", text, "t", None, None) for n, text in enumerate(texts, 1)]
    with open_ledger(loose_ledger(tmp_path / "ledger.db", *rows)) as ledger:
        assert [row.payload_json for row in ledger.rows()] == texts


def test_a_missing_sequence_is_said_and_its_neighbours_are_read(tmp_path: Path) -> None:
    path = make(tmp_path / "ledger.db", *(draft() for _ in range(5)))
    tamper(path, "DELETE FROM events WHERE sequence IN (2, 5)")
    with open_ledger(path) as ledger:
        assert [row.sequence for row in ledger.rows()] == [1, 3, 4]
        assert [item.sequence for item in ledger.summaries().items] == [1, 3, 4]
        assert ledger.event(2) is None
        assert ledger.info().notes == ("5 events, but the sequences 1 to 4 are 4",)


def test_a_gap_in_a_ledger_of_the_peer_is_said(tmp_path: Path) -> None:
    rows = [(n, f"e{n}", "s", "k", "a", "{}", "t", None, None) for n in (3, 4, 9)]
    with open_ledger(loose_ledger(tmp_path / "ledger.db", *rows)) as ledger:
        info = ledger.info()
        assert (info.event_count, info.first_sequence, info.last_sequence) == (3, 3, 9)
        assert "3 events, but the sequences 3 to 9 are 7" in info.notes
        assert "it lacks the indexes by stream and kind: lists read the whole ledger" in info.notes


def test_a_ledger_of_millions_is_not_counted_row_by_row(tmp_path: Path) -> None:
    rows = [(n, f"e{n}", "s", "k", "a", "{}", "t", None, None) for n in (1, 2_000_000)]
    with open_ledger(loose_ledger(tmp_path / "ledger.db", *rows)) as ledger:
        info = ledger.info()
        assert info.event_count == 2_000_000
        assert "events are counted by the first and the last sequence" in info.notes


def test_without_its_derived_tables_a_ledger_is_computed_and_says_so(tmp_path: Path) -> None:
    path = make(
        tmp_path / "ledger.db",
        draft(stream_id="a", kind="attempt.started"),
        draft(stream_id="b", kind="attempt.started"),
        draft(stream_id="a", kind="attempt.observed"),
    )
    with open_ledger(path) as ledger:
        before = (ledger.kind_counts(), ledger.open_attempts(), ledger.info().event_count)
    tamper(path, "DROP TABLE kind_counts; DROP TABLE open_attempts;")
    with open_ledger(path) as ledger:
        assert (ledger.kind_counts(), ledger.open_attempts(), ledger.info().event_count) == before
        assert "its derived tables are missing" in ledger.info().notes[0]
        assert len(ledger.summaries(kind="attempt.*").items) == 3


def test_artifact_bytes_are_read_by_range(tmp_path: Path) -> None:
    content = bytes(range(256)) * 2_000
    artifact = source(content)
    with open_ledger(make(tmp_path / "ledger.db", draft(), artifacts=[artifact])) as ledger:
        assert ledger.artifact_bytes(artifact.artifact_id) == content
        ranged = ledger.artifact_bytes(artifact.artifact_id, start=100_000, length=65_536)
        assert ranged == content[100_000:165_536]
        assert ledger.artifact_bytes(artifact.artifact_id, start=511_990) == content[511_990:]
        assert ledger.artifact_bytes(artifact.artifact_id, start=10**9, length=5) == b""
        assert ledger.artifact_bytes("f" * 64) is None
        row = ledger.artifact(artifact.artifact_id)
        assert row is not None
        assert (row.byte_length, row.artifact_type, row.media_type) == (
            512_000,
            "source",
            "text/plain",
        )
        assert ledger.info().artifacts is None


def test_artifacts_are_listed_by_id_page_by_page(tmp_path: Path) -> None:
    artifacts = [source(bytes([n])) for n in range(7)]
    ids = sorted(artifact.artifact_id for artifact in artifacts)
    with open_ledger(make(tmp_path / "ledger.db", draft(), artifacts=artifacts)) as ledger:
        first = ledger.artifacts(limit=4)
        rest = ledger.artifacts(after=first[-1].artifact_id, limit=4)
    assert [row.artifact_id for row in (*first, *rest)] == ids


@pytest.mark.parametrize("value", ["NULL", "7"])
def test_artifact_bytes_of_an_odd_type_are_absent(tmp_path: Path, value: str) -> None:
    path = make(tmp_path / "ledger.db", draft(), artifacts=[source()])
    tamper(path, "DROP TABLE artifact_bytes; CREATE TABLE artifact_bytes (artifact_id, bytes)")
    tamper(path, f"INSERT INTO artifact_bytes VALUES ('{source().artifact_id}', {value})")  # noqa: S608 - constants
    with open_ledger(path) as ledger:
        assert ledger.artifact_bytes(source().artifact_id) is None


def peer_with_artifact(folder: Path, content: bytes | None, *, where: str = "artifacts") -> str:
    """Make a ledger of the peer's shape with one artifact in its folder layout."""
    digest = sha256(b"x").hexdigest()
    path = loose_ledger(folder / "ledger.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE artifacts (artifact_id TEXT PRIMARY KEY, sha256 TEXT, media_type TEXT,"
            " artifact_type TEXT, byte_length, uri TEXT, created_at TEXT)"
        )
        connection.execute(
            "INSERT INTO artifacts VALUES (?, ?, 'text/plain', 'source', 'many', '/else', 't')",
            (digest, digest),
        )
        connection.commit()
    if content is not None:
        place = folder / where / digest[:2]
        place.mkdir(parents=True)
        (place / digest[2:]).write_bytes(content)
    return digest


def test_the_peer_folder_is_beside_the_ledger_or_where_it_is_named(tmp_path: Path) -> None:
    digest = peer_with_artifact(tmp_path, b"0123456789", where="elsewhere")
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        assert ledger.artifact_bytes(digest) is None
        assert ledger.info().artifacts is None
        assert (
            "no folder of artifacts beside it: their bytes are not at hand" in ledger.info().notes
        )
    with open_ledger(path, artifacts=tmp_path / "elsewhere") as ledger:
        assert ledger.artifact_bytes(digest, start=2, length=3) == b"234"
        assert ledger.info().artifacts == str(tmp_path / "elsewhere")
        row = ledger.artifact(digest)
        assert row is not None
        assert row.byte_length == -1
    with pytest.raises(LedgerError, match=r"nowhere: no such folder of artifacts"):
        open_ledger(path, artifacts=tmp_path / "nowhere")


@pytest.mark.parametrize(
    "artifact_id", ["../secret", "/etc/hostname", "..", "a/../../secret", "A" * 64, "f" * 63, ""]
)
def test_only_a_digest_becomes_a_path(tmp_path: Path, artifact_id: str) -> None:
    peer_with_artifact(tmp_path, b"x")
    (tmp_path / "secret").write_text("secret")
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.artifact_bytes(artifact_id) is None


def test_what_stands_where_a_file_should_is_absent_or_said(tmp_path: Path) -> None:
    digest = peer_with_artifact(tmp_path, None)
    folder = tmp_path / "artifacts" / digest[:2]
    folder.parent.mkdir()
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        folder.write_text("a file instead of a folder")
        assert ledger.artifact_bytes(digest) is None
        folder.unlink()
        folder.mkdir()
        os.mkfifo(folder / digest[2:])
        assert ledger.artifact_bytes(digest) is None
        (folder / digest[2:]).unlink()
        (folder / digest[2:]).symlink_to(digest[2:])  # to itself
        with pytest.raises(LedgerError, match="the artifact cannot be read"):
            ledger.artifact_bytes(digest)


def test_reading_loads_neither_pydantic_nor_a_loop() -> None:
    done = run_child(
        "import json, sys\n"
        "import codeai_engine.ledger.reader\n"
        "print(json.dumps(sorted(name.partition('.')[0] for name in sys.modules)))"
    )
    loaded = set(json.loads(done.stdout))
    assert {"sqlite3", "codeai_engine"} <= loaded
    assert loaded.isdisjoint({"pydantic", "aiosqlite", "anyio", "asyncio", "httpx2", "textual"})
