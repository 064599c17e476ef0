"""`codeai-engine init`: a commented example that runs as it is."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from codeai_engine.cli.exits import DONE, write
from codeai_engine.errors import SpecError

if TYPE_CHECKING:
    from argparse import Namespace

TEXTS = {
    "spec.toml": "example-spec.toml",
    "paragraph.md": "paragraph.md",
    "sources.md": "sources.md",
}


def execute(options: Namespace) -> int:
    """Write the example; nothing that is already there is touched.

    Raises:
        SpecError: A file of the example exists already, or the folder cannot be written.
    """
    folder = Path(options.folder)
    texts = files("codeai_engine.studies") / "texts"
    try:
        for name in TEXTS:
            if (folder / name).exists():
                raise SpecError(
                    str(folder / name), "", "is already there", hint="Name a folder without it."
                )
        folder.mkdir(parents=True, exist_ok=True)
        for name, source in TEXTS.items():
            (folder / name).write_text((texts / source).read_text("utf-8"), encoding="utf-8")
    except OSError as error:
        raise SpecError(str(folder), "", f"cannot be written: {error.strerror}") from error
    spec = folder / "spec.toml"
    write(
        f"wrote {', '.join(TEXTS)} in {folder}\n"
        f"run it:  codeai-engine run {spec} --ledger {folder / 'ledger.db'}\n"
        f"read it: codeai-tui open {folder / 'ledger.db'}\n",
        sys.stdout.write,
    )
    return DONE
