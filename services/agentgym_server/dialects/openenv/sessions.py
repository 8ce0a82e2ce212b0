"""OpenEnv sessions over the server's sessions: one of them has many episodes, a server session has one.

A socket owns an OpenEnv session, which holds a capacity slot for the lifetime of the connection. Any
session of the server can be addressed as an OpenEnv session by its id, and that id keeps naming it after a
reset has started another session.
"""

import asyncio
import uuid
from collections.abc import Awaitable
from typing import Any

from agentgym_server.dialects.openenv import views
from agentgym_server.dialects.openenv.errors import no_episode
from agentgym_server.dialects.openenv.models import ResetOptions
from agentgym_server.dialects.openenv.tasks import chosen_task
from agentgym_server.service import Service
from agentgym_server.sessions.capacity import Slot
from agentgym_server.sessions.session import JsonAction, Session
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.reply import Reply

LEASE_S = 3600.0
"""Lease of sessions of this dialect: its clients renew one by steps only."""
FIRST_SWEEP = 64
GONE = ("closed", "expired")
FIXED = ResetOptions(seed=0)
"""Options of the episode of a request without a session: always the same."""


class OpenEnvSession:
    """One OpenEnv session."""

    def __init__(
        self, service: Service, env: str, session: Session | None = None, slot: Slot | None = None
    ) -> None:
        self.service = service
        self.env = env
        self.session = session
        self.episode_id = uuid.uuid4().hex if session is None else session.id
        self.name: str | None = None
        """First id of this session, which stays valid."""
        self.attached = False
        """True if a socket is attached; there is at most one."""
        self.closing = slot is not None
        """True if it closes when its socket disconnects."""
        self._slot = slot
        self._closed = False
        self._completions = False
        self._resetting = asyncio.Lock()

    @property
    def alive(self) -> bool:
        """True if there is an episode, or one may still start."""
        if self._closed:
            return False
        if self.attached or self.session is None:
            return True
        try:
            return self.service.registry.find(self.session.id).state not in GONE
        except Problem:
            return False

    async def reset(self, options: ResetOptions) -> dict[str, Any]:
        """Start another episode and return its session object; the previous one is closed once that has
        succeeded.
        """
        task_id, seed = await chosen_task(self.service.catalogue, self.env, options)
        async with self._resetting:
            old = self.session
            lease_ttl_s = LEASE_S if old is None else old.lease_ttl_s
            body = {"task_id": task_id, "seed": seed, "lease_ttl_s": lease_ttl_s}
            if options.format is not None:
                body["format"] = options.format
            view = await (self._create(body, Slot.loan()) if self._slot else self._succeed(old, body))
            self.session = self.service.registry.find(view["session_id"])
            self.episode_id = options.episode_id or view["session_id"]
            self._completions = options.format is not None
            self._end(old)
        if self._closed:  # meanwhile, by another caller
            self._end(self.session)
            raise Problem("session-closed", "the session was closed", state="closed")
        return view

    def step(self, action: JsonAction, deadline_s: float | None = None) -> Reply | Awaitable[Reply]:
        """Play an action as the next turn; the reply is immediate where no waiting is needed."""
        session, episodes = self.playing(), self.service.episodes
        if session.running is not None or deadline_s is not None:
            return episodes.act(session.id, action, deadline_s)
        return episodes.step(session.id, {"turn": session.turn + 1, "action": action})

    def playing(self) -> Session:
        """The session of the episode; raises `Refusal` before the first reset."""
        if self.session is None:
            raise no_episode()
        return self.session

    def written(self, text: str) -> JsonAction:
        """The action in a text: the text itself, or parsed from a completion where a reset has named its
        format.
        """
        return {"type": "completion", "text": text} if self._completions else text

    def state(self) -> dict[str, Any]:
        """The state of the episode; raises the problem of a session that is gone."""
        if self.session is None:
            return fresh_state(self.episode_id)
        session = self.service.registry.find(self.session.id)
        if session.state in GONE:
            raise Problem(f"session-{session.state}", f"the session is {session.state}")
        return {
            "episode_id": self.episode_id,
            "step_count": session.turn,
            "task_id": session.origin.task_id,
            "turn": session.turn,
            "terminated": session.terminated,
            "truncated": session.truncated,
        }

    def close(self) -> None:
        """Close the episode permanently and free the slot."""
        self._closed = True
        self._end(self.session)
        if self._slot is not None:
            self._slot.give()

    def _end(self, session: Session | None) -> None:
        if session is not None and session.state not in GONE:
            self.service.registry.close(session)

    async def _succeed(self, old: Session | None, body: dict[str, Any]) -> dict[str, Any]:
        """Start an episode in the slot of the old one, which keeps it on failure."""
        if old is None or old.state != "open":
            return await self._create(body, None)
        slot, old.slot = old.slot, Slot.loan()
        heir = old
        try:
            view = await self._create(body, Slot.loan())
            heir = self.service.registry.find(view["session_id"])
        finally:
            if heir.state == "open":
                heir.slot = slot
            else:
                slot.give()
        return view

    async def _create(self, body: dict[str, Any], slot: Slot | None) -> dict[str, Any]:
        creating = asyncio.ensure_future(self.service.episodes.create(self.env, body, slot=slot))
        try:
            reply = await asyncio.shield(creating)
        except asyncio.CancelledError:  # the new episode has no caller left
            creating.add_done_callback(self._discard)
            raise
        return views.read(reply)

    def _discard(self, created: asyncio.Future[Reply]) -> None:
        if not created.cancelled() and created.exception() is None:
            self.service.episodes.delete(views.read(created.result())["session_id"])


