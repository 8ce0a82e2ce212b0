"""Loading of causal language models from Hugging Face folders, for engines and learners alike.

Every problem of a folder is a `ConfigError` of one line that names it. Only safetensors are read, no code of
the checkpoint is run, and nothing is downloaded.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging

from agentevol.core.errors import ConfigError, one_line
from agentevol.models.resolution import check_folder

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

BUILDING = Lock()
"""Held while a model is built: transformers replaces methods of its classes meanwhile, `tie_weights` among
them, and two threads at the same time would leave them replaced.
"""

_UNLOADABLE = (
    AttributeError,
    KeyError,
    OSError,
    RuntimeError,
    SafetensorError,
    StrictDataclassError,
    TypeError,
    ValueError,
)
"""Errors of transformers for files that define no model."""


def load_model(path: Path, attention: str, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Load the causal language model in the folder `path`, on the CPU, in evaluation mode.

    `attention` is the name of an implementation that is registered with transformers.

    Raises `ConfigError`, in one line, for a folder that is missing, incomplete or corrupt, weights that do
    not match their configuration, and architectures that transformers does not know as causal language
    models. Only safetensors are read and no code of the checkpoint is run.
    """
    check_folder(path)
    try:
        with BUILDING, without_bars():
            model, loading = _load(path, dtype, attention)
    except _UNLOADABLE as cause:
        raise ConfigError(f"cannot load the model in {path}: {one_line(cause)}") from cause
    problems = [*loading["missing_keys"], *loading["mismatched_keys"], *loading["unexpected_keys"]]
    if problems:
        raise ConfigError(
            f"the weights in {path} are not those of a {type(model).__name__}: {len(problems)} tensors"
            f" are missing, left over or of another shape, for example {sorted(map(str, problems))[0]}"
        )
    return model.eval()


def _load(path: Path, dtype: torch.dtype, attention: str) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Load the model, with transformers' report on its weights."""
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        path,
        config=AutoConfig.from_pretrained(path, local_files_only=True),
        dtype=dtype,
        attn_implementation=attention,
        local_files_only=True,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # they are among the problems that we report
        output_loading_info=True,
    )
    return loaded


@contextmanager
def without_bars() -> Generator[None, None, None]:
    """Disable transformers' own progress bars."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def shapes(model: PreTrainedModel) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter: equal for two checkpoints of one architecture."""
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
