"""Single evaluation of a model on a split, outside of a run: the implementation of `agentevol eval`.

The other seats of an episode are played by the model itself, by the environment, or by another model.
"""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from agentevol.config.files.reading import section_of
from agentevol.config.run import load
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.action_formats.registry import ACTION_FORMATS, action_format
from agentevol.core.protocols import Policy
from agentevol.core.splits import spread
from agentevol.core.summaries import EvaluationSummary
from agentevol.engines.openai import OpenAIPolicy, Usage
from agentevol.loop.report.evaluations.records import (
    Agent,
    EvaluationRecord,
    Setting,
    append_to,
    record_of,
)
from agentevol.loop.state.progress import progress_on
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.incidents import causes, with_cause
from agentevol.rollout.metrics import failed_episodes, summarise
from agentevol.rollout.tasks import list_seats, list_tasks
from agentevol.runs.players import SLOTS, STARTER, Player, PlayerSettings, check_settings, has_weights, player
from agentevol.runs.seating import Seating, Seats, requests, seated
from agentgym_client import EnvClient
from agentgym_envs.registry import environment_class
from agentgym_store.records import Trajectory

Report = Callable[[Sequence[Trajectory]], None]


@dataclass(frozen=True)
class Trial:
    """Episodes of an evaluation."""

    trajectories: list[Trajectory]
    """Of the policy and of a partner, in the order of tasks and seats."""
    requested: int
    """Number of requested episodes; each has a trajectory for every seat that is played."""
    seats: Seats
    policy: Player
    partner: Player | None = None
    """A model that plays the other seats; None where there is none."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of the environment."""
    max_turns: int | None = None
    causes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Causes of failures by incident, of a server that was started for the evaluation."""

    @property
    def episodes(self) -> list[Trajectory]:
        """The policy's trajectories."""
        return [one for one in self.trajectories if one.purpose != "partner"]

    @property
    def usage(self) -> Usage | None:
        """Token usage that the policy's endpoint reported."""
        return self.policy.usage

    @property
    def failures(self) -> list[str]:
        """Reasons of the failed episodes."""
        broken = failed_episodes(self.trajectories)
        return [with_cause(t.ending.detail, self.causes) for t in broken if t.ending.kind == "failed"]

    def remarks(self) -> list[str]:
        """Lines about what the summary does not show: options of the environment, and failures."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        failures = self.failures
        return [
            *([f"options of the environment: {options}"] if options else []),
            *(f"{len(failures)} episodes failed; the first: {failure}" for failure in failures[:1]),
        ]

    def summary(self, split: str) -> EvaluationSummary:
        """Metrics of the policy; for an endpoint's model the tokens are those that it reported."""
        summary = summarise(self.episodes, split)
        if self.usage is None or not summary.n:
            return summary
        scored = [t.id for t in self.episodes if t.total_reward is not None]
        tokens = sum(self.usage.completion_tokens_of[identity] for identity in scored)
        return summary.model_copy(update={"mean_tokens": tokens / summary.n})

    def records(self) -> list[EvaluationRecord]:
        """A record of each trajectory."""
        return [self.record(trajectory) for trajectory in self.trajectories]

    def record(self, trajectory: Trajectory) -> EvaluationRecord:
        """The record of a trajectory of this evaluation."""
        setting = Setting(self.requested, self.seats.partner, dict(self.options), self.max_turns)
        by = self.partner if trajectory.purpose == "partner" and self.partner else self.policy
        agent = Agent(by.name, by.form.name, by.temperature, by.tokens(trajectory))
        return record_of(trajectory, agent, setting)


def _nothing(_records: Sequence[EvaluationRecord], _played: Sequence[Trajectory]) -> None:
    """Keep nothing."""


@dataclass(frozen=True)
class Journal:
    """Continuation of an evaluation that may be interrupted."""

    run: str = "eval"
    """Beginning of the ids of its episodes."""
    done: Collection[str] = ()
    """Ids of the episodes that are there already, and are not played again."""
    keep: Callable[[Sequence[EvaluationRecord], Sequence[Trajectory]], None] = _nothing
    """Called with the records and trajectories of all seats of an episode, when it ends."""


def evaluate(
    model: str | Policy = STARTER,
    env: str = "alfworld",
    *,
    split: str = "test",
    difficulty: str | None = None,
    episodes: int | None = None,
    max_turns: int | None = None,
    temperature: float = 0.0,
    max_new_tokens: int | None = None,
    seed: int = 0,
    action_format: str = "plain",
    url: str | None = None,
    seats: int | None = None,
    partner: str | Policy | None = None,
    records: str | Path | None = None,
    engine: Sequence[str] = (),
    console: Console | None = None,
) -> EvaluationSummary:
    """Play a split of `env` with one model and return its figures: success, reward, turns, tokens, endings.

    `model` is a name as `agentevol eval --model` takes it, or a policy; `temperature`, `max_new_tokens` and
    `engine` (`engine.KEY=VALUE`) are for names. `episodes` tasks are played, evenly spread over the split, or
    all of them, on the server at `url` or one that is started. Where the environment has several seats the
    model plays all of them, or one with `seats=1`, beside the environment's own partners. Beside a `partner`,
    a name or a policy, it plays each task once in each seat. `records` is a new file for a record of each
    episode and seat. `engine` may have options of the environment (`environment.options.KEY=VALUE`). Progress
    is written to `console`, standard error by default. Raises `ConfigError` as `trial` does.
    """
    progress = progress_on(console)
    shown = model if isinstance(model, str) else model.name
    with progress.playing_once(f"{shown} on {env}/{split}") as started:
        played = trial(
            model,
            EnvironmentConfig(
                name=env,
                max_turns=max_turns,
                format=ACTION_FORMATS.checked(action_format),
                url=url,
                seats=seats,
            ),
            split,
            difficulty=difficulty,
            episodes=episodes,
            temperature=temperature,
            seed=seed,
            started=started,
            engine=engine,
            max_new_tokens=max_new_tokens,
            seating=Seating(partner),
            records=None if records is None else Path(records),
        )
    for remark in played.remarks():
        progress.say(remark)
    return played.summary(split)


