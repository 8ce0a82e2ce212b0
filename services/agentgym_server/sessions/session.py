"""Session: the state of an episode on the server, and its views."""

import asyncio
import base64
import json
import secrets
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agentgym_envs.core import Costs
from agentgym_server.clock import Clock
from agentgym_server.sessions.capacity import Slot
from agentgym_server.wire.problems import Problem
from agentgym_server.workers.hosts import Host, Origin

State = Literal["open", "ended", "failed", "expired", "closed"]
Ending = Literal["terminated", "truncated", "failed", "cancelled"]
ENDINGS: tuple[Ending, ...] = ("terminated", "truncated", "failed", "cancelled")

JsonAction = str | dict[str, Any]


def new_session_id(instance: int) -> str:
    """An unguessable id with 144 random bits, prefixed with the tag of its server."""
    return f"s_{instance_tag(instance)}{secrets.token_urlsafe(18)}"


def new_episode_id(instance: int) -> str:
    """An id of an episode with several seats, which is no session id."""
    return f"e_{instance_tag(instance)}{secrets.token_urlsafe(18)}"


def instance_tag(instance: int) -> str:
    """Prefix of every session id of a server (four characters), by which a gateway finds the server."""
    return base64.urlsafe_b64encode(instance.to_bytes(3, "big")).decode()


@dataclass(slots=True)
class Running:
    """Step in progress; `reply` gets its stored bytes or a `Problem`."""

    turn: int
    action: JsonAction
    reply: asyncio.Future[bytes]
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class FailedStep:
    """Step at which a session failed, and the problem of its reply."""

    turn: int
    action: JsonAction
    problem: Problem


@dataclass(slots=True)
class Replies:
    """Replies of the last turns, as the bytes that were sent."""

    keep: int
    """Minimum number of replies to keep."""
    keep_bytes: int
    """Size beyond which the oldest are dropped, down to `keep` replies."""
    stored: deque[bytes] = field(default_factory=deque[bytes])
    first: int = 1
    """The turn of the oldest stored reply."""
    size: int = 0

    def append(self, reply: bytes) -> None:
        """Store the next turn's reply."""
        self.stored.append(reply)
        self.size += len(reply)
        while self.size > self.keep_bytes and len(self.stored) > self.keep:
            self.size -= len(self.stored.popleft())
            self.first += 1

    def get(self, turn: int) -> bytes | None:
        """The reply of a completed turn; None if it is no longer stored."""
        place = turn - self.first
        return self.stored[place] if 0 <= place < len(self.stored) else None

    def until(self, turn: int) -> "Replies":
        """A copy up to and including this turn."""
        stored = deque(list(self.stored)[: max(0, turn - self.first + 1)])
        first = min(self.first, turn + 1)
        return Replies(self.keep, self.keep_bytes, stored, first, sum(map(len, stored)))

    def forget(self) -> None:
        """Drop all replies."""
        self.first += len(self.stored)
        self.stored.clear()
        self.size = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """One episode and its lease. Moments are seconds of the server's clock."""

    id: str
    origin: Origin
    host: Host
    slot: Slot
    """Released when the session stops being open."""
    env_version: str
    data_version: str
    format: str
    max_turns: int
    lease_ttl_s: float
    labels: dict[str, str]
    parent: dict[str, Any] | None
    created_at: float
    expires_at: float
    active_at: float
    replies: Replies

    state: State = "open"
    turn: int = 0
    """Completed turns."""
    observation: str = ""
    info: dict[str, Any] = field(default_factory=dict[str, Any])
    tools: Sequence[dict[str, Any]] | None = None
    reward: float = 0.0
    """Reward of the last turn."""
    total_reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    played: list[JsonAction] = field(default_factory=list[JsonAction])
    """Action of every completed turn, as it was sent; a fork's begin with its parent's."""
    action_bytes: int = 0
    """Size of `played`."""
    rewards: list[float] = field(default_factory=list[float])
    """Reward of every completed turn."""
    inherited: int = 0
    """Turns that the parent played: their replies name the parent and are no replies of this session."""
    running: Running | None = None
    failed_step: FailedStep | None = None
    failure: dict[str, Any] | None = None
    outcome: Ending | None = None
    reason: str | None = None
    """Reason of a cancelled session: `closed` or `lease-expired`."""
    finished_at: float | None = None
    purge_at: float | None = None
    """Time at which the tombstone is removed; None while the session lives."""
    steps_executed: int = 0
    seat: str = ""
    """Name of the seat in an episode with several."""
    shared: "SharedEpisode | None" = None
    """The episode, where it has several seats."""
    your_turn: bool = True
    """False while a partner is to act."""
    carried_reward: float = 0.0
    """Reward of a seat before its first action, of which it becomes a part."""
    carried_costs: Costs = field(default_factory=Costs)
    """Costs of a seat before its first action."""

    def renew(self, now: float) -> None:
        """Restart the lease."""
        self.active_at = now
        self.expires_at = now + self.lease_ttl_s

    def is_expired(self, now: float) -> bool:
        """True if the lease is over; a running step extends it, and so does a partner's turn."""
        waits = self.running is not None or not self.your_turn
        return now >= self.expires_at and not waits and self.state in ("open", "ended")

    @property
    def stored_bytes(self) -> int:
        """Size of the stored actions and replies of this session."""
        return self.action_bytes + self.replies.size

    def forget(self) -> None:
        """Free the data that only a living session needs."""
        self.replies.forget()
        self.played.clear()
        self.action_bytes = 0
        self.rewards.clear()
        self.observation, self.info, self.tools = "", {}, None


