"""Pages of comparisons."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from agentevol.core.errors import ConfigError
from agentevol.ui.comparisons.episodes import compare_episodes
from agentevol.ui.comparisons.runs import comparison_view
from agentevol.ui.context import Shared
from agentevol.ui.errors import BadQuery
from agentevol.ui.feedback.requests import page_facts, split_of
from agentevol.ui.feedback.shown import comparison_feedback
from agentevol.ui.pages import address, page
from agentevol.ui.reader.reading import find_episode
from agentevol.ui.reader.view import Texts

router = APIRouter(prefix="/compare")
Names = Annotated[list[str], Query(default_factory=list)]


@router.get("/episodes")
def episodes(request: Request, context: Shared, source: Names, id: Names) -> HTMLResponse:  # noqa: A002
    """Two episodes; `source` is given once, or once for each."""
    if len(id) != 2 or not 1 <= len(source) <= 2:
        raise BadQuery(f"A comparison needs two episodes, not {len(id)}.", "Mark two in a list of episodes.")
    sources = [context.library.find(key) for key in (source[0], source[-1])]
    found = [find_episode(context.tables, one, name).episode for one, name in zip(sources, id, strict=True)]
    return page(
        request,
        "compare_episodes",
        sources=sources,
        view=compare_episodes(*found),
        episodes=found,
        feedback=comparison_feedback(
            sources, found, context.feedback.standing(sources[0]), page_facts(request), split_of(sources[0])
        ),
        initial=[
            Texts(one, episode).cut(episode.initial_observation, 0, "initial")
            for one, episode in zip(sources, found, strict=True)
        ],
        hrefs=[address("episodes", one.key, "one", id=name) for one, name in zip(sources, id, strict=True)],
        swapped=address("compare", "episodes", source=[sources[1].key, sources[0].key], id=[id[1], id[0]]),
    )


@router.get("/runs")
def runs(request: Request, context: Shared, run: Names) -> HTMLResponse:
    """Two runs or more."""
    keys = list(dict.fromkeys(run))
    if len(keys) < 2:
        raise BadQuery("A comparison needs two runs or more.", "Mark them in the list of runs.")
    sources = [context.library.find(key) for key in keys]
    folders = {one.name: one.place for one in sources if isinstance(one.place, Path) and one.is_run}
    if len(folders) < len(keys):
        raise BadQuery(
            "Only runs can be compared: a table has no checkpoints.", "Mark runs in the list of runs."
        )
    hrefs = {one.name: address("runs", one.key) for one in sources}
    try:
        view = comparison_view(folders)
    except ConfigError as cause:
        raise BadQuery(f"{cause}.", "Runs are compared on tasks that each of them has evaluated.") from None
    return page(request, "compare_runs", view=view, hrefs=hrefs)
