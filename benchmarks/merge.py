"""Benchmark of selection and merging: seconds in iterations 1, 10, 25 and 50, against deriving all rounds
again.

Both sides select the same training sequences and find the same prices of costs in the same table:

    kept            a round is encoded and its costs are counted in its own iteration
    (`agentevol.loop.state.cache`,
                    `agentevol.loop.control.lagrange_multipliers`)
    derived again   every iteration reads and encodes all rounds before it, and counts their costs

Exploration and training are left out: episodes are in the table before the clock starts. Each side is a
separate process, whose peak memory is reported.
"""

import argparse
import json as json_module
import random
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar, cast

from rich.console import Console

from agentevol.cli.benchmarks.figures import short
from agentevol.cli.benchmarks.progress import say
from agentevol.config.run import RunConfig, load
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.data.composition import learnt_figures, shares, turns_by_version, version_lag, versions
from agentevol.data.hashes import of_sequences
from agentevol.learn.constraints import Multiplier
from agentevol.loop.control.controllers import multipliers
from agentevol.loop.control.lagrange_multipliers import Prices
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.cache import CacheKeys
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentgym_store.records import Sample, Terminated, Trajectory, Turn

SHOWN = (1, 10, 25, 50)
PROMPT_TOKENS, SAID_TOKENS, ANSWER_TOKENS = 300, 16, 64
"""Tokens of the opening, of an action and of the environment's answer: 1,900 tokens after 20 turns."""
VOCABULARY = 1500
WON = 0.6
"""Share of the episodes that is trained on, before `select.per_task` and `select.distinct`."""

PRICED = ("algorithm=lagrangian", "constraints.turns.limit=10", "constraints.invalid_actions.limit=1")

ResultT = TypeVar("ResultT")
Side = Literal["kept", "derived again"]
Seconds = tuple[float, float]
"""Wall time, and CPU time, which other programs disturb less."""
Found = tuple[str, dict[str, float]]
"""Hash of the training sequences, and prices by the name of the cost."""


@dataclass(frozen=True)
class Size:
    """Size of the measured run."""

    iterations: int = 50
    episodes: int = 400
    """Episodes of an iteration."""
    turns: int = 20


@dataclass(frozen=True)
class Took:
    """Seconds and memory of one side for one iteration."""

    iteration: int
    sequences: int
    sequences_s: Seconds
    prices_s: Seconds
    peak_mib: float
    """Peak memory of the process so far."""


def episodes(size: Size) -> list[Trajectory]:
    """The episodes of the first iteration, four of each task."""
    return [_episode(number, size.turns, random.Random(number)) for number in range(size.episodes)]


def _episode(number: int, turns: int, randomness: random.Random) -> Trajectory:
    def ids(count: int) -> tuple[int, ...]:
        return tuple(randomness.choices(range(3, VOCABULARY), k=count))

    prompt, told, won = ids(PROMPT_TOKENS), list[Turn](), randomness.random() < WON
    for place in range(turns):
        said = ids(SAID_TOKENS)
        sample = Sample(
            text="go to shelf 1",
            prompt_ids=prompt,
            token_ids=said,
            logprobs=(-0.5,) * SAID_TOKENS,
            policy_version=0,
        )
        action = f"go to shelf {randomness.randrange(100)}"
        reward = float(won and place == turns - 1)
        seen = "On the shelf 1, you see a mug 2, and a spoon 1."
        told.append(Turn(action=action, observation=seen, reward=reward, sample=sample))
        prompt = prompt + said + ids(ANSWER_TOKENS)
    return Trajectory(
        id="",
        run="merge",
        iteration=1,
        purpose="explore",
        env="guess",
        env_version="1",
        data_version="1",
        task_id=f"train-{number // 4}",
        split="train",
        instruction="put a mug in shelf.",
        seed=number,
        attempt=number % 4,
        policy="checkpoint",
        initial_observation="You are in the middle of a room.",
        turns=tuple(told),
        ending=Terminated(),
        started_at="2026-01-01T00:00:00Z",
        wall_s=1.0,
    )


def of_iteration(explored: Sequence[Trajectory], iteration: int) -> list[Trajectory]:
    """The same episodes as explored in another iteration, by the previous weights."""
    return [
        one.model_copy(
            update={
                "id": f"merge/explore/{iteration:04d}/{one.task_id}/{one.attempt}",
                "iteration": iteration,
                "turns": tuple(_sampled_by(turn, iteration - 1) for turn in one.turns),
            }
        )
        for one in explored
    ]


def _sampled_by(turn: Turn, version: int) -> Turn:
    assert turn.sample is not None
    sample = turn.sample.model_copy(update={"policy_version": version})
    return turn.model_copy(update={"sample": sample})


def config(*overrides: str) -> RunConfig:
    """Return the configuration of a run that trains on all its iterations; `overrides` change it."""
    return load(None, ["name=merge", "environment.name=guess", *overrides])


def stages(folder: RunFolder) -> Stages:
    """Stages of a run without processes: nothing is played or trained."""
    return Stages(
        RunContext.of(
            folder, cast(Any, None), "", folder.checkpoints.accepted(0), Progress(Console(quiet=True))
        )
    )


