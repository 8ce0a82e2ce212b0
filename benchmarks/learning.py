"""Benchmark of learning: success of every algorithm before and after, in one small verifiable environment.

    python -m benchmarks learning [--algorithms ...] [--seeds 3] [--processes 2] [--json FILE]

A policy of 0.2 M weights is cloned from a careless player of the `deliberate` environment (about four in ten
of its answers are right). Then each algorithm, with the settings that `agentevol run algorithm=NAME` would
take, plays some rounds of the loop: explore training tasks, learn. Success is that of one answer, sampled at
temperature 1, to each of the same 1,000 test tasks, which no round uses. Each seed explores other tasks and
draws other answers.

Two controls go through the same rounds: `idle` trains with a learning rate of 0, and `shuffled` trains on
rewards permuted among the episodes. Neither may improve; an algorithm improves where the interval of its gain
lies above 0.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import mean

import torch

from agentevol.config.run import RunConfig, load
from agentevol.core.algorithms.registry import ALGORITHMS, algorithm
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import iteration_seed
from agentevol.loop.report.intervals import mean_interval
from agentevol.runs.starter.build import build
from agentevol.runs.starter.shipped_recipes import RECIPES
from agentgym_store.records import Trajectory
from benchmarks.direct import DirectArena
from benchmarks.rounds import learnt
from benchmarks.trials import options, tried

WORLD = "deliberate"
TEST_TASKS = 1000
NEW_TOKENS = 32
CONTROLS = ("shuffled", "idle")
SETTINGS = (
    f"environment.name={WORLD}",
    "explore.difficulty=null",
    f"explore.max_new_tokens={NEW_TOKENS}",
    "explore.tasks=32",
    "explore.samples=16",
    "learn.micro_batch_tokens=8192",
    "learn.threads=1",
)
"""Settings common to all algorithms; the rest are the defaults of each."""

BASE = RECIPES[WORLD]


@dataclass(frozen=True)
class Trial:
    """One algorithm, or a control of it, with one seed."""

    algorithm: str
    control: str
    """`idle`, `shuffled`, or "" for the algorithm itself."""
    seed: int
    rounds: int
    base: Path = field(compare=False)  # path of this clone of the common recipe
    settings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Algorithm, and the control where it is one."""
        return self.algorithm + (f" ({self.control})" if self.control else "")


@dataclass(frozen=True)
class Outcome:
    """Result of a trial."""

    trial: Trial
    before: float
    after: float
    """Share of the test tasks that are won."""


def run(trial: Trial) -> Outcome:
    """Play the rounds; the test tasks before and after, with the same draws."""
    torch.set_num_threads(1)
    start, config = Checkpoint(trial.base, 0), settings_of(trial.algorithm, trial.seed, trial.settings)
    arena = DirectArena(trial.base, WORLD, NEW_TOKENS)
    with tempfile.TemporaryDirectory() as name:
        policy = evolved(arena, start, config, trial.rounds, trial.control, Path(name))
        return Outcome(trial, success(arena, start, trial.seed), success(arena, policy, trial.seed))


def success(arena: DirectArena, policy: Checkpoint, seed: int) -> float:
    """Share of the test tasks won by one sampled answer each."""
    return mean(trajectory.succeeded() for trajectory in arena.tested(policy, TEST_TASKS, seed))


def evolved(
    arena: DirectArena, base: Checkpoint, config: RunConfig, rounds: int, control: str, folder: Path
) -> Checkpoint:
    """Policy after some rounds of the loop."""
    settings = {"learning_rate": 0.0} if control == "idle" else {}
    config = config.model_copy(update={"learn": config.learn.model_copy(update=settings)})
    policy = base
    for number in range(rounds):
        explored = arena.explore(policy, config, number)
        if control == "shuffled":
            explored = shuffled(explored, iteration_seed(config.seed, number))
        policy = learnt(policy, explored, config, number, folder / f"{number}", base)
    return policy


def shuffled(trajectories: Sequence[Trajectory], seed: int) -> list[Trajectory]:
    """The same episodes with their last rewards permuted: they carry no information about the actions."""
    rewards = [trajectory.turns[-1].reward for trajectory in trajectories]
    Random(seed).shuffle(rewards)
    return [
        trajectory.model_copy(
            update={
                "turns": (*trajectory.turns[:-1], trajectory.turns[-1].model_copy(update={"reward": reward}))
            }
        )
        for trajectory, reward in zip(trajectories, rewards, strict=True)
    ]


def settings_of(name: str, seed: int, more: Sequence[str] = ()) -> RunConfig:
    """The configuration of a run with this algorithm."""
    return load(None, [f"algorithm={name}", f"seed={seed}", *SETTINGS, *more])


def policies() -> list[str]:
    """Algorithms that train a policy on whole answers, `bradley_terry` through a reward model.

    `process_reward` is excluded: an answer is a single turn.
    """
    return [name for name in sorted(ALGORITHMS) if algorithm(name).data != "steps"]


def compare(arguments: argparse.Namespace) -> None:
    """Run all algorithms and seeds; prints each result."""
    shared = {"rounds": arguments.rounds, "settings": [*SETTINGS, *arguments.settings]}
    with tempfile.TemporaryDirectory() as name:
        base = arguments.base or build(BASE, Path(name) / "base").checkpoint.path
        outcomes = tried(
            trials(arguments, base),
            run,
            Outcome,
            settings=shared,
            processes=arguments.processes,
            file=arguments.json,
            say=_line,
        )
    print_table(outcomes)


def trials(arguments: argparse.Namespace, base: Path) -> list[Trial]:
    """All trials: the algorithms, then their controls."""
    kinds = [(name, "") for name in arguments.algorithms]
    kinds += [(name, control) for control in CONTROLS for name in arguments.algorithms if arguments.controls]
    given = tuple(arguments.settings)
    return [
        Trial(name, control, seed, arguments.rounds, base, given)
        for name, control in kinds
        for seed in range(arguments.seeds)
    ]


def _line(outcome: Outcome) -> str:
    trial = outcome.trial
    return f"{trial.label:28} seed {trial.seed}  {outcome.before:6.1%} -> {outcome.after:6.1%}"


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Mean gains in points with Student's 95 % interval over the seeds."""
    print(f"\n{'':28}{'before':>8}{'after':>8}{'gain':>8}   95 % interval over seeds")
    for name in dict.fromkeys(outcome.trial.label for outcome in outcomes):
        found = [outcome for outcome in outcomes if outcome.trial.label == name]
        gains = [100 * (outcome.after - outcome.before) for outcome in found]
        before, after = mean(o.before for o in found), mean(o.after for o in found)
        line = f"{name:28}{before:8.1%}{after:8.1%}{mean(gains):+8.1f}"
        if len(gains) > 1:
            low, high = mean_interval(gains)
            verdict = "improves" if low > 0 else "worse" if high < 0 else "no difference"
            line += f"   {low:+.1f} to {high:+.1f}  {verdict}"
        print(line, flush=True)


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Options of this experiment."""
    parser = options("learning", "Success before and after learning, for every algorithm.", rounds=5)
    parser.add_argument("--algorithms", nargs="+", choices=policies(), default=policies())
    parser.add_argument("--no-controls", dest="controls", action="store_false")
    parser.add_argument("--base", type=Path, help="a checkpoint to begin with instead of a fresh clone")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> None:
    """Compare with these options and print."""
    compare(parse(given))
