"""Placement of a run's processes and their memory, as printed by `--dry-run`.

rollouts: 4 workers, each on a GPU of its own
learners: 4, each on a GPU of its own, which share weights, gradients and optimiser
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentevol.config.run import RunConfig
from agentevol.config.sections.engine import CustomEngineConfig, VllmConfig, VllmServersConfig
from agentevol.models.limits import check_split, context_of
from agentevol.rollout.partner_engines import MOST_ENGINES
from agentevol.runs.memory_estimates import (
    ModelShape,
    Parts,
    adapter_bytes,
    cache_bytes,
    number_bytes,
    on_each_of,
    shape_of,
    training_state,
    working_memory,
)

GIB = 2**30

Device = Literal["cpu", "gpu", "gpu if any"]
"""Device of a process; `gpu if any` takes a GPU where Ray sees some."""

WHERE = {
    "cpu": "on the CPU",
    "gpu": "on a GPU of its own",
    "gpu if any": "on a GPU of its own where Ray sees any, else on the CPU",
}

IN_TURNS = {
    "gpu": "on a GPU of a rollout worker in turns with it",
    "gpu if any": "on a GPU of a rollout worker in turns with it where Ray sees any, else on the CPU",
}
"""Location of learners with engine.colocated."""


@dataclass(frozen=True)
class Process:
    """One kind of process of a run."""

    name: str
    count: int
    device: Device
    parts: Parts
    """Bytes that each process needs on each of its devices, by purpose."""
    remark: str = ""
    devices: int = 1
    """Number of devices of each process."""
    shares: bool = False
    """True if the GPUs are claimed by others and used in turns."""

    @property
    def total(self) -> int:
        """Total bytes that each process needs on each of its devices."""
        return sum(self.parts.values())


def processes(config: RunConfig, shape: ModelShape) -> list[Process]:
    """Rollout workers and learners, with the memory of each."""
    return [_rollouts(config, shape), _learners(config, shape)]


def lines(config: RunConfig, base: Path) -> list[str]:
    """Lines of `--dry-run` about processes, devices and memory. Raises `ConfigError` for a folder that is no
    model, and for a model that engine.tensor_parallel does not divide.
    """
    found = processes(config, shape_of(base, config.learn.lora))
    told = [line for one in found for line in _told(one)]
    gpus = sum(one.count * one.devices for one in found if one.device != "cpu" and not one.shares)
    on_cpu = sum(one.count * one.devices * one.total for one in found if one.device != "gpu")
    if gpus:
        told.append(f"GPUs: {gpus}{'' if _has_gpus(config) else ' where there are any'}{_in_turns(found)}")
    if on_cpu:
        alone = " without GPUs" if gpus else ""
        told.append(f"memory of the processors{alone}: about {_gib(on_cpu)}, all processes at their peak")
    return told


def _rollouts(config: RunConfig, shape: ModelShape) -> Process:
    engine = config.engine
    number = number_bytes(engine.dtype)
    parallel = engine.tensor_parallel if isinstance(engine, VllmConfig) else 1
    context = context_of(engine.context, shape.window)
    check_split(shape.heads, shape.kv_heads, parallel)
    part = on_each_of(parallel, shape)
    weights, episode = part.parameters * number, cache_bytes(part, engine.dtype, context)
    parts = {"weights": weights, "keys and values": engine.slots * episode}
    held = f"{engine.slots} episodes of {context:,} tokens, {_gib(episode)} each"
    if isinstance(engine, VllmServersConfig):
        remark = "the servers have memory of their own; here the weights are compared with transformers"
        return Process("rollout worker", engine.workers, "cpu", {"weights": weights}, remark)
    if isinstance(engine, CustomEngineConfig):
        device: Device = "gpu if any" if engine.gpus else "cpu"
        remark = "what the engine needs beside the weights is not known"
        return Process(
            "rollout worker", engine.workers, device, {"weights": weights}, remark, engine.gpus or 1
        )
    if not isinstance(engine, VllmConfig):
        parts["weights of an update"] = weights
        if config.selfplay.on:
            parts["partners of a league"] = MOST_ENGINES * (weights + engine.slots * episode)
        return Process("rollout worker", engine.workers, "cpu", parts, f"keys and values: at most {held}")
    remark = f"keys and values: {held}; on a GPU, vLLM takes what it finds free for them"
    if engine.cache_gib is not None:
        parts["keys and values"] = int(engine.cache_gib * GIB)
        remark = f"keys and values: engine.cache_gib; {_gib(engine.slots * episode)} are room for {held}"
    if engine.lora and config.learn.lora is not None:
        parts["adapters"] = adapter_bytes(shape, engine.dtype, config.learn.lora.rank)
    device = "gpu" if _has_gpus(config) else "gpu if any"
    whole = _gib(shape.parameters * number)
    host = f"; beside it, {whole} of the machine's memory to compare the weights with transformers"
    return Process("rollout worker", engine.workers, device, parts, remark + host, parallel)


def _learners(config: RunConfig, shape: ModelShape) -> Process:
    learn = config.learn
    device: Device = "cpu" if learn.device == "cpu" else "gpu if any" if learn.device == "auto" else "gpu"
    parts = training_state(shape, learn) | working_memory(shape, learn)
    trained = shape.adapters or shape.parameters
    remark = f"{trained:,} of {shape.parameters + shape.adapters:,} weights are trained"
    if learn.lora is None and config.learn.shards > 1:
        remark += f", spread over {learn.shards} learners"
    return Process("learner", learn.shards, device, parts, remark, shares=config.engine.shares_gpus)


def _told(process: Process) -> list[str]:
    plural = "s" if process.count > 1 else ""
    parts = ", ".join(f"{name} {_gib(size)}" for name, size in process.parts.items())
    return [
        f"{process.count} {process.name}{plural}, {'each ' if plural else ''}{_where(process)}:"
        f" about {_gib(process.total)} ({parts})",
        f"    {process.remark}",
    ]


def _in_turns(found: Sequence[Process]) -> str:
    """Memory of GPUs that two processes share."""
    rollouts, learners = found
    if not learners.shares:
        return ""
    return (
        f", {learners.count} of them in turns: about {_gib(rollouts.total)} of a rollout worker, then about"
        f" {_gib(learners.total)} of a learner"
    )


def _where(process: Process) -> str:
    if process.shares:
        return IN_TURNS[process.device]
    if process.devices == 1:
        return WHERE[process.device]
    without = f" where Ray sees any, else in {process.devices} processes on the CPU"
    return (
        f"on {process.devices} GPUs of its own that share the weights"
        f"{without if process.device != 'gpu' else ''}, on each of them"
    )


def _has_gpus(config: RunConfig) -> bool:
    """Return whether GPUs are certain: a learner that asks for one does not begin without."""
    return config.learn.device not in ("auto", "cpu")


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB / 10 else f"{size / 2**20:.1f} MiB"
