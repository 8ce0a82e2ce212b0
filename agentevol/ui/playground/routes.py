"""Pages of the playground: the choice of a task, and the episode that is played."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from agentevol.ui.context import Context, Shared
from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Fields, see
from agentevol.ui.pages import address, page
from agentevol.ui.person import keep_name
from agentevol.ui.playground.choice import environments_page, number, offers_private, tasks_page, wish_of
from agentevol.ui.playground.options import BadOptions, fields_of_form, read_setup
from agentevol.ui.playground.playground import Play, TaskQuery
from agentevol.ui.playground.setups import Setup
from agentevol.ui.playground.view import again, again_at_once, play_view, tasks_of

router = APIRouter()

MOST_ACTION = 65_536
"""Characters of an action that an environment server takes."""


@router.get("/play")
def choose(
    request: Request,
    context: Shared,
    env: str = "",
    setup: str = "",
    split: str = "",
    q: str = "",
    start: Annotated[int, Query(alias="from", ge=0)] = 0,
    others: bool = False,
    index: int | None = None,
) -> HTMLResponse:
    """The list of environments, or the tasks of one whose server runs."""
    if not env or context.settings.read_only:
        return environments_page(request, context)
    chosen = context.playground.setups.find(env, setup)
    state = context.playground.state(chosen)
    if state == "off":
        return environments_page(request, context, chosen)
    if state == "starting":
        return page(request, "playground_starting", env=env, setup=chosen)
    return tasks_page(request, context, chosen, TaskQuery(split, q.strip(), start, others, index))


@router.post("/play/environments")
def start(request: Request, context: Shared, fields: Fields) -> Response:
    """Start the server of an environment, with the options of the form or those that were chosen before."""
    env, known = fields.required("env"), fields.get("setup", "")
    private = offers_private(context)
    setups = context.playground.setups
    try:
        setup = setups.find(env, known) if known else read_setup(env, fields, private=private)
    except BadOptions as cause:
        typed = fields_of_form(env, fields, cause.errors, private=private)
        return environments_page(request, context, Setup(env), typed)
    context.playground.start(setup)
    return see(address("play", env=env, setup=setups.key(setup)))


@router.post("/play")
def begin(request: Request, context: Shared, fields: Fields) -> Response:
    """Begin an episode; what was typed wrong is told beside it."""
    setup = context.playground.setups.find(fields.required("env"), fields.get("setup", ""))
    wish, typed = wish_of(setup, fields)
    if typed.errors:
        query = TaskQuery(wish.split, fields.get("q", ""), number(fields, "from") or 0, "others" in fields)
        return tasks_page(request, context, setup, query, typed)
    reply = see(_here(context.playground.begin(wish)))
    keep_name(reply, wish.player)
    return reply


@router.get("/play/{play_id}")
def play(request: Request, context: Shared, play_id: str) -> HTMLResponse:
    """The episode as it is now."""
    return _shown(request, context, context.playground.find(play_id))


@router.post("/play/{play_id}")
def act(context: Shared, play_id: str, fields: Fields) -> RedirectResponse:
    """Act; a form of an earlier turn changes nothing."""
    found = context.playground.find(play_id)
    choice = number(fields, "choice")
    action = fields.required("action") if choice is None else choice
    if isinstance(action, str) and len(action) > MOST_ACTION:
        raise BadQuery(
            f"This action has {len(action):,} characters, and an environment takes {MOST_ACTION:,}.",
            "Go back and shorten it. The episode goes on.",
        )
    context.playground.act(found, number(fields, "turn") or 0, action)
    return see(_here(found))


@router.post("/play/{play_id}/end")
def end(context: Shared, play_id: str) -> RedirectResponse:
    """Give up."""
    found = context.playground.find(play_id)
    context.playground.give_up(found)
    return see(_here(found))


@router.post("/play/{play_id}/keep")
def keep(context: Shared, play_id: str) -> RedirectResponse:
    """Try again to append the episode to the table."""
    found = context.playground.find(play_id)
    context.playground.keep_again(found)
    return see(_here(found))


def _shown(request: Request, context: Context, found: Play) -> HTMLResponse:
    source = context.library.at(context.playground.table) if found.is_kept else None
    reader = "" if source is None else address("episodes", source.key, "one", id=found.request.id)
    return page(
        request,
        "playground_play",
        view=play_view(found),
        play=found,
        here=address("play", found.id),
        reader=reader,
        again=again(found, context.playground.setups),
        at_once=again_at_once(found, context.playground.setups),
        choose=tasks_of(found, context.playground.setups),
        table=str(context.playground.table),
    )


def _here(found: Play) -> str:
    return address("play", found.id) + "#end"
