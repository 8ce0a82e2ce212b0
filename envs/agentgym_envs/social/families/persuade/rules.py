"""Settings, moves and scores of a persuasion."""

from collections.abc import Sequence
from random import Random
from typing import Any, Literal

from agentgym_envs.social.content.evidence import CAUSES, EVIDENCE, TYPES
from agentgym_envs.social.content.scenes import PERSUADE
from agentgym_envs.social.families.persuade.opinion import (
    FADING,
    FALSE_CARD,
    MOST_CARDS,
    Card,
    ListenerHidden,
    Opinion,
)
from agentgym_envs.social.families.persuade.partner import PersuadePartner
from agentgym_envs.social.families.persuade.player import PersuadePlayer
from agentgym_envs.social.families.persuade.thinker import PersuadeThinker
from agentgym_envs.social.family import TURNS, Family, Ledger, Setting, Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.conversation import EndReason

CARDS_A_TYPE = 3
FALSE_SHARE = 0.25
WEIGHTS = (0, 0, 0, 0, 1, 2)
"""A weight is one of these. Denser ones, or a shorter way, let cards in a fixed order come too close to a
player that listens.
"""
WAYS = {"1": (3.5, 4.167), "2": (4.167, 4.833), "3": (4.833, 5.5)}
"""By difficulty: the way from the first opinion to the threshold, if the weights allow it."""
REACH, REST = 0.9 * (1 + FADING + FADING**2), 0.8
"""Shares of the greatest weight and of the sum of the others that bound the way."""
RULE_BROKEN = -3.0
"""Score of `social_rules` for each false card."""


class PersuadeSetting(Setting):
    """A cause, and evidence for it."""

    kind: Literal["persuade"] = "persuade"
    cause: str
    advocate: int
    """Seat that has the cards."""
    cards: tuple[Card, ...]

    @property
    def by_id(self) -> dict[str, Card]:
        """Cards by id."""
        return {card.id: card for card in self.cards}


