"""Factory of the rollout engine that a configuration names."""

from collections.abc import Callable
from functools import partial

from agentevol.config.sections import EngineConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.engines.interfaces import TokenEngine
from agentevol.models.lora_config import LoraConfig


def start_engine(
    config: EngineConfig,
    checkpoint: Checkpoint,
    *,
    updates: bool = True,
    all_threads: bool = False,
    lora: LoraConfig | None = None,
) -> TokenEngine:
    """Start the configured engine with the weights of `checkpoint`. Raises `ConfigError` where it cannot
    serve them.

    `updates` says whether weight updates will follow: servers that cannot take any are refused. With
    `all_threads`, the embedded engine uses as many threads as torch finds. `lora` is the training
    configuration of the adapters, for `engine.lora`.
    """
    if config.lora and lora is None:
        raise ConfigError("engine.lora is for runs, whose updates are adapters: leave it out")
    if config.urls:
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
    if config.name == "vllm":
        return _vllm(config, lora)(
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


def _vllm(config: EngineConfig, lora: LoraConfig | None) -> Callable[..., TokenEngine]:
    """Constructor of the configured kind of vLLM engine."""
    if config.lora and lora is not None:
        from agentevol.engines.vllm.lora_engine import VllmLoraEngine

        return partial(VllmLoraEngine, lora=lora)
    from agentevol.engines.vllm.engine import VllmEngine

    return VllmEngine
