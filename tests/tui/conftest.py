"""A terminal that is the same on every machine, and apps that close what they open."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import pytest

from codeai_tui.app import LedgerApp
from codeai_tui.gateway import Gateway
from codeai_tui.places import parse_place
from codeai_tui.screens.branches import BranchesScreen
from tests.tui import check_ledgers, ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

AppMaker: TypeAlias = "Callable[..., AbstractContextManager[LedgerApp]]"


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TEXTUAL_ANIMATIONS", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(BranchesScreen, "folded", False)


@pytest.fixture
def an_app() -> AppMaker:
    """Make an app on a ledger; the ledger is closed at the end."""

    @contextmanager
    def make(path: Path, place: str = "overview", **options: bool) -> Iterator[LedgerApp]:
        gateway = Gateway(str(path))
        try:
            yield LedgerApp(gateway, parse_place(place), **options)
        finally:
            gateway.close()

    return make


@pytest.fixture(scope="session")
def pilot_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ledgers.pilot_ledger(tmp_path_factory.mktemp("pilot") / "pilot.db")


@pytest.fixture(scope="session")
def hostile_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ledgers.hostile_ledger(tmp_path_factory.mktemp("hostile") / "hostile.db")


@pytest.fixture(scope="session")
def checks_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return check_ledgers.checks_ledger(tmp_path_factory.mktemp("checks") / "checks.db")


@pytest.fixture(scope="session")
def hostile_checks_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return check_ledgers.hostile_checks(tmp_path_factory.mktemp("hostile") / "checks.db")


@pytest.fixture(scope="session")
def empty_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ledgers.empty_ledger(tmp_path_factory.mktemp("empty") / "empty.db")