def timed(work: Callable[..., ResultT], *given: Any) -> tuple[ResultT, Seconds]:
    """Return the result of some work and its seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(*given)
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def kept(place: Path, size: Size, shown: Sequence[int]) -> list[Took]:
    """Run this version, iteration by iteration; it leaves the table for the other side."""
    base = place / "base"
    base.mkdir()
    (base / "model.safetensors").write_bytes(b"")
    folder = RunFolder.create(place / "run", config(), Checkpoint(base, 0))
    run, first, found = stages(folder), episodes(size), list[Took]()
    prices = prices_of(folder, run)
    for iteration in range(1, size.iterations + 1):
        folder.store.append(of_iteration(first, iteration), commit={"iteration": str(iteration)})
        explored = run.context.episodes.of("explore", iteration)
        sequences, sequences_s = timed(run.select, iteration, explored)
        _, prices_s = timed(_update, prices, iteration, explored)
        del explored  # an iteration does not hold the episodes of the previous one
        if iteration in shown:
            found.append(Took(iteration, len(sequences), sequences_s, prices_s, peak_mib()))
    return found


def _update(prices: Prices, iteration: int, explored: Sequence[Trajectory]) -> None:
    prices.update(iteration, explored)
    prices.before(iteration)


def found_by_kept(place: Path, shown: Sequence[int]) -> list[Found]:
    """Training sequences and prices that a resumed run finds in the folder of `kept`."""
    folder = RunFolder.resume(place / "run")
    run, found = stages(folder), list[Found]()
    for iteration in shown:
        sequences = run.select(iteration, run.context.episodes.of("explore", iteration))
        found.append(_found(sequences, prices_of(folder, run).before(iteration)))
    return found


def derived_again(place: Path, shown: Sequence[int]) -> tuple[list[Took], list[Found]]:
    """Derive everything from the table, in every iteration."""
    run, priced = stages(RunFolder.resume(place / "run")), config(*PRICED)
    took, found = list[Took](), list[Found]()
    for iteration in shown:
        sequences, sequences_s = timed(
            sequences_again, run, iteration, run.context.episodes.of("explore", iteration)
        )
        rounds = (
            run.context.episodes.of("explore", m) for m in range(1, iteration)
        )  # one at a time is in memory
        prices, prices_s = timed(multipliers, priced.constraints, rounds)
        took.append(Took(iteration, len(sequences), sequences_s, prices_s, peak_mib()))
        found.append(_found(sequences, prices))
    return took, found


def sequences_again(run: Stages, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
    """Return the training sequences that `Stages.select` selects, with every round read, encoded and counted
    again.
    """
    sequences, sampled_by = run.mixture.sequences(iteration, explored), versions(explored)
    of_sequences(sequences)
    old = list[TrainingSequence]()
    for earlier in range(1, iteration):
        episodes = run.context.episodes.of("explore", earlier)
        old += run.mixture.sequences(earlier, episodes)
        sampled_by |= versions(episodes)
    of_sequences(old)
    sequences += old
    of_sequences(sequences)
    version_lag([turns_by_version(sequences, sampled_by)], iteration - 1)
    new = {t.id for t in explored}
    learnt_figures(shares(sequences, new=new, expert=set()))
    return sequences


def prices_of(folder: RunFolder, run: Stages) -> Prices:
    """Prices of a run with constraints, over the same episodes."""
    priced = config(*PRICED)
    return Prices(
        folder.path / "prices",
        priced,
        run.context.episodes,
        CacheKeys(priced, folder.checkpoints.accepted(0)),
        lambda _, explored: explored,
    )


def peak_mib() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _found(sequences: Sequence[TrainingSequence], prices: Mapping[str, Multiplier]) -> Found:
    return of_sequences(sequences), {name: one.value for name, one in prices.items()}


def measure(size: Size, shown: Sequence[int]) -> dict[Side, list[Took]]:
    """Measure both sides, each in a separate process. Raises `RuntimeError` where their results differ."""
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        say(f"kept: {size.iterations} iterations")
        took = in_a_process(kept, place, size, shown)
        found = in_a_process(found_by_kept, place, shown)
        say(f"derived again: iterations {', '.join(map(str, shown))}")
        again, found_again = in_a_process(derived_again, place, shown)
    for iteration, one, other in zip(shown, found, found_again, strict=True):
        if one != other:
            raise RuntimeError(f"iteration {iteration}: the sides found different sequences or prices")
    return {"kept": took, "derived again": again}


def in_a_process(side: Callable[..., ResultT], *given: Any) -> ResultT:
    """Run one side in a process, so that its memory is measured alone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(side, *given).result()


def main(given: Sequence[str]) -> None:
    """Measure and print; `--json` prints every figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks merge", description="Costs of selection.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    compare(Size(), SHOWN, json=parser.parse_args(given).json)


def compare(size: Size, shown: Sequence[int], *, json: bool = False) -> None:
    """Measure these iterations and print them."""
    found = measure(size, shown)
    if json:
        figures = {side: [asdict(one) for one in took] for side, took in found.items()}
        print(json_module.dumps({"benchmark": "merge", "size": asdict(size), "figures": figures}, indent=2))
        return
    print(f"{size.iterations} iterations of {size.episodes} episodes of {size.turns} turns; s (s of CPU)")
    for one, other in zip(*found.values(), strict=True):
        print(
            _line(
                f"sequences, iteration {one.iteration} ({one.sequences:,} sequences)",
                one.sequences_s,
                other.sequences_s,
            )
        )
    for one, other in zip(*found.values(), strict=True):
        print(_line(f"prices, iteration {one.iteration}", one.prices_s, other.prices_s))
    for side, took in found.items():
        peaks = ", ".join(f"{one.peak_mib:,.0f} at iteration {one.iteration}" for one in took)
        print(f"peak memory, {side}: {peaks} MiB")


def _line(what: str, kept: Seconds, derived: Seconds) -> str:
    """One iteration, both sides."""
    ratios = (short(other / one) for one, other in zip(kept, derived, strict=True))
    sides = (f"{wall:.3f} ({cpu:.3f})" for wall, cpu in (kept, derived))
    return f"{what}: kept {next(sides)}, derived again {next(sides)}, ratio {next(ratios)} ({next(ratios)})"
