"""Players of an evaluation: models by name, as `agentevol eval --model` takes them, or policies of a caller.

A model is a script, an endpoint's (`openai:NAME`), or weights (`starter` or a folder) with an engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentevol.config.run import load
from agentevol.config.sections.engine import VllmConfig, VllmServersConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.action_formats.registry import CheckedFormat
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, Policy, RolloutEngine, Sampling
from agentevol.core.starter_names import starter_name
from agentevol.data.selection.filters import sampled_tokens
from agentevol.engines.openai import MAX_NEW_TOKENS as ENDPOINT_TOKENS
from agentevol.engines.openai import PREFIX, OpenAIPolicy, Usage, openai_policy
from agentevol.engines.scripted import SCRIPTED, RenderedPolicy, scripted_policy
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.models.rendering import load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.environments import usual_action_tokens
from agentgym_envs.registry import make
from agentgym_store.records import Trajectory

SLOTS = 64
EXPERT = "expert"
STARTER = "starter"
"""Name of the environment's own starter, where it has one."""
VLLM = "vllm:"
"""Prefix of a folder: short for `engine=vllm`."""


@dataclass(frozen=True)
class PlayerSettings:
    """Settings of models by name; a script reads none of them, an endpoint no `engine`."""

    temperature: float = 0.0
    max_new_tokens: int | None = None
    """None is the usual number: of an endpoint 1,024, otherwise as in runs."""
    engine: Sequence[str] = ()
    """Overrides as a run has them: `engine.KEY=VALUE`."""


@dataclass(frozen=True)
class Player:
    """A policy with the format of its messages."""

    name: str
    """The name of its model, as it was given."""
    policy: Policy
    form: CheckedFormat
    temperature: float | None = None
    """Sampling temperature of a model by name; None of a script, and of a policy of a caller."""
    close: Callable[[], None] = lambda: None
    """Ends what the policy needs."""

    @property
    def usage(self) -> Usage | None:
        """Token usage reported by an endpoint; None of another policy."""
        return self.policy.usage if isinstance(self.policy, OpenAIPolicy) else None

    def tokens(self, trajectory: Trajectory) -> int | None:
        """Tokens that it sampled in an episode; None where they are not known, as those of scripts."""
        if self.usage is not None:
            return self.usage.completion_tokens_of[trajectory.id]
        return sampled_tokens(trajectory) or None


def has_weights(model: str | Policy) -> bool:
    """Whether a model is one with weights of its own, which an engine has to serve."""
    return isinstance(model, str) and model not in SCRIPTED and not model.startswith(PREFIX)


def check_settings(models: Sequence[str | Policy], settings: PlayerSettings) -> None:
    """Raise `ConfigError` for a setting that none of the models reads."""
    first = models[0]
    if settings.engine and not any(map(has_weights, models)):
        raise ConfigError(f"{settings.engine[0]} has no effect: {_why(first, 'needs no engine')}")
    if settings.max_new_tokens is not None and not any(map(_samples, models)):
        name = "--max-new-tokens" if isinstance(first, str) else "max_new_tokens"
        raise ConfigError(f"{name} has no effect: {_why(first, 'samples no tokens')}")


def player(
    model: str | Policy, environment: EnvironmentConfig, form: CheckedFormat, settings: PlayerSettings
) -> Player:
    """The player of a model. Raises `ConfigError` where it is not there, or cannot be served."""
    if not isinstance(model, str):
        return Player(model.name, model, form)
    if model == EXPERT:
        made = make(environment.name, **environment.options)
        script = scripted_policy(model, lambda task_id: made.expert(made.task(task_id)))
        return Player(model, RenderedPolicy(script, form), form, close=made.close)
    if model in SCRIPTED:
        return Player(model, RenderedPolicy(scripted_policy(model), form), form)
    if model.startswith(PREFIX):
        tokens = settings.max_new_tokens or ENDPOINT_TOKENS
        sampling = Sampling(temperature=settings.temperature, max_new_tokens=tokens)
        policy = openai_policy(model.removeprefix(PREFIX), sampling, SLOTS)
        return Player(model, policy, form, settings.temperature)
    own = f"{STARTER}:{starter_name(environment.name, form.name)}"
    checkpoint = resolve(own if model == STARTER else model.removeprefix(VLLM))
    shown = environment.model_copy(update={"format": form.name})
    tokens = settings.max_new_tokens or usual_action_tokens(shown, load_tokenizer(checkpoint.path))
    overrides = ["engine=vllm", *settings.engine] if model.startswith(VLLM) else settings.engine
    engine = _engine(checkpoint, overrides)
    sampling = Sampling(temperature=settings.temperature, max_new_tokens=tokens)
    return Player(model, engine.serve(sampling), form, settings.temperature, engine.close)


def _samples(model: str | Policy) -> bool:
    return isinstance(model, str) and model not in SCRIPTED


def _why(model: str | Policy, reason: str) -> str:
    if isinstance(model, str):
        return f"{model} {reason}"
    return f"{model.name} is a policy, not the name of a model"


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
