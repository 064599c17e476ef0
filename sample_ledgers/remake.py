"""Remake what stands here: `python sample_ledgers/remake.py [--play]`.

With `--play` the demo's ledger is played anew (its reviewers are real, so its bytes change); then
the README's pictures are exported from it by the app.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from codeai_engine import open_ledger, read_fanouts
from codeai_tui.app import LedgerApp
from codeai_tui.gateway import Gateway
from codeai_tui.places import parse_place

HERE = Path(__file__).resolve().parent
LEDGER = HERE / "demo.db"
SIZE = (160, 46)
INHERITED = ("HOME", "PATH", "PYTHONPATH")


def play() -> None:
    """Play the demo into a new folder and keep its ledger.

    What it would say of this machine is nobody's business: its checks record the names of the
    variables they inherit, and a reviewer says where it looks for its settings.
    """
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment["XDG_CONFIG_HOME"] = "/nonexistent"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "codeai_engine.cli.main", "demo", folder]
        done = subprocess.run(  # noqa: S603
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
        shutil.copyfile(done.stdout.splitlines()[-1], LEDGER)


async def picture(place: str, name: str) -> None:
    """Export one screen of the ledger as an SVG."""
    gateway = Gateway(str(LEDGER), snapshot=False, artifacts=None)
    try:
        app = LedgerApp(gateway, parse_place(place))
        async with app.run_test(size=SIZE) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            svg = app.export_screenshot(title="codeai-tui", simplify=True)
        (HERE / f"{name}.svg").write_text(svg, "utf-8")
    finally:
        gateway.close()


async def pictures() -> None:
    """Export the overview, and the branches of the fan-out that shows what a seal does."""
    with open_ledger(LEDGER) as ledger:
        controls = read_fanouts(ledger).items[-2]  # newest first
    for place in ("overview", "checks", "claims"):
        await picture(place, place)
    await picture(f"fanout/{controls.fanout_id}/branches", "branches")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--play", action="store_true", help="play the demo anew first")
    if parser.parse_args().play:
        play()
    asyncio.run(pictures())
