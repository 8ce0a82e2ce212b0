"""Pages of one episode."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, PlainTextResponse

from agentevol.ui.context import Shared
from agentevol.ui.episodes.filters import filters_of
from agentevol.ui.episodes.listing import neighbours
from agentevol.ui.errors import NotFound
from agentevol.ui.feedback.requests import page_facts, split_of
from agentevol.ui.feedback.shown import reader_feedback
from agentevol.ui.pages import address, page
from agentevol.ui.reader.reading import find_episode, group_of
from agentevol.ui.reader.tokenizers import tokenizer_of
from agentevol.ui.reader.view import episode_view, member_rows, whole_text

router = APIRouter()


@router.get("/episodes/{key}/one")
def episode(request: Request, context: Shared, key: str, id: str, expert: bool = False) -> HTMLResponse:  # noqa: A002
    """The reader; `expert` also plays the expert's way."""
    source = context.library.find(key)
    filters = filters_of(request.query_params)
    found = find_episode(context.tables, source, id)
    beside = neighbours(context, source, filters, found.row)
    names = {"previous": beside.previous, "next": beside.next}
    return page(
        request,
        "episode",
        source=source,
        view=episode_view(source, found.episode, tokenizer_of(source), filters.q or ""),
        group=member_rows(source, group_of(context.tables, source, found.episode), id),
        episode_id=id,
        feedback=reader_feedback(
            source, found.episode, context.feedback.standing(source), page_facts(request), split_of(source)
        ),
        expert=context.experts.way(source, found.episode) if expert else None,
        expert_href=address("episodes", key, "one", **filters.query(id=id, expert="1")) + "#expert",
        list_href=address("episodes", key, **filters.query()),
        beside={
            side: other and address("episodes", key, "one", **filters.query(id=other))
            for side, other in names.items()
        },
        task_href=address("episodes", key, task=found.episode.task_id, env=found.episode.env),
    )


@router.get("/episodes/{key}/text")
def text(context: Shared, key: str, id: str, turn: int, part: str) -> PlainTextResponse:  # noqa: A002
    """One whole text of an episode, as plain text."""
    found = find_episode(context.tables, context.library.find(key), id)
    whole = whole_text(found.episode, turn, part)
    if whole is None:
        raise NotFound(f"Turn {turn} of this episode has no text “{part}”.")
    return PlainTextResponse(whole.encode("utf-8", "replace"))
