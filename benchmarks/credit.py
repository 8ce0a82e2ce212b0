"""Benchmark of turn-level credit: GiGPO against GRPO in ALFWorld, at equal budget.

    python -m benchmarks credit [--seeds 3] [--rounds 3] [--processes 2] [--json FILE] [KEY=VALUE ...]

From the starter policy each arm plays rounds of the loop with the settings that `agentevol run
algorithm=NAME` would take: explore training tasks, learn. With equal seeds all arms are given the same tasks,
the same number of episodes of each, and the same draws. Success is that of one episode, sampled at
temperature 1, of each of the same test tasks, which no round has met.

`gigpo` differs from `grpo` in more than its credit: it has another KL coefficient, and weights tokens, not
episodes, equally. The arm `gigpo-episode` is `gigpo` with `step_weight` 0: `gigpo` less `gigpo-episode` is
the effect of turn-level credit, and nothing else. `gigpo-penalty` has the authors' penalty of 0.1 for turns
that the environment calls invalid, which in ALFWorld are those that it refuses.

`process_reward` is `reinforce_pp` with turn rewards from a value model, which is trained on continuations:
additional episodes. It is a whole `agentevol run`, evaluated in the same way.

States are the texts of turns: the observation together with the admissible actions, which in ALFWorld
identify place and inventory (`Nothing happens.` alone would be one state everywhere). The authors' code
groups by the observation alone (arXiv:2505.10978, section 3.2).

The settings below were chosen on seeds from 1000 on, which no reported seed uses.
"""

import argparse
import asyncio
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Any, Literal

from rich.console import Console

from agentevol.config.run import RunConfig, load
from agentevol.core.action_formats.registry import action_format
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.core.splits import drawn, spread
from agentevol.data.groups import group_of
from agentevol.data.selection.filters import informative, tokens
from agentevol.data.training_sequences import facts
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.loop.report.intervals import mean_interval
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.resolution import starter_folder
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.tasks import EnvTask, list_tasks
from agentevol.runs.launch import launch
from agentgym_client import EnvClient
from agentgym_store.records import Trajectory
from agentgym_store.store import Where
from benchmarks.rounds import learnt
from benchmarks.trials import options, tried

ARMS: Mapping[str, tuple[str, ...]] = {
    "grpo": ("algorithm=grpo",),
    "gigpo": ("algorithm=gigpo",),
    "gigpo-episode": ("algorithm=gigpo", "learn.options.step_weight=0"),
    "gigpo-penalty": ("algorithm=gigpo", "learn.options.invalid_penalty=0.1"),
    "reinforce_pp": ("algorithm=reinforce_pp",),
    "process_reward": ("algorithm=process_reward",),
}
DIFFERENCES = (
    ("gigpo", "grpo"),
    ("gigpo", "gigpo-episode"),
    ("gigpo-episode", "grpo"),
    ("gigpo-penalty", "gigpo"),
    ("process_reward", "reinforce_pp"),
)
STARTER = "starter"
TEST_TASKS = 300
SLOTS = 128
SETTINGS = (
    "environment.name=alfworld",
    "environment.max_turns=20",
    "explore.difficulty=small",
    "evaluate.difficulty=small",
    "explore.tasks=16",
    "explore.samples=8",
    "learn.threads=1",
)
"""Settings common to all arms; the rest are the defaults of each."""


@dataclass(frozen=True)
class Trial:
    """One arm with one seed, or the starter unchanged."""

    arm: str
    seed: int
    rounds: int
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Round:
    """Statistics of the episodes of a round."""

    episodes: int
    success: float
    turns: int
    """Environment steps over all episodes."""
    tokens: int
    """Tokens read and sampled over all episodes."""
    mixed: float
    """Share of the groups whose episodes had different returns."""
    shared: float
    """Share of the turns whose state another turn of the group has."""
    shared_between: float
    """Share of the turns whose state another episode of the group has visited."""


@dataclass(frozen=True)
class Outcome:
    """Result of a trial."""

    trial: Trial
    success: float
    """Share of the test tasks that are won."""
    steps: float | None
    """Mean turns of the test episodes that are won; None without any."""
    rounds: tuple[Round, ...] = ()


