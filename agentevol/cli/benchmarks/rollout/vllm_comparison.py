"""This project's scheduler over vLLM against vLLM's own offline throughput, on the same token work.

Episodes are played by `play_all` through `VllmEngine`, in environments whose step takes no time, 50 ms or 2
s. The prompt of each turn and its number of sampled tokens are then given to `vllm.LLM.generate` (`offline`),
with the same settings, prefix caching included: once an episode's turns one after another, which is its best
order, and once in the order in which they were begun, which is the best possible for a scheduler of episodes.
Sides alternate within a run, so that a machine shared with others slows all; each run has different episodes,
so that they are not in a cache. Models and episodes are those of `loads`.
"""

import asyncio
import json as json_module
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeVar, cast

from agentevol.cli.benchmarks.figures import Figure, ratio
from agentevol.cli.benchmarks.progress import say
from agentevol.cli.benchmarks.rollout import tails
from agentevol.cli.benchmarks.rollout.embedded import ACTION_TOKENS, SHAPE, Shape, make_checkpoint
from agentevol.cli.benchmarks.rollout.environment import PatientWorld, requests
from agentevol.cli.benchmarks.rollout.loads import CASES, Case, Load, Size
from agentevol.cli.benchmarks.rollout.offline import Offline, offline
from agentevol.cli.benchmarks.rollout.work import Listed, as_begun, asks, sampled
from agentevol.cli.benchmarks.serve.measure import tree_cpu_s
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.engines.vllm.arguments import engine_arguments
from agentevol.engines.vllm.capabilities import capabilities, check_installed
from agentevol.engines.vllm.engine import VllmEngine
from agentevol.models.causal_lm import load_model
from agentevol.rollout.concurrent_episodes import play_all
from agentgym_envs.formats import FORMATS
from agentgym_store.records import Trajectory

SLOTS, CONTEXT, CACHE_GIB = 32, 768, 4.0
BUDGET = 0.85
"""Minimum share of the tokens per second of all turns at once."""
SIDES = ("scheduler", "offline", "offline as begun")
Each = tuple[float, float, float]
"""One number for each side."""
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Run:
    """One run of all sides."""

    episodes: int
    read: int
    """Prompt tokens, whole histories."""
    sampled: int
    cached: tuple[int, int, int]
    """Prompt tokens found in the prefix cache."""
    wall_s: Each
    cpu_s: Each
    """CPU seconds of all processes: the other sides wait meanwhile."""


Engine = tuple[VllmEngine, Offline]


@contextmanager
def engines(shape: Shape = SHAPE, slots: int = SLOTS) -> Generator[Engine]:
    """Both engines, started with the same random model."""
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # standard output is for figures
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(make_checkpoint(Path(folder), shape), 0)
        ours = VllmEngine(checkpoint, slots=slots, context=CONTEXT, cache_gib=CACHE_GIB)
        try:
            model = load_model(checkpoint.path, "eager")
            arguments = engine_arguments(
                capabilities(), checkpoint.path, model, slots, CONTEXT, "float32", CACHE_GIB
            )
            with offline(arguments) as theirs:
                yield ours, theirs
        finally:
            ours.close()


def timed(doing: Callable[[], ResultT]) -> tuple[float, float, ResultT]:
    """Wall time, CPU time of this process and its descendants, and the result."""
    began, cpu_began = perf_counter(), tree_cpu_s(os.getpid())
    result = doing()
    return perf_counter() - began, tree_cpu_s(os.getpid()) - cpu_began, result


async def played(engine: VllmEngine, load: Load, first: int) -> tuple[list[Trajectory], list[str]]:
    """Episodes from number `first` on, all complete, and the episode ids of their turns in the order of their
    beginning.
    """
    world = cast(Any, PatientWorld(load.latency_s, *load.turns))
    policy = Listed(engine.serve(Sampling(max_new_tokens=ACTION_TOKENS)))
    asked = requests(first, load.episodes)
    playing = play_all(world, policy, asked, FORMATS["plain"], concurrency=load.in_flight)
    return [episode async for episode in playing], policy.begun


def run(sides: Engine, load: Load, first: int) -> Run:
    """Play the episodes, then give the same work to vLLM alone, in both orders."""
    ours, theirs = sides
    known = ours.counts.cached
    ours_s, ours_cpu_s, (episodes, begun) = timed(lambda: asyncio.run(played(ours, load, first)))
    work, in_order = asks(episodes), as_begun(episodes, begun)
    theirs_s, theirs_cpu_s, cached = timed(lambda: theirs.generate(work))
    theirs.forget()
    order_s, order_cpu_s, order_cached = timed(lambda: theirs.generate(in_order))
    theirs.forget()
    return Run(
        len(episodes),
        sum(len(ask.prompt_ids) for ask in work),
        sampled(work),
        (ours.counts.cached - known, cached, order_cached),
        (ours_s, theirs_s, order_s),
        (ours_cpu_s, theirs_cpu_s, order_cpu_s),
    )