class OpenEnvSessions:
    """OpenEnvSessions by the ids under which callers know them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._env_sessions: dict[str, OpenEnvSession] = {}
        self._sweep_at = FIRST_SWEEP

    def __len__(self) -> int:
        """Number of ids that are in use."""
        return len(self._env_sessions)

    async def reserve(self, env: str) -> OpenEnvSession:
        """An OpenEnv session with a slot, for a socket; raises the problems of a full server or a broken
        environment.
        """
        env_session = OpenEnvSession(self.service, env, slot=await self.service.episodes.reserve(env))
        env_session.attached = True
        return env_session

    async def begin(self, env: str, options: ResetOptions) -> tuple[OpenEnvSession, dict[str, Any]]:
        """An OpenEnv session with an episode, and its session object."""
        env_session = OpenEnvSession(self.service, env)
        return env_session, await self.reset(env_session, options)

    async def reset(self, env_session: OpenEnvSession, options: ResetOptions) -> dict[str, Any]:
        """Start another episode in an OpenEnv session."""
        old = env_session.session
        view = await env_session.reset(options)
        if old is not None and old.id != env_session.name:
            self._env_sessions.pop(old.id, None)
        self._enter(view["session_id"], env_session)
        return view

    def find(self, env: str, session_id: str) -> OpenEnvSession:
        """The OpenEnv session of a session of this environment; raises the problem `session-not-found`."""
        env_session = self._env_sessions.get(session_id) or self._taken(session_id)
        if env_session.env != env or not env_session.alive:
            raise _unknown(session_id)
        self._enter(session_id, env_session)
        return env_session

    def leave(self, env_session: OpenEnvSession) -> None:
        """Detach the socket: the episode continues, unless the socket owns it or it was to be closed."""
        env_session.attached = False
        if env_session.closing:
            env_session.close()

    def _taken(self, session_id: str) -> OpenEnvSession:
        try:
            session = self.service.registry.find(session_id)
        except Problem:
            raise _unknown(session_id) from None
        return OpenEnvSession(self.service, session.origin.env, session)

    def _enter(self, session_id: str, env_session: OpenEnvSession) -> None:
        if len(self._env_sessions) >= self._sweep_at:
            self._env_sessions = {name: one for name, one in self._env_sessions.items() if one.alive}
            self._sweep_at = max(FIRST_SWEEP, 2 * len(self._env_sessions))
        self._env_sessions[session_id] = env_session
        env_session.name = env_session.name or session_id


def fresh_state(episode_id: str) -> dict[str, Any]:
    """The state before an episode."""
    return {
        "episode_id": episode_id,
        "step_count": 0,
        "task_id": "",
        "turn": 0,
        "terminated": False,
        "truncated": False,
    }


def _unknown(session_id: str) -> Problem:
    return Problem("session-not-found", f"Unknown session_id: {clipped(session_id)}")
