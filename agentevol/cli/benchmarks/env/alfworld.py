"""Native ALFWorld against the TextWorld engine: a step with its admissible list, on the same games.

The original engine is measured where it is installed (the extra `alfworld`), in the stack of the original's
own loader: `AlfredDemangler(PddlEnv(...))`. Both play the same commands, and their answers are compared: a
ratio of engines that disagree would mean nothing.
"""

import json as json_module
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentevol.cli.benchmarks.figures import Figure, ratio, short

REPEATS = 3
GAMES = (("train", "small", 0), ("train", "medium", 1), ("train", "large", 2), ("train", "large", 3))
STEPS = 10
BUDGET = 300
INSTALL = (
    "the TextWorld engine is not installed, so there is nothing to compare with; "
    "pip install 'agentevol[alfworld]' builds it (gcc and cmake needed)"
)


@dataclass(frozen=True)
class Script:
    """A game and the commands that both engines play on it."""

    game: Any
    """`agentgym_envs.alfworld.game.Game`."""
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Heard:
    """Answers of an engine: the observations, and the admissible commands after each."""

    observations: tuple[str, ...]
    admissible: tuple[tuple[str, ...], ...]


def scripts() -> list[Script]:
    """Generated games, each with its walkthrough but the last command, then random admissible ones."""
    from random import Random

    from agentgym_envs.alfworld import generator
    from agentgym_envs.alfworld.scene import parse
    from agentgym_envs.alfworld.world import World

    chosen: list[Script] = []
    for place in GAMES:
        game = generator.game(*place)
        world, rng, commands = World(parse(game)), Random("/".join(map(str, place))), list[str]()
        for known in (*game.walkthrough[:-1], *[None] * STEPS):
            commands.append(known or rng.choice(world.admissible()))
            world.step(commands[-1])
        chosen.append(Script(game, tuple(commands)))
    return chosen


def native(script: Script, times: int = 1) -> tuple[float, Heard]:
    """Seconds per step of the native engine, over `times` episodes, and the answers of the last one.

    Each episode parses the game anew, so that no cache of another episode helps; parsing is not counted.
    """
    from agentgym_envs.alfworld.scene import parse
    from agentgym_envs.alfworld.world import World

    took_s = 0.0
    observations, admissible = list[str](), list[tuple[str, ...]]()
    for _ in range(times):
        world = World(parse(script.game))
        observations, admissible = [world.initial_observation()], [tuple(world.admissible())]
        started = time.perf_counter()
        for command in script.commands:
            observations.append(world.step(command))
            admissible.append(tuple(world.admissible()))
        took_s += time.perf_counter() - started
    return took_s / (times * len(script.commands)), Heard(tuple(observations), tuple(admissible))


class TextWorldEngine:
    """The original engine; one object plays many games, since each new object leaks memory."""

    def __init__(self) -> None:
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler  # pyright: ignore[reportMissingImports]
        from textworld import EnvInfos  # pyright: ignore[reportMissingImports]
        from textworld.envs.pddl import PddlEnv  # pyright: ignore[reportMissingImports]

        self._env: Any = AlfredDemangler(PddlEnv(EnvInfos(won=True, admissible_commands=True)), shuffle=False)

    def play(self, script: Script, folder: Path) -> tuple[float, Heard]:
        """Seconds per step, and the answers; loading is not counted."""
        file = folder / "game.tw-pddl"
        file.write_text(game_file(script.game), encoding="utf-8")
        self._env.load(str(file))
        state: Any = self._env.reset()
        observations, admissible = [state.feedback], [tuple(sorted(set(state.admissible_commands)))]
        started = time.perf_counter()
        for command in script.commands:
            state, _, _ = self._env.step(command)
            observations.append(state.feedback)
            admissible.append(tuple(sorted(set(state.admissible_commands))))
        took_s = time.perf_counter() - started
        return took_s / len(script.commands), Heard(tuple(observations), tuple(admissible))


