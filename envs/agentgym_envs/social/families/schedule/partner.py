"""Rule-based partner with a calendar."""

from random import Random

from agentgym_envs.social.content.phrases import SCHEDULING
from agentgym_envs.social.families.schedule.week import SLOTS, Calendar, day_of
from agentgym_envs.social.families.standing import Patience
from agentgym_envs.social.family import LEAVE, Speaker
from agentgym_envs.social.partners.temperament import Temperament
from agentgym_envs.social.partners.voice import Voice
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

BEST, WORST = 3.0, 1.0
"""Preferences that it insists on first and last."""
PACE = 7
"""Turns in which it comes to take any free slot."""
LEAST_DAYS = 3
"""Days on which the other side has to have tried, before it agrees that there is no slot."""


class SchedulePartner(Speaker):
    """Insists on its best slots first; never takes a slot that is busy."""

    def __init__(
        self,
        calendar: Calendar,
        others: list[str],
        temperament: Temperament,
        *,
        terse: bool,
        curious: float,
        draws: Random,
        split: str,
    ) -> None:
        self._calendar, self._others, self._temperament = calendar, others, temperament
        self._terse, self._curious, self._draws = terse, curious, draws
        self._voice = Voice(SCHEDULING, split, draws)
        self._patience = Patience(temperament.patience)
        self._left = calendar.slots
        """Free slots that it has not proposed yet."""
        self._least = BEST
        self._turn, self._known = 0, 0

    def reply(self, heard: Utterance | None) -> Action:
        """Accept, answer, propose or leave."""
        if heard is not None and self._patience.lost(new=self._is_new()):
            return LEAVE
        self._concede()
        if heard is None:
            return self._voice.say(self._voice.words("open"), self._proposal())
        if heard.move is not None and heard.move.name == "NOSLOT":
            return self._agreed_on_none()
        slot = self._others[-1] if self._others else None
        if slot is not None and self._calendar.free.get(slot, 0) >= self._least:
            return self._voice.say(self._voice.words("accept"), "[ACCEPT]")
        return self._voice.say(self._answer(heard.value("PROPOSE")), self._question(heard), self._proposal())

    def _is_new(self) -> bool:
        """Whether the other side has changed its proposal since the latest reply."""
        offers, before = self._others[self._known :], self._others[: self._known]
        self._known = len(self._others)
        return bool(offers) and offers[-1] != (before[-1] if before else None)

    def _concede(self) -> None:
        opponent = min(1.0, len(set(self._others)) / PACE)
        share = self._temperament.concession(self._turn, PACE, opponent, self._draws)
        self._least = BEST - (BEST - WORST) * share
        self._turn += 1

    def _agreed_on_none(self) -> Action:
        """Agree that there is no slot, if the other side has tried and none was free here."""
        tried = set(self._others)
        if len({day_of(slot) for slot in tried}) >= LEAST_DAYS and not tried & set(self._calendar.free):
            return self._voice.say(self._voice.words("no slot"), "[NOSLOT]")
        return self._voice.say(self._voice.words("not yet"), self._proposal())

    def _answer(self, slot: str | None) -> str:
        """Answer to a proposal that it does not take."""
        if slot is None:
            return ""
        if slot in self._calendar.free:
            return self._voice.words("unwilling")
        busy = self._voice.words("busy")
        if self._terse:
            return busy
        day = day_of(slot)
        hours = [one for one in SLOTS if one in self._calendar.free and day_of(one) == day]
        if not hours:
            return f"{busy} {self._voice.words('nothing', day=day)}"
        return f"{busy} {self._voice.words('day', day=day, slots=' and '.join(hours))}"

    def _question(self, heard: Utterance) -> str:
        """A curious question where its own proposal was turned down."""
        turned_down = heard.move is None or heard.move.name != "ACCEPT"
        asks = self._turn > 1 and turned_down and self._draws.random() < self._curious
        return self._voice.words("curious") if asks else ""

    def _proposal(self) -> str:
        """The best slot that it has not proposed yet, if it is good enough."""
        if self._left and self._calendar.free[self._left[0]] >= self._least:
            return f"[PROPOSE {self._left.pop(0)}]"
        return self._voice.words("exhausted")
