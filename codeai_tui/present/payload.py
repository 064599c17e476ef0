"""An event's payload as a tree of lines: every digit, key and character as it is stored.

Numbers never pass through a float. A text that does not parse is kept as text, with the problem.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from codeai_tui.display import safe_lines
from codeai_tui.present.line import Line, Span, line
from codeai_tui.present.table import Column, Row

COLUMNS = (Column("payload", 20, flexible=True),)
_MOST_CHILDREN = 2000
_OPEN_AT_FIRST = 200
_TOO_LONG = 60

Path = tuple[int, ...]


class Number(str):
    """A number as the text holds it."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """The members of an object in stored order, repeated keys kept."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Payload:
    """A parsed payload.

    Args:
        root: `Pairs`, a list, text, `Number`, True, False or None; the stored text where it does
            not parse.
        problem: Why it does not parse, or what in it strict JSON does not allow; else None.
        parses: Whether there is a tree.
    """

    root: Any
    problem: str | None
    parses: bool


def parse_payload(text: str) -> Payload:
    """Return a stored payload as a tree that repeats it exactly."""
    problems: list[str] = []

    def constant(word: str) -> Number:
        problems.append(f"{word} is not JSON")
        return Number(word)

    def members(pairs: list[tuple[str, Any]]) -> Pairs:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            repeated = next(key for key in keys if keys.count(key) > 1)
            problems.append(f"the key {repeated!r} occurs twice")
        return Pairs(pairs)

    try:
        root = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=constant,
            object_pairs_hook=members,
        )
    except RecursionError:
        return Payload(text, "nested too deeply to be read as JSON", parses=False)
    except ValueError as error:
        return Payload(text, f"not JSON: {error}", parses=False)
    return Payload(root, "; ".join(problems) or None, parses=True)


def closed_at_first(payload: Payload) -> frozenset[Path]:
    """Return the nodes that are shown closed until the reader opens them: the large ones."""
    closed: set[Path] = set()
    waiting: list[tuple[Path, Any]] = [((), payload.root)]
    while waiting:
        path, value = waiting.pop()
        children = _children(value)
        if len(children) > _OPEN_AT_FIRST and path:
            closed.add(path)
            continue
        waiting.extend(((*path, index), child) for index, (_, child) in enumerate(children))
    return frozenset(closed)


def payload_rows(payload: Payload, closed: frozenset[Path]) -> tuple[Row, ...]:
    """Return one row for each node that is in sight; at most 2,000 children of a node."""
    if not payload.parses:
        lines = safe_lines(payload.root)
        return tuple(
            Row(str(index), ((Span(text),) if text else (),)) for index, text in enumerate(lines)
        )
    rows: list[Row] = []
    # (path, depth, key or None, value); None as path is the note that some children are left out.
    waiting: list[tuple[Path | None, int, str | None, Any]] = [((), -1, None, payload.root)]
    while waiting:
        path, depth, key, value = waiting.pop()
        if path is None:
            note = line("  " * depth, (f"… {value:,} more not shown", "open"))
            rows.append(Row(f"more {len(rows)}", (note,)))
            continue
        children = _children(value)
        is_open = path not in closed
        if path or not children:  # the payload as a whole needs no line of its own
            rows.append(Row(path_key(path), (_node_line(depth, key, value, is_open=is_open),)))
        if not is_open:
            continue
        if len(children) > _MOST_CHILDREN:
            waiting.append((None, depth + 1, None, len(children) - _MOST_CHILDREN))
        waiting.extend(
            ((*path, index), depth + 1, name, child)
            for index, (name, child) in reversed(tuple(enumerate(children[:_MOST_CHILDREN])))
        )
    return tuple(rows)


def path_key(path: Path) -> str:
    """Return the row key of a node."""
    return "/".join(map(str, path))


def parse_path(key: str) -> Path:
    """Return the node that a row key names; the root for a row that is no node."""
    parts = key.split("/") if key else []
    return tuple(int(part) for part in parts if part.isdigit())


def node_text(payload: Payload, path: Path) -> str:
    """Return the exact value of a node: a text itself, anything else as the JSON that is stored."""
    value = payload.root
    if payload.parses:
        for index in path:
            value = _children(value)[index][1]
    return value if isinstance(value, str) else _json_text(value)


def has_children(payload: Payload, path: Path) -> bool:
    """Return whether a node can be opened and closed."""
    value = payload.root
    for index in path:
        value = _children(value)[index][1]
    return bool(_children(value))


def _children(value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - any JSON value
    if isinstance(value, Pairs):
        return value
    if isinstance(value, list):
        return [(str(index), child) for index, child in enumerate(value)]
    return []


def _node_line(depth: int, key: str | None, value: Any, *, is_open: bool) -> Line:  # noqa: ANN401
    mark = ("▾ " if is_open else "▸ ") if _children(value) else "  "
    label = line((key, "muted"), (": ", "muted")) if key is not None else ()
    return line("  " * depth, (mark, "muted"), *label, *_value_line(value, is_open=is_open))


def _value_line(value: Any, *, is_open: bool) -> Line:  # noqa: ANN401 - any JSON value
    if isinstance(value, list):
        size = len(value)
        shape = f"{{{size}}}" if isinstance(value, Pairs) else f"[{size}]"
        if not size:
            return line(("{}" if isinstance(value, Pairs) else "[]", "muted"))
        return line((shape if not is_open or size > _TOO_LONG else "", "muted"))
    if value is None:
        return line(("null", "none"))
    if isinstance(value, bool):
        return line(("true" if value else "false", "note"))
    if isinstance(value, Number):
        return line((value, "note"))
    return line(('"', "muted"), value, ('"', "muted"))


def _json_text(root: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a value as JSON without spaces, its numbers and repeated keys as they are stored."""
    pieces: list[str] = []
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Number):
            pieces.append(value)
        elif isinstance(value, list):
            opening, closing = ("{", "}") if isinstance(value, Pairs) else ("[", "]")
            pieces.append(opening)
            waiting.append(Number(closing))
            for index, (key, child) in reversed(tuple(enumerate(_children(value)))):
                waiting.append(child)
                lead = f"{json.dumps(key)}:" if isinstance(value, Pairs) else ""
                waiting.append(Number(f",{lead}" if index else lead))
        else:
            pieces.append(json.dumps(value))
    return "".join(pieces)
