"""Rule-based partner of a sale."""

from random import Random

from agentgym_envs.social.content.phrases import BARGAINING
from agentgym_envs.social.families.price.side import NEW, Side
from agentgym_envs.social.families.standing import Patience
from agentgym_envs.social.family import LEAVE, TURNS, Speaker
from agentgym_envs.social.partners.temperament import Temperament, rounded
from agentgym_envs.social.partners.voice import Voice
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

CLOSE, FAR = 0.08, 0.3
"""Gap between both offers as a share of the partner's, for its hints."""


class PricePartner(Speaker):
    """Concedes from its first offer to its limit, and takes whatever is as good as its next offer."""

    def __init__(
        self, side: Side, others: list[float], temperament: Temperament, draws: Random, split: str
    ) -> None:
        self._side, self._others, self._temperament, self._draws = side, others, temperament, draws
        self._voice = Voice(BARGAINING, split, draws)
        self._patience = Patience(temperament.patience)
        self._start = side.target * (1 + side.sign * temperament.greed)
        self._turn, self._known = 0, 0
        self._before: float | None = None
        """The other side's offer when it was last asked for."""
        self._ask = self._start

    def reply(self, heard: Utterance | None) -> Action:
        """Accept, offer or leave."""
        if heard is not None and self._patience.lost(new=self._is_new()):
            return LEAVE
        self._ask = self._next()
        self._turn += 1
        offer = self._others[-1] if self._others else None
        if offer is not None and self._side.at_least(offer, self._ask):
            return self._voice.say(self._voice.words("accept"), "[ACCEPT]")
        last = self._draws.random() < self._temperament.bluff and self._turn > 1
        return self._voice.say(
            self._hint(offer), self._voice.words("last") if last else "", f"[OFFER {_written(self._ask)}]"
        )

    def _next(self) -> float:
        """The next offer: never worse for itself than its limit, nor better than the one before."""
        share = self._temperament.concession(self._turn, TURNS, self._conceded(), self._draws)
        side, before = self._side, self._ask
        price = rounded(self._start + (side.limit - self._start) * share, self._temperament.rounding)
        if not side.at_least(price, side.limit):
            price = side.limit
        return price if self._turn == 0 or not side.at_least(price, before) else before

    def _is_new(self) -> bool:
        """Whether the other side has come nearer since the latest reply."""
        offers, self._known = self._others[self._known :], len(self._others)
        if not offers:
            return False
        before, self._before = self._before, offers[-1]
        if not self._side.is_serious(offers[-1]):
            return False
        if before is None:
            return True
        gap = abs(before - self._ask)
        return self._side.sign * (offers[-1] - before) >= NEW * gap - 0.005

    def _conceded(self) -> float:
        """Concession of the other side, as a share of the first gap."""
        if len(self._others) < 2:
            return 0.0
        gap = abs(self._others[0] - self._start)
        return self._side.sign * (self._others[-1] - self._others[0]) / gap if gap else 1.0

    def _hint(self, offer: float | None) -> str:
        if offer is None:
            return self._voice.words("open" if self._turn == 1 else "waiting")
        if self._patience.is_tried:
            return self._voice.words("stuck")
        gap = abs(offer - self._ask) / self._ask
        return self._voice.words("close" if gap < CLOSE else "far" if gap > FAR else "nearer")


def _written(price: float) -> str:
    return f"{price:.0f}" if price == int(price) else f"{price:.2f}"
