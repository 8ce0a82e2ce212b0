"""Bargaining for a price: `PriceGoal` (source `craigslist_bargains`).

The profiles give a target to each seat and no limit, so a score is relative to the target: 8 at the target,
10 where the price is 25 % better, 0 where it is 50 % worse.
"""

import re
from typing import Any, Final, Literal

from agentgym_envs.core import Record
from agentgym_envs.sotopia.moves import number
from agentgym_envs.sotopia.protocol.markup import shown_to
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification.deals import agreed_offer, read_answer
from agentgym_envs.sotopia.verification.speech import (
    Log,
    Statement,
    acceptances,
    approvals,
    has_other_numbers,
    is_retraction,
    is_vague,
    latest_of_partner,
    numbers,
    proposed,
    statements,
    utterances,
)
from agentgym_envs.sotopia.verification.verdict import Scores, Verdict

SOURCE: Final = "craigslist_bargains"
_AMOUNT: Final = r"\$ ?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,2})?)"
_FIRST: Final = re.compile(_AMOUNT)
_TARGET: Final = re.compile(rf"target price[^$.]{{0,40}}{_AMOUNT}", re.IGNORECASE)


class PriceGoal(Record):
    """List price of an item, and the targets of buyer and seller, in dollars."""

    kind: Literal["price"] = "price"
    list_price: float
    buyer: int
    """Seat of the buyer."""
    targets: tuple[float, float]
    """By seat."""

    def gain(self, seat: int, price: float) -> float:
        """Distance of a price from the seat's target, relative to the target; positive if it is better."""
        better = self.targets[seat] - price if seat == self.buyer else price - self.targets[seat]
        return better / self.targets[seat]

    def scores(self, price: float | None) -> tuple[Scores, Scores]:
        """Scores of a deal at this price, or of none; both without rounding."""
        return self._score(0, price), self._score(1, price)

    def read(self, name: str, argument: str) -> Any:
        """The value of a move: a price of OFFER, True of ACCEPT and REJECT; None for anything else."""
        return number(argument) if name == "OFFER" else read_answer(name, argument)

    def by_moves(self, log: Log) -> Verdict:
        """The verdict by moves alone: what is not accepted by `[ACCEPT]` is no deal."""
        found = agreed_offer(log, self.read)
        return self.failed("no deal by moves") if found is None else self._verdict(found[1])

    def by_words(self, log: Log) -> Verdict:
        """The verdict by plain words: the last price that one proposes and the other explicitly accepts."""
        price, reason = agreed_price(log)
        if price is None:
            return Verdict(kind="price", scores=None, reason=reason)
        return self._verdict(price)

    def failed(self, reason: str) -> Verdict:
        """The verdict of a conversation without a deal."""
        return Verdict(kind="price", scores=self.scores(None), reason=reason)

    def _score(self, seat: int, price: float | None) -> Scores:
        if price is None:
            return Scores(goal=0, financial_and_material_benefits=0)
        gain = self.gain(seat, price)
        goal = min(10.0, 8 + 8 * gain) if gain >= 0 else max(0.0, 8 + 16 * gain)
        return Scores(goal=goal, financial_and_material_benefits=5 * min(1.0, max(-1.0, 2 * gain)))

    def _verdict(self, price: float) -> Verdict:
        return Verdict(kind="price", scores=self.scores(price), reason=f"deal at ${price:,.2f}", agreed=True)


def read_goal(scene: Scene) -> PriceGoal | None:
    """The goal of a scene; None if its texts do not say it."""
    goals = [shown_to(f"agent_{seat}", goal) for seat, goal in enumerate(scene.environment.agent_goals)]
    asked = _FIRST.search(shown_to("environment", scene.environment.scenario))
    targets = [_TARGET.search(goal) for goal in goals]
    buyers = [seat for seat, goal in enumerate(goals) if re.search(r"\bbuyer\b", goal, re.IGNORECASE)]
    if asked is None or targets[0] is None or targets[1] is None or len(buyers) != 1:
        return None
    wanted = _number(targets[0][1]), _number(targets[1][1])
    if min(wanted) <= 0:
        return None
    return PriceGoal(list_price=_number(asked[1]), buyer=buyers[0], targets=wanted)


def agreed_price(log: Log) -> tuple[float | None, str]:
    """The price that both said yes to in plain words, or None and the reason.

    An acceptance answers the partner's latest utterance. It repeats the amount that this ends with, or it
    names none and the partner named no other number. A later statement with another number leaves all
    undecided.
    """
    said = utterances(log)
    found = [
        (one, price) for one in said if (price := _accepted(one, latest_of_partner(one, log))) is not None
    ]
    if not found:
        return None, "nobody explicitly accepts an amount that the other proposed"
    last, price = found[-1]
    for later in statements(log):
        if (later.step, later.seat) <= (last.step, last.seat):
            continue
        if is_retraction(later.text) or has_other_numbers(later.text, {price}):
            return None, f"after ${price:,.2f} was accepted, something else is named"
    return price, ""


def _accepted(answer: Statement, before: str | None) -> float | None:
    """The price that an utterance accepts; None if there is none, or several could be meant."""
    if before is None:
        return None
    offer, named = proposed(before), numbers(answer.text)
    if offer is None or has_other_numbers(answer.text, {offer}):
        return None
    if named:
        is_named = any(numbers(sentence) for sentence in approvals(answer.text))
        return offer if is_named or acceptances(answer.text) else None
    unclear = is_vague(before + answer.text) or has_other_numbers(before, {offer})
    return offer if acceptances(answer.text) and not unclear else None


def _number(text: str) -> float:
    return float(text.replace(",", ""))
