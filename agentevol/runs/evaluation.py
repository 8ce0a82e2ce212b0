"""Single evaluation of one model on a split, outside of a run: the implementation of `agentevol eval`.

A model is a script, an endpoint's (`openai:NAME`), weights (`starter` or a folder, with an engine), or any
`Policy`.
"""

import asyncio
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from agentevol.config.engine import VllmConfig, VllmServersConfig
from agentevol.config.run import load, section_of
from agentevol.config.sections import EnvironmentConfig
from agentevol.core.action_formats.registry import ACTION_FORMATS, CheckedFormat, action_format
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, Policy, RolloutEngine, Sampling
from agentevol.core.splits import spread
from agentevol.core.summaries import EvaluationSummary
from agentevol.engines.openai import MAX_NEW_TOKENS as ENDPOINT_TOKENS
from agentevol.engines.openai import PREFIX, OpenAIPolicy, Usage, openai_policy
from agentevol.engines.scripted import SCRIPTED, RenderedPolicy, scripted_policy
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.loop.state.progress import progress_on
from agentevol.models.rendering import load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.environments import usual_action_tokens
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.metrics import failed_episodes, summarise
from agentevol.rollout.tasks import EnvTask, list_seats, list_tasks
from agentgym_client import EnvClient
from agentgym_envs.registry import environment_class, make
from agentgym_store.records import Trajectory

SLOTS = 64
STARTER = "starter"
"""Name of the environment's own starter, where it has one."""
VLLM = "vllm:"
"""Prefix of a folder: short for `engine=vllm`."""

Report = Callable[[Sequence[Trajectory]], None]


@dataclass(frozen=True)
class Trial:
    """Episodes of an evaluation."""

    episodes: list[Trajectory]
    usage: Usage | None = None
    """Token usage reported by an endpoint."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of the environment."""

    @property
    def failures(self) -> list[str]:
        """Reasons of the failed episodes."""
        broken = failed_episodes(self.episodes)
        return [t.ending.detail for t in broken if t.ending.kind == "failed"]

    def remarks(self) -> list[str]:
        """Lines about what the summary does not show: options of the environment, and failures."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        failures = self.failures
        return [
            *([f"options of the environment: {options}"] if options else []),
            *(f"{len(failures)} episodes failed; the first: {failure}" for failure in failures[:1]),
        ]

    def summary(self, split: str) -> EvaluationSummary:
        """Metrics of the episodes; for an endpoint's model the tokens are those that it reported."""
        summary = summarise(self.episodes, split)
        if self.usage is None or not summary.n:
            return summary
        scored = [t.id for t in self.episodes if t.total_reward is not None]
        tokens = sum(self.usage.completion_tokens_of[identity] for identity in scored)
        return summary.model_copy(update={"mean_tokens": tokens / summary.n})


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
    engine: Sequence[str] = (),
    console: Console | None = None,
) -> EvaluationSummary:
    """Play a split of `env` with one model and return its figures: success, reward, turns, tokens, endings.

    `model` is a name as `agentevol eval --model` takes it, or a policy; `temperature`, `max_new_tokens` and
    `engine` (`engine.KEY=VALUE`) are for names. `episodes` tasks are played, evenly spread over the split, or
    all of them, on the server at `url` or one that is started. Where the environment has several seats the
    model plays all of them, or one with `seats=1`, beside the environment's own partners. Progress is written
    to `console`, standard error by default. Raises `ConfigError` as `trial` does.
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
) -> Trial:
    """Play `episodes` tasks, evenly over a split (None: all), with `model`, each `repeats` times with other
    seeds; the trajectories in the order of tasks.

    `started` is called with the number of episodes and returns a function that is called with each batch.
    `engine` are overrides as a run has them: `engine.KEY=VALUE`, and `environment.options.KEY=VALUE` beyond
    those of `environment`; weights are shown the environment as runs show it by default. Raises `ConfigError`
    for an unknown model, split or difficulty, and for settings without an effect.
    """
    options, engine = section_of(engine, "environment.options")
    options = {**usual_options(model, environment), **environment.options, **options}
    environment = environment.model_copy(update={"options": options})
    form = action_format(environment.format)
    if isinstance(model, str):
        policy, close = _policy(model, environment, form, temperature, engine, max_new_tokens)
    else:
        policy, close = _given(model, engine, max_new_tokens), lambda: None
    with ExitStack() as stack:
        stack.callback(close)
        url = environment.url
        if url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="agentevol-"))
            url = stack.enter_context(EnvironmentServer(environment, Path(folder) / "server.log")).url
        seats = _seats(environment, policy, url)
        tasks = list_tasks(url, environment.name, split, difficulty, spread(episodes))
        requests = [
            _request(environment, task, seed, number, repeat, seats)
            for number, task in enumerate(tasks)
            for repeat in range(repeats)
        ]
        played = _play(policy, form, url, requests, started(len(requests)))
    usage = policy.usage if isinstance(policy, OpenAIPolicy) else None
    return Trial(played, usage, {} if environment.url else options)


def usual_options(model: str | Policy, environment: EnvironmentConfig) -> Mapping[str, Any]:
    """Options with which runs show an environment by default, for a model with weights of its own."""
    if not isinstance(model, str) or _without_weights(model) or environment.url is not None:
        return {}
    environment_class(environment.name)  # raises for an unknown one, which no run has
    return load(None, [f"env={environment.name}"]).environment.options


def _without_weights(model: str) -> bool:
    return model in SCRIPTED or model.startswith(PREFIX)


def _given(policy: Policy, overrides: Sequence[str], max_new_tokens: int | None) -> Policy:
    """The policy of a caller. Raises `ConfigError` for settings that it does not read."""
    if overrides or max_new_tokens is not None:
        setting = overrides[0] if overrides else "max_new_tokens"
        raise ConfigError(f"{setting} has no effect: {policy.name} is a policy, not the name of a model")
    return policy


def _policy(
    model: str,
    environment: EnvironmentConfig,
    form: CheckedFormat,
    temperature: float,
    overrides: Sequence[str],
    max_new_tokens: int | None,
) -> tuple[Policy, Callable[[], None]]:
    """The policy, and a function that ends it."""
    if _without_weights(model) and overrides:
        raise ConfigError(f"{overrides[0]} has no effect: {model} needs no engine")
    if model in SCRIPTED:
        if max_new_tokens is not None:
            raise ConfigError(f"--max-new-tokens has no effect: {model} samples no tokens")
        made = make(environment.name, **environment.options)
        script = scripted_policy(model, lambda task_id: made.expert(made.task(task_id)))
        return RenderedPolicy(script, form), made.close
    if _without_weights(model):
        sampling = Sampling(temperature=temperature, max_new_tokens=max_new_tokens or ENDPOINT_TOKENS)
        return openai_policy(model.removeprefix(PREFIX), sampling, SLOTS), lambda: None
    checkpoint = resolve(f"{STARTER}:{environment.name}" if model == STARTER else model.removeprefix(VLLM))
    tokens = max_new_tokens or usual_action_tokens(environment, load_tokenizer(checkpoint.path))
    engine = _engine(checkpoint, ["engine=vllm", *overrides] if model.startswith(VLLM) else overrides)
    return engine.serve(Sampling(temperature=temperature, max_new_tokens=tokens)), engine.close


def _engine(checkpoint: Checkpoint, overrides: Sequence[str]) -> RolloutEngine:
    """Engine with a model's weights. Raises `ConfigError` for settings that do not apply to an evaluation."""
    given = [override.partition("=")[0].strip() for override in overrides]
    for key in given:
        if key.split(".")[0] != "engine" or key == "engine.workers":
            raise ConfigError(f"{key} has no effect in an evaluation, which has one worker: see engine.*")
        if key == "engine.lora":
            raise ConfigError("engine.lora has no effect in an evaluation: it trains nothing")
    settings = load(None, [f"engine.slots={SLOTS}", *overrides]).engine
    threaded = "engine.threads" in given
    vllm = isinstance(settings, VllmConfig | VllmServersConfig)
    if vllm and threaded:
        raise ConfigError("engine.threads has no effect in an evaluation with vLLM: set OMP_NUM_THREADS")
    if isinstance(settings, VllmConfig):
        check_installed()
    # there is one worker: it may have all threads
    return start_engine(settings, checkpoint, updates=False, all_threads=not threaded)


