"""The measurement."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from agentevol.cli.benchmarks.env.assistant.rivals import Data, Dictionaries, Rebuilt
from agentevol.cli.benchmarks.figures import Figure, ratio, report

RUNS = 3
TASKS, SAMPLES, CARE = 24, 8, 0.6
KINDS = ("todo_done", "order_cancel")
OFFICE = 0
"""The office whose data the others hold; ours holds that of each task."""


class Side(Protocol):
    """An implementation: `reset` begins an episode, `step` executes a call."""

    def reset(self) -> object: ...

    def step(self, action: str) -> object: ...


class Episode(NamedTuple):
    """A task and the actions of a sample of it."""

    task: Any
    actions: Sequence[str]


class Cost(NamedTuple):
    """Seconds of a step and of a reset, on average."""

    step_s: float
    reset_s: float


def main(json: bool = False) -> None:
    """Measure and print."""
    report("env", compare, json=json)


def compare() -> Mapping[str, Any]:
    """The figures of all sides, measured in turns."""
    episodes = work()
    steps = sum(len(episode.actions) for episode in episodes)
    print(f"{len(episodes)} episodes of {TASKS} tasks, {steps} steps; {RUNS} runs of each side in turns")
    found = dict[str, list[Cost]]()
    for _ in range(RUNS):
        for name, measured in sides(episodes).items():
            found.setdefault(name, []).append(measured())
    figures = [
        Figure(f"{name}, steps", "thousand a second", tuple(1e-3 / cost.step_s for cost in costs))
        for name, costs in found.items()
    ]
    figures += [
        Figure(f"{name}, reset", "microseconds", tuple(cost.reset_s * 1e6 for cost in costs))
        for name, costs in found.items()
    ]
    ours = [1 / cost.step_s for cost in found["assistant"]]
    whole = [_episode_s(cost, steps, len(episodes)) for cost in found["assistant"]]
    for rival in ("dictionary", "deep copy", "rebuilt"):
        other = found[rival]
        figures.append(
            ratio(f"assistant / {rival}, steps a second", ours, [1 / cost.step_s for cost in other])
        )
        figures.append(
            ratio(
                f"assistant / {rival}, episodes a second",
                [1 / took for took in whole],
                [1 / _episode_s(cost, steps, len(episodes)) for cost in other],
            )
        )
    for figure in figures:
        print(figure)
    return {"figures": [figure.as_json() for figure in figures]}


def work() -> list[Episode]:
    """Tasks of one office, and samples of a careless player."""
    from agentgym_envs.assistant import Assistant

    assistant = Assistant()
    tasks = [task for task in assistant.tasks("train", "single")[:1_000] if task.kind in KINDS][:TASKS]
    return [
        Episode(task, assistant.demonstrate(task, seed, CARE)) for task in tasks for seed in range(SAMPLES)
    ]


def sides(episodes: Sequence[Episode]) -> dict[str, Callable[[], Cost]]:
    """Name of a side to its measurement."""
    data, script = _contents()
    return {
        "assistant": lambda: _assistant(episodes, forget="before"),
        "assistant, all episodes played before": lambda: _assistant(episodes, forget="never"),
        "assistant, every action for the first time": lambda: _assistant(episodes, forget="always"),
        "dictionary": lambda: _rival(Dictionaries(data, copies=False), episodes),
        "deep copy": lambda: _rival(Dictionaries(data, copies=True), episodes),
        "rebuilt": lambda: _rival(Rebuilt(script), episodes),
    }


def _assistant(episodes: Sequence[Episode], *, forget: Literal["before", "never", "always"]) -> Cost:
    """Costs where episodes are forgotten before the first one, never, or before each one."""
    from agentgym_envs.assistant import Assistant

    assistant, step_s, reset_s = Assistant(), 0.0, 0.0
    if forget == "before":
        _forget(episodes)
    for episode in episodes:
        if forget == "always":
            _forget([episode])
        started = time.perf_counter()
        assistant.reset(episode.task, seed=0)
        began = time.perf_counter()
        for action in episode.actions:
            assistant.step(action)
        ended = time.perf_counter()
        reset_s, step_s = reset_s + began - started, step_s + ended - began
    return _cost(episodes, step_s, reset_s)


def _forget(episodes: Sequence[Episode]) -> None:
    from agentgym_envs.assistant import catalogue

    for office in {catalogue.made(episode.task.place).office for episode in episodes}:
        catalogue.office(office).histories.clear()


def _rival(side: Side, episodes: Sequence[Episode]) -> Cost:
    step_s, reset_s = 0.0, 0.0
    for episode in episodes:
        started = time.perf_counter()
        side.reset()
        began = time.perf_counter()
        for action in episode.actions:
            side.step(action)
        ended = time.perf_counter()
        reset_s, step_s = reset_s + began - started, step_s + ended - began
    return _cost(episodes, step_s, reset_s)


def _cost(episodes: Sequence[Episode], step_s: float, reset_s: float) -> Cost:
    return Cost(step_s / sum(len(episode.actions) for episode in episodes), reset_s / len(episodes))


def _episode_s(cost: Cost, steps: int, episodes: int) -> float:
    return cost.reset_s + cost.step_s * steps / episodes


def _contents() -> tuple[Data, str]:
    """An office as dictionaries, and as the script that builds it."""
    import sqlite3

    from agentgym_envs.assistant.content import generated
    from agentgym_envs.assistant.database.schema import DDL, tables

    database, data = sqlite3.connect(":memory:"), dict[str, dict[int, dict[str, Any]]]()
    database.executescript(DDL)
    for name, rows in generated(OFFICE, ("Here", "There")).items():
        columns = tables()[name].columns
        database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
        data[name] = {number: dict(zip(columns, row, strict=True)) for number, row in enumerate(rows, 1)}
    database.commit()
    return data, "\n".join(database.iterdump())