def game_file(game: Any) -> str:
    """A `game.tw-pddl` for the original engine, with the domain and the grammar of its own distribution."""
    from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH  # pyright: ignore[reportMissingImports]

    # The engine evaluates the grammar, so it must contain nothing but plain words.
    if not set(game.sentence) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,'"):
        raise ValueError(f"the sentence of game {game.id} is not plain words")
    grammar = Path(ALFRED_TWL2_PATH).read_text(encoding="utf-8").replace("UNKNOWN GOAL", game.sentence)
    return json_module.dumps(
        {
            "pddl_domain": Path(ALFRED_PDDL_PATH).read_text(encoding="utf-8"),
            "grammar": grammar,
            "pddl_problem": problem(game),
            "solvable": True,
            "walkthrough": list(game.walkthrough),
        }
    )


CONSTANTS = {
    "rtype": ("SinkBasinType", "MicrowaveType", "FridgeType"),
    "otype": ("KnifeType", "ButterKnifeType"),
}
"""Types that the domain's actions name; they must be declared even in a room without them."""
PLACES = {
    "receptacleType": ("receptacle", "rtype"),
    "objectType": ("object", "otype"),
    "objectAtLocation": ("object", "location"),
    "receptacleAtLocation": ("receptacle", "location"),
    "inReceptacle": ("object", "receptacle"),
    "canContain": ("rtype", "otype"),
    "atLocation": ("agent", "location"),
}
"""Predicate to the types of its arguments, for predicates that state a type."""


def problem(game: Any) -> str:
    """The whole PDDL problem of a game; its goal text closes the `define` already."""
    declared = {(name, kind) for kind, names in CONSTANTS.items() for name in names}
    for fact in game.facts:
        predicate, *arguments = fact.split()
        declared.update(zip(arguments, PLACES.get(predicate, ()), strict=False))
    objects = " ".join(f"{name} - {kind}" for name, kind in sorted(declared))
    facts = " ".join(f"({fact})" for fact in game.facts)
    return f"(define (problem p) (:domain alfred) (:objects {objects}) (:init {facts}) {game.goal}"


def _runs(chosen: list[Script]) -> Iterator[tuple[float, float | None, int]]:
    """For each repeat: native seconds per step, the original's (None: not installed), number of different
    states.
    """
    installed = find_spec("textworld") is not None and find_spec("alfworld") is not None
    engine = TextWorldEngine() if installed else None
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPEATS):
            ours = [native(script, times=20) for script in chosen]
            theirs = [engine.play(script, Path(folder)) for script in chosen] if engine else []
            pairs = zip(ours, theirs, strict=False)  # `theirs` may be empty
            differing = sum(differences(left, right) for (_, left), (_, right) in pairs)
            yield _mean_s(ours), _mean_s(theirs) if theirs else None, differing


def _mean_s(played: list[tuple[float, Heard]]) -> float:
    return sum(took_s for took_s, _ in played) / len(played)


def differences(ours: Heard, theirs: Heard) -> int:
    """Number of commands after which two engines had different observations or admissible commands."""
    pairs = zip(ours.observations, theirs.observations, strict=True)
    admitted = zip(ours.admissible, theirs.admissible, strict=True)
    return sum(
        said[0].strip() != said[1].strip() or left != right
        for said, (left, right) in zip(pairs, admitted, strict=True)
    )


def main(json: bool = False) -> None:
    """Measure and print."""
    chosen = scripts()
    runs = list(_runs(chosen))
    ours = Figure("native", "steps/s", tuple(1 / took_s for took_s, _, _ in runs))
    figures = [ours]
    if all(took_s is not None for _, took_s, _ in runs):
        theirs = Figure("TextWorld", "steps/s", tuple(1 / took_s for _, took_s, _ in runs if took_s))
        figures += [theirs, ratio("native / TextWorld", ours.runs, theirs.runs)]
    differing = sum(count for _, _, count in runs)
    if json:
        rows = [figure.as_json() for figure in figures]
        told = {"benchmark": "env alfworld", "figures": rows, "differences": differing}
        print(json_module.dumps(told, indent=2))
        return
    print(f"ALFWorld: step with admissible list, {len(chosen)} generated games")
    for figure in figures:
        print(figure)
    if len(figures) == 1:
        print(INSTALL)
        return
    steps = REPEATS * sum(len(script.commands) + 1 for script in chosen)
    verdict = "kept" if figures[-1].median >= BUDGET else "MISSED"
    print(f"differences: {differing} of {steps} states; budget {short(BUDGET)} times: {verdict}")
