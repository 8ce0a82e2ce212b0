"""Playing a split once with one model, outside of a run: what `agentevol eval` does.

A model is a script, an endpoint's (`openai:NAME`), or weights: `starter` or a folder, with an engine.
"""

import asyncio
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agentevol.config.sections import EnvironmentConfig
from agentevol.engines.choice import start_engine
from agentevol.engines.openai import MAX_NEW_TOKENS as ENDPOINT_TOKENS
from agentevol.engines.openai import PREFIX, OpenAIPolicy, Usage, openai_policy
from agentevol.engines.scripted import SCRIPTED, scripted_policy
from agentevol.engines.vllm_capability import check_installed
from agentevol.environments import usual_action_tokens
from agentevol.errors import ConfigError
from agentevol.loop.evaluate import summarise
from agentevol.loop.explore import EpisodeRequest, play_all
from agentevol.models import resolve
from agentevol.protocols import Checkpoint, Policy, RolloutEngine, Sampling
from agentevol.rendering import load_tokenizer
from agentevol.report.summary import EvaluationSummary
from agentevol.serving import EnvironmentServer
from agentevol.splits import spread
from agentevol.tasks import EnvTask, list_tasks
from agentgym_client import EnvClient
from agentgym_envs.formats import FORMATS
from agentgym_envs.registry import make
from agentgym_store.records import Trajectory

SLOTS = 64
STARTER = "starter"
"""The environment's own, where it has one."""
VLLM = "vllm:"
"""Before a folder: short for `engine=vllm`."""

Report = Callable[[Sequence[Trajectory]], None]


@dataclass(frozen=True)
class Trial:
    """What was played."""

    episodes: list[Trajectory]
    usage: Usage | None = None
    """What an endpoint says of its tokens."""

    @property
    def failures(self) -> list[str]:
        """Why episodes failed."""
        return [t.ending.detail for t in self.episodes if t.ending.kind == "failed"]

    def summary(self, split: str) -> EvaluationSummary:
        """Its figures; of an endpoint's model the tokens are those that it told of."""
        summary = summarise(self.episodes, split)
        if self.usage is None or not summary.n:
            return summary
        scored = [t.id for t in self.episodes if t.total_reward is not None]
        tokens = sum(self.usage.completion_tokens_of[identity] for identity in scored)
        return summary.model_copy(update={"mean_tokens": tokens / summary.n})


def trial(
    model: str,
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
) -> Trial:
    """Play `episodes` tasks, evenly over a split (None: all), with `model`; the trajectories in the order of
    tasks.

    `started` is told the number of episodes and gives a function that hears of each batch. `engine` are
    overrides as a run has them, `engine.KEY=VALUE`. Raises `ConfigError` for an unknown model, split or
    difficulty, and for settings that nothing reads.
    """
    policy, close = _policy(model, environment, temperature, engine, max_new_tokens)
    with ExitStack() as stack:
        stack.callback(close)
        url = environment.url
        if url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="agentevol-"))
            url = stack.enter_context(EnvironmentServer(environment, Path(folder) / "server.log")).url
        played = _play(policy, environment, url, split, difficulty, episodes, seed, started)
    return Trial(played, policy.usage if isinstance(policy, OpenAIPolicy) else None)


def _policy(
    model: str,
    environment: EnvironmentConfig,
    temperature: float,
    overrides: Sequence[str],
    max_new_tokens: int | None,
) -> tuple[Policy, Callable[[], None]]:
    """What acts, and how to end it."""
    without_weights = model in SCRIPTED or model.startswith(PREFIX)
    if without_weights and overrides:
        raise ConfigError(f"{overrides[0]} has no effect: {model} needs no engine")
    if model in SCRIPTED:
        if max_new_tokens is not None:
            raise ConfigError(f"--max-new-tokens has no effect: {model} samples no tokens")
        world = make(environment.name, **environment.options)
        return scripted_policy(model, lambda task_id: world.expert(world.task(task_id))), world.close
    if without_weights:
        sampling = Sampling(temperature=temperature, max_new_tokens=max_new_tokens or ENDPOINT_TOKENS)
        return openai_policy(model.removeprefix(PREFIX), sampling, SLOTS), lambda: None
    checkpoint = resolve(f"{STARTER}:{environment.name}" if model == STARTER else model.removeprefix(VLLM))
    tokens = max_new_tokens or usual_action_tokens(environment, load_tokenizer(checkpoint.path))
    engine = _engine(checkpoint, ["engine=vllm", *overrides] if model.startswith(VLLM) else overrides)
    return engine.serve(Sampling(temperature=temperature, max_new_tokens=tokens)), engine.close


def _engine(checkpoint: Checkpoint, overrides: Sequence[str]) -> RolloutEngine:
    """The engine with a model's weights. Raises `ConfigError` for settings that no evaluation has."""
    from agentevol.config.run import load  # brings torch, which scripts and endpoints do without

    given = [override.partition("=")[0].strip() for override in overrides]
    for key in given:
        if key.split(".")[0] != "engine" or key == "engine.workers":
            raise ConfigError(f"{key} has no effect in an evaluation, which has one worker: see engine.*")
        if key == "engine.lora":
            raise ConfigError("engine.lora has no effect in an evaluation: nothing is learnt in it")
    settings = load(None, [f"engine.slots={SLOTS}", *overrides]).engine
    threaded = "engine.threads" in given
    if settings.name == "vllm" and threaded:
        raise ConfigError("engine.threads has no effect in an evaluation with vLLM: set OMP_NUM_THREADS")
    if settings.name == "vllm" and not settings.urls:
        check_installed()
    # there is one worker: it may have all threads
    return start_engine(settings, checkpoint, updates=False, all_threads=not threaded)


def _play(
    policy: Policy,
    environment: EnvironmentConfig,
    url: str,
    split: str,
    difficulty: str | None,
    episodes: int | None,
    seed: int,
    started: Callable[[int], Report],
) -> list[Trajectory]:
    tasks = list_tasks(url, environment.name, split, difficulty, spread(episodes))
    requests = [_request(environment, task, seed, number) for number, task in enumerate(tasks)]
    report = started(len(requests))
    found = asyncio.run(_all(policy, environment, url, requests, report))
    order = {request.id: number for number, request in enumerate(requests)}
    return sorted(found, key=lambda t: order[t.id])


async def _all(
    policy: Policy,
    environment: EnvironmentConfig,
    url: str,
    requests: Sequence[EpisodeRequest],
    report: Report,
) -> list[Trajectory]:
    found: list[Trajectory] = []
    form = FORMATS[environment.format]
    try:
        async with EnvClient(url) as client:
            async for trajectory in play_all(client, policy, requests, form, concurrency=SLOTS):
                found.append(trajectory)
                report([trajectory])
    finally:
        if isinstance(policy, OpenAIPolicy):
            await policy.close()
    return found


def _request(environment: EnvironmentConfig, task: EnvTask, seed: int, number: int) -> EpisodeRequest:
    identity = f"eval/{number}/{task.task_id}"
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
    )