def trial(
    model: str | Policy,
    environment: EnvironmentConfig,
    split: str,
    *,
    difficulty: str | None,
    episodes: int | None,
    temperature: float,
    seed: int,
    started: Callable[[int], Report],
    engine: Sequence[str] = (),
    max_new_tokens: int | None = None,
    repeats: int = 1,
    seating: Seating | None = None,
    records: Path | None = None,
    journal: Journal | None = None,
) -> Trial:
    """Play `episodes` tasks, evenly over a split (None: all), with `model`, each `repeats` times with other
    seeds; the trajectories in the order of tasks.

    `started` is called with the number of episodes and returns a function that is called with each batch.
    `engine` are overrides as a run has them: `engine.KEY=VALUE`, and `environment.options.KEY=VALUE` beyond
    those of `environment`; weights are shown the environment as runs show it by default. `seating` says who
    plays the other seats. `records`, a new file, gets a record of each trajectory as soon as it ends;
    `journal` continues an evaluation, of which only the missing episodes are played. Raises `ConfigError`
    for an unknown model, split or difficulty, and for settings without an effect.
    """
    seating, journal = seating or Seating(), journal or Journal()
    if records is not None and records.exists():
        raise FileExistsError(17, "the file exists", str(records))
    options, engine = section_of(engine, "environment.options")
    models = [model] if seating.model is None else [model, seating.model]
    usual = next((usual_options(one, environment) for one in models if has_weights(one)), {})
    options = {**usual, **environment.options, **options}
    environment = environment.model_copy(update={"options": options})
    settings = PlayerSettings(temperature, max_new_tokens, engine)
    check_settings(models, settings)
    with ExitStack() as stack:
        formats = environment.format, seating.partner_format or environment.format
        players = [
            _entered(stack, player(one, environment, action_format(form), settings))
            for one, form in zip(models, formats, strict=False)
        ]
        log = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentevol-"))) / "server.log"
        url = environment.url or _served(stack, environment, log)
        there = len(list_seats(url, environment.name)) or 1
        seats = seated(seating, players[0].policy.name, environment, there)
        tasks = list_tasks(url, environment.name, split, difficulty, spread(episodes))
        asked = list(requests(environment, tasks, seats, seed=seed, repeats=repeats, run=journal.run))
        shown = {} if environment.url else options
        partner = players[1] if len(players) > 1 else None
        planned = Trial([], len(asked), seats, players[0], partner, shown, environment.max_turns)
        write = stack.enter_context(_written(records))
        wanted = [request for request in asked if request.id not in journal.done]
        report = started(len(wanted))
        found = asyncio.run(_all(planned, url, wanted, _kept(planned, write, journal, report)))
        known = causes(log)
    order = {request.id: number for number, request in enumerate(asked)}
    played = sorted(found, key=lambda t: (order[t.episode], t.seat))
    return replace(planned, trajectories=played, causes=known)


def usual_options(model: str | Policy, environment: EnvironmentConfig) -> Mapping[str, Any]:
    """Options with which runs show an environment by default, for a model with weights of its own."""
    if not has_weights(model) or environment.url is not None:
        return {}
    environment_class(environment.name)  # raises for an unknown one, which no run has
    return load(None, [f"env={environment.name}"]).environment.options


def _entered(stack: ExitStack, player: Player) -> Player:
    stack.callback(player.close)
    return player


def _served(stack: ExitStack, environment: EnvironmentConfig, log: Path) -> str:
    """URL of a server that is started, until the stack is closed."""
    environment_class(environment.name)  # raises for an unknown one in one line, where a server's log is long
    return stack.enter_context(EnvironmentServer(environment, log)).url


@contextmanager
def _written(path: Path | None) -> Iterator[Callable[[EvaluationRecord], None]]:
    """Function that appends a record to a new file."""
    if path is None:
        yield lambda _: None
        return
    with path.open("x", encoding="utf-8") as file:
        yield lambda record: append_to(file, record)


def _kept(
    planned: Trial, write: Callable[[EvaluationRecord], None], journal: Journal, report: Report
) -> Callable[[Trajectory], None]:
    """Function that records and reports a trajectory, and an episode when all of its seats are there."""
    seats: dict[str, list[tuple[EvaluationRecord, Trajectory]]] = defaultdict(list)

    def ended(trajectory: Trajectory) -> None:
        record = planned.record(trajectory)
        write(record)
        found = seats[trajectory.episode]
        found.append((record, trajectory))
        if len(found) == planned.seats.count:
            del seats[trajectory.episode]
            journal.keep([one for one, _ in found], [played for _, played in found])
        report([trajectory])

    return ended


async def _all(
    planned: Trial,
    url: str,
    requests: Sequence[EpisodeRequest],
    ended: Callable[[Trajectory], None],
) -> list[Trajectory]:
    """Play all requests; `ended` is called with each trajectory when its episode ends."""
    found: list[Trajectory] = []
    own, partner = planned.policy, planned.partner
    try:
        async with EnvClient(url) as client:
            async for trajectory in play_all(
                client,
                own.policy,
                requests,
                own.form,
                concurrency=SLOTS,
                partner=partner and partner.policy,
                partner_format=partner and partner.form,
            ):
                found.append(trajectory)
                ended(trajectory)
    finally:
        for one in (own, partner):
            if one is not None and isinstance(one.policy, OpenAIPolicy):
                await one.policy.close()
    return found
