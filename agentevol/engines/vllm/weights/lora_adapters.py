"""LoRA adapters kept apart from the base weights, for engines that load the base weights once.

A checkpoint of `learn.lora.keep` is a whole model: W + s B A, with B and A beside it (`adapters.st`) and s =
alpha / rank. All checkpoints of a run share one W: learning separates the adapters of its start checkpoint,
where it has any, and continues with them. So an engine that holds W needs only B and A of an update, in
PEFT's format. We verify that W is unchanged: every checkpoint is compared with it, tensor by tensor.
"""

import json
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError, one_line
from agentevol.engines.vllm.weights.output_embeddings import places
from agentevol.models.causal_lm import load_model, without_bars
from agentevol.models.lora import FILE, adapted, adapted_from, read, trained
from agentevol.models.lora_config import LoraConfig

TOLERANCE = 1e-5
"""Largest accepted distance of a tensor from its expected value, relative to its norm: the rounding in
float32 when adapters are merged and separated again, update by update.
"""
LORA_A, LORA_B = ".lora_A.default.weight", ".lora_B.default.weight"
"""Suffixes of the names of a module's two matrices in `adapters.st`."""


def under(path: Path, lora: LoraConfig, out: Path) -> Path:
    """Folder with the base weights under the adapters of the checkpoint `path`: `path` itself where it has no
    adapters, else the new folder `out`, in float32. The adapters are separated as the learner separates them.
    """
    if not (path / FILE).is_file():
        return path
    model = load_model(path, "eager")
    adapted_from(model, lora, path).unload()  # in place
    with without_bars():
        model.save_pretrained(out)
    return out


def adapters_of(path: Path, model: PreTrainedModel, lora: LoraConfig) -> dict[str, torch.Tensor]:
    """Adapters of the checkpoint `path`, by their names in `adapters.st`; where it has none, fresh adapters
    of its `model`, which change nothing. Raises `ConfigError` for adapters that `lora` does not describe.
    """
    file = path / FILE
    if not file.is_file():
        added = adapted(model, lora)
        fresh = {name: parameter.detach().clone() for name, parameter in trained(model).items()}
        added.unload()  # in place
        return fresh
    stored = read(file)
    ranks = {tensor.shape[0] for name, tensor in stored.items() if name.endswith(LORA_A)}
    modules = _modules(stored)
    whole = {module + end for module in modules for end in (LORA_A, LORA_B)}
    if ranks != {lora.rank} or stored.keys() != whole:
        raise ConfigError(f"{file} has other adapters than learn.lora, of rank {lora.rank}: keep these")
    return stored


def write_peft(adapters: Mapping[str, torch.Tensor], lora: LoraConfig, out: Path) -> None:
    """Write the adapters into the new folder `out` in PEFT's format."""
    out.mkdir(parents=True)
    named = {
        f"base_model.model.{name.replace('.default.weight', '.weight')}": tensor.contiguous()
        for name, tensor in adapters.items()
    }
    save_file(named, out / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "target_modules": kinds(adapters),
        "bias": "none",
        "inference_mode": True,
    }
    (out / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def kinds(adapters: Mapping[str, torch.Tensor]) -> list[str]:
    """Names of the adapted modules within their layers, for example `q_proj`."""
    return sorted({module.rsplit(".", 1)[-1] for module in _modules(adapters)})


def check_base(path: Path, base: Path, adapters: Mapping[str, torch.Tensor], lora: LoraConfig) -> None:
    """Raise `ConfigError` unless the weights in `path` are those in `base` with these adapters merged."""
    with _tensors(path) as merged, _tensors(base) as alone:
        for name, file in merged.items():
            other = alone.get(name)
            module = name.removesuffix(".weight")
            if other is None or not _is_merged(
                file.get_tensor(name).float(),
                other.get_tensor(name).float(),
                adapters.get(module + LORA_A),
                adapters.get(module + LORA_B),
                lora.alpha / lora.rank,
            ):
                raise ConfigError(
                    f"{name} in {path} is not that in {base} with the adapters beside it: their base"
                    " weights differ from those in vLLM; leave out engine.lora"
                )
        strays = _modules(adapters) - {name.removesuffix(".weight") for name in merged}
    if strays:
        raise ConfigError(f"{path} has adapters of {sorted(strays)[0]}, and no weights of that name")


def _is_merged(
    found: torch.Tensor, alone: torch.Tensor, a: torch.Tensor | None, b: torch.Tensor | None, scale: float
) -> bool:
    """Return whether `found` is `alone` with its adapter merged, to rounding."""
    if found.shape != alone.shape:
        return False
    expected = alone if a is None or b is None else alone + scale * (b @ a)
    gap, size = (found - expected).norm().item(), expected.norm().item()
    return gap <= TOLERANCE * size


def _modules(adapters: Mapping[str, torch.Tensor]) -> set[str]:
    """Names of the modules that have adapters."""
    return {name.removesuffix(LORA_A) for name in adapters if name.endswith(LORA_A)}


@contextmanager
def _tensors(folder: Path) -> Generator[dict[str, Any]]:
    """The open file of every tensor of a checkpoint, by the tensor's name."""
    with ExitStack() as stack:
        try:
            found = places(folder)
            files = {
                name: stack.enter_context(safe_open(folder / name, framework="pt"))
                for name in sorted(set(found.values()))
            }
        except (OSError, ValueError, KeyError, SafetensorError) as cause:
            raise ConfigError(f"cannot read the weights in {folder}: {one_line(cause)}") from cause
        yield {tensor: files[name] for tensor, name in found.items()}
