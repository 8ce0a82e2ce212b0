"""OpenEnv 0.10 dialect: every environment at `/openenv/{env}`, for OpenEnv's own clients.

`episode_socket` is the WebSocket of episodes, `http` the routes beside it, `rpc` the JSON-RPC; `sessions`
connects them to the server's sessions. Specified after OpenEnv 0.10.0 (BSD-3-Clause,
https://github.com/huggingface/OpenEnv).
"""

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Router, WebSocketRoute
from starlette.types import Receive, Scope, Send

from agentgym_server.dialects.openenv.episode_socket import EpisodeSocket
from agentgym_server.dialects.openenv.http import REFUSALS, Http
from agentgym_server.dialects.openenv.rpc_socket import RpcSocket
from agentgym_server.dialects.openenv.sessions import OpenEnvSessions
from agentgym_server.dialects.openenv.socket import Socket
from agentgym_server.service import Service

PREFIX = "/openenv"


def routes(service: Service) -> list[BaseRoute]:
    """The routes of every environment of the catalogue."""
    env_sessions = OpenEnvSessions(service)
    mounts = [
        Mount(f"/{env}", Router(_environment(service, env_sessions, env), redirect_slashes=False))
        for env in service.catalogue.served
    ]
    app = Starlette(routes=mounts, exception_handlers=REFUSALS)
    app.router.redirect_slashes = False
    return [Mount(PREFIX, app)]


def _environment(service: Service, env_sessions: OpenEnvSessions, env: str) -> list[BaseRoute]:
    return [
        WebSocketRoute("/ws", Connections(EpisodeSocket, service, env_sessions, env)),
        WebSocketRoute("/mcp", Connections(RpcSocket, service, env_sessions, env)),
        *Http(service, env_sessions, env).routes(),
    ]


class Connections:
    """ASGI application that serves each connection by one kind of socket."""

    def __init__(self, kind: type[Socket], service: Service, env_sessions: OpenEnvSessions, env: str) -> None:
        self._kind = kind
        self._service = service
        self._env_sessions = env_sessions
        self._env = env

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await self._kind(self._service, self._env_sessions, self._env, scope, receive, send).run()
