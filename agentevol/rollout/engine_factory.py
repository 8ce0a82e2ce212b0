"""Factory of the rollout engine, and of the partner, that a configuration names."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from agentevol.config.sections.engine import (
    ENGINES,
    CustomEngineConfig,
    EmbeddedConfig,
    EngineConfig,
    TokenEngineConfig,
    VllmConfig,
    VllmServersConfig,
)
from agentevol.config.sections.environment import SCRIPTED_PARTNERS, SELF_PLAY, EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, Policy, RolloutEngine, Sampling
from agentevol.engines.interfaces import EngineFactory, TokenEngine
from agentevol.engines.scripted import RenderedPolicy, scripted_policy
from agentevol.models.lora_config import LoraConfig
from agentevol.models.resolution import resolve
from agentgym_envs.formats import ActionFormat


def start_engine(
    config: EngineConfig,
    checkpoint: Checkpoint,
    *,
    updates: bool = True,
    all_threads: bool = False,
    lora: LoraConfig | None = None,
) -> RolloutEngine:
    """Start the configured engine with the weights of `checkpoint`. Raises `ConfigError` where it cannot
    serve them.

    `updates` says whether weight updates will follow: servers that cannot take any are refused. With
    `all_threads`, the embedded engine uses as many threads as torch finds. `lora` is the training
    configuration of the adapters, for `engine.lora`.
    """
    if isinstance(config, CustomEngineConfig):
        factory: EngineFactory = ENGINES.load(config.name)
        return factory(config, checkpoint)
    return start_token_engine(config, checkpoint, updates=updates, all_threads=all_threads, lora=lora)


class Partner(NamedTuple):
    """Player of the seats beside the policy's."""

    serve: Callable[[Sampling], Policy]
    """Function from sampling parameters to the player."""
    engine: RolloutEngine | None = None
    """Engine of its weights; None for a script."""


def partner_player(
    environment: EnvironmentConfig, engine: EngineConfig, form: ActionFormat
) -> Partner | None:
    """The partner of `environment.partner`; None in self-play.

    A partner with weights gets an engine of its own. Raises `ConfigError` for an unknown model.
    """
    if environment.partner == SELF_PLAY:
        return None
    if environment.partner in SCRIPTED_PARTNERS:
        script = script_player(environment.partner, form)
        return Partner(lambda _: script)
    own = start_engine(engine, resolve(environment.partner_model), updates=False)
    return Partner(own.serve, own)


def script_player(name: str, form: ActionFormat) -> Policy:
    """The script of this name, which writes its actions in `form`."""
    return RenderedPolicy(scripted_policy(name), form)


def start_token_engine(
    config: TokenEngineConfig,
    checkpoint: Checkpoint,
    *,
    updates: bool = True,
    all_threads: bool = False,
    lora: LoraConfig | None = None,
) -> TokenEngine:
    """`start_engine` for the engines of this package."""
    if isinstance(config, VllmServersConfig):
        return _servers(config, checkpoint, updates=updates)
    if isinstance(config, VllmConfig):
        return _vllm(config, checkpoint, lora, updates=updates)
    return _embedded(config, checkpoint, all_threads=all_threads)


def _embedded(config: EmbeddedConfig, checkpoint: Checkpoint, *, all_threads: bool) -> TokenEngine:
    from agentevol.engines.embedded.engine import EmbeddedEngine

    return EmbeddedEngine(
        checkpoint,
        slots=config.slots,
        context=config.context,
        threads=None if all_threads else config.threads,
        dtype=config.dtype,
        chat_template_kwargs=config.chat_template_kwargs,
        overflow=config.overflow,
    )


def _vllm(
    config: VllmConfig, checkpoint: Checkpoint, lora: LoraConfig | None, *, updates: bool
) -> TokenEngine:
    if config.lora and lora is None:
        raise ConfigError("engine.lora is for runs, whose updates are adapters: leave it out")
    return _vllm_kind(lora if config.lora else None)(
        checkpoint,
        slots=config.slots,
        context=config.context,
        dtype=config.dtype,
        tensor_parallel=config.tensor_parallel,
        cache_gib=config.cache_gib,
        colocated=config.colocated,
        transfer=config.transfer if updates else "disk",
        chat_template_kwargs=config.chat_template_kwargs,
        overflow=config.overflow,
    )


def _vllm_kind(lora: LoraConfig | None) -> Callable[..., TokenEngine]:
    """Constructor of the vLLM engine, or of the one that loads adapters."""
    if lora is not None:
        from agentevol.engines.vllm.lora_engine import VllmLoraEngine

        return partial(VllmLoraEngine, lora=lora)
    from agentevol.engines.vllm.engine import VllmEngine

    return VllmEngine


def _servers(config: VllmServersConfig, checkpoint: Checkpoint, *, updates: bool) -> TokenEngine:
    from agentevol.engines.endpoint import key_from
    from agentevol.engines.vllm.servers.engine import VllmServerEngine

    return VllmServerEngine(
        checkpoint,
        config.urls,
        updates=updates,
        key=key_from(config.api_key_env),
        slots=config.slots,
        context=config.context,
        dtype=config.dtype,
        chat_template_kwargs=config.chat_template_kwargs,
        overflow=config.overflow,
    )
