"""Pages of the playground: the choice of a task, and the episode that is played."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from agentevol.ui.context import Context, Shared
from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Fields, Form, see
from agentevol.ui.pages import address, page
from agentevol.ui.person import keep_name, known_name, written_name
from agentevol.ui.playground.playground import Play, Wish
from agentevol.ui.playground.view import again, environment_rows, play_view, splits_of

router = APIRouter()

MOST_SEED = 2**53 - 1
MOST_ACTION = 65_536
"""Characters of an action that an environment server takes."""


@router.get("/play")
def choose(
    request: Request, context: Shared, env: str = "", split: str = "", q: str = "", index: int | None = None
) -> HTMLResponse:
    """The list of environments, or the tasks of one whose server runs."""
    playground = context.playground
    table = str(playground.table)
    if not env or context.settings.read_only or playground.state(env) == "off":
        rows = environment_rows(playground.state, playground.problem)
        return page(request, "playground", rows=rows, env=env, table=table)
    if playground.state(env) == "starting":
        return page(request, "playground_starting", env=env)
    info, split, tasks = playground.tasks(env, split or None, q, index)
    splits = splits_of(info)
    return page(
        request,
        "playground_tasks",
        info=info,
        split=split,
        splits=splits,
        tasks=tasks,
        q=q,
        is_held_out=dict(splits)[split].endswith("held out"),
        name=known_name(request),
        table=table,
    )


@router.post("/play/environments")
def start(context: Shared, fields: Fields) -> RedirectResponse:
    """Start the server of an environment."""
    env = fields.required("env")
    context.playground.start(env)
    return see(address("play", env=env))


@router.post("/play")
def begin(context: Shared, fields: Fields) -> RedirectResponse:
    """Begin an episode."""
    name = written_name(fields)
    wish = Wish(
        fields.required("env"),
        fields.required("split"),
        _number(fields, "index"),
        _number(fields, "seed"),
        name,
    )
    reply = see(_here(context.playground.begin(wish)))
    keep_name(reply, name)
    return reply


@router.get("/play/{play_id}")
def play(request: Request, context: Shared, play_id: str) -> HTMLResponse:
    """The episode as it is now."""
    return _shown(request, context, context.playground.find(play_id))


@router.post("/play/{play_id}")
def act(context: Shared, play_id: str, fields: Fields) -> RedirectResponse:
    """Act; a form of an earlier turn changes nothing."""
    found = context.playground.find(play_id)
    choice = _number(fields, "choice")
    action = fields.required("action") if choice is None else choice
    if isinstance(action, str) and len(action) > MOST_ACTION:
        raise BadQuery(
            f"This action has {len(action):,} characters, and an environment takes {MOST_ACTION:,}.",
            "Go back and shorten it. The episode goes on.",
        )
    context.playground.act(found, _number(fields, "turn") or 0, action)
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
        again=again(found),
        choose=address("play", env=found.request.env, split=found.request.split),
        table=str(context.playground.table),
    )


def _here(found: Play) -> str:
    return address("play", found.id) + "#end"


def _number(fields: Form, name: str) -> int | None:
    text = fields.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= MOST_SEED):
        raise BadQuery(
            f"{name} is a whole number from 0 to {MOST_SEED}, not “{text[:40]}”.", "Go back, and mend it."
        )
    return int(text)
