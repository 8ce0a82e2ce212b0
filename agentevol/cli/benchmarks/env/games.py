"""Steps of text games in process, BabyAI and ScienceWorld beside their packages' own loops.

minigrid's loop is that of its own actions on the same levels, without texts; ScienceWorld's is
`ScienceWorldEnv.step`, which lists the valid actions after each, with the same actions.
"""

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from typing import Any, Final

from agentevol.cli.benchmarks.figures import Figure, ratio, report
from agentevol.cli.benchmarks.progress import say

GAMES: Final = ("maze", "wordle", "textcraft", "babyai", "sciworld", "searchqa")
REPEATS: Final = 3
TASKS: Final = 12
SECONDS: Final = 2.0
"""Time of a repeat at least."""
TURNS: Final = 20


@dataclass(frozen=True)
class Script:
    """Actions of an episode."""

    task: Any
    actions: tuple[str, ...]


def main(*, json: bool) -> None:
    """Measure and print."""
    report("env", _compared, json=json)


def _compared() -> dict[str, Any]:
    figures = [figure for game in GAMES for figure in _figures(game)]
    for figure in figures:
        print(figure)
    return {"figures": [figure.as_json() for figure in figures]}


def _figures(game: str) -> Iterator[Figure]:
    from agentgym_envs.registry import EnvironmentUnavailable, make

    say(game)
    try:
        environment = make(game)
    except EnvironmentUnavailable as cause:
        say(f"{game} is not measured: {cause}")
        return
    scripts = scripted(environment)
    original = ORIGINALS.get(game)
    ours, theirs = list[float](), list[float]()
    for _ in range(REPEATS):
        ours.append(rate(lambda script: played(environment, script), scripts))
        if original is not None:
            theirs.append(original(scripts))
    yield Figure(game, "steps/s in process", tuple(ours))
    if theirs:
        yield Figure(f"{game}, its package", "steps/s in process", tuple(theirs))
        yield ratio(f"{game}: ours above its package", ours, theirs)
    environment.close()


def scripted(environment: Any) -> list[Script]:
    """Episodes of random admissible actions, of the expert where there are none; the same on each call."""
    tasks = environment.tasks(environment.splits[0])
    found: list[Script] = []
    for number, task in enumerate(islice(tasks, TASKS)):
        draw, actions = Random(number), list[str]()
        observation = environment.reset(task, 0)
        while observation.actions and len(actions) < TURNS:
            actions.append(draw.choice(observation.actions))
            result = environment.step(actions[-1])
            observation = result.observation
            if result.terminated or result.truncated:
                break
        found.append(Script(task, tuple(actions or (environment.expert(task) or ["look around"])[:TURNS])))
    return found


def played(environment: Any, script: Script) -> int:
    """Play an episode; the number of steps. Its reset is a part of the time."""
    environment.reset(script.task, 0)
    for action in script.actions:
        environment.step(action)
    return len(script.actions)


def rate(play: Callable[[Script], int], scripts: Sequence[Script]) -> float:
    """Steps per second of whole episodes, in turn from the first on."""
    steps, began = 0, time.perf_counter()
    for script in cycle(scripts):
        steps += play(script)
        if time.perf_counter() - began >= SECONDS:
            break
    return steps / (time.perf_counter() - began)


def minigrid_rate(scripts: Sequence[Script]) -> float:
    """Steps per second of minigrid's own actions on the same levels."""
    from agentgym_envs.babyai.levels import generate, opened

    levels = {script.task.level: opened(script.task.level) for script in scripts}

    def play(script: Script) -> int:
        level, draw = levels[script.task.level], Random(script.task.id)
        generate(level, script.task.level_seed)
        for _ in range(TURNS):
            level.step(draw.randrange(6))
        return TURNS

    return rate(play, scripts)


def scienceworld_rate(scripts: Sequence[Script]) -> float:
    """Steps per second of the package's own environment on the same games."""
    from importlib import import_module

    package: Any = import_module("scienceworld")
    with contextlib.redirect_stdout(io.StringIO()):
        original = package.ScienceWorldEnv("")

    def play(script: Script) -> int:
        original.load(script.task.game, script.task.variation, "")
        for action in script.actions:
            original.step(action)
        return len(script.actions)

    try:
        return rate(play, scripts)
    finally:
        original.close()


ORIGINALS: Final[dict[str, Callable[[Sequence[Script]], float]]] = {
    "babyai": minigrid_rate,
    "sciworld": scienceworld_rate,
}
"""Loops of wrapped packages by game."""
