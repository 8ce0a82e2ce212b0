"""Rule-based partner of a division."""

from random import Random

from agentgym_envs.social.content.phrases import BARGAINING
from agentgym_envs.social.families.split.shares import Share, offer_text, rest, shares, worth
from agentgym_envs.social.families.standing import Patience
from agentgym_envs.social.family import LEAVE, TURNS, Speaker
from agentgym_envs.social.partners.temperament import Temperament
from agentgym_envs.social.partners.voice import Voice
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

TARGET, TOTAL = 7, 10
"""Points that a partner aims at, which its greed exceeds, and those of the whole pool.

These and the ones below are tenths of the pool where it is worth something else.
"""
CLOSE, FAR = 1, 4
"""Points that are missing, for its hints."""


class SplitPartner(Speaker):
    """Concedes from its first demand to its floor, in its own points."""

    def __init__(
        self,
        items: tuple[str, ...],
        pool: Share,
        values: Share,
        floor: int,
        others: list[Share],
        temperament: Temperament,
        draws: Random,
        split: str,
    ) -> None:
        self._items, self._pool, self._values = items, pool, values
        self._total = worth(pool, values)
        self._tenth = self._total / TOTAL
        self._floor = floor * self._tenth
        self._others, self._temperament, self._draws = others, temperament, draws
        self._voice = Voice(BARGAINING, split, draws)
        self._patience = Patience(temperament.patience)
        self._start = TARGET * self._tenth * (1 + temperament.greed)
        self._turn, self._known = 0, 0
        self._demand = self._start

    def reply(self, heard: Utterance | None) -> Action:
        """Accept, offer or leave."""
        if heard is not None and self._patience.lost(new=self._is_new()):
            return LEAVE
        share = self._temperament.concession(self._turn, TURNS, self._conceded(), self._draws)
        self._demand = min(self._demand, self._start - (self._start - self._floor) * share)
        self._turn += 1
        given = self._given(self._others[-1]) if self._others else None
        if given is not None and given >= self._demand - 1e-9:
            return self._voice.say(self._voice.words("accept"), "[ACCEPT]")
        last = self._draws.random() < self._temperament.bluff and self._turn > 1
        return self._voice.say(
            self._hint(given),
            self._voice.words("last") if last else "",
            offer_text(self._items, self._kept()),
        )

    def _is_new(self) -> bool:
        """Whether the other side has changed its offer since the latest reply."""
        offers, before = self._others[self._known :], self._others[: self._known]
        self._known = len(self._others)
        return bool(offers) and offers[-1] != (before[-1] if before else None)

    def _given(self, share: Share) -> int:
        """Own points where the other side keeps a share."""
        return worth(rest(share, self._pool), self._values)

    def _conceded(self) -> float:
        if len(self._others) < 2:
            return 0.0
        first, latest = self._given(self._others[0]), self._given(self._others[-1])
        return (latest - first) / max(1, self._total - first)

    def _kept(self) -> Share:
        """The share with the fewest points that meet the demand; among equals the one with the fewest items,
        later the nearest to what the other side left.
        """
        left = rest(self._others[-1], self._pool) if self._others else (0,) * len(self._pool)
        enough = [one for one in shares(self._pool) if worth(one, self._values) >= self._demand - 1e-9]
        return min(enough, key=lambda one: (worth(one, self._values), _distance(one, left), one))

    def _hint(self, given: int | None) -> str:
        if given is None:
            return self._voice.words("open" if self._turn == 1 else "waiting")
        if self._patience.is_tried:
            return self._voice.words("stuck")
        missing = (self._demand - given) / self._tenth
        return self._voice.words("close" if missing <= CLOSE else "far" if missing > FAR else "nearer")


def _distance(one: Share, other: Share) -> int:
    return sum(abs(left - right) for left, right in zip(one, other, strict=True))
