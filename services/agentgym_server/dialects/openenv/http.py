"""HTTP routes of one environment. A request without a `session_id` has an episode of its own.

Errors have FastAPI's shape: `{"detail": "..."}`, or a list of the errors in a body.
"""

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from inspect import cleandoc
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentgym_server.dialects.openenv import manifest, models, tasks, tools, views
from agentgym_server.dialects.openenv.errors import invalid, told
from agentgym_server.dialects.openenv.models import Invalid, ModelT, parsed, wrong
from agentgym_server.dialects.openenv.rpc import Rpc
from agentgym_server.dialects.openenv.sessions import FIXED, OpenEnvSession, OpenEnvSessions, fresh_state
from agentgym_server.dialects.openenv.tasks import BadIndex
from agentgym_server.service import Service
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.reply import Reply

API_VERSION = "1.0.0"
"""Version of the protocol: OpenEnv's tools read it from `openapi.json`."""
STATUSES = {"healthy": "healthy", "degraded": "degraded", "draining": "unhealthy"}
Handler = Callable[[Request], Awaitable[Response]]


class Http:
    """Handlers of one environment."""

    def __init__(self, service: Service, env_sessions: OpenEnvSessions, env: str) -> None:
        self._service = service
        self._catalogue = service.catalogue
        self._env_sessions = env_sessions
        self._env = env
        self._rpc = Rpc(env_sessions, env)

    def routes(self) -> list[BaseRoute]:
        """All routes of the environment."""
        gets: dict[str, Handler] = {
            "/health": self.health,
            "/metadata": self.metadata,
            "/schema": self.schema,
            "/state": self.state,
            "/openapi.json": self.openapi,
            "/openenv.yaml": self.manifest,
            "/list_environments": self.list_environments,
            "/{name}/splits": self.splits,
        }
        posts: dict[str, Handler] = {
            "/reset": self.reset,
            "/step": self.step,
            "/mcp": self.mcp,
            "/{name}/tasks": self.tasks,
            "/{name}/num_tasks": self.num_tasks,
            "/{name}/task": self.task,
            "/{name}/task_range": self.task_range,
        }
        return [
            *(Route(path, handler, methods=["GET"]) for path, handler in gets.items()),
            *(Route(path, handler, methods=["POST"]) for path, handler in posts.items()),
        ]

    async def health(self, request: Request) -> Response:
        """Liveness."""
        return _json({"status": STATUSES[self._service.status]})

    async def metadata(self, request: Request) -> Response:
        """Metadata of the environment."""
        environment = self._catalogue.of(self._env).environment
        return _json(
            {
                "name": self._env,
                "description": manifest.summary(environment),
                "readme_content": None,
                "version": environment.version,
                "author": None,
                "documentation_url": None,
            }
        )

    async def schema(self, request: Request) -> Response:
        """The JSON schemas."""
        declared = self._catalogue.schema(self._env)["tools"] is not None
        entry = await self._catalogue.entry(self._env)
        return _json(models.schemas(declared or entry["capabilities"]["tools"]))

    async def state(self, request: Request) -> Response:
        """State of an episode; without a session, of a new one."""
        named = _session_id(request, request.query_params.get("session_id"))
        if named is None:
            return _json(fresh_state(uuid.uuid4().hex))
        return _json(self._env_sessions.find(self._env, named).state())

    async def reset(self, request: Request) -> Response:
        """Begin an episode."""
        body: object = await _body(request) if await request.body() else {}
        options = parsed(models.ResetOptions, body, "body")
        named = _session_id(request, options.session_id)
        if named is not None:
            return _json(
                views.played(
                    await self._env_sessions.reset(self._env_sessions.find(self._env, named), options)
                )
            )
        env_session, view = await self._env_sessions.begin(self._env, options)
        env_session.close()
        return _json(views.played(view))

    async def step(self, request: Request) -> Response:
        """Play an action."""
        options = parsed(models.StepOptions, await _body(request), "body")
        models.parsed_action(options.action, True, "body", "action")  # before an episode starts for it
        async with self._env_session(_session_id(request, options.session_id)) as env_session:
            action = models.parsed_action(options.action, tools.offered(env_session), "body", "action")
            if not isinstance(action, models.TextAction):
                return _json(await tools.act(env_session, action, options.timeout_s))
            answer = env_session.step(env_session.written(action.text), options.timeout_s)
            reply = answer if isinstance(answer, Reply) else await answer
            return _json(views.played(views.read(reply)))

    async def mcp(self, request: Request) -> Response:
        """One JSON-RPC request; the status is always 200."""
        return _json(await self._rpc.answer_text(await request.body()))

    async def list_environments(self, request: Request) -> Response:
        """The environment's name."""
        return _json([self._env])

    async def splits(self, request: Request) -> Response:
        """The splits."""
        self._check_name(request)
        return _json(tasks.splits(self._catalogue, self._env))

    async def tasks(self, request: Request) -> Response:
        """All tasks of a split, or the first page of a very large one."""
        wish = await self._wish(request, models.ListTasks)
        listed = await tasks.some(self._catalogue, self._env, wish.split)
        return _json({**listed, "env_name": self._env})

    async def num_tasks(self, request: Request) -> Response:
        """Number of tasks of a split."""
        wish = await self._wish(request, models.ListTasks)
        return _json({"num_tasks": await tasks.count(self._catalogue, self._env, wish.split)})

    async def task(self, request: Request) -> Response:
        """One task."""
        wish = await self._wish(request, models.GetTask)
        return _json({"task": await tasks.one(self._catalogue, self._env, wish.split, wish.index)})

    async def task_range(self, request: Request) -> Response:
        """Some tasks."""
        wish = await self._wish(request, models.GetTaskRange)
        return _json(await tasks.some(self._catalogue, self._env, wish.split, wish.start, wish.stop))

    async def openapi(self, request: Request) -> Response:
        """The paths, for `openenv validate --url`."""
        paths: dict[str, Any] = {}
        for route in cast("list[Route]", self.routes()):
            method = "post" if "POST" in (route.methods or ()) else "get"
            operation = {
                "summary": cleandoc(route.endpoint.__doc__ or ""),
                "responses": {"200": {"description": "OK"}},
            }
            paths.setdefault(route.path.replace("{name}", self._env), {})[method] = operation
        info = {"title": f"{self._env}, served as OpenEnv", "version": API_VERSION}
        return _json({"openapi": "3.1.0", "info": info, "paths": paths})

    async def manifest(self, request: Request) -> Response:
        """The environment's `openenv.yaml`."""
        text = manifest.openenv_yaml(self._env, self._catalogue.of(self._env).environment)
        return Response(text, media_type="application/yaml")

    @asynccontextmanager
    async def _env_session(self, session_id: str | None) -> AsyncGenerator[OpenEnvSession]:
        """The OpenEnv session of an id, or a temporary one that closes with the request."""
        if session_id is not None:
            yield self._env_sessions.find(self._env, session_id)
            return
        env_session, _ = await self._env_sessions.begin(self._env, FIXED)
        try:
            yield env_session
        finally:
            env_session.close()

    async def _wish(self, request: Request, model: type[ModelT]) -> ModelT:
        self._check_name(request)
        return parsed(model, await _body(request), "body")

    def _check_name(self, request: Request) -> None:
        name: str = request.path_params["name"]
        if name.lower() != self._env.lower():
            raise Problem("env-not-found", f"unknown environment {clipped(name)!r}")


