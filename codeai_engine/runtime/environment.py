"""What a check's environment was, without its values: names, and digests under a secret key.

A digest of a short secret can be guessed, so each is an HMAC-SHA256 under a key that stays in the
user's state folder, one for each ledger: two checks of one ledger can be compared, and the file
gives nothing away (DESIGN 9).
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from codeai_engine.digests import text_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEY_BYTES = 32
KEY_ID_CHARACTERS = 16
_FOLDER = Path("codeai-engine", "ledger-keys")


def read_ledger_key(ledger: Path) -> bytes | None:
    """Return the key of a ledger, made where there is none; None where it cannot be kept.

    Args:
        ledger: The file; its resolved path is what tells it from other ledgers.
    """
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    place = Path(state) / _FOLDER / text_digest(os.fsdecode(ledger.resolve()))
    with suppress(OSError, RuntimeError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(place)
        key = place.read_bytes()
        return key if len(key) == KEY_BYTES else None
    return None


def _make(place: Path) -> None:
    """Write a key whole or not at all; of two processes at once, one key stays."""
    if place.exists():
        return
    draft = place.with_name(f"{place.name}.{os.getpid()}.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_bytes(secrets.token_bytes(KEY_BYTES))
    with suppress(FileExistsError):
        os.link(draft, place)
    draft.unlink()


def key_id(key: bytes) -> str:
    """Return what names a key without giving it away: digests under one id can be compared."""
    return sha256(b"ledger-key-id\0" + key).hexdigest()[:KEY_ID_CHARACTERS]


def sealed_values(
    names: Iterable[str], environment: Mapping[str, str], key: bytes | None
) -> dict[str, str | None]:
    """Return names, each with the keyed digest of its value; None without a key or a value."""
    return {
        name: _sealed(environment[name], key) if key and name in environment else None
        for name in sorted(names)
    }


def _sealed(value: str, key: bytes) -> str:
    return hmac.new(key, os.fsencode(value), sha256).hexdigest()
