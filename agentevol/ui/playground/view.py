"""Views of the pages on which a person plays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentevol.ui.pages import address
from agentevol.ui.playground.playground import Play, Playground
from agentevol.ui.playground.servers import State
from agentevol.ui.playground.setups import Setup, Setups
from agentevol.ui.playground.tasks import explored
from agentevol.ui.reader.view import Long, outcome, verdict
from agentevol.ui.text import TEXT_LIMIT
from agentgym_client.records import EnvironmentInfo
from agentgym_envs.core import Observation
from agentgym_envs.registry import describe, lacking
from agentgym_envs.tools import simplest_call

LATEST_LIMIT = 10 * TEXT_LIMIT
"""Characters of the observation that is answered."""
MOST_ACTIONS = 500
"""Admissible actions that are buttons; others can be typed."""
MOST_TOOLS = 200


@dataclass(frozen=True)
class EnvironmentRow:
    """An environment of the list."""

    name: str
    summary: str
    state: State
    problem: str
    """Reason for which it cannot be played."""
    is_lacking: bool
    """True if something has to be installed first."""
    others: tuple[tuple[str, str], ...] = ()
    """Other options with which it has a server, and the address of its tasks."""


@dataclass(frozen=True)
class Said:
    """One turn so far."""

    number: int
    action: Long
    observation: Long | None
    """None while the environment has not answered."""


@dataclass(frozen=True)
class Tool:
    """A tool that can be called."""

    name: str
    description: str
    schema: str
    """JSON schema of its arguments."""
    call: str
    """Its simplest call, as text."""


@dataclass(frozen=True)
class PlayView:
    """An episode that is played, or was."""

    title: str
    env: str
    instruction: Long
    initial: Long | None
    """None until the environment has answered."""
    turns: tuple[Said, ...]
    state: str
    """`asked`, `waiting` for the environment, or `over`."""
    turn: int
    """Number of the turn to be played."""
    max_turns: int
    actions: tuple[str, ...]
    hidden_actions: int
    tools: tuple[Tool, ...]
    facts: tuple[tuple[str, str], ...]
    is_held_out: bool
    seats: tuple[str, ...]
    verdict: str = ""
    outcome: str = "none"
    is_failed: bool = False
    detail: str = ""
    """Text of a failure."""


def environment_rows(playground: Playground) -> list[EnvironmentRow]:
    """Rows of all registered environments."""
    rows = []
    for one in describe():
        needs, plain = lacking(one.name), Setup(one.name)
        told = f"It needs {needs}" if needs else playground.problem(plain)
        others = tuple(
            (setup.label, address("play", env=one.name, setup=playground.setups.key(setup)))
            for setup in playground.open(one.name)
            if setup != plain
        )
        state = playground.state(plain)
        rows.append(EnvironmentRow(one.name, one.summary, state, told, bool(needs), others))
    return rows


def splits_of(info: EnvironmentInfo) -> list[tuple[str, str]]:
    """Names of the splits, and what to call them."""
    learnt = explored(info.splits)
    return [
        (name, f"{name}: {count:,} tasks{'' if name == learnt else ', held out'}")
        for name, count in info.splits.items()
    ]


def play_view(play: Play) -> PlayView:
    """The view of a play as it is now."""
    person, request, episode = play.person, play.request, play.episode
    observations, actions = tuple(person.seen), tuple(person.actions)
    state = "over" if episode is not None else "asked" if person.is_asked else "waiting"
    if episode is not None:  # with the last observation, which the person was not asked about
        texts = [episode.initial_observation, *(turn.observation for turn in episode.turns)]
    else:
        texts = [one.text for one in observations]
    shown = [_long(text, place == len(texts) - 1) for place, text in enumerate(texts)]
    latest = observations[-1] if observations and state == "asked" else Observation(text="")
    admissible = latest.actions or ()
    return PlayView(
        request.kind or request.task_id,
        request.env,
        _long(request.instruction, True),
        shown[0] if shown else None,
        tuple(
            Said(place, _long(action), shown[place] if place < len(shown) else None)
            for place, action in enumerate(actions, 1)
        ),
        state,
        len(actions) + 1,
        play.max_turns,
        admissible[:MOST_ACTIONS],
        max(0, len(admissible) - MOST_ACTIONS),
        tools_of(latest.tools or ()),
        _facts(play),
        request.purpose == "evaluate",
        play.seats,
        "" if episode is None else verdict(episode),
        "none" if episode is None else outcome(episode),
        episode is not None and episode.ending.kind == "failed",
        "" if episode is None else getattr(episode.ending, "detail", ""),
    )


def tools_of(tools: Sequence[dict[str, Any]]) -> tuple[Tool, ...]:
    """Views of tools, each with its simplest call."""
    return tuple(
        Tool(
            str(function["name"]),
            str(function.get("description", "")),
            json.dumps(function.get("parameters") or {}, indent=2, ensure_ascii=False),
            simplest_call(tool),
        )
        for tool in tools[:MOST_TOOLS]
        for function in [tool["function"]]
    )


def again(play: Play, setups: Setups) -> str:
    """Address of the choice of a play's task."""
    task = {"q": play.request.task_id} if play.index is None else {"index": play.index}
    return address("play", env=play.setup.env, setup=setups.key(play.setup), split=play.request.split, **task)


def again_at_once(play: Play, setups: Setups) -> dict[str, str]:
    """Fields of the form that begins the same episode again."""
    request = play.request
    found = {
        "env": play.setup.env,
        "setup": setups.key(play.setup),
        "split": request.split,
        "task": request.task_id if play.index is None else "",
        "index": "" if play.index is None else str(play.index),
        "seed": str(request.seed),
        "max_turns": "" if request.max_turns is None else str(request.max_turns),
        "name": play.person.name.partition(":")[2],
    }
    return {name: value for name, value in found.items() if value}


def tasks_of(play: Play, setups: Setups) -> str:
    """Address of the tasks among which a play's was chosen."""
    return address("play", env=play.setup.env, setup=setups.key(play.setup), split=play.request.split)


def _facts(play: Play) -> tuple[tuple[str, str], ...]:
    request = play.request
    found = [
        ("task", request.task_id),
        ("split", request.split),
        ("difficulty", request.difficulty),
        ("seed", str(request.seed)),
        ("options", play.setup.label),
        ("player", play.person.name),
    ]
    return tuple((name, value) for name, value in found if value)


def _long(text: str, is_latest: bool = False) -> Long:
    limit = LATEST_LIMIT if is_latest else TEXT_LIMIT
    return Long(text) if len(text) <= limit else Long(text[:limit], "", len(text))