def refused(request: Request, cause: Exception) -> Response:  # noqa: ARG001 - a handler
    """The error response, in FastAPI's shape."""
    if isinstance(cause, Invalid):
        return _json({"detail": cause.errors}, 422)
    if isinstance(cause, BadIndex):
        return _json({"detail": str(cause)}, 400)
    if isinstance(cause, HTTPException):
        return _json({"detail": cause.detail}, cause.status_code, cause.headers)
    if not isinstance(cause, Problem):
        raise cause
    if cause.slug == "validation":
        return _json({"detail": invalid(cause).errors}, 422)
    headers = {name.decode(): value.decode() for name, value in cause.headers}
    return _json({"detail": cause.detail, **told(cause)}, cause.status, headers)


REFUSALS: dict[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
    (Invalid, BadIndex, HTTPException, Problem), refused
)


async def _body(request: Request) -> object:
    """The parsed JSON body."""
    raw = await request.body()
    if not raw:
        raise Invalid([wrong("missing", "Field required", ("body",), None)])
    try:
        return strict_json.parse(raw)
    except strict_json.InvalidJson as cause:
        where = ("body",) if cause.position is None else ("body", cause.position)
        error = wrong("json_invalid", "JSON decode error", where, {})
        raise Invalid([error | {"ctx": {"error": str(cause)}}]) from None


def _session_id(request: Request, given: str | None) -> str | None:
    return given if given is not None else request.headers.get("x-session-id")


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(strict_json.dump(value), status, headers, "application/json")
