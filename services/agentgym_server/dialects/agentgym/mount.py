"""AgentGym routes of one environment: create, reset, step, close, and its facts."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from agentgym_server.catalogue import Page
from agentgym_server.dialects.agentgym.environment_ids import EnvironmentId, EnvironmentIds, deleted
from agentgym_server.dialects.agentgym.environments import DEVIATIONS, AgentGymEnvironment
from agentgym_server.dialects.agentgym.errors import Refusal, refused
from agentgym_server.dialects.agentgym.reply_fields import EpisodeState, shown
from agentgym_server.dialects.agentgym.request_fields import Fields, Unfit, body_fields
from agentgym_server.service import Service
from agentgym_server.sessions.session import Session
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import Reply

LEASE_S = 3600
"""Lease of sessions: AgentGym's clients send no heartbeats, and some never close."""
RESET_WAIT_S = 5.0
"""Maximum wait of a reset for a slot: it frees one and takes one, behind requests that came first."""
PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Pauses between retries of requests that no worker took; a lost worker is replaced within that time."""


class Mount:
    """Handlers of one environment below `/agentgym/{env}`."""

    def __init__(
        self, service: Service, env: str, original: AgentGymEnvironment, ids: EnvironmentIds
    ) -> None:
        self._service = service
        self._env = env
        self._original = original
        self._ids = ids
        self._posts = {
            "create": self._create,
            "reset": self._reset,
            "step": self._step,
            "close": self._close,
            **dict.fromkeys(original.pictures, self._draw),
        }

    def methods(self, operation: str) -> tuple[str, ...]:
        """HTTP methods of a path below the mount; empty for an unknown path."""
        posts = ("POST",) if operation in self._posts else ()
        return ("GET", "HEAD") if self._can_tell(operation) else posts

    async def answer(self, operation: str, request: Request) -> Response:
        """The reply to a request, whose path and method exist."""
        try:
            if request.method == "POST":
                return JSONResponse(await self._posts[operation](await request.body()))
            return self._tell(operation, Fields("query", request.query_params))
        except (Refusal, Unfit, Problem) as cause:
            return refused(self._original.dialect, operation, cause)

    async def _create(self, body: bytes) -> object:
        original = self._original
        index = 0
        if original.creates_by_index:
            fields = body_fields(body)
            index = fields.integer(*original.argument)
            fields.check()
        elif original.own_texts:
            _refuse_own_texts(body_fields(body), original.own_texts)
        task = await self._task(index)
        seen = await self._begin(task, seed=0, wait_s=0.0)
        entry = self._ids.add(self._env, seen["session_id"], task, {}, seen["observation"])
        return shown(original.created, _moment(entry, seen))

    async def _reset(self, body: bytes) -> object:
        fields, original = body_fields(body), self._original
        number = fields.integer(*original.id_names)
        is_drawn = original.draws and not fields.given(*original.argument)
        default = 0 if is_drawn else original.argument_default
        index = fields.integer(*original.argument, default=default)
        asked: dict[str, object] = {original.argument[0]: index}
        if original.worlds:
            asked["world_type"] = fields.text("world_type")
        seed = fields.seed("seed") if original.seeded else 0
        fields.check()
        if original.worlds and asked["world_type"] not in original.worlds:
            raise Refusal(f"world_type must be one of: {', '.join(original.worlds)}")
        entry, _ = self._ids.find(self._env, number)
        if is_drawn:
            index = await self._service.catalogue.drawn(self._env, self._splits(), secrets.randbelow(2**53))
            asked[original.argument[0]] = index
        task = await self._task(index)
        async with entry.lock:
            return shown(original.begun, await self._begin_again(entry, task, asked, seed))

    async def _step(self, body: bytes) -> object:
        fields = body_fields(body)
        number, action = fields.integer(*self._original.id_names), fields.text("action")
        fields.check()
        entry, _ = self._ids.find(self._env, number)
        async with entry.lock:
            _, session = self._ids.find(self._env, number)
            if session.state == "closed":  # by another dialect, or by a reset that found no free slot
                raise deleted(number)
            if session.state == "ended":
                return shown(self._original.stepped, self._after_the_end(entry))
            seen = await _patiently(lambda: self._service.episodes.act(entry.session_id, action))
            return shown(self._original.stepped, _moment(entry, seen))

    async def _close(self, body: bytes) -> object:
        fields = body_fields(body)
        number = fields.integer(*self._original.id_names)
        fields.check()
        try:
            entry, _ = self._ids.find(self._env, number)
        except Refusal:
            closed = False
        else:
            closed = entry.closed = True
            self._service.episodes.delete(entry.session_id)
        return {"closed": "closed"} if self._original.dialect == "C" else closed

    async def _draw(self, body: bytes) -> object:
        fields = body_fields(body)
        number = fields.integer(*self._original.id_names)
        fields.check()
        self._ids.find(self._env, number)
        raise Refusal("this environment draws no images")

    def _can_tell(self, operation: str) -> bool:
        original = self._original
        if operation == "list_envs":
            return original.dialect != "A"
        return operation in ("", *original.constants, *original.facts)

    def _tell(self, operation: str, query: Fields) -> Response:
        original = self._original
        if not operation:
            return self._greet()
        if operation == "list_envs":
            return JSONResponse(self._ids.of(self._env))
        if operation in original.constants:
            return JSONResponse(original.constants[operation])
        number = query.integer(*original.id_names)
        query.check()
        return JSONResponse(shown(original.facts[operation], self._now(number)))

    def _greet(self) -> Response:
        headers = {"x-agentevol-deviations": DEVIATIONS}
        if self._original.dialect == "C":
            return PlainTextResponse("ok", headers=headers)
        named = f"This is environment {self._original.title}."
        return JSONResponse(named if self._original.dialect == "A" else "ok", headers=headers)

    def _now(self, number: int) -> EpisodeState:
        """The current state of an id's episode."""
        entry, session = self._ids.find(self._env, number)
        _check_playable(entry, session)
        return _moment(entry, self._view(entry))

    def _after_the_end(self, entry: EnvironmentId) -> EpisodeState:
        """The last observation again, with reward 0 and no admissible actions."""
        if self._original.ends:
            raise Refusal(f"The task with environment {entry.number} has finished.")
        # also where a limit cut the episode: a client that waits for `terminated` would never stop
        return _moment(entry, {**self._view(entry), "reward": 0.0, "terminated": True})

    def _view(self, entry: EnvironmentId) -> dict[str, Any]:
        return json.loads(self._service.episodes.get(entry.session_id).body)

    async def _begin(self, task: Mapping[str, Any], seed: int, wait_s: float) -> dict[str, Any]:
        """Start a session of a task, as native v1 shows it."""
        start = {"task_id": task["task_id"], "seed": seed, "lease_ttl_s": LEASE_S}
        seen = await _patiently(lambda: self._service.episodes.create(self._env, start, wait_s=wait_s))
        if self._service.catalogue.of(self._env).environment.changing_tools:
            seen["info"] |= {"tools": seen["tools"]}  # no other reply of this dialect shows them
        return seen

    async def _begin_again(
        self, entry: EnvironmentId, task: Mapping[str, Any], asked: Mapping[str, object], seed: int
    ) -> EpisodeState:
        """Start another episode under the same id; its lock is held."""
        self._ids.find(self._env, entry.number)
        self._service.episodes.delete(entry.session_id)  # first: a full server has no second slot
        seen = await self._begin(task, seed, RESET_WAIT_S)
        entry.session_id, entry.task, entry.asked = seen["session_id"], task, asked
        entry.opening = seen["observation"]
        if entry.closed:  # meanwhile
            self._service.episodes.delete(entry.session_id)
            raise deleted(entry.number)
        return _moment(entry, seen)

    async def _task(self, index: int) -> dict[str, Any]:
        """The row of the task with this index over the splits; raises `Refusal` for an unknown index."""
        first = 0
        for split in self._splits():
            page = Page(split=split, offset=max(0, index - first), limit=1)
            listed = await self._service.catalogue.tasks(self._env, page)
            if listed["tasks"] and index >= 0:
                return listed["tasks"][0]
            first += listed["total"]
        raise Refusal(f"{self._original.argument[0]} must be from 0 to {first - 1}")

    def _splits(self) -> list[str]:
        """Splits that indexes count over, in order: training splits come first."""
        splits = self._service.catalogue.of(self._env).environment.splits
        preferred = [split for split in self._original.splits if split in splits]
        return preferred or sorted(splits, key=lambda split: "train" not in split)


async def _patiently(work: Callable[[], Awaitable[Reply]]) -> dict[str, Any]:
    """The reply of `work`, retried while no worker can take it: AgentGym's clients would not retry."""
    for pause_s in PAUSES_S:
        try:
            return json.loads((await work()).body)
        except Problem as problem:
            if problem.slug != "overloaded":  # `overloaded` guarantees that the operation was not started
                raise
        await asyncio.sleep(pause_s)
    return json.loads((await work()).body)


def _moment(entry: EnvironmentId, seen: Mapping[str, Any]) -> EpisodeState:
    return EpisodeState(entry.number, entry.task, entry.asked, entry.opening, seen)


def _check_playable(entry: EnvironmentId, session: Session) -> None:
    if session.state == "failed":
        message = (session.failure or {}).get("message", "unknown")
        raise Refusal(f"the episode failed: {message}")
    if session.state == "closed":
        raise deleted(entry.number)


def _refuse_own_texts(fields: Fields, names: tuple[str, ...]) -> None:
    given = [name for name in names if fields.text(name, default="")]
    fields.check()
    if given:
        raise Refusal(f"{' and '.join(given)} of one's own cannot be played here: reset to a task's index")
