"""The engine that a configuration names."""

from agentevol.config.sections import EngineConfig
from agentevol.engines.tokens import TokenEngine
from agentevol.protocols import Checkpoint


def start_engine(
    config: EngineConfig, checkpoint: Checkpoint, *, updates: bool = True, all_threads: bool = False
) -> TokenEngine:
    """Start it with these weights. Raises `ConfigError` where it cannot serve them.

    `updates` says whether others will follow: servers that cannot take any are refused. With `all_threads`,
    the embedded engine has as many as torch finds.
    """
    if config.urls:
        from agentevol.engines.endpoint import key_from
        from agentevol.engines.vllm_server import VllmServerEngine

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
        from agentevol.engines.vllm import VllmEngine

        return VllmEngine(
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
    from agentevol.engines.embedded import EmbeddedEngine

    return EmbeddedEngine(
        checkpoint,
        slots=config.slots,
        context=config.context,
        threads=None if all_threads else config.threads,
        dtype=config.dtype,
        chat_template_kwargs=config.chat_template_kwargs,
        overflow=config.overflow,
    )
