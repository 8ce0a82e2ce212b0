"""Pages on which a person chooses an environment, its options, and a task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import Request
from starlette.responses import HTMLResponse

from agentevol.ui.context import Context
from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Form
from agentevol.ui.pages import address, page
from agentevol.ui.person import known_name, written_name
from agentevol.ui.playground.options import OptionField, fields_of_setup, usual
from agentevol.ui.playground.playground import TaskQuery, Wish
from agentevol.ui.playground.search import TaskList
from agentevol.ui.playground.setups import Setup
from agentevol.ui.playground.view import environment_rows, splits_of
from agentgym_server.settings import is_loopback

MOST_SEED = 2**53 - 1
MOST_TURNS = 10_000
"""Turns of an episode that an environment server allows."""


@dataclass(frozen=True)
class Typed:
    """Fields of the form that begins an episode, as they were typed, and what is wrong with them."""

    name: str = ""
    seed: str = ""
    max_turns: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


def offers_private(context: Context) -> bool:
    """True if everybody who can reach the pages is at this machine."""
    return is_loopback(context.settings.host)


def environments_page(
    request: Request,
    context: Context,
    setup: Setup | None = None,
    fields: Sequence[OptionField] | None = None,
) -> HTMLResponse:
    """The list of environments, and the start of one; with status 400 where `fields` have errors."""
    playground = context.playground
    is_wrong = fields is not None
    if setup is not None and fields is None and not context.settings.read_only:
        fields = fields_of_setup(setup, private=offers_private(context))
    return page(
        request,
        "playground",
        status=400 if is_wrong else 200,
        rows=environment_rows(playground),
        env="" if setup is None else setup.env,
        setup=setup,
        key="" if setup is None else playground.setups.key(setup),
        problem="" if setup is None or is_wrong else playground.problem(setup),
        fields=fields or (),
        is_wrong=is_wrong,
        table=str(playground.table),
    )


def tasks_page(
    request: Request, context: Context, setup: Setup, query: TaskQuery, typed: Typed | None = None
) -> HTMLResponse:
    """The tasks of an environment whose server runs; with status 400 where something was `typed` wrong."""
    playground = context.playground
    info, tasks = playground.tasks(setup, query)
    key = playground.setups.key(setup)
    splits = splits_of(info)
    same = {"env": setup.env, "setup": key, "split": tasks.split, "q": query.text}
    return page(
        request,
        "playground_tasks",
        status=400 if typed else 200,
        info=info,
        setup=setup,
        key=key,
        fields=fields_of_setup(setup, private=offers_private(context)),
        splits=splits,
        tasks=tasks,
        query=query,
        links=_links(tasks, query, same),
        is_held_out=dict(splits)[tasks.split].endswith("held out"),
        typed=typed or Typed(known_name(request)),
        usual_turns=usual(setup.env).max_turns,
        table=str(playground.table),
    )


def wish_of(setup: Setup, form: Form) -> tuple[Wish, Typed]:
    """The episode that a form asks for, and what was typed; it is not to be begun if that has errors."""
    errors: dict[str, str] = {}
    seed = _whole(form, "seed", 0, MOST_SEED, errors)
    max_turns = _whole(form, "max_turns", 1, MOST_TURNS, errors)
    try:
        name = written_name(form)
    except BadQuery as cause:
        name = ""
        errors["name"] = str(cause)
    typed = Typed(form.get("name", ""), form.get("seed", ""), form.get("max_turns", ""), errors)
    index = number(form, "index")
    return Wish(setup, form.required("split"), index, form.get("task", ""), seed, max_turns, name), typed


def number(form: Form, name: str) -> int | None:
    """A number that a page put into its form; None where it is left out. Raises `BadQuery`."""
    errors: dict[str, str] = {}
    found = _whole(form, name, 0, MOST_SEED, errors)
    if errors:
        raise BadQuery(errors[name], "Go back, and mend it.")
    return found


def _whole(form: Form, name: str, least: int, most: int, errors: dict[str, str]) -> int | None:
    text = form.get(name, "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit() and least <= int(text[:20]) <= most:
        return int(text)
    words = name.replace("_", " ")
    errors[name] = f"{words} is a whole number from {least} to {most}, not “{text[:40]}”."
    return None


def _links(tasks: TaskList, query: TaskQuery, same: Mapping[str, object]) -> dict[str, str]:
    others = {"others": 1} if query.others else {}
    found = {
        "all": address("play", **{**same, "q": None}),
        "on": address("play", **same, **others, **({"from": query.start} if query.start else {})),
        "others": address("play", **same, others=1),
    }
    if query.start:
        found["first"] = address("play", **same, **others)
    if tasks.next is not None:
        found["next"] = address("play", **same, **others, **{"from": tasks.next})
    if tasks.elsewhere is not None:
        found["elsewhere"] = address("play", **{**same, "split": tasks.elsewhere.split})
    return found
