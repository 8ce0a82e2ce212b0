"""Speed of the package `sotopia` 0.1.5 beside our protocol, on the same scripts in one run.

    AGENTEVOL_SOTOPIA_PYTHON=DIR/bin/python python -m benchmarks sotopia [--json]
    python -m benchmarks sotopia --environment
    python -m benchmarks sotopia --memory

`steps`: a reset and 20 utterances, with the observations of both agents. `episodes`: the same with the
prompts of agents and judge, the judgement and the record, which are compared first: a ratio of two that
differ would mean nothing. The package runs in its own process and takes its own time, so that the pipe
does not count.

`--environment`, without the package: whole episodes through the environment `sotopia` in process, reset and
last info included. `beside rules`: a player beside a rule-based partner, scored by a program, in generated
tasks; `two seats`: 20 utterances of two scripts, not judged; `prompts`: the same, where each observation is
the whole prompt of the package.

`--memory`: what an open episode holds by tracemalloc, the instance of the environment included and its task
not (tasks are shared by the episodes that play them): 1,000 of them, at the start and after ten steps.
"""

import argparse
import gc
import tracemalloc
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

from agentevol.cli.benchmarks.figures import Figure, ratio, report
from agentgym_envs.registry import make
from agentgym_envs.sotopia.package.client import PackageEngine, PackageError
from agentgym_envs.sotopia.package.records import LEAVE, record, started
from agentgym_envs.sotopia.package.request import EpisodeRequest
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene

REPEATS = 5
WORDS = "I see what you mean, but the oven is nearly new, and I would have to get at least {} for it today."


def request() -> EpisodeRequest:
    """An episode of 20 utterances of 22 words."""
    people = (("Ana", "Reed", "Baker"), ("Bo", "Lind", "Clerk"))
    agents = [
        AgentProfile(
            pk=first,
            first_name=first,
            last_name=last,
            age=41,
            occupation=occupation,
            gender="Woman",
            gender_pronoun="She/her",
            public_info=f"{first} likes long walks and keeps two cats.",
            personality_and_values=f"{first} is calm and open, and values fairness.",
            secret=f"{first} has debts.",
        )
        for first, last, occupation in people
    ]
    environment = EnvironmentProfile(
        pk="oven",
        scenario="Two neighbours talk about a used oven. <extra_info>It costs 900 new.</extra_info>",
        agent_goals=("Sell the oven for 400", "Buy the oven for 300"),
        relationship=2,
    )
    scores = ", ".join(f'"{one.name}": ["As expected.", {one.high}]' for one in SOTOPIA)
    talks = [
        tuple(Action(action_type="speak", argument=WORDS.format(400 - turn)) for turn in range(10))
        for _ in people
    ]
    return EpisodeRequest(
        scene=Scene(environment=environment, agents=(agents[0], agents[1])),
        script=(talks[0], talks[1]),
        judge_replies=(f'{{"evaluations": {{"agent_1": {{{scores}}}, "agent_2": {{{scores}}}}}}}',),
    )


def our_steps(wanted: EpisodeRequest, episodes: int) -> float:
    """Steps a second of our protocol, with neither prompts nor a judge."""
    steps, began = 0, perf_counter()
    for _ in range(episodes):
        conversation = started(wanted)
        scripts = [iter(script) for script in wanted.script]
        while not conversation.ended:
            acting = conversation.acting
            conversation.apply({seat: next(scripts[seat], LEAVE) for seat in (0, 1) if acting[seat]})
            for seat in (0, 1):
                conversation.last_turn(seat)
                conversation.available(seat)
        steps += conversation.turn_number
    return steps / (perf_counter() - began)


def our_episodes(wanted: EpisodeRequest, episodes: int) -> float:
    """Episodes a second of our protocol, with prompts, judgement and record."""
    began = perf_counter()
    for _ in range(episodes):
        record(wanted)
    return episodes / (perf_counter() - began)


def package_steps(engine: PackageEngine, wanted: EpisodeRequest, episodes: int) -> float:
    """Steps a second of the package, with neither prompts nor a judge."""
    found = engine.speed(wanted, episodes)
    return found.steps / found.seconds


def package_episodes(engine: PackageEngine, wanted: EpisodeRequest, episodes: int) -> float:
    """Episodes a second of the package, with prompts, judgement and record."""
    return episodes / sum(engine.episode(wanted).seconds for _ in range(episodes))