class PersuadeLedger(Ledger):
    """Citations, and the opinion that follows from them."""

    def __init__(self, setting: PersuadeSetting, hidden: ListenerHidden) -> None:
        self._setting = setting
        self.opinion = Opinion(hidden)
        self.verdict: str | None = None
        """The listener's latest AGREE or REJECT."""
        self._left = -1
        """Seat that left."""

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether the listener agrees."""
        if said.action.action_type == "leave":
            self._left = seat
        if seat == self._setting.advocate:
            card = said.value("CITE")
            if card is not None:
                self.opinion.hear(card)
            return False
        if said.move is not None and said.move.name in ("AGREE", "REJECT"):
            self.verdict = said.move.name
        return self.verdict == "AGREE"

    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """Advocate: how far the opinion has come; -3 for each false card. Listener: 10 for the verdict that
        follows from its weights, if it has heard the other out.
        """
        false = sum(not card.true for card in self.opinion.cited)
        facts = {"deal": self.verdict == "AGREE", "cards": len(self.opinion.cited), "false": false}
        if seat == self._setting.advocate:
            rules = max(-10.0, RULE_BROKEN * false)
            return Outcome(goal=10 * self.opinion.share, social_rules=rules, facts=facts)
        heard_out = self._left != seat or len(self.opinion.cited) >= MOST_CARDS
        right = "AGREE" if self.opinion.is_won else "REJECT"
        return Outcome(goal=10.0 if self.verdict == right and heard_out else 0.0, facts=facts)


class Persuade(Family[PersuadeSetting, ListenerHidden]):
    """Family `persuade`."""

    name = "persuade"
    roles = True

    def setting(self, draws: Random, split: str, level: str, seat: int) -> PersuadeSetting:
        """Three cards of each type in any order; the agent has them."""
        found = list[tuple[str, str]]()
        for one in TYPES:
            texts = draws.sample(EVIDENCE[one][split], CARDS_A_TYPE)
            found += [(one, text.format(n=draws.randint(11, 89))) for text in texts]
        draws.shuffle(found)
        cards = [
            Card(id=f"e{number}", type=one, text=text, true=draws.random() >= FALSE_SHARE)
            for number, (one, text) in enumerate(found, 1)
        ]
        return PersuadeSetting(cause=draws.choice(CAUSES[split]), advocate=seat, cards=tuple(cards))

    def hidden(self, draws: Random, split: str, level: str) -> ListenerHidden:
        """Weights, opinion and threshold, so that the best cards reach it."""
        weights = [0] * len(TYPES)
        while not any(weights):
            weights = [draws.choice(WEIGHTS) for _ in TYPES]
        most = max(weights)
        way = min(draws.uniform(*WAYS[level]), REACH * most + REST * (sum(weights) - most))
        opinion = round(draws.uniform(0, 2), 3)
        return ListenerHidden(
            opinion=opinion,
            threshold=round(opinion + way, 3),
            weights=dict(zip(TYPES, weights, strict=True)),
            checks=draws.random() < 0.5,
            patience=draws.randint(4, 9),
        )

    def scenario(self, setting: PersuadeSetting, split: str, wording: int) -> str:
        """The cause."""
        wordings = PERSUADE[split]
        return wordings[wording % len(wordings)].format(cause=setting.cause)

    def goal(self, setting: PersuadeSetting, seat: int) -> str:
        """The cards and rules."""
        cards = "; ".join(card.line for card in setting.cards)
        return (
            f"Persuade the other to {setting.cause}, without false evidence. The other cares about some "
            f"types of evidence only; further cards of a type count less. [CITE e1] cites a card, at most "
            f"{MOST_CARDS} count. Cards: {cards}. At most one move in a message counts, in this form alone. "
            f"You have {TURNS} messages. Example: Consider this. [CITE e1]"
        )

    def other_goal(self, setting: PersuadeSetting, seat: int, hidden: ListenerHidden) -> str:
        """The listener's opinion and weights."""
        weights = ", ".join(f"{name} {weight}" for name, weight in hidden.weights.items())
        known = [card.id for card in setting.cards if not card.true] if hidden.checks else []
        false = (
            f" You know that these are false: {' '.join(known)}; each of them counts {FALSE_CARD:g}."
            if known
            else ""
        )
        return (
            f"Decide by evidence whether to {setting.cause}. Your opinion is {hidden.opinion:g}; agree once "
            f"it is at least {hidden.threshold:g}. A card counts by its type: {weights}; the second of a "
            f"type 0.7 times, the third 0.49 times that.{false} At most {MOST_CARDS} cards count. [AGREE] "
            f"agrees and ends the talk, [REJECT] refuses. At most one move in a message counts, in this form "
            f"alone. You have {TURNS} messages. Example: Not yet, go on. [REJECT]"
        )

    def read(self, setting: PersuadeSetting, name: str, argument: str) -> Any:
        """CITE has a card; AGREE and REJECT have nothing."""
        if name == "CITE":
            return setting.by_id.get(argument)
        return True if name in ("AGREE", "REJECT") and not argument else None

    def ledger(self, setting: PersuadeSetting, hidden: ListenerHidden) -> PersuadeLedger:
        """An empty ledger."""
        return PersuadeLedger(setting, hidden)

    def partner(
        self,
        setting: PersuadeSetting,
        seat: int,
        hidden: ListenerHidden,
        ledger: Ledger,
        draws: Random,
        split: str,
    ) -> Speaker:
        """The listener."""
        if not isinstance(ledger, PersuadeLedger):
            raise TypeError(f"not a ledger of a persuasion: {type(ledger).__name__}")
        return PersuadePartner(setting.cause, ledger.opinion, hidden, draws, split)

    def player(self, setting: PersuadeSetting, seat: int, draws: Random) -> Speaker:
        """A player that tries types, and stays with what counts."""
        return PersuadePlayer(setting.cards, draws)

    def thinker(self, setting: PersuadeSetting, seat: int) -> PersuadeThinker:
        """A player that notes what counts."""
        return PersuadeThinker(setting.cards)

    def random_move(self, setting: PersuadeSetting, seat: int, draws: Random) -> str:
        """Any card; a listener agrees or rejects."""
        if seat == setting.advocate:
            return f"[CITE {draws.choice(setting.cards).id}]"
        return draws.choice(("[AGREE]", "[REJECT]"))
