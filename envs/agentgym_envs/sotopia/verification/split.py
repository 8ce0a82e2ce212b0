"""Division of items: `SplitGoal` (source `deal-or-no-deal`)."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.markup import shown_to
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification.deals import agreed_offer, read_answer
from agentgym_envs.sotopia.verification.speech import (
    Log,
    Statement,
    acceptances,
    approvals,
    is_negated,
    is_retraction,
    latest_of_partner,
    small_number,
    statements,
    utterances,
)
from agentgym_envs.sotopia.verification.verdict import Scores, Verdict

SOURCE: Final = "deal-or-no-deal"
Items = dict[str, int]
"""Numbers by kind."""

_KEEPS: Final = re.compile(r"me:((?: [a-z]+=\d{1,3})+)", re.ASCII)
_COUNT: Final = re.compile(r"\b(\d+) ([a-z]+)\b")
_TAKES: Final = (
    r"(?:['’](?:ll|d)|,? (?:will|would|could|can|should))?(?: \w+ly| just)? (?:take|get|have|keep)s?\b"
)
_SHARE: Final = re.compile(rf"\b(I|you){_TAKES}(.*?)(?=\b(?:I|you){_TAKES}|[.?!;]|$)", re.IGNORECASE)
_AMOUNT: Final = (
    r"(\d+|an?|the|all|both|one|two|three|four|five|six|seven|eight|nine|ten)(?: of)?(?: the| those)?"
)

_PART: Final = re.compile(
    r"\b(?:half|most|some|few|couple|part|rest|other|others|remaining|each|every|or)\b", re.IGNORECASE
)
"""Words that make `the hats` another number than all of them."""


class SplitGoal(Record):
    """Items to divide, and what one of each kind is worth to each seat, in points."""

    kind: Literal["split"] = "split"
    pool: Items
    values: tuple[Items, Items]
    """By seat."""

    def points(self, seat: int, share: Mapping[str, int]) -> int:
        """Worth of a share."""
        return sum(number * self.values[seat][kind] for kind, number in share.items())

    def scores(self, shares: tuple[Items, Items] | None) -> tuple[Scores, Scores]:
        """Scores of a division, or of none: ten times the share of the points of all items.

        Only the goal is defined: the rules of the published scenarios name no other dimension.
        """
        if shares is None:
            return Scores(goal=0), Scores(goal=0)
        first, second = (
            10 * self.points(seat, shares[seat]) / self.points(seat, self.pool) for seat in (0, 1)
        )
        return Scores(goal=first), Scores(goal=second)

    def rest(self, share: Mapping[str, int]) -> Items:
        """Items that a share leaves."""
        return {kind: number - share[kind] for kind, number in self.pool.items()}

    def read(self, name: str, argument: str) -> Any:
        """The value of a move: what the author of OFFER keeps of each kind of the pool, in its order; True of
        ACCEPT and REJECT; None for anything else. An offer names all kinds.
        """
        return self._division(argument) if name == "OFFER" else read_answer(name, argument)

    def by_moves(self, log: Log) -> Verdict:
        """The verdict by moves alone: what is not accepted by `[ACCEPT]` is no division."""
        found = agreed_offer(log, self.read)
        if found is None:
            return self.failed("no agreement by moves")
        return self._verdict(found[0], dict(zip(self.pool, found[1], strict=True)))

    def by_words(self, log: Log) -> Verdict:
        """The verdict by plain words: a complete division that one proposes and the other accepts."""
        said = utterances(log)
        found = [(one, share) for one in said if (share := self._accepted(one, log)) is not None]
        if not found:
            return self._undecided("nobody explicitly accepts a complete division that the other proposed")
        last, share = found[-1]
        shares = share, self.rest(share)
        for later in statements(log):
            after = (later.step, later.seat) > (last.step, last.seat)
            if after and (is_retraction(later.text) or not self._fits(later.text, shares)):
                return self._undecided("after a division was accepted, something else is named")
        return self._verdict(1 - last.seat, share)

    def failed(self, reason: str) -> Verdict:
        """The verdict of a conversation without a division."""
        return Verdict(kind="split", scores=self.scores(None), reason=reason)

    def proposal(self, text: str) -> Items | None:
        """Items of a speaker in a proposal that names the shares of both; None if it is not complete."""
        shares: dict[str, Items] = {}
        for who, words in _SHARE.findall(text):
            items = self._items(words)
            if items is None or (items and who.lower() in shares):
                return None
            if items:
                shares[who.lower()] = items
        if set(shares) != {"i", "you"}:
            return None
        mine, yours = shares["i"], shares["you"]
        complete = all(mine.get(kind, 0) + yours.get(kind, 0) == number for kind, number in self.pool.items())
        return {kind: mine.get(kind, 0) for kind in self.pool} if complete else None

    def _accepted(self, answer: Statement, log: Log) -> Items | None:
        """Items of the partner in the proposal that an utterance accepts."""
        before = latest_of_partner(answer, log)
        share = None if before is None else self.proposal(before)
        if share is None or not (acceptances(answer.text) or approvals(answer.text)):
            return None
        return share if self._fits(answer.text, (share, self.rest(share))) else None

    def _fits(self, text: str, shares: tuple[Items, Items]) -> bool:
        """Whether every number of a kind in a text is that of one of the shares."""
        return all(
            number is not None and number in (shares[0][kind], shares[1][kind])
            for kind, number in self._named(text)
        )

    def _items(self, text: str) -> Items | None:
        """Numbers of the kinds in a text; None if one cannot be read, or a kind is named twice."""
        if is_negated(text) or _PART.search(text):
            return None
        named = self._named(text)
        read = {kind: number for kind, number in named if number is not None}
        return read if len(read) == len(named) else None  # a kind that is named twice is once in `read`

    def _named(self, text: str) -> list[tuple[str, int | None]]:
        """Each kind that a text names with a number, in their order."""
        found: list[tuple[str, int | None]] = []
        for kind, number in self.pool.items():
            pattern = re.compile(rf"\b{_AMOUNT}(?: (\d+|\w+))? {re.escape(kind)}(s?)\b", re.IGNORECASE)
            for amount, between, plural in pattern.findall(text):
                found.append((kind, _meant(amount.lower(), between, bool(plural), number)))
        return found

    def _division(self, argument: str) -> tuple[int, ...] | None:
        found = _KEEPS.fullmatch(argument)
        pairs = [pair.split("=") for pair in found[1].split()] if found else []
        keeps = {kind: int(number) for kind, number in pairs}
        if len(keeps) != len(pairs) or set(keeps) != set(self.pool):
            return None
        possible = all(keeps[kind] <= number for kind, number in self.pool.items())
        return tuple(keeps[kind] for kind in self.pool) if possible else None

    def _verdict(self, seat: int, share: Items) -> Verdict:
        shares = (share, self.rest(share)) if seat == 0 else (self.rest(share), share)
        told = " / ".join(" ".join(f"{kind} {number}" for kind, number in one.items()) for one in shares)
        return Verdict(kind="split", scores=self.scores(shares), reason=f"agreed on {told}", agreed=True)

    def _undecided(self, reason: str) -> Verdict:
        return Verdict(kind="split", scores=None, reason=reason)


def read_goal(scene: Scene) -> SplitGoal | None:
    """The goal of a scene; None if its texts do not give a value for each kind."""
    pool = {
        kind.removesuffix("s"): int(number)
        for number, kind in _COUNT.findall(shown_to("environment", scene.environment.scenario))
    }
    goals = [shown_to(f"agent_{seat}", goal) for seat, goal in enumerate(scene.environment.agent_goals)]
    values = [{kind: _worth(kind, goal) for kind in pool} for goal in goals]
    first, second = ({kind: worth for kind, worth in one.items() if worth is not None} for one in values)
    goal = SplitGoal(pool=pool, values=(first, second))
    if not pool or len(first) < len(pool) or len(second) < len(pool):
        return None
    return goal if goal.points(0, pool) > 0 and goal.points(1, pool) > 0 else None


def _worth(kind: str, goal: str) -> int | None:
    """Points for one of a kind; None unless the text says it once."""
    found = re.findall(rf"\b{re.escape(kind)}s?\b[^\d,;]{{0,20}}(\d+) points?\b", goal, re.IGNORECASE)
    return int(found[0]) if len(found) == 1 else None


def _meant(amount: str, between: str, plural: bool, number: int) -> int | None:
    """The number that words such as `the two` before a kind mean; None if it is not clear."""
    counted = small_number(between) if between else None
    if between and counted is None:
        return None  # another word, such as "extra"
    if amount in ("a", "an"):
        return 1 if not between and not plural else None
    if amount in ("the", "all"):
        return counted if counted is not None else number if plural or number == 1 else 1
    if between:
        return None
    return 2 if amount == "both" else small_number(amount)