def compare(engine: PackageEngine, episodes: int) -> dict[str, Any]:
    """Measure both sides in turn and print the figures."""
    wanted = request()
    versions = engine.versions
    print(f"sotopia {versions.sotopia}, litellm {versions.litellm}, Python {versions.python}")
    if engine.episode(wanted).record != record(wanted):
        raise SystemExit("the package and our protocol have different records")
    rates: dict[str, list[float]] = {name: [] for name in ("their", "our", "their_episodes", "our_episodes")}
    for _ in range(REPEATS):
        rates["their"].append(package_steps(engine, wanted, episodes))
        rates["our"].append(our_steps(wanted, 10 * episodes))
        rates["their_episodes"].append(package_episodes(engine, wanted, episodes))
        rates["our_episodes"].append(our_episodes(wanted, 10 * episodes))
    figures = {
        "package_steps": Figure("package, steps", "a second", tuple(rates["their"])),
        "our_steps": Figure("protocol, steps", "a second", tuple(rates["our"])),
        "steps_ratio": ratio("protocol / package, steps", rates["our"], rates["their"]),
        "package_episodes": Figure("package, episodes", "a second", tuple(rates["their_episodes"])),
        "our_episodes": Figure("protocol, episodes", "a second", tuple(rates["our_episodes"])),
        "episodes_ratio": ratio(
            "protocol / package, episodes", rates["our_episodes"], rates["their_episodes"]
        ),
    }
    for figure in figures.values():
        print(figure)
    return {"versions": versions.model_dump()} | {name: one.as_json() for name, one in figures.items()}


def beside_rules(episodes: int) -> tuple[int, float]:
    """Utterances and seconds of players beside rule-based partners."""
    world = make("sotopia")
    tasks = [world.tasks("train")[number] for number in range(episodes)]
    plans = [world.demonstrate(task, seed) for seed, task in enumerate(tasks)]
    turns, began = 0, perf_counter()
    for seed, (task, plan) in enumerate(zip(tasks, plans, strict=True)):
        world.reset(task, seed)
        for message in plan:
            result = world.step(message)
        turns += len(result.info["conversation"]["log"])  # type: ignore[union-attr] - nothing is waited for
    return turns, perf_counter() - began


def two_seats(episodes: int, observation: str) -> tuple[int, float]:
    """Utterances and seconds of two scripts."""
    world = make("sotopia", judge="none", stale_rule="own", families="friends", observation=observation)
    tasks = [world.tasks("train")[number] for number in range(episodes)]
    words = [Action(action_type="speak", argument=WORDS.format(n)).json for n in range(20)]
    turns, began = 0, perf_counter()
    for seed, task in enumerate(tasks):
        world.reset_seats(task, seed)
        for turn, message in enumerate(words):
            world.step_seats({world.seats[turn % 2]: message})
        turns += len(words)
    return turns, perf_counter() - began


def print_environment(episodes: int) -> None:
    """Print episodes a minute and utterances a second through the environment, medians of the repetitions."""
    kinds = {
        "beside rules": lambda: beside_rules(episodes),
        "two seats": lambda: two_seats(episodes, "turns"),
        "two seats, prompts": lambda: two_seats(episodes, "prompt"),
    }
    print(f"{'':20}{'episodes a minute':>20}{'utterances a second':>22}")
    for name, measured in kinds.items():
        found = [measured() for _ in range(REPEATS)]
        minute = median(60 * episodes / seconds for _, seconds in found)
        second = median(turns / seconds for turns, seconds in found)
        print(f"{name:20}{minute:>20,.0f}{second:>22,.0f}")


def open_episodes(count: int, *, both_seats: bool) -> tuple[float, float]:
    """KiB of each of several open episodes: at the start, and after ten steps, five of them an agent's."""
    options = {"judge": "none", "stale_rule": "own"} if both_seats else {}
    tasks = [make("sotopia").tasks("train")[number] for number in range(count)]
    words = [Action(action_type="speak", argument=WORDS.format(n)).json for n in range(10)]
    warm = make("sotopia", **options)
    warm.reset_seats(tasks[0], 0)
    tracemalloc.start()
    worlds = [make("sotopia", **options) for _ in tasks]
    for seed, (world, task) in enumerate(zip(worlds, tasks, strict=True)):
        (world.reset_seats if both_seats else world.reset)(task, seed)
    held = [_traced()]
    for world in worlds:
        for turn, message in enumerate(words if both_seats else words[:5]):
            _ = world.step_seats({world.seats[turn % 2]: message}) if both_seats else world.step(message)
    held.append(_traced())
    tracemalloc.stop()
    return held[0] / count / 1024, held[1] / count / 1024


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def print_memory(count: int) -> None:
    """Print what open episodes hold."""
    print(f"{'KiB an open episode':24}{'at the start':>14}{'after 10 steps':>16}")
    for name, both_seats in (("beside rules", False), ("two seats", True)):
        start, later = open_episodes(count, both_seats=both_seats)
        print(f"{name:24}{start:>14.1f}{later:>16.1f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the package's engine, and compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sotopia")
    parser.add_argument("--python", help="interpreter with the package; default: $AGENTEVOL_SOTOPIA_PYTHON")
    parser.add_argument("--episodes", type=int, default=30, help="of the package in each repetition")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--environment", action="store_true", help="speed of the environment, without it")
    parser.add_argument("--memory", action="store_true", help="memory of open episodes, without the package")
    given = parser.parse_args(arguments)
    if given.memory:
        print_memory(1000)
        return
    if given.environment:
        print_environment(10 * given.episodes)
        return
    try:
        with PackageEngine(given.python) as engine:
            report("sotopia", lambda: compare(engine, given.episodes), json=given.json)
    except PackageError as error:
        raise SystemExit(f"error: {error}") from error
