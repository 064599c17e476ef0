"""What the branches of one fan-out have in common, and what their levels mean together.

Equal inputs are a property of inputs: nothing here says how outputs relate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codeai_engine.rules.levels import lowest_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codeai_engine.domain.view import BranchView, Level
    from codeai_engine.rules.fold_package import BaseRecord

SHOWN_CHARACTERS = 120


def mark_identical(branches: Sequence[BranchView]) -> tuple[BranchView, ...]:
    """Return the branches with those named beside each whose whole digests are equal."""
    rendered = _holders(branches, "rendered_sha256")
    request = _holders(branches, "request_sha256")
    return tuple(
        replace(
            branch,
            same_rendered_as=_others(branch, rendered.get(branch.rendered_sha256, ())),
            same_request_as=_others(branch, request.get(branch.request_sha256, ())),
        )
        for branch in branches
    )


def _holders(branches: Sequence[BranchView], name: str) -> dict[str | None, list[BranchView]]:
    holders: dict[str | None, list[BranchView]] = {}
    for branch in branches:
        if getattr(branch, name) is not None:
            holders.setdefault(getattr(branch, name), []).append(branch)
    return holders


def _others(branch: BranchView, holders: Sequence[BranchView]) -> tuple[str, ...]:
    return tuple(other.call_id for other in holders if other is not branch)


def shared_values(
    branches: Sequence[BranchView], base: BaseRecord, *, task_id: str | None, ledger: str
) -> tuple[tuple[str, str], ...]:
    """Return what branches still share, as (what, value).

    A value that only some of them share names those.
    """
    if len(branches) < 2:  # noqa: PLR2004 - one branch shares nothing
        return ()
    found: list[tuple[str, str]] = []
    if task_id is not None:
        found.append(("task", task_id))
    found += _groups("prompt", branches)
    offered = {kind: count for kind, count in (base.offered or {}).items() if count}
    if offered:
        counts = (f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in offered.items())
        found.append(("base items", ", ".join(counts)))
    for what in ("provider", "model", "adapter"):
        found += _groups(what, branches)
    found.append(("ledger", ledger))
    return tuple(found)


def _groups(what: str, branches: Sequence[BranchView]) -> list[tuple[str, str]]:
    name = "adapter_id" if what == "adapter" else what
    holders: dict[str, list[str]] = {}
    for branch in branches:
        value = getattr(branch, name)
        if value is not None:
            holders.setdefault(value, []).append(label(branch))
    found: list[tuple[str, str]] = []
    for value, names in holders.items():
        shown = value if len(value) <= SHOWN_CHARACTERS else value[: SHOWN_CHARACTERS - 1] + "…"
        if len(names) == len(branches):
            found.append((what, shown))
        elif len(names) > 1:
            found.append((what, f"{shown} ({', '.join(names)})"))
    return found


def joint_level(branches: Sequence[BranchView]) -> tuple[Level, bool]:
    """Return the lowest level of the branches something was sent to, and whether they differ."""
    levels = [branch.level for branch in branches if not branch.nothing_sent]
    return lowest_level(levels), len(set(levels)) > 1


def level_notes(branches: Sequence[BranchView]) -> tuple[str, ...]:
    """Return what the level means here and which branches it leaves out."""
    if not branches:
        return ("no branches: nothing was asked, so nothing is established",)
    notes: list[str] = []
    if len(branches) == 1:
        notes.append(
            "one branch: there is no sibling to be blind to; the level is about its own input only"
        )
    refused = [label(branch) for branch in branches if branch.refused is not None]
    unsent = [
        label(branch) for branch in branches if branch.nothing_sent and branch.refused is None
    ]
    if refused:
        notes.append(f"refused, so nothing was sent and the level leaves out: {', '.join(refused)}")
    if unsent:
        notes.append(f"nothing was sent, so the level leaves out: {', '.join(unsent)}")
    if len(refused) + len(unsent) == len(branches):
        notes.append("no branch was sent anything: no level is established")
    return tuple(notes)


def label(branch: BranchView) -> str:
    """Return a branch's name, or its call id where it has none."""
    return branch.name or branch.call_id
