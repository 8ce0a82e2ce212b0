"""Checkpoints with separate output embeddings, for engines whose reload misses tied ones.

Where input and output embeddings are one tensor, vLLM's CPU build packs a copy of it for the output and keeps
that copy when weights are reloaded: it would continue to sample with the output layer of the old policy.
"""

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from transformers import PreTrainedModel

OUTPUT_FILE = "output-embeddings.safetensors"
INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
RENAMED = {WHOLE: "model-without-output.safetensors"}
"""New names of files whose original name would be read as the whole checkpoint."""


def is_tied(model: PreTrainedModel) -> bool:
    """Return whether input and output embeddings are one tensor."""
    head: Any = model.get_output_embeddings()
    embeddings: Any = model.get_input_embeddings()
    return head is not None and head.weight is embeddings.weight


def untied(path: Path, model: PreTrainedModel, out: Path) -> Path:
    """Folder with the weights of `model`, which was loaded from `path`, and separate output embeddings.

    This is `path` itself where they are separate already; else the new folder `out`, which links to the files
    of `path` and adds one tensor.
    """
    if not is_tied(model):
        return path
    out.mkdir(parents=True)
    for file in path.iterdir():
        if file.name not in ("config.json", INDEX):
            (out / RENAMED.get(file.name, file.name)).symlink_to(file.resolve())
    name = _output_name(model)
    head: Any = model.get_output_embeddings()
    save_file({name: head.weight.detach().clone()}, out / OUTPUT_FILE)
    renamed = {tensor: RENAMED.get(file, file) for tensor, file in places(path).items()}
    _write(out / INDEX, {"metadata": {}, "weight_map": {**renamed, name: OUTPUT_FILE}})
    config = _read(path / "config.json")
    _write(out / "config.json", {**config, "tie_word_embeddings": False})
    return out


def places(path: Path) -> dict[str, str]:
    """File name of every tensor of a checkpoint, by the tensor's name."""
    if (path / INDEX).is_file():
        return _read(path / INDEX)["weight_map"]
    with safe_open(path / WHOLE, framework="pt") as file:
        return dict.fromkeys(file.keys(), WHOLE)


def _output_name(model: PreTrainedModel) -> str:
    """Name of the output embeddings' tensor in a checkpoint."""
    head = model.get_output_embeddings()
    return next(f"{name}.weight" for name, module in model.named_modules() if module is head)


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def _write(file: Path, values: dict[str, Any]) -> None:
    file.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
