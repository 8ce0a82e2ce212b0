"""Verifiers of published scenarios whose goals a program can check: `PublishedVerifier`, `verifier_of`.

The partner has the rules of the social worlds' partner of the same kind. Hidden parameters are drawn from the
seed and the kind of goal, not from the scenario.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Any, Final, Generic, TypeVar

from agentgym_envs.core import Record
from agentgym_envs.social.families.friends.lists import Person
from agentgym_envs.social.families.friends.partner import FriendsPartner
from agentgym_envs.social.families.friends.rules import FriendsHidden
from agentgym_envs.social.families.price.partner import PricePartner
from agentgym_envs.social.families.price.side import Side
from agentgym_envs.social.families.split.partner import SplitPartner
from agentgym_envs.social.families.split.rules import SplitHidden
from agentgym_envs.social.families.standing import Offers
from agentgym_envs.social.family import Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.partners.temperament import Temperament, drawn_temperament
from agentgym_envs.sotopia.moves import Utterance, utterance
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import EndReason
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification.friends import MOST_NAMES, FriendsGoal
from agentgym_envs.sotopia.verification.price import PriceGoal
from agentgym_envs.sotopia.verification.speech import Log
from agentgym_envs.sotopia.verification.split import SplitGoal
from agentgym_envs.sotopia.verification.verifier import verifiable

SPLIT, LEVEL = "test", "2"
"""Temperaments and wordings of a partner are those of this split and difficulty of the social worlds."""
YIELDS: Final = (0.15, 0.4)
"""Distance of a partner's limit from its target price, as a share of it; profiles tell no limit."""
FLOORS: Final = (3, 6)
"""The fewest points that a partner takes, in tenths of all."""
OPEN: Final = 0.7
"""Probability that a partner lists all its friends' values at once."""
PATIENCE: Final = (4, 9)
ONLY_MOVES: Final = "Note: only moves count, in this form alone, at most one in a message: "
ANSWERS: Final = "[ACCEPT] takes the other's latest offer and ends the talk, [REJECT] declines."

GoalT = TypeVar("GoalT", PriceGoal, SplitGoal, FriendsGoal)
HiddenT = TypeVar("HiddenT", bound=Record)


class PublishedVerifier(ABC, Generic[GoalT, HiddenT]):
    """Moves, hidden parameters, rule-based partner and scores of one episode; the agent has `seat`."""

    has_hidden_roles = False

    def __init__(self, scene: Scene, goal: GoalT, seat: int, seed: int) -> None:
        self.scene = scene
        self._goal, self._other = goal, 1 - seat
        self._draws = Random(f"{goal.kind}/{seed}")
        self._hidden = self._drawn(self._draws)

    @property
    def hidden(self) -> dict[str, Any]:
        """Hidden parameters of the partner, for the record of an episode that is over."""
        return self._hidden.model_dump(mode="json")

    @property
    def notes(self) -> tuple[str, str]:
        """Notes to each seat on moves, besides its goal."""
        note = ONLY_MOVES + self._syntax()
        return note, note

    @abstractmethod
    def partner(self) -> Speaker:
        """The rule-based partner, in the seat that the agent does not have; once an episode."""

    @abstractmethod
    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether it seals an agreement."""

    @abstractmethod
    def _drawn(self, draws: Random) -> HiddenT: ...

    @abstractmethod
    def _syntax(self) -> str: ...

    def said(self, action: Action) -> Utterance:
        """An action with the move in it."""
        return utterance(action, self._goal.read)

    def outcome(self, seat: int, ends: Sequence[EndReason], log: Log) -> Outcome:
        """Scores of a seat by the moves in the log, whatever ended it."""
        verdict = self._goal.by_moves(log)
        if verdict.scores is None:
            raise ValueError(f"moves leave nothing undecided, and yet: {verdict.reason}")
        scores = verdict.scores[seat]
        facts = {"deal": verdict.agreed, "outcome": verdict.reason}
        return Outcome(goal=scores.goal, financial=scores.financial_and_material_benefits, facts=facts)


class OfferVerifier(PublishedVerifier[GoalT, HiddenT]):
    """Verifier of what is agreed on by offers."""

    def __init__(self, scene: Scene, goal: GoalT, seat: int, seed: int) -> None:
        super().__init__(scene, goal, seat, seed)
        self._offers = Offers("OFFER")

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether it accepts a standing offer."""
        return self._offers.record(seat, said)


