"""Evidence cards, and the opinion that they change."""

from collections.abc import Mapping

from agentgym_envs.core import Record

FADING = 0.7
"""Factor of each further card of one type."""
MOST_CARDS = 6
"""Cards that count."""
FALSE_CARD = -1.0
"""Change by a false card, where the listener checks."""


class Card(Record):
    """Piece of evidence."""

    id: str
    type: str
    text: str
    true: bool

    @property
    def line(self) -> str:
        """The card as its owner reads it."""
        return f"{self.id} {self.type}: {self.text}{'' if self.true else ' (false)'}"


class ListenerHidden(Record):
    """Hidden parameters of a listener."""

    opinion: float
    threshold: float
    weights: Mapping[str, int]
    """Weight by type, 0 to 2."""
    checks: bool
    """Whether it finds out that a card is false."""
    patience: int


class Opinion:
    """A listener's opinion, which cited cards change."""

    def __init__(self, hidden: ListenerHidden) -> None:
        self._hidden = hidden
        self.value = hidden.opinion
        self.cited: list[Card] = []

    @property
    def is_won(self) -> bool:
        """Whether the threshold is reached, within rounding."""
        return self.value >= self._hidden.threshold - 1e-9

    @property
    def share(self) -> float:
        """Share of the way to the threshold that is made, 0 to 1."""
        way = self._hidden.threshold - self._hidden.opinion
        return min(1.0, max(0.0, (self.value - self._hidden.opinion) / way))

    def hear(self, card: Card) -> None:
        """Take in a card; one that was cited before, or that is one too many, has no effect."""
        if card in self.cited or len(self.cited) >= MOST_CARDS:
            return
        earlier = sum(one.type == card.type for one in self.cited)
        self.cited.append(card)
        found_false = not card.true and self._hidden.checks
        self.value += FALSE_CARD if found_false else self._hidden.weights[card.type] * FADING**earlier
