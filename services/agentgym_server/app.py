"""The application: a FastAPI object whose outermost layer answers the wire format's own routes.

    environments -> Catalogue (lists), Hosts (play)  \\ settings -> Registry (leases, tombstones)          >
    Service -> Gate (ASGI) -> FastAPI (whatever is mounted) ENDPOINTS -> Gate (routes), openapi (document)   /

FastAPI's own request handling is not on the way of a step: it would cost more than the step. It serves
whatever is mounted beside these routes.
"""

import functools
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from agentgym_envs.core import Environment
from agentgym_server.dialects import DIALECTS
from agentgym_server.lanes import openapi, websocket
from agentgym_server.lanes.endpoints import ENDPOINTS
from agentgym_server.lanes.gate import Gate, deny, other_method
from agentgym_server.service import Service, release
from agentgym_server.settings import ServerSettings
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import Reply, problem_reply

TITLE = "agentevol environments"


def create_app(
    environments: Mapping[str, Callable[[], Environment[Any]]],
    *,
    settings: ServerSettings | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """The ASGI application that serves these environments, by name.

    `clock` gives seconds for leases. Workers start with the application's lifespan, or with the first session
    where a transport in the same process runs none; `service_of(app).close()` stops them then.
    """
    service = Service(environments, settings or ServerSettings(), clock)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        await service.start()
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title=TITLE,
        version=release(),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.openapi = lambda: openapi.document(
        TITLE, release(), ENDPOINTS, authenticated=service.settings.authenticated
    )
    connect = functools.partial(websocket.connect, service)
    app.add_middleware(Gate, service=service, endpoints=ENDPOINTS, connect=connect)
    app.add_exception_handler(HTTPException, _problem)
    app.router.default = _nowhere
    app.add_route("/docs", _docs, methods=["GET"])
    for dialect in DIALECTS:
        app.router.routes.extend(dialect(service))
    return app


def service_of(app: FastAPI) -> Service:
    """The service behind an application of `create_app`."""
    return app.state.service


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - an ASGI application
    """ASGI application for unmatched paths: raises 404, where Starlette would close a WebSocket silently."""
    if scope["type"] != "websocket":
        raise HTTPException(404)
    await deny(send, problem_reply(Problem("not-found", "no such route"), scope["path"]))


async def _problem(request: Request, cause: Exception) -> Response:
    try:
        reply = _other_answer(request.method, cause)
    except Problem as problem:
        reply = problem_reply(problem, request.url.path)
    content_type = (reply.content_type,) if reply.body else ()
    headers = {name.decode(): value.decode() for name, value in (*content_type, *reply.headers)}
    return Response(reply.body, reply.status, headers)


def _other_answer(method: str, cause: Exception) -> Reply:
    """The response to `OPTIONS`, which Starlette does not answer; raises the problem of everything else."""
    if isinstance(cause, HTTPException) and cause.status_code == 405:
        told = (cause.headers or {}).get("Allow", "")
        return other_method(method, {name.strip() for name in told.split(",")} - {"HEAD"})
    raise Problem("not-found", "no such route")


async def _docs(_: Request) -> Response:
    """API documentation page without third-party hosts."""
    rows = "".join(
        f"<tr><td><code>{endpoint.method}</code></td><td><code>{endpoint.path}</code></td>"
        f"<td>{endpoint.summary}</td></tr>"
        for endpoint in ENDPOINTS
    )
    style = "body{font-family:sans-serif;margin:2em}td{padding:.3em 1em .3em 0}"
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        f"<style>{style}</style></head><body><h1>{TITLE}</h1><table>{rows}</table>"
        f'<p>In full: <a href="/openapi.json">/openapi.json</a></p></body></html>'
    )
