"""Environment ids of the AgentGym dialect: integers that outlive their episodes.

An id is `instance * 2**32 + n`, n counting from 0: ids of different servers behind a gateway never collide,
and the gateway derives the server of an id by a shift.
"""

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym_server.dialects.agentgym.errors import Refusal
from agentgym_server.service import Service
from agentgym_server.sessions.session import Session
from agentgym_server.wire.problems import Problem

INSTANCE_BITS = 32
FEWEST_TO_SWEEP = 64


@dataclass(slots=True, eq=False)
class EnvironmentId:
    """Environment id with the session of its current episode."""

    number: int
    env: str
    session_id: str
    task: Mapping[str, Any]
    asked: Mapping[str, object]
    opening: str
    closed: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by a step or a reset, so that they run in order of arrival."""


class EnvironmentIds:
    """Environment ids of one server, over all its environments; none is reused."""

    def __init__(self, service: Service) -> None:
        self._registry = service.registry
        self._numbers = itertools.count(service.settings.instance << INSTANCE_BITS)
        self._ids: dict[int, EnvironmentId] = {}
        self._sweep_at = FEWEST_TO_SWEEP

    def __len__(self) -> int:
        return len(self._ids)

    def add(
        self, env: str, session_id: str, task: Mapping[str, Any], asked: Mapping[str, object], opening: str
    ) -> EnvironmentId:
        """A new id for a new session."""
        if len(self._ids) >= self._sweep_at:
            self._sweep()
        entry = EnvironmentId(next(self._numbers), env, session_id, task, asked, opening)
        self._ids[entry.number] = entry
        return entry

    def find(self, env: str, number: int) -> tuple[EnvironmentId, Session]:
        """Record and session of an id (the session may be closed); raises `Refusal` for an unknown
        id.
        """
        entry = self._ids.get(number)
        if entry is None or entry.env != env:
            raise _unknown(number)
        session = self._session(entry)
        if session is None or session.state == "expired":
            raise _unknown(number)
        if entry.closed:
            raise deleted(number)
        return entry, session

    def of(self, env: str) -> list[int]:
        """Ids of an environment, oldest first."""
        return [number for number, entry in self._ids.items() if entry.env == env and self._is_open(entry)]

    def _is_open(self, entry: EnvironmentId) -> bool:
        session = self._session(entry)
        return session is not None and session.state in ("open", "ended", "failed") and not entry.closed

    def _session(self, entry: EnvironmentId) -> Session | None:
        try:
            return self._registry.find(entry.session_id)
        except Problem:  # its tombstone is gone
            return None

    def _sweep(self) -> None:
        self._ids = {n: entry for n, entry in self._ids.items() if self._session(entry) is not None}
        self._sweep_at = max(FEWEST_TO_SWEEP, 2 * len(self._ids))


def deleted(number: int) -> Refusal:
    """Error text for an id that was closed."""
    return Refusal(f"The task with environment {number} has been deleted.")


def _unknown(number: int) -> Refusal:
    return Refusal(f"The id {number} is not valid.")