def measure(case: Case) -> dict[Load, list[Run]]:
    """Measure every load, alternating, after a warm-up."""
    with engines(case.shape) as sides:
        run(sides, Load("warm-up", 0.0, (2, 3), 2 * SLOTS, SLOTS), 1_000_000)
        found: dict[Load, list[Run]] = {load: [] for load in case.loads}
        for number in range(case.runs):
            for place, load in enumerate(case.loads):
                say(f"{load.world}, run {number + 1} of {case.runs}")
                found[load].append(run(sides, load, 10_000 * (place + 10 * number)))
    return found


def figures(load: Load, runs: list[Run]) -> list[Figure]:
    """Episodes and tokens per second, and tokens per CPU second, which other work on the machine affects
    less; for both kinds of tokens the ratio to either order, run by run. The last one is that of the budget.
    """
    return [
        *_each(load, "episodes/s", [[one.episodes / one.wall_s[side] for one in runs] for side in range(3)]),
        *_compared(load, "tokens per CPU second", [_speeds(runs, side, "cpu_s") for side in range(3)]),
        *_compared(load, "tokens/s", [_speeds(runs, side, "wall_s") for side in range(3)]),
    ]


def _speeds(runs: list[Run], side: int, seconds: Literal["wall_s", "cpu_s"]) -> list[float]:
    return [one.sampled / getattr(one, seconds)[side] for one in runs]


def _compared(load: Load, unit: str, sides: list[list[float]]) -> list[Figure]:
    """All sides and, last, the ratio of ours to offline."""
    ours, offline, as_begun = sides
    return [
        *_each(load, unit, sides),
        ratio(f"{load.world}, scheduler / offline as begun, {unit}", ours, as_begun),
        ratio(f"{load.world}, scheduler / offline, {unit}", ours, offline),
    ]


def _each(load: Load, unit: str, sides: list[list[float]]) -> list[Figure]:
    pairs = zip(SIDES, sides, strict=True)
    return [Figure(f"{load.world}, {name}", unit, tuple(side)) for name, side in pairs]


def main(json: bool, size: Size) -> None:
    """Measure and print. Raises `ConfigError` where vLLM is missing."""
    version, before = check_installed(), os.getloadavg()[0]
    case = CASES[size]
    found = measure(case)
    settings = {
        "vllm": version,
        "model": asdict(case.shape),
        "slots": SLOTS,
        "context": CONTEXT,
        "cache_gib": CACHE_GIB,
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "load_average": (before, os.getloadavg()[0]),
    }
    schedules = tails.schedules()
    if json:
        rows = [
            {
                **asdict(load),
                "runs": list(map(asdict, runs)),
                "figures": [f.as_json() for f in figures(load, runs)],
            }
            for load, runs in found.items()
        ]
        told = {"benchmark": "rollout", "engine": "vllm", "settings": settings, "loads": rows}
        print(json_module.dumps({**told, "tails": tails.as_json(schedules)}, indent=2))
        return
    for line in (*lines(found, settings), "", *tails.lines(schedules)):
        print(line)


def lines(found: dict[Load, list[Run]], settings: dict[str, Any]) -> Generator[str]:
    """The measurements as text."""
    before, after = settings["load_average"]
    shape = settings["model"]
    yield (
        f"vLLM {settings['vllm']}, CPU, float32, {SLOTS} sequences at a time, prefix caching,"
        f" {CACHE_GIB} GiB of cache, OMP_NUM_THREADS={settings['threads']};"
        f" load average {before:.1f} before, {after:.1f} after"
    )
    yield (
        f"a random Qwen2: hidden {shape['hidden']}, {shape['layers']} layers, {shape['heads']} heads,"
        f" {shape['kv_heads']} of keys and values"
    )
    yield (
        "scheduler: episodes turn by turn; offline: all of their turns in one call of vllm.LLM.generate,"
        " an episode's one after another; as begun: the same in the order in which they were played"
    )
    for load, runs in found.items():
        one, last = runs[0], figures(load, runs)[-1]
        shares = ", ".join(f"{cached / one.read:.0%}" for cached in one.cached)
        yield (
            f"{load.world}: {one.episodes} episodes of {load.turns[0]} to {load.turns[1]} turns,"
            f" {load.in_flight} in flight; {one.read:,} tokens read, {shares} of them from the cache;"
            f" {one.sampled:,} sampled"
        )
        yield from (f"  {figure}" for figure in figures(load, runs))
        yield f"  budget {BUDGET} times offline: {'kept' if last.median >= BUDGET else 'MISSED'}"
