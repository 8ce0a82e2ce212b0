"""Settings, moves and scores of a meeting."""

from collections.abc import Sequence
from random import Random
from typing import Any, Literal

from agentgym_envs.core import Record
from agentgym_envs.social.content.appointments import ORDINARY, PRIVATE, PURPOSES
from agentgym_envs.social.content.scenes import SCHEDULE
from agentgym_envs.social.families.schedule.partner import SchedulePartner
from agentgym_envs.social.families.schedule.player import SchedulePlayer
from agentgym_envs.social.families.schedule.thinker import ScheduleThinker
from agentgym_envs.social.families.schedule.week import SLOTS, Calendar
from agentgym_envs.social.families.standing import Offers
from agentgym_envs.social.family import TURNS, Family, Ledger, Setting, Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.partners.temperament import Temperament, drawn_temperament
from agentgym_envs.sotopia.moves import Utterance, padded, spoken
from agentgym_envs.sotopia.protocol.conversation import EndReason

BUSY = (8, 14)
"""Busy slots of a calendar."""
WITHOUT_SLOT = {"1": 0.08, "2": 0.13, "3": 0.18}
"""Share of tasks without a common slot by difficulty."""
COMMON = {"1": (6, 12), "2": (4, 5), "3": (2, 3)}
"""Common free slots by difficulty."""
NAMED = 3
"""Ordinary appointments that a goal names."""


class ScheduleSetting(Setting):
    """Two calendars by seat."""

    kind: Literal["schedule"] = "schedule"
    purpose: str
    calendars: tuple[Calendar, Calendar]

    @property
    def common(self) -> list[str]:
        """Slots that are free in both."""
        return [slot for slot in self.calendars[0].free if slot in self.calendars[1].free]


class ScheduleHidden(Record):
    """Hidden parameters of a partner."""

    terse: bool
    """Whether it does not say which slots of a day it has instead."""
    curious: float
    """Probability that it asks why a slot is busy."""
    temperament: Temperament


