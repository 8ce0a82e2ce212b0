"""`Session`: the state of one episode while an agent plays it, call by call."""

import asyncio
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agentevol.service.chat.messages import ChatMessage
from agentevol.service.errors import Refusal, invalid
from agentevol.service.sessions.records import Record

State = Literal["open", "ending", "ended"]


@dataclass(frozen=True)
class Origin:
    """Facts of an episode at its start."""

    task_id: str
    env: str
    instruction: str
    seed: int
    iteration: int
    """Policy version at the start."""
    policy: str
    """Name of these weights."""
    attempt: int
    group: str | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(eq=False)
class Session:
    """Episode in progress. Records are in the order in which their calls completed."""

    id: str
    origin: Origin
    lease_ttl_s: float
    expires_at: float
    began: float
    started_at: str
    state: State = "open"
    calls: int = 0
    """Calls so far, running ones included."""
    forks: int = 0
    """Calls after the first whose prompt extends no reply."""
    records: list[Record] = field(default_factory=list[Record])
    speaking: set[str] = field(default_factory=set[str])
    """Engine conversations that are being sampled."""
    outcome: object = None
    """Outcome, once it is set."""
    leaving: asyncio.Task[dict[str, Any]] | None = None
    """Storage in progress; its result is the summary of the ending."""

    def is_expired(self, now: float) -> bool:
        """True if its lease is over; a running call renews it when it completes."""
        return self.state == "open" and now >= self.expires_at and not self.speaking

    def renew(self, now: float) -> None:
        """Restart the lease."""
        self.expires_at = now + self.lease_ttl_s

    def continued(
        self, messages: tuple[ChatMessage, ...], tools: tuple[dict[str, Any], ...]
    ) -> Record | None:
        """The reply that this conversation repeats and continues; of several the longest, then the latest."""
        newest_first = reversed(self.records)
        by_length = sorted(newest_first, key=lambda record: len(record.messages), reverse=True)
        return next((record for record in by_length if record.is_repeated_by(messages, tools)), None)

    def add(self, record: Record) -> None:
        """Add a reply."""
        self.forks += record.call > 1 and record.extends is None and record.choice == 0
        self.records.append(record)

    def played(self) -> list[Record]:
        """The replies that are turns of the episode, in the order of their calls.

        Of several choices of a call those that were rewarded or continued, or else the first.
        """
        heard = [record for record in self.records if record.heard]
        used = {id(one) for one in heard if one.reward is not None}
        used |= {id(record.extends) for record in heard if record.extends is not None}
        told = {record.call for record in heard if id(record) in used}
        turns = [one for one in heard if id(one) in used or (one.call not in told and one.choice == 0)]
        return sorted(turns, key=lambda record: (record.call, record.choice))

    @property
    def total_reward(self) -> float | None:
        """Sum of the posted rewards; None without any."""
        posted = [record.reward for record in self.records if record.reward is not None]
        return sum(posted) if posted else None

    def reward(self, amount: float, call: int | str | None, choice: int | None) -> Record:
        """Set the reward of a reply, replacing an earlier one. Raises `Refusal`."""
        record = self._named(call, choice)
        before, record.reward = record.reward, amount
        if not math.isfinite(self.total_reward or 0.0):
            record.reward = before
            raise invalid("the rewards of the episode would add up to more than a number holds", "reward")
        return record

    def _named(self, call: int | str | None, choice: int | None) -> Record:
        found = [record for record in self.records if record.heard]
        if not found:
            raise Refusal(409, "no_call", "there is no reply yet to reward")
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
        """All replies, in the order of calls."""
        turns = {id(record): number for number, record in enumerate(self.played(), 1)}
        for record in sorted(self.records, key=lambda record: (record.call, record.choice)):
            yield record.as_json(turns.get(id(record)))


def _told(records: list[Record], played: list[Record]) -> list[Record]:
    """The reply of one call that is a turn."""
    return [record for record in records if record in played][:1]
