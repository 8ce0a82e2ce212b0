"""Pages of runs: the list, one run, and the parts of both that change while a run goes on."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from agentevol.ui.context import Context, Shared
from agentevol.ui.errors import NotFound
from agentevol.ui.library import Source
from agentevol.ui.pages import page
from agentevol.ui.runs.listing import run_rows, table_rows
from agentevol.ui.runs.live import live_view
from agentevol.ui.runs.outcomes import Outcome, outcomes
from agentevol.ui.runs.overview import run_overview, table_overview
from agentevol.ui.runs.summaries import stamp
from agentgym_store.statistics import statistics

router = APIRouter()


@router.get("/")
def runs(request: Request, context: Shared) -> HTMLResponse:
    """The list of runs."""
    return page(request, "runs", **_listed(context))


@router.get("/live/runs")
def live_runs(request: Request, context: Shared) -> HTMLResponse:
    """The rows of the list alone, which a script puts into the page."""
    return page(request, "runs_rows", **_listed(context))


@router.get("/runs/{key}")
def run(request: Request, context: Shared, key: str) -> HTMLResponse:
    """One run, or a table that belongs to none."""
    source = context.library.find(key)
    if isinstance(source.place, Path) and source.is_run:
        overview, live = run_overview(source.place), live_view(source.place)
    else:
        snapshot = context.tables.snapshot(source)
        found = context.statistics.get(snapshot.name, lambda: statistics(snapshot.frame))
        overview, live = table_overview(source.name, found), None
    return page(
        request, "run", source=source, overview=overview, live=live, outcomes=_outcomes(context, source)
    )


@router.get("/live/runs/{key}")
def live_run(request: Request, context: Shared, key: str) -> HTMLResponse:
    """The progress of one run alone."""
    source = context.library.find(key)
    folder = _folder(source)
    reply = page(request, "run_live", live=live_view(folder), source=source)
    reply.headers["x-version"] = "-".join(map(str, stamp(folder)))  # the page is loaded again when it changes
    return reply


def _listed(context: Context) -> dict[str, Any]:
    sources = context.library.sources()
    paths = [str(path) for path in context.library.paths]
    return {"runs": run_rows(sources), "tables": table_rows(sources), "paths": paths}


def _folder(source: Source) -> Path:
    if not isinstance(source.place, Path) or not source.is_run:
        raise NotFound(f"{source.name} is a table, not a run.")
    return source.place


def _outcomes(context: Context, source: Source) -> list[Outcome]:
    try:
        return outcomes(context.tables.snapshot(source), source.key)
    except NotFound:  # a run that has just begun
        return []
