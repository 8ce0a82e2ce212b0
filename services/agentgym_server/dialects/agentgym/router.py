"""Router of the AgentGym dialect: finds the mount of a path below `/agentgym`. Repeated slashes count as one.

AgentGym's classes join `{base}/{path}`: a base that ends with a slash gives `//create`.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from agentgym_server.dialects.agentgym.environment_ids import EnvironmentIds
from agentgym_server.dialects.agentgym.environments import ALIASES, COUNTERPARTS, stranger
from agentgym_server.dialects.agentgym.mount import Mount
from agentgym_server.service import Service
from agentgym_server.wire.problems import clipped

ROOT = "agentgym"
LONGEST_NAME = 2
"""Maximum number of segments of a mount's path: `lmrlgym/maze`."""


class Router(BaseRoute):
    """Route of all mounts."""

    def __init__(self, service: Service) -> None:
        ids = EnvironmentIds(service)
        self._mounts = {
            env: Mount(service, env, COUNTERPARTS.get(env) or stranger(env), ids)
            for env in service.catalogue.served
        }
        aliases = {path: self._mounts[env] for path, env in ALIASES.items() if env in self._mounts}
        self._mounts = {**self._mounts, **aliases}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """`Match.FULL` for a request of AgentGym's dialect."""
        ours = scope["type"] == "http" and _segments(scope)[:1] == [ROOT]
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = _segments(request.scope)[1:]
        mount, rest = self._find(path)
        if mount is None:
            names = ", ".join(self._mounts)
            unknown = f"no environment {clipped('/'.join(path))!r}; there are: {names}"
            return JSONResponse({"detail": unknown}, 404)
        operation = "/".join(rest)
        methods = mount.methods(operation)
        if not methods:
            return JSONResponse({"detail": "Not Found"}, 404)
        if request.method not in methods:
            return JSONResponse({"detail": "Method Not Allowed"}, 405, {"allow": ", ".join(methods)})
        return await mount.answer(operation, request)

    def _find(self, path: list[str]) -> tuple[Mount | None, list[str]]:
        """The mount of a path, and the rest of the path."""
        for length in range(LONGEST_NAME, 0, -1):
            mount = self._mounts.get("/".join(path[:length]))
            if mount is not None:
                return mount, path[length:]
        return None, path


def _segments(scope: Scope) -> list[str]:
    return [segment for segment in scope["path"].split("/") if segment]
