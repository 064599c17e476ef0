"""JSON pointers (RFC 6901): what a place in a document holds. Pure."""

from __future__ import annotations

import re

_ARRAY_INDEX = re.compile("0|[1-9][0-9]{0,8}")
_BAD_ESCAPE = re.compile("~(?![01])")


def is_pointer(text: str) -> bool:
    """Return whether a text is a JSON pointer; the empty one names the whole document."""
    return (not text or text.startswith("/")) and not _BAD_ESCAPE.search(text)


def resolve(document: object, pointer: str) -> object:
    """Return what a JSON pointer points to, None where nothing is there or it is not a pointer."""
    if not is_pointer(pointer):
        return None
    found = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")  # in this order: RFC 6901, section 4
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and _ARRAY_INDEX.fullmatch(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found
