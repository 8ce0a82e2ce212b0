"""Moves: what counts in an utterance, in square brackets and upper case.

I could do $72.50. [OFFER 72.50]          OFFER, "72.50"
[ACCEPT] or rather [OFFER 70]             OFFER, "70": the last well-formed one
[offer 70], [OFFER seventy]               none: small talk
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym_envs.sotopia.protocol.actions import Action

_MOVE = re.compile(r"\[([A-Z]{3,8})(?: ([^\[\]\n]{1,200}))?\]")
_NUMBER = re.compile(r"\$? ?([0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,9})(\.[0-9]{1,2})?")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Move:
    """A well-formed move; what `value` is, its reader says."""

    name: str
    value: Any = None


Reader = Callable[[str, str], Any]
"""The value of a move from its name and argument ("" without one); None where it is not well formed."""


@dataclass(frozen=True)
class Utterance:
    """An action, and the move in it."""

    action: Action
    move: Move | None = None

    @property
    def words(self) -> str:
        """Spoken words; empty for other actions."""
        return self.action.argument if self.action.action_type == "speak" else ""

    def value(self, *names: str) -> Any:
        """The value of the move if it has one of these names, else None."""
        return self.move.value if self.move is not None and self.move.name in names else None


def utterance(action: Action, read: Reader) -> Utterance:
    """The action with the last well-formed move in its words; only `speak` has moves."""
    if action.action_type != "speak" or "[" not in action.argument:
        return Utterance(action)
    for name, argument in reversed(_MOVE.findall(action.argument)):
        value = read(name, argument.strip())
        if value is not None:
            return Utterance(action, Move(name, value))
    return Utterance(action)


def number(text: str) -> float | None:
    """A positive number: optional `$`, thousands commas, at most two decimals."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    value = float(found[1].replace(",", "") + (found[2] or ""))
    return value if value > 0 else None


def padded(text: str) -> str:
    """The words of a text in lower case, each between spaces, for `spoken`."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def spoken(phrases: Sequence[str], text: str) -> bool:
    """Whether a phrase occurs in a `padded` text, as whole words."""
    return any(padded(phrase) in text for phrase in phrases)
