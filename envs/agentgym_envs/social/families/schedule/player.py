"""Player with a calendar, which proposes its best slots first."""

import re
from random import Random
from typing import Final

from agentgym_envs.social.content.phrases import SCHEDULING
from agentgym_envs.social.families.schedule.week import SLOTS, Calendar, day_of
from agentgym_envs.social.family import TURNS, Speaker, spoke
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

UNWILLING: Final = tuple(words for pool in SCHEDULING["unwilling"].values() for words in pool)
"""Opening words of a partner who is free, and would rather have another slot."""
REPEATS = 2
"""Times that it makes the same proposal in a row."""
_SLOT = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri) (?:9|11|14|16)\b")


class SchedulePlayer(Speaker):
    """Proposes what it may still hope for, the best first, and takes what is as good as that."""

    def __init__(self, calendar: Calendar, draws: Random) -> None:
        self._calendar, self._draws = calendar, draws
        self._open = calendar.slots
        """Own free slots that the other side has not ruled out, the best first."""
        self._named: set[str] = set()
        """Slots that the other side has named as its own."""
        self._proposed: list[str] = []
        self._offer: str | None = None
        self._turn = 0

    def reply(self, heard: Utterance | None) -> Action:
        """Accept, propose or give up."""
        if heard is not None:
            self._learn(heard)
        self._turn += 1
        free = self._calendar.free
        best = max((free[slot] for slot in self._open), default=0)
        if self._offer in free and (free[self._offer] >= best or self._turn >= TURNS - 1):
            return spoke("That suits me. [ACCEPT]")
        if not self._open:
            return spoke("I fear that there is no time for both of us. [NOSLOT]")
        slot = self._next(best)
        self._proposed.append(slot)
        words = ("How about this?", "Could you do this?", "I propose this time.")
        return spoke(f"{self._draws.choice(words)} [PROPOSE {slot}]")

    def _learn(self, heard: Utterance) -> None:
        """Note what the other side can do, and rule out what it cannot."""
        offer = heard.value("PROPOSE")
        if offer is not None:
            self._offer = offer
            self._named.add(offer)
        if not self._proposed:
            return
        last, text = self._proposed[-1], heard.words.partition("[")[0]
        if text.startswith(UNWILLING):
            self._named.add(last)
            return
        self._drop([last])
        if day_of(last) in text:  # the answer has all slots of this day
            self._named.update(_SLOT.findall(text))
            self._drop([slot for slot in SLOTS if day_of(slot) == day_of(last)])

    def _drop(self, slots: list[str]) -> None:
        self._open = [slot for slot in self._open if slot not in slots or slot in self._named]

    def _next(self, best: int) -> str:
        """A slot of the best preference left, a new one first; now and then another one, since who repeats
        itself is left.
        """
        slots = [slot for slot in self._open if self._calendar.free[slot] == best]
        fresh = [slot for slot in slots if slot not in self._proposed]
        slot = (fresh or sorted(slots, key=self._latest))[0]
        if self._proposed[-REPEATS:] == [slot] * REPEATS:
            others = [one for one in self._calendar.slots if one != slot]
            ruled_out = [one for one in others if one not in self._open]
            return (ruled_out or others[::-1] or [slot])[0]
        return slot

    def _latest(self, slot: str) -> int:
        """Position of the latest proposal of a slot."""
        return max(turn for turn, one in enumerate(self._proposed) if one == slot)