class House:
    """A server, an engine, and the rollout between them."""

    def __init__(self, config: RunConfig, base: Checkpoint, folder: Path) -> None:
        self._config = config
        self._server = EnvironmentServer(config.environment, folder / "server.log")
        self._engine = EmbeddedEngine(base, slots=SLOTS, threads=config.engine.threads)

    def __enter__(self) -> "House":
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()
        self._server.__exit__(kind, value, trace)

    def explore(self, policy: Checkpoint, number: int) -> list[Trajectory]:
        """Episodes of a round, in the order of their ids."""
        explore, seed = self._config.explore, self._config.seed
        choice = drawn(seed, number * explore.tasks, explore.tasks)
        requests = [
            self._request("explore", seed, number, task, attempt)
            for task in self._tasks("train", explore.difficulty, choice)
            for attempt in range(explore.samples)
        ]
        return self._play(policy, requests, self._config.explore_sampling)

    def evaluate(self, policy: Checkpoint) -> list[Trajectory]:
        """One sampled episode of every test task, with the same draws for every seed."""
        tasks = self._tasks("test", self._config.evaluate.difficulty, spread(TEST_TASKS))
        requests = [self._request("evaluate", 0, 0, task, 0) for task in tasks]
        return self._play(policy, requests, self._config.evaluate_sampling)

    def _tasks(self, split: str, difficulty: str | None, choice: Any) -> list[EnvTask]:
        return list_tasks(self._server.url, self._config.environment.name, split, difficulty, choice)

    def _play(
        self, policy: Checkpoint, requests: Sequence[EpisodeRequest], sampling: Sampling
    ) -> list[Trajectory]:
        self._engine.update(policy)
        return sorted(asyncio.run(self._all(requests, sampling)), key=lambda t: t.id)

    async def _all(self, requests: Sequence[EpisodeRequest], sampling: Sampling) -> list[Trajectory]:
        acting, form = self._engine.serve(sampling), action_format(self._config.environment.format)
        async with EnvClient(self._server.url) as client:
            return [t async for t in play_all(client, acting, requests, form, concurrency=SLOTS)]

    def _request(
        self, purpose: Literal["explore", "evaluate"], seed: int, number: int, task: EnvTask, attempt: int
    ) -> EpisodeRequest:
        identity = f"{purpose}/{number:03d}/{task.task_id}/{attempt:02d}"
        return EpisodeRequest(
            id=identity,
            run="bench",
            iteration=number,
            purpose=purpose,
            **task._asdict(),
            seed=zlib.crc32(f"{seed}/{identity}".encode()) >> 1,
            attempt=attempt,
            max_turns=self._config.environment.max_turns,
        )


def run(trial: Trial) -> Outcome:
    """Play the rounds of a trial, train on them, evaluate."""
    config, base = configured(trial), Checkpoint(starter_folder(), 0)
    if config.process.on:
        return _whole_run(trial, config, base)
    with tempfile.TemporaryDirectory() as name, House(config, base, Path(name)) as house:
        policy, rounds = base, list[Round]()
        for number in range(trial.rounds):
            explored = house.explore(policy, number)
            rounds.append(round_of(explored))
            policy = learnt(policy, explored, config, number, Path(name) / f"{number}", base)
        found = house.evaluate(policy)
    return _outcome(trial, found, rounds)


def _whole_run(trial: Trial, config: RunConfig, base: Checkpoint) -> Outcome:
    """Result of a trial that plays more than its explored episodes."""
    evaluate = config.evaluate.model_copy(
        update={"episodes": TEST_TASKS, "temperature": 1.0, "validation_episodes": 1}
    )
    config = config.model_copy(update={"iterations": trial.rounds, "evaluate": evaluate})
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder.create(Path(name) / "run", config, base)
        launch(folder, Progress(Console(quiet=True)))
        found = _episodes(folder, "evaluate", trial.rounds, "test")
        rounds = [_with_continuations(folder, number) for number in range(1, trial.rounds + 1)]
    return _outcome(trial, found, rounds)


def _with_continuations(folder: RunFolder, number: int) -> Round:
    """Statistics of a round's explored episodes, with the cost of their continuations."""
    explored, value = (_episodes(folder, purpose, number) for purpose in ("explore", "value"))
    spent = {
        "episodes": len(explored) + len(value),
        "turns": sum(len(episode.turns) for episode in (*explored, *value)),
        "tokens": sum(tokens(episode) for episode in (*explored, *value)),
    }
    return replace(round_of(explored), **spent)


def _episodes(folder: RunFolder, purpose: str, number: int, split: str | None = None) -> list[Trajectory]:
    return list(folder.store.trajectories(Where(purpose=purpose, iteration=number, split=split)))


def _outcome(trial: Trial, found: Sequence[Trajectory], rounds: Sequence[Round]) -> Outcome:
    won = [len(episode.turns) for episode in found if episode.succeeded()]
    return Outcome(trial, len(won) / len(found), fmean(won) if won else None, tuple(rounds))


def configured(trial: Trial) -> RunConfig:
    """Run configuration of this arm."""
    arm = ARMS.get(trial.arm, ())
    return load(None, [f"seed={trial.seed}", *arm, *SETTINGS, *trial.settings])


def round_of(explored: Sequence[Trajectory]) -> Round:
    """Statistics of explored episodes."""
    shared, shared_between = recurrence(explored)
    groups = {group_of(episode) for episode in explored}
    return Round(
        episodes=len(explored),
        success=fmean(episode.succeeded() for episode in explored),
        turns=sum(len(episode.turns) for episode in explored),
        tokens=sum(tokens(episode) for episode in explored),
        mixed=len({group_of(episode) for episode in informative(explored)}) / len(groups),
        shared=shared,
        shared_between=shared_between,
    )


