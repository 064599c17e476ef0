"""What a record says of an environment: names and keyed digests, never a value."""

from __future__ import annotations

import hmac
import json
import stat
from typing import TYPE_CHECKING

import pytest

from codeai_engine import open_ledger
from codeai_engine.runtime.check import run_check
from codeai_engine.runtime.environment import key_id, read_ledger_key, sealed_values
from tests.engine.runtime.checks import KEY, check, payloads, run_on

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "a-secret-that-must-not-be-recorded"  # noqa: S105 - nobody's


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_value_is_an_hmac_under_the_key_and_a_missing_one_is_unknown() -> None:
    expected = hmac.new(KEY, b"v", "sha256").hexdigest()
    assert sealed_values(["B", "A"], {"A": "v"}, KEY) == {"A": expected, "B": None}
    assert sealed_values(["A"], {"A": "v"}, None) == {"A": None}


def test_a_ledger_has_one_key_that_only_its_user_can_read(state: Path, tmp_path: Path) -> None:
    key = read_ledger_key(tmp_path / "l.db")
    assert key is not None
    assert read_ledger_key(tmp_path / "l.db") == key
    assert read_ledger_key(tmp_path / "other.db") not in (key, None)
    places = [place for place in state.rglob("*") if place.is_file()]
    assert len(places) == 2
    assert {stat.S_IMODE(place.stat().st_mode) for place in places} == {0o600}
    assert key_id(key) not in key.hex()


def test_a_state_folder_that_cannot_be_written_gives_no_key(state: Path, tmp_path: Path) -> None:
    state.write_text("no folder")
    assert read_ledger_key(tmp_path / "l.db") is None


def test_a_key_that_is_cut_short_is_none(state: Path, tmp_path: Path) -> None:
    read_ledger_key(tmp_path / "l.db")
    (place,) = (place for place in state.rglob("*") if place.is_file())
    place.write_bytes(b"short")
    assert read_ledger_key(tmp_path / "l.db") is None


async def test_a_named_variable_reaches_the_command_and_its_value_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l.db"
    monkeypatch.setenv("TOKEN", SECRET)
    async with run_on(path, ledger_key=lambda: KEY) as run:
        asked = check(
            "check-1",
            "sh",
            "-c",
            f'test "$TOKEN" = {SECRET[:8]}"${{TOKEN#{SECRET[:8]}}}"',
            environment_from=("TOKEN",),
            environment={"LANG": "C"},
        )
        outcome = await run_check(asked, run)
    assert outcome.verdict == "PASS"
    (requested,) = payloads(path, "check.requested")
    assert requested["environment"] == {"LANG": "C"}
    sealed = hmac.new(KEY, SECRET.encode(), "sha256").hexdigest()
    assert requested["environment_from"] == {"TOKEN": sealed}
    assert requested["environment_key_id"] == key_id(KEY)
    with open_ledger(path) as ledger:
        reference = requested["inherited_environment_artifact"]
        inherited = json.loads(ledger.artifact_bytes(reference["artifact_id"]) or b"")
    assert inherited["TOKEN"] == sealed
    for file in path.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes()


async def test_without_a_key_there_are_names_and_no_digests(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    async with run_on(path) as run:
        await run_check(check("check-1", "true", environment_from=("PATH",)), run)
    (requested,) = payloads(path, "check.requested")
    assert requested["environment_from"] == {"PATH": None}
    assert requested["environment_key_id"] is None