class ScheduleLedger(Offers, Ledger):
    """Proposals, and whether both seats say that there is no slot."""

    def __init__(self, setting: ScheduleSetting) -> None:
        super().__init__("PROPOSE")
        self._setting = setting
        self.given_up = [False, False]
        """By seat: whether its latest move was NOSLOT."""
        self._leaked = [False, False]

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether it accepts a slot, or both have said NOSLOT."""
        reasons = self._setting.calendars[seat].reasons
        if said.words and not self._leaked[seat]:
            self._leaked[seat] = spoken(reasons, padded(said.words))
        if said.move is not None:
            self.given_up[seat] = said.move.name == "NOSLOT"
        return super().record(seat, said) or all(self.given_up)

    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """10 times the preference over the best one in common; 10 for agreeing rightly that there is none."""
        common, calendar = self._setting.common, self._setting.calendars[seat]
        goal = 0.0
        if all(self.given_up):
            goal = 0.0 if common else 10.0
        elif self.author >= 0 and common and self.agreed in calendar.free:
            best = max(calendar.free[slot] for slot in common)
            goal = min(10.0, 10 * calendar.free[self.agreed] / best)
        facts = {"deal": self.author >= 0, "slot": self.agreed, "common": len(common)}
        return Outcome(goal=goal, secret=-10.0 if self._leaked[seat] else 0.0, facts=facts)


class Schedule(Family[ScheduleSetting, ScheduleHidden]):
    """Family `schedule`."""

    name = "schedule"

    def setting(self, draws: Random, split: str, level: str, seat: int) -> ScheduleSetting:
        """Two calendars with as many common slots as the level says, or none."""
        low, high = (0, 0) if draws.random() < WITHOUT_SLOT[level] else COMMON[level]
        while True:
            frees = [draws.sample(SLOTS, len(SLOTS) - draws.randint(*BUSY)) for _ in (0, 1)]
            if not high:
                others = [slot for slot in SLOTS if slot not in frees[0]]
                frees[1] = draws.sample(others, min(len(others), len(frees[1])))
            if low <= len(set(frees[0]) & set(frees[1])) <= high:
                first, second = (_calendar(draws, split, free) for free in frees)
                purpose = draws.choice(PURPOSES[split])
                return ScheduleSetting(purpose=purpose, calendars=(first, second))

    def hidden(self, draws: Random, split: str, level: str) -> ScheduleHidden:
        """A temperament, reserve and curiosity."""
        return ScheduleHidden(
            terse=draws.random() < (0.5 if level == "3" else 0.2),
            curious=round(draws.uniform(0.1, 0.6), 4),
            temperament=drawn_temperament(draws, split, level),
        )

    def scenario(self, setting: ScheduleSetting, split: str, wording: int) -> str:
        """The purpose."""
        wordings = SCHEDULE[split]
        return wordings[wording % len(wordings)].format(purpose=setting.purpose)

    def goal(self, setting: ScheduleSetting, seat: int) -> str:
        """Own calendar and rules."""
        return (
            "Agree on a time that is free for you, as good as you can get, and keep the private reason to "
            f"yourself. {setting.calendars[seat].text} [PROPOSE Tue 14] proposes a time, [ACCEPT] takes the "
            "other's latest proposal and ends the talk, [NOSLOT] says that no time suits both; both have to "
            "say so. At most one move in a message counts, in this form alone. "
            f"You have {TURNS} messages. Example: How about Tuesday? [PROPOSE Tue 14]"
        )

    def read(self, setting: ScheduleSetting, name: str, argument: str) -> Any:
        """PROPOSE has a slot; ACCEPT, REJECT and NOSLOT have nothing."""
        if name == "PROPOSE":
            return argument if argument in SLOTS else None
        return True if name in ("ACCEPT", "REJECT", "NOSLOT") and not argument else None

    def ledger(self, setting: ScheduleSetting, hidden: ScheduleHidden) -> ScheduleLedger:
        """An empty ledger."""
        return ScheduleLedger(setting)

    def partner(
        self,
        setting: ScheduleSetting,
        seat: int,
        hidden: ScheduleHidden,
        ledger: Ledger,
        draws: Random,
        split: str,
    ) -> Speaker:
        """The owner of the other calendar."""
        if not isinstance(ledger, ScheduleLedger):
            raise TypeError(f"not a ledger of a meeting: {type(ledger).__name__}")
        return SchedulePartner(
            setting.calendars[seat],
            ledger.made[1 - seat],
            hidden.temperament,
            terse=hidden.terse,
            curious=hidden.curious,
            draws=draws,
            split=split,
        )

    def player(self, setting: ScheduleSetting, seat: int, draws: Random) -> Speaker:
        """A player that proposes its best slots first."""
        return SchedulePlayer(setting.calendars[seat], draws)

    def thinker(self, setting: ScheduleSetting, seat: int) -> ScheduleThinker:
        """A player that notes what is ruled out."""
        return ScheduleThinker(setting.calendars[seat])

    def random_move(self, setting: ScheduleSetting, seat: int, draws: Random) -> str:
        """A random slot of the week, or another move."""
        name = draws.choice(("PROPOSE", "ACCEPT", "REJECT", "NOSLOT"))
        return f"[PROPOSE {draws.choice(SLOTS)}]" if name == "PROPOSE" else f"[{name}]"


def _calendar(draws: Random, split: str, free: Sequence[str]) -> Calendar:
    taken = [slot for slot in SLOTS if slot not in free]
    reasons = draws.choice(PRIVATE[split])
    named = draws.sample(taken, NAMED + 1)
    busy = {slot: draws.choice(ORDINARY[split]) if slot in named[1:] else "" for slot in taken}
    busy[named[0]] = reasons[0]
    preferences = {slot: draws.randint(1, 3) for slot in free}
    return Calendar(free=preferences, busy=busy, private=named[0], reasons=reasons)