class PriceHidden(Record):
    """Hidden parameters of a partner in a sale."""

    yields: float
    """Distance of its limit from its target, as a share of the target."""
    temperament: Temperament


class PriceVerifier(OfferVerifier[PriceGoal, PriceHidden]):
    """Verifier of a sale."""

    def partner(self) -> Speaker:
        """The other side of the sale."""
        goal, other = self._goal, self._other
        sells, target = other != goal.buyer, goal.targets[other]
        limit = target * (1 - self._hidden.yields if sells else 1 + self._hidden.yields)
        side = Side(sells, limit, target, goal.list_price)
        heard = self._offers.made[1 - other]
        return PricePartner(side, heard, self._hidden.temperament, self._draws, SPLIT)

    def _drawn(self, draws: Random) -> PriceHidden:
        temperament = drawn_temperament(draws, SPLIT, LEVEL)
        return PriceHidden(yields=round(draws.uniform(*YIELDS), 4), temperament=temperament)

    def _syntax(self) -> str:
        return f"[OFFER 72.50] offers a price, {ANSWERS} Example: I could do a little better. [OFFER 72.50]"


class SplitVerifier(OfferVerifier[SplitGoal, SplitHidden]):
    """Verifier of a division."""

    def partner(self) -> Speaker:
        """The other side of the division."""
        goal, hidden = self._goal, self._hidden
        kinds = tuple(goal.pool)
        values = tuple(goal.values[self._other][kind] for kind in kinds)
        heard = self._offers.made[1 - self._other]
        pool = tuple(goal.pool.values())
        return SplitPartner(kinds, pool, values, hidden.floor, heard, hidden.temperament, self._draws, SPLIT)

    def _drawn(self, draws: Random) -> SplitHidden:
        return SplitHidden(floor=draws.randint(*FLOORS), temperament=drawn_temperament(draws, SPLIT, LEVEL))

    def _syntax(self) -> str:
        offer = "[OFFER me: " + " ".join(f"{kind}=1" for kind in self._goal.pool) + "]"
        return f"{offer} proposes what you keep of each kind, the other gets the rest; {ANSWERS}"


class FriendsVerifier(PublishedVerifier[FriendsGoal, FriendsHidden]):
    """Verifier of a common friend."""

    def __init__(self, scene: Scene, goal: FriendsGoal, seat: int, seed: int) -> None:
        super().__init__(scene, goal, seat, seed)
        self._selected: list[str | None] = [None, None]

    def partner(self) -> Speaker:
        """The owner of the other list."""
        goal, hidden = self._goal, self._hidden
        known = goal.friends[self._other].items()
        people = tuple(Person(name=name, attributes=attributes) for name, attributes in known)
        return FriendsPartner(
            people,
            goal.keys,
            is_open=hidden.open,
            patience=hidden.patience,
            draws=self._draws,
            split=SPLIT,
        )

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether both seats have selected the same person."""
        name = said.value("SELECT")
        if name is None:
            return False
        self._selected[seat] = name
        return self._selected[1 - seat] == name

    def _drawn(self, draws: Random) -> FriendsHidden:
        return FriendsHidden(open=draws.random() < OPEN, patience=draws.randint(*PATIENCE))

    def _syntax(self) -> str:
        key = self._goal.keys[0]
        pairs = "; ".join(f"{one}=..." for one in self._goal.keys)
        return (
            f"[ASK {key}] asks for the other's values, [TELL {pairs}] describes a friend of yours by one or "
            "more of them, [SELECT Name] selects somebody; both have to select the same person, which ends "
            f"the talk. More than {MOST_NAMES} other names of your list before halve the score."
        )


AnyPublishedVerifier = PriceVerifier | SplitVerifier | FriendsVerifier


def verifier_of(scene: Scene, seat: int, seed: int) -> AnyPublishedVerifier | None:
    """The verifier of an episode in which the agent has this seat; None where no program can check goals."""
    goal = verifiable(scene)
    if isinstance(goal, PriceGoal):
        return PriceVerifier(scene, goal, seat, seed)
    if isinstance(goal, SplitGoal):
        return SplitVerifier(scene, goal, seat, seed)
    return None if goal is None else FriendsVerifier(scene, goal, seat, seed)
