"""Notes of a player with a calendar: slots that are ruled out, and the best ones that are left."""

import re
from typing import Final

from agentgym_envs.social.content.phrases import SCHEDULING
from agentgym_envs.social.families.schedule.player import UNWILLING
from agentgym_envs.social.families.schedule.week import SLOTS, Calendar, day_of
from agentgym_envs.social.family import TURNS
from agentgym_envs.social.thoughts import Talk, Thinker, Thought

BUSY: Final = tuple(words for pool in SCHEDULING["busy"].values() for words in pool)
SHOWN = 3
"""Slots that are compared."""
_SLOT = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri) (?:9|11|14|16)\b")


class ScheduleThinker(Thinker):
    """Proposes its best slot that the other side has not ruled out, and accepts what is as good."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar

    def think(self, talk: Talk) -> Thought:
        """Propose, accept or give up."""
        free, proposed = self._calendar.free, talk.own_values("PROPOSE")
        offers: list[str] = talk.heard_values("PROPOSE")
        offer = offers[-1] if offers else None
        left = self._left(talk)
        fresh = [slot for slot in left if slot not in proposed] or left
        best = free[left[0]] if left else 0
        good = offer in free and (free[offer] >= best or talk.turn >= TURNS - 1)
        others = [slot for slot in self._calendar.slots if slot not in proposed[-1:]]
        slot = fresh[0] if fresh and fresh[0] not in proposed[-1:] else (others or [None])[0]
        if good:
            choice, response, words = f"accept {offer}", "ACCEPT", "That suits me. [ACCEPT]"
        elif left and slot:
            choice, response = f"propose {slot}", f"PROPOSE {slot}"
            words = f"How about this? [PROPOSE {slot}]"
        else:
            choice, response, words = "give up", "NOSLOT", "I fear that there is no time. [NOSLOT]"
        said = self._rated(offer)
        return Thought(
            history=f"I said {', '.join(proposed)}" if proposed else "nothing said",
            goal=f"the best left is {self._rated(left[0])}" if left else "nothing is left",
            intent=self._intent(talk),
            assess=f"they say {said}" if offer else "they say nothing",
            strategy=f"{choice}, {self._rated(slot)}" if choice.startswith("propose") else choice,
            strategies=f"{', '.join([*fresh[:SHOWN], *(['accept'] if offer else []), 'give up'])}",
            deduction=", ".join(
                [*(self._rated(one) for one in fresh[:SHOWN]), *([f"accept {said}"] if offer else [])]
            )
            or "no time is left",
            integration=choice,
            response=response,
            words=words,
        )

    def _left(self, talk: Talk) -> list[str]:
        """Own free slots that may still be free for the other side, the best first."""
        named, out = set(talk.heard_values("PROPOSE")), set[str]()
        for own, answer in talk.replies:
            slot = own.value("PROPOSE")
            if slot is None:
                continue
            text = answer.words.partition("[")[0]
            if text.startswith(UNWILLING):
                named.add(slot)
            elif text.startswith(BUSY):
                out.add(slot)
                if day_of(slot) in text:  # the answer has all slots of this day
                    named.update(_SLOT.findall(text))
                    out.update(one for one in SLOTS if day_of(one) == day_of(slot))
        return [slot for slot in self._calendar.slots if slot in named or slot not in out]

    def _intent(self, talk: Talk) -> str:
        """Content of the latest answer to a proposal."""
        replies = [(own, answer) for own, answer in talk.replies[-1:] if own.value("PROPOSE")]
        if not replies:
            return "they look for a time"
        own, answer = replies[-1]
        slot, text = own.value("PROPOSE"), answer.words.partition("[")[0]
        if text.startswith(UNWILLING):
            return f"{slot} is free for them"
        if not text.startswith(BUSY):
            return f"{slot} is open"
        if day_of(slot) not in text:
            return f"{slot} is busy"
        named = [one for one in SLOTS if one in _SLOT.findall(text)]
        return f"{slot} is busy, of {day_of(slot)} they have {', '.join(named) or 'nothing'}"

    def _rated(self, slot: str | None) -> str:
        """A slot with the own preference."""
        if slot is None:
            return "nothing"
        return f"{slot} {self._calendar.free[slot]}" if slot in self._calendar.free else f"{slot} busy"
