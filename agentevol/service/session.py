"""`Session`: one episode while an agent plays it, call by call."""

import asyncio
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agentevol.service.messages import ChatMessage
from agentevol.service.records import Record
from agentevol.service.refusals import Refusal, invalid

State = Literal["open", "ending", "ended"]


@dataclass(frozen=True)
class Origin:
    """What is known of an episode when it begins."""

    task_id: str
    env: str
    instruction: str
    seed: int
    iteration: int
    """Version of the weights that it began with."""
    policy: str
    """Name of these weights."""
    attempt: int
    group: str | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(eq=False)
class Session:
    """An episode in the making. Records are in the order in which their calls ended."""

    id: str
    origin: Origin
    lease_ttl_s: float
    expires_at: float
    began: float
    started_at: str
    state: State = "open"
    calls: int = 0
    """Calls so far, those under way included."""
    forks: int = 0
    """Calls after the first whose prompt goes on from no reply."""
    records: list[Record] = field(default_factory=list[Record])
    speaking: set[str] = field(default_factory=set[str])
    """Conversations of the engine in which something is being sampled."""
    outcome: object = None
    """How it ends, once that is said."""
    leaving: asyncio.Task[dict[str, Any]] | None = None
    """On its way into the table; then what the ending came to."""

    def is_expired(self, now: float) -> bool:
        """Whether its lease is over; a call under way renews it when it ends."""
        return self.state == "open" and now >= self.expires_at and not self.speaking

    def renew(self, now: float) -> None:
        """Begin the lease anew."""
        self.expires_at = now + self.lease_ttl_s

    def continued(
        self, messages: tuple[ChatMessage, ...], tools: tuple[dict[str, Any], ...]
    ) -> Record | None:
        """The reply that this conversation repeats and goes on from: of several the longest, then the
        latest.
        """
        newest_first = reversed(self.records)
        by_length = sorted(newest_first, key=lambda record: len(record.messages), reverse=True)
        return next((record for record in by_length if record.is_repeated_by(messages, tools)), None)

    def add(self, record: Record) -> None:
        """Note a reply."""
        self.forks += record.call > 1 and record.extends is None and record.choice == 0
        self.records.append(record)

    def played(self) -> list[Record]:
        """The replies that are turns of the episode, in the order of their calls.

        Of several choices of a call those that were rewarded or gone on from, and where none was the first.
        """
        heard = [record for record in self.records if record.heard]
        used = {id(one) for one in heard if one.reward is not None}
        used |= {id(record.extends) for record in heard if record.extends is not None}
        told = {record.call for record in heard if id(record) in used}
        turns = [one for one in heard if id(one) in used or (one.call not in told and one.choice == 0)]
        return sorted(turns, key=lambda record: (record.call, record.choice))

    @property
    def total_reward(self) -> float | None:
        """The sum of what was posted; None while nothing was."""
        posted = [record.reward for record in self.records if record.reward is not None]
        return sum(posted) if posted else None

    def reward(self, amount: float, call: int | str | None, choice: int | None) -> Record:
        """Give a reply its reward, in place of an earlier one. Raises `Refusal`."""
        record = self._named(call, choice)
        before, record.reward = record.reward, amount
        if not math.isfinite(self.total_reward or 0.0):
            record.reward = before
            raise invalid("the rewards of the episode would add up to more than a number holds", "reward")
        return record

    def _named(self, call: int | str | None, choice: int | None) -> Record:
        found = [record for record in self.records if record.heard]
        if not found:
            raise Refusal(409, "no_call", "there is no reply yet that a reward could be for")
        if isinstance(call, str):
            found = [record for record in found if record.id == call]
        else:
            number = max(record.call for record in found) if call is None else call
            found = [record for record in found if record.call == number]
        if choice is not None:
            chosen = [record for record in found if record.choice == choice]
        else:
            chosen = _told(found, self.played())
        if not chosen:
            raise Refusal(404, "call_not_found", "the session has no such reply", param="call")
        return chosen[0]

    def trace(self) -> Iterator[dict[str, Any]]:
        """Every reply, in the order of calls."""
        turns = {id(record): number for number, record in enumerate(self.played(), 1)}
        for record in sorted(self.records, key=lambda record: (record.call, record.choice)):
            yield record.as_json(turns.get(id(record)))


def _told(records: list[Record], played: list[Record]) -> list[Record]:
    """Of one call's replies the one that is a turn."""
    return [record for record in records if record in played][:1]
