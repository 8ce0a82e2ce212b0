"""Facts of a project, and what gives them away."""

from typing import Final

from agentgym_envs.core import Record
from agentgym_envs.social.content.projects import LABELS
from agentgym_envs.sotopia.moves import padded, spoken

YES: Final = ("yes", "yeah", "yep", "correct", "right", "exactly", "indeed", "true", "sure", "certainly")
AFFIRMED: Final = ("that is", "that s", "it is", "you are")
"""Beginnings of an affirmation before one of `YES`."""


class Fact(Record):
    """A fact: its value, a synonym, and a wrong value that a question may name."""

    key: str
    value: str
    synonym: str
    decoy: str
    private: bool

    @property
    def label(self) -> str:
        """Name of the fact in words."""
        return LABELS[self.key]

    def is_value(self, text: str) -> bool:
        """Whether a text is the value or its synonym."""
        return padded(text) in (padded(self.value), padded(self.synonym))

    def is_spoken(self, text: str) -> bool:
        """Whether the value or its synonym occurs in a `padded` text."""
        return spoken((self.value, self.synonym), text)


def affirms(text: str) -> bool:
    """Whether a `padded` text begins with a yes."""
    words = text.split()
    if " ".join(words[:2]) in AFFIRMED:
        words = words[2:]
    return bool(words) and words[0] in YES