@dataclass(slots=True, eq=False)
class SharedEpisode:
    """Episode with several seats, each of which has a session."""

    id: str
    origin: Origin
    host: Host
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    """Sessions by seat."""
    actions: dict[str, str] = field(default_factory=dict[str, str])
    """Actions of this turn, by seat, until all that are to act have acted."""
    task: asyncio.Task[None] | None = None
    """The turn that is being played."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the next change of turn or state, and then replaced."""

    @property
    def open(self) -> list[Session]:
        """Sessions that are open."""
        return [session for session in self.sessions.values() if session.state == "open"]

    def note_change(self) -> None:
        """Wake everybody who waits for a turn."""
        self.changed.set()
        self.changed = asyncio.Event()


def lease_view(session: Session, clock: Clock) -> dict[str, Any]:
    """The `lease` member of replies."""
    ttl_s = session.lease_ttl_s
    shown = int(ttl_s) if ttl_s.is_integer() else ttl_s
    return {"ttl_s": shown, "expires_at": clock.stamp(session.expires_at)}


def session_view(session: Session, clock: Clock) -> dict[str, Any]:
    """The session object of create, fork and GET."""
    living = session.state in ("open", "ended")
    shared = session.shared
    view: dict[str, Any] = {
        "session_id": session.id,
        "env": session.origin.env,
        "task_id": session.origin.task_id,
        "seed": session.origin.seed,
        "state": session.state,
        "turn": session.turn,
    }
    if living:
        view |= {"observation": session.observation, "info": session.info, "reward": session.reward}
        view |= {"tools": session.tools, "lease": lease_view(session, clock)}
    if shared is not None:
        view |= {"episode_id": shared.id, "seat": session.seat}
        view["your_turn"] = session.your_turn and session.state == "open"
    return view | {
        "total_reward": session.total_reward,
        "terminated": session.terminated,
        "truncated": session.truncated,
        "max_turns": session.max_turns,
        "format": session.format,
        "parent": session.parent,
        "labels": session.labels,
        "created_at": clock.stamp(session.created_at),
        "env_version": session.env_version,
        "data_version": session.data_version,
        "failure": session.failure,
        "outcome": session.outcome,
        "reason": session.reason,
    }


def account_view(session: Session, clock: Clock) -> dict[str, Any]:
    """The session object with its accounting, as in GET."""
    until = clock.now() if session.finished_at is None else session.finished_at
    return session_view(session, clock) | {
        "steps_executed": session.steps_executed,
        "last_activity_at": clock.stamp(session.active_at),
        "wall_s": round(until - session.created_at, 6),
        "stored_bytes": session.stored_bytes,
    }


def history_view(session: Session) -> list[dict[str, Any]]:
    """Turns whose replies are stored, oldest first; a fork's begin with its parent's."""
    rows: list[dict[str, Any]] = []
    for turn, stored in enumerate(session.replies.stored, session.replies.first):
        reply = json.loads(stored)
        members = ("observation", "reward", "terminated", "truncated", "info", "costs")
        row = {"turn": turn, "action": session.played[turn - 1]}
        rows.append(row | {member: reply[member] for member in members if member in reply})
    return rows
