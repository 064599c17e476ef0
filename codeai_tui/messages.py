"""Messages with more than one reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from codeai_engine import CodeAIError
    from codeai_tui.places import Place


@dataclass
class PlaceWanted(Message):
    """The reader wants to go to a place; the app owns where it is shown."""

    place: Place


@dataclass
class ProblemMet(Message):
    """Something could not be read; the screen shows it in a row, the app keeps the list."""

    error: CodeAIError
