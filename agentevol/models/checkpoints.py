"""Checkpoints: Hugging Face folders (safetensors, tokenizer, chat template), written atomically.

`agentevol.json`, beside the weights, has their lineage:

    {"format": 1, "version": 3, "parent": "iteration-2", "parent_version": 2, "table_version": 7, "seed": 0,
     "metrics": {"loss_last": 0.41}}
"""

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import Field, ValidationError
from safetensors import SafetensorError

from agentevol.core.errors import ConfigError, RunStopped, one_line
from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256, flush_to_disk

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LINEAGE = "agentevol.json"

_TOKENIZER_SUFFIXES = {".json", ".jinja", ".model", ".txt", ".tiktoken"}
_NOT_TOKENIZER = {"config.json", "generation_config.json", LINEAGE, "process.json", "reward.json"}


class Lineage(Record):
    """Origin of a checkpoint."""

    format: int = 1
    version: int
    """Number of updates between the start of the run and these weights."""
    parent: str | None = None
    """Name of the folder that training started from; None for weights trained from scratch."""
    parent_version: int | None = None
    table_version: int | None = None
    """Version of the table of trajectories that held the training data."""
    seed: int | None = None
    metrics: dict[str, float | None] = Field(default_factory=dict[str, float | None])
    """Metrics reported by the learner; None for values that are not finite."""


class SavesTokenizer(Protocol):
    """A tokenizer that can save itself into a folder."""

    def save_pretrained(self, save_directory: str) -> Any:
        """Write the tokenizer's files and chat template."""
        ...


def read_lineage(path: Path) -> Lineage | None:
    """Read `agentevol.json` of the checkpoint `path`; None where there is none. Raises `ConfigError`."""
    file = path / LINEAGE
    if not file.is_file():
        return None
    try:
        return Lineage.model_validate_json(file.read_bytes())
    except ValidationError as cause:
        raise ConfigError(f"{file} is corrupt: {one_line(cause)}") from cause


def content_hash(folder: Path) -> str:
    """Hash of a checkpoint's weights and of the model's configuration."""
    digest = hashlib.sha256()
    for file in sorted([*folder.glob("*.safetensors"), *folder.glob("config.json")]):
        digest.update(file.name.encode())
        digest.update(bytes.fromhex(file_sha256(file)))
    return digest.hexdigest()


def save(
    model: "PreTrainedModel",
    tokenizer: Path | SavesTokenizer,
    out: Path,
    lineage: Lineage,
    extra_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a checkpoint as the new folder `out`: on disk when this returns, absent when it raises.

    `tokenizer` is a checkpoint whose tokenizer files are copied unchanged, or a tokenizer. Raises
    `ConfigError` where `out` exists, `RunStopped` where the disk is full.
    """
    if out.exists():
        raise ConfigError(f"{out} exists already: a checkpoint is never overwritten")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = _partial_folder(out)
        try:
            _write(model, tokenizer, partial, lineage, extra_files or {})
            sync(partial)
            partial.rename(out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        flush_to_disk(out.parent)
    except (OSError, SafetensorError) as cause:
        if disk_is_full(cause):
            raise RunStopped(
                f"the disk is full: {out} was not written; free some space and resume"
            ) from cause
        raise RunStopped(f"cannot write the checkpoint {out}: {one_line(cause)}") from cause


def disk_is_full(cause: BaseException) -> bool:
    """True where no space (or quota) is left; safetensors gives the error number in its text only."""
    numbers = (errno.ENOSPC, errno.EDQUOT)
    if isinstance(cause, OSError) and cause.errno in numbers:
        return True
    return any(f"os error {number})" in str(cause) for number in numbers)


def _partial_folder(out: Path) -> Path:
    """New folder beside `out`, in which the checkpoint is staged; removes leftovers of killed processes."""
    prefix = f".{out.name}.partial-"
    for abandoned in out.parent.iterdir():
        if abandoned.name.startswith(prefix):
            shutil.rmtree(abandoned, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=prefix, dir=out.parent))
    partial.chmod(0o755)
    return partial


def _write(
    model: "PreTrainedModel",
    tokenizer: Path | SavesTokenizer,
    folder: Path,
    lineage: Lineage,
    extra_files: Mapping[str, bytes],
) -> None:
    """Write all files of the checkpoint into `folder`."""
    from agentevol.models.causal_lm import without_bars  # imports torch

    with without_bars():
        model.save_pretrained(folder)
    if isinstance(tokenizer, Path):
        copy_tokenizer(tokenizer, folder)
    else:
        tokenizer.save_pretrained(str(folder))
    for name, content in extra_files.items():
        (folder / name).write_bytes(content)
    (folder / LINEAGE).write_text(json.dumps(lineage.model_dump(), indent=2) + "\n", encoding="utf-8")


def copy_tokenizer(source: Path, folder: Path) -> None:
    """Copy the tokenizer's files and the chat template unchanged from the checkpoint `source`."""
    for file in tokenizer_files(source):
        shutil.copyfile(file, folder / file.name)


def tokenizer_files(checkpoint: Path) -> list[Path]:
    """Files of a checkpoint's tokenizer and chat template, by name."""
    return [
        file
        for file in sorted(checkpoint.iterdir())
        if file.is_file()
        and file.suffix in _TOKENIZER_SUFFIXES
        and file.name not in _NOT_TOKENIZER
        and not file.name.endswith(".index.json")
    ]


def sync(folder: Path) -> None:
    """Flush every file of `folder`, and the folder itself, to disk."""
    for entry in [*folder.rglob("*"), folder]:
        flush_to_disk(entry)
