"""Forms of feedback, and the page that lists it."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from agentevol.config.commands import command
from agentevol.ui.context import Shared
from agentevol.ui.feedback.given import check_fits, checked_back, given_feedback, withdrawal
from agentevol.ui.feedback.lessons import lessons
from agentevol.ui.feedback.listing import listing
from agentevol.ui.feedback.queue import rate_next
from agentevol.ui.feedback.shown import WITHDRAWN
from agentevol.ui.forms import Fields, see
from agentevol.ui.pages import page, with_query
from agentevol.ui.person import given_name, keep_name, known_name
from agentevol.ui.reader.reading import find_episode
from agentgym_store.feedback.records import Comparison

router = APIRouter()


@router.get("/feedback/{key}")
def opinions(request: Request, context: Shared, key: str) -> HTMLResponse:
    """All opinions of a run or table."""
    source = context.library.find(key)
    standing = context.feedback.standing(source)
    return page(
        request,
        "feedback",
        source=source,
        view=listing(source, standing),
        lessons=lessons(source, standing),
        following=rate_next(context.tables, source, standing, known_name(request)),
        listed=command("feedback", "list", source.place, "--json"),
    )


@router.post("/feedback/{key}")
def save(request: Request, context: Shared, key: str, form: Fields) -> RedirectResponse:
    """Save an opinion, or withdraw one, and go back to the page of the form."""
    source, back, name = context.library.find(key), checked_back(form), given_name(request, form)
    if "withdraw" in form:
        record = withdrawal(context.feedback.standing(source), form["withdraw"], name)
    else:
        record = given_feedback(form, name)
        episode = find_episode(context.tables, source, record.trajectory_id).episode
        opinion = record.opinion
        other = None
        if isinstance(opinion, Comparison) and opinion.other != record.trajectory_id:
            other = find_episode(context.tables, source, opinion.other).episode
        check_fits(record, episode, other)
    context.feedback.append(source, [record])
    anchor = "#feedback" if record.turn is None else f"#turn-{record.turn + 1}"
    path, _, query = back.partition("?")
    saved = with_query("", {"saved": WITHDRAWN if record.withdrawn else record.id}).removeprefix("?")
    kept = [one for one in query.split("&") if one and not one.startswith("saved=")]
    reply = see(f"{path}?{'&'.join([*kept, saved])}{anchor}")
    keep_name(reply, name)
    return reply
