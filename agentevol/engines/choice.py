"""The engine that a configuration names."""

from agentevol.config.sections import EngineConfig
from agentevol.protocols import Checkpoint, RolloutEngine


def start_engine(config: EngineConfig, checkpoint: Checkpoint) -> RolloutEngine:
    """Start it with these weights. Raises `ConfigError` where it cannot serve them."""
    if config.name == "vllm":
        from agentevol.engines.vllm import VllmEngine

        return VllmEngine(
            checkpoint,
            slots=config.slots,
            context=config.context,
            dtype=config.dtype,
            cache_gib=config.cache_gib,
            chat_template_kwargs=config.chat_template_kwargs,
            overflow=config.overflow,
        )
    from agentevol.engines.embedded import EmbeddedEngine

    return EmbeddedEngine(
        checkpoint,
        slots=config.slots,
        context=config.context,
        threads=config.threads,
        dtype=config.dtype,
        chat_template_kwargs=config.chat_template_kwargs,
        overflow=config.overflow,
    )
