"""The application: pages, static files, errors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.resources import files

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from agentevol.core.errors import AgentEvolError
from agentevol.ui.comparisons import routes as comparisons
from agentevol.ui.context import Context
from agentevol.ui.episodes import routes as episodes
from agentevol.ui.errors import BadQuery, NotFound, PageError, error_view
from agentevol.ui.feedback import api
from agentevol.ui.feedback import routes as feedback
from agentevol.ui.guard import Guard
from agentevol.ui.pages import page
from agentevol.ui.playground import routes as playground
from agentevol.ui.reader import routes as reader
from agentevol.ui.runs import routes as runs
from agentevol.ui.settings import UiSettings
from agentgym_store.errors import StoreError

GROUPS = (runs, episodes, reader, comparisons, feedback, api, playground)
"""Modules of the groups of pages, with a `router` each."""
STATIC = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
KEPT = "public, max-age=31536000, immutable"
"""Static files have addresses that change with their content."""


def create_app(settings: UiSettings) -> Guard:
    """The ASGI application; it needs no start. Its end ends what is played."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=_lifespan)
    app.state.context = Context(settings)
    for group in GROUPS:
        app.include_router(group.router)
    app.add_api_route("/static/{name}", _static)
    for kind in (PageError, StoreError, AgentEvolError, OSError, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _invalid)
    return Guard(app, settings.names, read_only=settings.read_only)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    await run_in_threadpool(app.state.context.playground.close)


def _static(name: str) -> Response:
    if name not in STATIC:
        raise NotFound(f"There is no file {name}.")
    content = files("agentevol.ui").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={"cache-control": KEPT})


async def _failed(request: Request, cause: Exception) -> Response:
    view = error_view(cause)
    if request.url.path.startswith(f"{api.router.prefix}/"):
        title = HTTPStatus(view.status).phrase
        problem = {"title": title, "status": view.status, "detail": view.message}
        return JSONResponse(problem, view.status, media_type="application/problem+json")
    return page(request, "error", status=view.status, view=view)


async def _unknown(request: Request, cause: Exception) -> Response:
    del cause  # of the router: no page has this path
    return await _failed(
        request, NotFound(f"There is no page {request.url.path}.", "Start from the list of runs.")
    )


async def _invalid(request: Request, cause: Exception) -> Response:
    found = cause.errors() if isinstance(cause, RequestValidationError) else []
    told = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in found)
    return await _failed(
        request, BadQuery(f"This address is not complete: {told}.", "Start from the list of runs.")
    )
