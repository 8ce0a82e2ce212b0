"""State machine of a conversation: `Rules`, `Conversation`.

The package masks what a seat does out of its turn, and "un-leaves" an agent who acts after the end; here both
are a `TurnError`. Seats, not names, are the key: two characters may have the same name.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, repeat
from typing import Literal

from agentgym_envs.sotopia.protocol.actions import ACTION_TYPES, NOTHING, Action, ActionType

Order = Literal["round-robin", "simultaneous", "random"]
StaleRule = Literal["package", "own"]
EndReason = Literal["too_long", "left", "stale", "deal"]
Mask = tuple[bool, bool]
"""By seat: whether it acts."""

COMMENTS: dict[EndReason, str] = {
    "too_long": "The conversation is too long; ",
    "left": "Too few active agents; ",
    "stale": "The conversation stales for too long; ",
    "deal": "The agents have agreed; ",
}


def told(reasons: Iterable[EndReason]) -> str:
    """The sentence for agents that says why a conversation ended."""
    return "".join(COMMENTS[reason] for reason in reasons).strip().rstrip(";") + "."


class TurnError(ValueError):
    """An action of a seat whose turn it is not, or after the end."""


@dataclass(frozen=True)
class Rules:
    """Order of turns, and when a conversation ends."""

    order: Order = "round-robin"
    max_turns: int = 20
    """Steps: in `round-robin`, utterances of both agents together."""
    max_stale: int = 2
    """A longer run of `none` ends the conversation."""
    stale_rule: StaleRule = "package"
    """`package` counts the `none` of seats that may not act, `own` does not."""


def masks(order: Order, seed: int) -> Iterator[Mask]:
    """The acting seats of each step, without end; `seed` draws those of `random`."""
    if order == "simultaneous":
        yield from repeat((True, True))
    if order == "round-robin":
        yield from cycle(((True, False), (False, True)))
    draws = random.Random(seed)
    while True:
        seat = draws.randrange(2)
        yield seat == 0, seat == 1


@dataclass(slots=True)
class Conversation:
    """One conversation of two seats, from the start to its end."""

    names: tuple[str, str]
    backgrounds: Sequence[str]
    """Text that each seat reads first (`views.background`)."""
    rules: Rules = Rules()
    schedule: Iterator[Mask] = field(default_factory=lambda: masks("round-robin", 0))
    log: list[tuple[Action, Action]] = field(default_factory=list[tuple[Action, Action]])
    """The actions of both seats in each step; `NOTHING` for a seat that might not act."""
    acted: list[Mask] = field(default_factory=list[Mask])
    """Which seats acted in each step."""
    end_reasons: tuple[EndReason, ...] = ()
    acting: Mask = (False, False)
    """Which seats act next; neither after the end."""
    _heard: list[str] = field(default_factory=list[str])
    _stale: int = 0

    def __post_init__(self) -> None:
        self.acting = next(self.schedule)

    @property
    def turn_number(self) -> int:
        """Steps so far."""
        return len(self.log)

    @property
    def ended(self) -> bool:
        """Whether the conversation is over."""
        return bool(self.end_reasons)

    @property
    def heard(self) -> list[str]:
        """Texts that both seats observe after each step.

        The texts are made when they are first read: an open conversation that is read through `news` alone
        does not hold what was said twice.
        """
        for both in self.log[len(self._heard) :]:
            self._heard.append(self._told(both))
        return self._heard

    def available(self, seat: int) -> tuple[ActionType, ...]:
        """The action types of a seat in the next step."""
        return ACTION_TYPES if self.acting[seat] else ("none",)

    def last_turn(self, seat: int) -> str:
        """The latest observation of a seat: its background, or what was done in the last step."""
        return self.heard[-1] if self.log else self.backgrounds[seat]

    def observations(self, seat: int) -> list[str]:
        """All observations of a seat in the form of prompts and records.

        The label of a step is one less than its number, as the package counts.
        """
        start = f"\n{self.backgrounds[seat]}\nConversation Starts:\n"
        return [start, *(f"Turn #{turn}: {text}\n" for turn, text in enumerate(self.heard))]

    def news(self, seat: int, since: int) -> list[str]:
        """Actions of the other seat after the first `since` steps, for a reader who knows its own; one
        line for each step in which the other might act, without text where it did nothing.
        """
        other = 1 - seat
        done = [
            (turn, self.log[turn][other]) for turn in range(since, len(self.log)) if self.acted[turn][other]
        ]
        return [
            f"Turn #{turn}: " + ("" if action.action_type == "none" else f"{self.names[other]} {action.text}")
            for turn, action in done
        ]

    def apply(self, actions: Mapping[int, Action], *, deal: bool = False) -> None:
        """Execute one step: an action for each seat whose turn it is.

        `deal` ends the conversation with an agreement. Raises `TurnError`, and changes nothing, for other
        seats, a missing one, or after the end.
        """
        if self.end_reasons:
            raise TurnError("the conversation is over")
        acting = self.acting
        if set(actions) != {seat for seat in (0, 1) if acting[seat]}:
            expected = " and ".join(self.names[seat] for seat in (0, 1) if acting[seat])
            raise TurnError(f"it is the turn of {expected}")
        both = actions.get(0, NOTHING), actions.get(1, NOTHING)
        self.log.append(both)
        self.acted.append(acting)
        self._count_stale(both, acting)
        self.end_reasons = self._reasons(both, deal)
        self.acting = (False, False) if self.end_reasons else next(self.schedule)

    @property
    def comments(self) -> str:
        """Reasons for the end of the conversation, in the words of the package's record."""
        return "".join(COMMENTS[reason] for reason in self.end_reasons)

    def _told(self, both: tuple[Action, Action]) -> str:
        """Text of one step."""
        return ";".join(
            f"{name} {action.text}"
            for name, action in zip(self.names, both, strict=True)
            if action.action_type != "none"
        )

    def _count_stale(self, both: tuple[Action, Action], acting: Mask) -> None:
        for action, acts in zip(both, acting, strict=True):
            if action.action_type != "none":
                self._stale = 0
            elif acts or self.rules.stale_rule == "package":
                self._stale += 1

    def _reasons(self, both: tuple[Action, Action], deal: bool) -> tuple[EndReason, ...]:
        found: dict[EndReason, bool] = {
            "too_long": len(self.log) >= self.rules.max_turns,
            "left": any(action.action_type == "leave" for action in both),
            "stale": self._stale > self.rules.max_stale,
            "deal": deal,
        }
        return tuple(reason for reason, holds in found.items() if holds)