def recurrence(explored: Sequence[Trajectory]) -> tuple[float, float]:
    """Shares of the turns whose state another turn of the group has, and another episode of the group."""
    visits, visitors = Counter[tuple[str, str]](), defaultdict[tuple[str, str], set[str]](set)
    met = [(episode.id, state) for episode in explored for state in _states(episode)]
    for name, state in met:
        visits[state] += 1
        visitors[state].add(name)
    again = fmean(visits[state] > 1 for _, state in met)
    return again, fmean(len(visitors[state]) > 1 for _, state in met)


def _states(episode: Trajectory) -> Iterator[tuple[str, str]]:
    known = facts(episode)
    return ((known.group, anchor) for anchor in known.anchors)


def compare(arguments: argparse.Namespace) -> None:
    """Run all trials that `arguments.json` does not hold already; prints each result."""
    shared = {"settings": list(SETTINGS), "test_tasks": TEST_TASKS}
    outcomes = tried(
        trials(arguments),
        run,
        Outcome,
        settings=shared,
        processes=arguments.processes,
        file=arguments.json,
        say=_line,
    )
    print_table(outcomes)


def _line(outcome: Outcome) -> str:
    trial = outcome.trial
    return f"{trial.arm:16} seed {trial.seed}  {outcome.success:6.1%} of {TEST_TASKS}"


def trials(arguments: argparse.Namespace) -> list[Trial]:
    """The starter, then all arms of each seed."""
    given = tuple(arguments.settings)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    arms = [Trial(arm, seed, arguments.rounds, given) for seed in seeds for arm in arguments.arms]
    return [Trial(STARTER, 0, 0, given), *arms]


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Print success and its differences with Student's 95 % intervals over the seeds, the budget spent, and
    the recurrence of states.
    """
    arms: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        arms.setdefault(outcome.trial.arm, []).append(outcome)
    learners = {arm: found for arm, found in arms.items() if arm != STARTER}
    print(f"\n{'':24}{'success':>9}   {'95 % interval':18}turns of a win")
    print("\n".join(success_line(arm, found) for arm, found in arms.items()))
    print(f"\n{'paired by seed':24}{'points':>9}   95 % interval")
    for better, worse in (pair for pair in DIFFERENCES if learners.keys() >= set(pair)):
        print(difference_line(better, learners[better], worse, learners[worse]))
    print(f"\n{'explored, by seed':24}{'episodes':>9}{'turns':>9}{'tokens':>11}")
    print("\n".join(spent_line(arm, found) for arm, found in learners.items()))
    print(f"\n{'share of groups':24}{'mixed':>9}   of turns in a state met again, by another episode")
    print("\n".join(met_line(arm, found) for arm, found in learners.items()), flush=True)


def success_line(arm: str, found: Sequence[Outcome]) -> str:
    """Mean success of an arm, and mean length of its wins."""
    wins, steps = [100 * o.success for o in found], [o.steps for o in found if o.steps is not None]
    return f"{arm:24}{fmean(wins):8.1f}%   {interval(wins):18}{fmean(steps) if steps else nan:14.1f}"


def difference_line(better: str, found: Sequence[Outcome], worse: str, others: Sequence[Outcome]) -> str:
    """Mean difference in points over the seeds that both arms have."""
    other = {outcome.trial.seed: outcome.success for outcome in others}
    gains = [100 * (o.success - other[o.trial.seed]) for o in found if o.trial.seed in other]
    return f"{better + ' - ' + worse:24}{fmean(gains):+9.1f}   {interval(gains, '+')}"


def spent_line(arm: str, found: Sequence[Outcome]) -> str:
    """Mean exploration budget of an arm over its seeds."""
    spent = [sum(getattr(r, n) for o in found for r in o.rounds) for n in ("episodes", "turns", "tokens")]
    episodes, turns, read = (total / len(found) for total in spent)
    return f"{arm:24}{episodes:9,.0f}{turns:9,.0f}{read:11,.0f}"


def met_line(arm: str, found: Sequence[Outcome]) -> str:
    """Share of the exploration that a comparison within groups can use."""
    rounds = [figures for outcome in found for figures in outcome.rounds]
    shares = [fmean(getattr(r, n) for r in rounds) for n in ("mixed", "shared", "shared_between")]
    return f"{arm:24}{shares[0]:9.1%}{shares[1]:33.1%}{shares[2]:20.1%}"


def interval(values: Sequence[float], sign: str = "") -> str:
    """Student's interval of a mean, or nothing for a single value."""
    if len(values) < 2:
        return ""
    low, high = mean_interval(values)
    return f"{low:{sign}.1f} to {high:{sign}.1f}"


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Options of this experiment."""
    parser = options("credit", "GiGPO beside GRPO in ALFWorld, at equal budget.", rounds=3)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--first-seed", type=int, default=0)
    return parser.parse_args(given)


def main(given: Sequence[str]) -> None:
    """Compare with these options and print."""
    compare(parse(given))
