"""Saved state between two optimiser steps, from which a killed learner resumes.

On a CPU with the same number of threads the result equals that of an uninterrupted learner bit for bit.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint
from agentevol.learn.checkpoints.optimiser_state import moments, set_moments
from agentevol.learn.distributed.ranks import ALONE, Ranks
from agentevol.learn.distributed.sharding import own_part, part_like
from agentevol.learn.metrics import Figures
from agentevol.learn.network.network import Network
from agentevol.models.checkpoints import content_hash

if TYPE_CHECKING:
    from hashlib import _Hash as Hash
    from pathlib import Path


def fingerprint(config: LearnConfig, start: Checkpoint, **inputs: object) -> str:
    """Hash of everything that determines the steps of one learner call: equal for equal calls alone.

    `inputs` are the data, prices, checkpoints and any other input. Checkpoints are hashed by their content,
    which is read in full.
    """
    digest = sha256()
    _add(digest, {"config": config.model_dump_json(), "start": start, **inputs})
    return digest.hexdigest()


def _add(digest: "Hash", value: object) -> None:
    """Hash a value with its type and length, so that different values never have equal encodings."""
    match value:
        case Checkpoint():
            _add(digest, (value.version, content_hash(value.path)))
        case np.ndarray():
            _add(digest, (value.dtype.str, value.shape))
            digest.update(np.ascontiguousarray(value).tobytes())
        case Mapping():
            _add(digest, [(name, value[name]) for name in sorted(value)])
        case list() | tuple():
            digest.update(f"sequence of {len(value)};".encode())
            for one in value:
                _add(digest, one)
        case None | str() | int() | float():
            text = repr(value)
            digest.update(f"{type(value).__name__} of {len(text)}:{text};".encode())
        case _ if is_dataclass(value) and not isinstance(value, type):
            _add(digest, [(one.name, getattr(value, one.name)) for one in fields(value)])
        case _:
            raise TypeError(f"no hash of a {type(value).__name__}")


class Saved:
    """Saved state of one learner call: a file beside its `out`, under another name.

    Each rank saves its own part. Ranks are killed one by one, so each keeps the previous state until all have
    saved the new one, and resumes from the latest that all of them have.
    """

    def __init__(self, out: "Path", identity: str, ranks: Ranks = ALONE) -> None:
        part = "" if ranks.size == 1 else f".{ranks.rank}-of-{ranks.size}"
        self._file = out.with_name(f".{out.name}.state{part}")
        self._partial, self._before = (
            out.with_name(self._file.name + end) for end in (".partial", ".before")
        )
        self._identity = identity
        self._ranks = ranks

    def write(self, network: Network, used: Sequence[torch.optim.Optimizer], figures: Figures) -> None:
        """Replace the saved state; it is on disk when this returns."""
        tensors = {f"weight/{number}": p.detach() for number, p in enumerate(network.parameters())}
        tensors |= moments(used)
        tensors["random/cpu"] = torch.get_rng_state()
        if network.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(network.device)
        notes = {"identity": self._identity, "figures": json.dumps(asdict(figures))}
        content = save({name: own_part(tensor).cpu().contiguous() for name, tensor in tensors.items()}, notes)
        with self._partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if self._ranks.size > 1:
            self._ranks.wait()
            if self._file.exists():
                self._file.replace(self._before)
        self._partial.replace(self._file)

    def read(self, network: Network, used: Sequence[torch.optim.Optimizer]) -> Figures | None:
        """Restore weights, optimisers and generators, and return the counters; None where no state fits."""
        found = self._last_of_all()
        if found is None:
            return None
        tensors, figures = found
        with torch.no_grad():
            for number, parameter in enumerate(network.parameters()):
                own_part(parameter).copy_(tensors[f"weight/{number}"])
        set_moments(used, tensors, part_like)
        torch.set_rng_state(tensors["random/cpu"])
        if "random/cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random/cuda"], network.device)
        return figures

    def remove(self) -> None:
        """Remove the saved state, once the checkpoint is written."""
        for file in (self._file, self._before, self._partial):
            file.unlink(missing_ok=True)

    def _last_of_all(self) -> tuple[dict[str, torch.Tensor], Figures] | None:
        """The latest state of which every rank has its part."""
        files = (self._file,) if self._ranks.size == 1 else (self._before, self._file)
        own = {len(found[1].losses): (file, found) for file in files if (found := self._content(file))}
        common = set.intersection(*self._ranks.gathered(set(own)))
        if not common:
            return None
        file, found = own[max(common)]
        if file != self._file:  # a later one, which others lack, must not become the previous state
            file.replace(self._file)
        return found

    def _content(self, file: "Path") -> tuple[dict[str, torch.Tensor], Figures] | None:
        """Content of the file, if it belongs to this very call; None for a torn or foreign file."""
        try:
            content = file.read_bytes()
            length = int.from_bytes(content[:8], "little")
            notes = json.loads(content[8 : 8 + length])["__metadata__"]
            if notes["identity"] != self._identity:
                return None
            return load(content), Figures(**json.loads(notes["figures"]))
        except (OSError, SafetensorError, ValueError, KeyError):
            return None