def _play(
    policy: Policy,
    form: CheckedFormat,
    url: str,
    requests: Sequence[EpisodeRequest],
    report: Report,
) -> list[Trajectory]:
    found = asyncio.run(_all(policy, form, url, requests, report))
    order = {request.id: number for number, request in enumerate(requests)}
    return sorted(found, key=lambda t: (order[t.episode], t.seat))


def _seats(environment: EnvironmentConfig, policy: Policy, url: str) -> int:
    """Seats that the policy plays: all, but one with the expert, whose actions are for one agent.

    Raises `ConfigError` for a number of seats that the environment does not have.
    """
    there = len(list_seats(url, environment.name)) or 1
    seats = environment.seats or (1 if policy.name == "expert" else there)
    if seats not in (1, there) or (seats > 1 and policy.name == "expert"):
        raise ConfigError(f"{policy.name} cannot play {seats} seats: {environment.name} has {there}")
    return seats


async def _all(
    policy: Policy,
    form: CheckedFormat,
    url: str,
    requests: Sequence[EpisodeRequest],
    report: Report,
) -> list[Trajectory]:
    found: list[Trajectory] = []
    try:
        async with EnvClient(url) as client:
            async for trajectory in play_all(client, policy, requests, form, concurrency=SLOTS):
                found.append(trajectory)
                report([trajectory])
    finally:
        if isinstance(policy, OpenAIPolicy):
            await policy.close()
    return found


def _request(
    environment: EnvironmentConfig, task: EnvTask, seed: int, number: int, repeat: int, seats: int
) -> EpisodeRequest:
    identity = f"eval/{number}/{task.task_id}" + (f"/{repeat}" if repeat else "")
    return EpisodeRequest(
        id=identity,
        run="eval",
        iteration=0,
        purpose="evaluate",
        env=environment.name,
        task_id=task.task_id,
        split=task.split,
        kind=task.kind,
        difficulty=task.difficulty,
        instruction=task.instruction,
        seed=zlib.crc32(f"{seed}/{identity}".encode()) >> 1,
        attempt=0,
        max_turns=environment.max_turns,
        seats=seats,
    )
