"""Pages of episodes: the list."""

from collections.abc import Callable

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from agentevol.ui.context import Shared
from agentevol.ui.episodes.cursors import Side, cursor_of
from agentevol.ui.episodes.filters import FEEDBACK, MODES, OUTCOMES, SORTS, filters_of
from agentevol.ui.episodes.listing import EpisodePage, episode_page
from agentevol.ui.pages import address, page

router = APIRouter()


@router.get("/episodes/{key}")
def episodes(request: Request, context: Shared, key: str) -> HTMLResponse:
    """A page of the episodes of a run or table."""
    source = context.library.find(key)
    parameters = request.query_params
    filters = filters_of(parameters)
    side: Side = "before" if "before" in parameters else "after"
    cursor = cursor_of(parameters[side]) if side in parameters else None
    found = episode_page(context, source, filters, cursor, side)
    here = address("episodes", key)

    def link(**changes: object) -> str:
        """The list with other filters, from its first page."""
        return address("episodes", key, **filters.query(**changes))

    return page(
        request,
        "episodes",
        source=source,
        found=found,
        filters=filters,
        choices={"outcome": OUTCOMES, "mode": MODES, "feedback": FEEDBACK, "sort": SORTS},
        here=here,
        link=link,
        pages=_pages(found, link),
        is_first=cursor is None,
    )


def _pages(found: EpisodePage, link: Callable[..., str]) -> dict[str, str | None]:
    """Addresses of the next and the previous page; None where there is none."""
    given = {"after": found.next, "before": found.previous}
    return {side: cursor and link(**{side: cursor.text()}) for side, cursor in given.items()}
