"""Alternatives of the section `engine`: inference engines of the policy, by `engine.name`.

engine.name = "embedded"                          transformers in the rollout workers
engine.name = "vllm"                              vLLM, started by the rollout workers
engine.name = "vllm", engine.url = "http://..."   vLLM servers that run already
engine.name = "module:attribute"                  an engine of another distribution
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, JsonValue, Tag, field_validator, model_validator

from agentevol.config.sections.alternatives import value_of
from agentevol.config.sections.section import Section
from agentevol.config.urls import check_url
from agentevol.core.extensions import Extensions
from agentevol.core.protocols import Overflow, Transfer

ENGINES = Extensions(
    "engine",
    "agentevol.engines",
    {
        "embedded": "agentevol.engines.embedded.engine:EmbeddedEngine",
        "vllm": "agentevol.engines.vllm.engine:VllmEngine",
    },
)
"""Engines by name. They are imported only where one is started."""

_STALL_S = 600.0


class EngineSection(Section):
    """Settings of every engine."""

    workers: int = Field(default=2, ge=1)
    """Rollout worker processes, each with a copy of the weights, for `vllm` on its own GPUs where there are
    any.
    """
    slots: int = Field(default=48, ge=1)
    """Episodes that a worker samples for at a time."""
    threads: int = Field(default=1, ge=1)
    """CPU threads of a worker."""
    context: int | None = Field(default=None, ge=32)
    """Maximum tokens of a prompt and its completion; None is the model's own limit."""
    overflow: Overflow = "truncate"
    """Handling of an episode that no longer fits the context. `truncate`: it ends, truncated(context).
    `drop_oldest`: the oldest actions, each with the environment's answer, are left out of the prompt, as many
    as are necessary to come down to half of the context; the opening of the episode stays. A turn with such a
    prompt begins another training sequence (`select.sequences`).
    """
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision of the policy's computation."""
    stall_s: float = Field(default=_STALL_S, gt=0)
    """A worker that finished no episode for this time, while another did, is replaced: longer than any
    episode takes.
    """
    chat_template_kwargs: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Variables of the base's chat template, for example `enable_thinking`. One that the template does not
    read is refused.
    """

    @property
    def capacity(self) -> int:
        """Number of episodes that a worker plays at a time."""
        return self.slots

    @property
    def worker_gpus(self) -> int:
        """Number of GPUs that a worker claims, where there are any."""
        return 0

    @property
    def shares_gpus(self) -> bool:
        """True if learners compute on the GPUs of rollout workers."""
        return False

    @property
    def weight_transfer(self) -> Transfer:
        """Weight synchronisation with the learner."""
        return "disk"

    @property
    def serves_adapters(self) -> bool:
        """True if an update is loaded as adapters alone."""
        return False

    @model_validator(mode="after")
    def _has_others_to_compare(self) -> "EngineSection":
        if self.workers == 1 and self.stall_s != _STALL_S:
            raise ValueError("stall_s has no effect with one worker: there is none to compare it with")
        return self


class EmbeddedConfig(EngineSection):
    """Transformers in the rollout workers themselves."""

    name: Literal["embedded"] = "embedded"


class _EpisodesSection(EngineSection):
    """Settings of engines in which an episode that waits for its environment leaves its slot to another."""

    episodes: int | None = Field(default=None, ge=1)
    """For `vllm`: episodes in flight on a worker; with more than `slots`, others are sampled for while some
    wait for their environments. None is `slots`.
    """

    @property
    def capacity(self) -> int:
        """Number of episodes that a worker plays at a time."""
        return self.episodes or self.slots

    @model_validator(mode="after")
    def _slots_can_be_filled(self) -> "_EpisodesSection":
        if self.slots > self.capacity:
            raise ValueError(
                f"slots = {self.slots} has no effect above episodes = {self.episodes}: set slots lower"
            )
        return self


class VllmConfig(_EpisodesSection):
    """vLLM, started by the rollout workers; it has to be installed."""

    name: Literal["vllm"] = "vllm"
    tensor_parallel: int = Field(default=1, ge=1)
    """Number of GPUs of one node that share a worker's weights, each with a part of every layer; on a CPU the
    number of processes. It has to divide the model's attention heads.
    """
    colocated: bool = False
    """Learners compute on the GPUs of rollout workers, in turns with them, and claim none: vLLM sleeps
    meanwhile.
    """
    cache_gib: float | None = Field(default=None, gt=0)
    """Memory of a worker for keys and values, on each of its GPUs. None is room for all slots on a CPU, and
    the memory that vLLM finds free on a GPU.
    """
    transfer: Transfer = "disk"
    """Weight synchronisation. `disk`: the engine reads the checkpoint. `nccl`: the learner sends the weights
    from its GPU to those of the engines. `ipc`: it shares them with the engine on the same GPU (`colocated`).
    `gloo`: it sends them between CPUs.
    """
    lora: bool = False
    """With `learn.lora.keep`: it loads the base weights once, and of an update the adapters alone."""

    @property
    def worker_gpus(self) -> int:
        """Number of GPUs that a worker claims, where there are any."""
        return self.tensor_parallel

    @property
    def shares_gpus(self) -> bool:
        """True if learners compute on the GPUs of rollout workers."""
        return self.colocated

    @property
    def weight_transfer(self) -> Transfer:
        """Weight synchronisation with the learner."""
        return self.transfer

    @property
    def serves_adapters(self) -> bool:
        """True if an update is loaded as adapters alone."""
        return self.lora

    @model_validator(mode="after")
    def _can_transfer(self) -> "VllmConfig":
        if self.lora and self.transfer != "disk":
            raise ValueError(f"transfer = {self.transfer!r} has no effect with lora: adapters are read")
        if self.colocated and self.transfer == "nccl":
            raise ValueError("transfer = 'nccl' is between GPUs: with colocated take 'ipc'")
        return self


class VllmServersConfig(_EpisodesSection):
    """vLLM servers that run already, in place of starting vLLM in the workers."""

    name: Literal["vllm"] = "vllm"
    url: str | tuple[str, ...]
    """One or several servers."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the servers' key; the key itself is written nowhere."""

    @field_validator("url")
    @classmethod
    def _of_endpoints(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(value, str):
            return check_url(value)
        urls = tuple(map(check_url, value))
        if not urls or len(set(urls)) < len(urls):
            raise ValueError("several servers are a list of different URLs")
        return urls

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of the servers."""
        return (self.url,) if isinstance(self.url, str) else self.url


class CustomEngineConfig(EngineSection):
    """An engine of another distribution, or `module:attribute`: an
    `agentevol.engines.interfaces.EngineFactory`.
    """

    name: str
    gpus: int = Field(default=0, ge=0)
    """Number of GPUs that each worker claims, where there are any."""
    options: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """The engine's own settings."""

    @field_validator("name")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return ENGINES.checked(value)

    @property
    def worker_gpus(self) -> int:
        """Number of GPUs that a worker claims, where there are any."""
        return self.gpus


TokenEngineConfig = EmbeddedConfig | VllmConfig | VllmServersConfig
"""An engine whose policies continue given token ids (`agentevol.engines.interfaces.TokenEngine`)."""


def _tag(given: Any) -> str:
    """Tag of a given engine."""
    name = value_of(given, "name", "embedded")
    if name == "vllm":
        return "vllm" if value_of(given, "url") is None else "vllm with engine.url"
    return "embedded" if name == "embedded" else "an engine of your own"


EngineConfig = Annotated[
    Annotated[EmbeddedConfig, Tag("embedded")]
    | Annotated[VllmConfig, Tag("vllm")]
    | Annotated[VllmServersConfig, Tag("vllm with engine.url")]
    | Annotated[CustomEngineConfig, Tag("an engine of your own")],
    Discriminator(_tag),
]
"""The inference engine of the policy."""
