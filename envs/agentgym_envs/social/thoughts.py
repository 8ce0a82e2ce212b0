"""Thoughts of a player in AMPO's modes (arXiv:2505.02156): what it notes before it speaks.

A player thinks about its own view alone, in short sentences of few words, and the notes are true: a deeper
mode has intermediate results (a gap, a count of points, the friends that are left) that a shallower one does
not have.

    Talk(own=(offer 118,), heard=(offer 64,), turn=2)  ->  Thought(assess="gap 54, 64 is under my limit", ...)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.thinking import HEADERS, render


@dataclass
class Talk:
    """Conversation as one seat knows it: its own utterances and those of the other seat, in order."""

    own: list[Utterance] = field(default_factory=list[Utterance])
    heard: list[Utterance] = field(default_factory=list[Utterance])

    @property
    def turn(self) -> int:
        """Number of the own utterance that comes next, from 1."""
        return len(self.own) + 1

    @property
    def latest(self) -> Utterance | None:
        """Latest utterance of the other seat; None before any."""
        return self.heard[-1] if self.heard else None

    @property
    def replies(self) -> list[tuple[Utterance, Utterance]]:
        """Each own utterance with the other seat's answer."""
        first = len(self.heard) - len(self.own)  # 1 where the other seat spoke first
        return list(zip(self.own, self.heard[first:], strict=False))

    def own_values(self, name: str) -> list[Any]:
        """Values of the own moves of a name."""
        return values(self.own, name)

    def heard_values(self, name: str) -> list[Any]:
        """Values of the other seat's moves of a name."""
        return values(self.heard, name)


def values(said: Sequence[Utterance], name: str) -> list[Any]:
    """Values of the moves of a name, in order."""
    return [one.move.value for one in said if one.move is not None and one.move.name == name]


@dataclass(frozen=True)
class Thought:
    """Notes of one turn by header, and the utterance that follows from them."""

    history: str
    goal: str
    intent: str
    assess: str
    strategy: str
    """Chosen strategy and the reasons for it, with intermediate results: mode 3."""
    strategies: str
    """Possible strategies: mode 4."""
    deduction: str
    """Result of each of them: mode 4."""
    integration: str
    response: str
    """The move, or what the answer does."""
    words: str
    """The utterance."""
    style: str = "friendly"

    def instead(self, move: str) -> "Thought":
        """The same notes before another utterance, which does not follow from them."""
        return replace(self, response=move.strip("[]"), words=move)

    def reply(self, mode: int) -> str:
        """The reply in a mode, as AMPO writes it."""
        notes = {header: getattr(self, header.lower()) for header in HEADERS[mode]}
        if mode == max(HEADERS):
            notes["Strategy"] = self.strategies
        return render(mode, list(notes.values()), self.words)


class Thinker(ABC):
    """Player that says what it thinks."""

    @abstractmethod
    def think(self, talk: Talk) -> Thought:
        """Notes and utterance of the next turn; a function of the own view and the conversation alone."""
