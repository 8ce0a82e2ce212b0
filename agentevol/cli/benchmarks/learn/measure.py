"""Measurement of one side of a lane in a separate process."""

import importlib
import json as json_module
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from agentevol.cli.benchmarks.learn.flops import peak_flops, training_flops
from agentevol.cli.benchmarks.learn.lanes import Lane, Shape
from agentevol.cli.benchmarks.learn.sequences import Unit, make_units
from agentevol.cli.benchmarks.learn.sides import SIDES, Learnt

QUIET = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_OFFLINE": "1",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


@dataclass(frozen=True)
class Measured:
    """Figures of one side in one run."""

    per_s: float
    """Tokens of the training sequences per second."""
    per_cpu_s: float
    peak_mib: float
    """Peak memory of the process, or on a CUDA device of the allocations there."""
    libraries_mib: float
    """Memory of the process before it loaded a model; 0 on a CUDA device."""
    tflops_per_s: float
    """Model flops."""
    utilisation: float | None
    """Model flops over the device's peak; None for an unknown device."""
    losses: tuple[float, ...]
    """Loss of every step."""


def in_a_process(side: str, lane: Lane, steps: int, folder: Path) -> Measured:
    """Start one side and wait for it; raises its last message where it fails."""
    order = json_module.dumps({"side": side, "lane": asdict(lane), "steps": steps, "folder": str(folder)})
    command = [sys.executable, "-m", "agentevol.cli.benchmarks.learn.measure", order]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | QUIET)
    if finished.returncode:
        raise RuntimeError(f"{side} of lane {lane.name} failed:\n{finished.stderr[-4000:]}")
    found = json_module.loads(finished.stdout.splitlines()[-1])
    return Measured(**{**found, "losses": tuple(found["losses"])})


def measure(side: str, lane: Lane, steps: int, folder: Path) -> Measured:
    """Train for `steps` steps in this process, after a warm-up of one."""
    torch.set_num_threads(lane.threads)
    units = make_units(lane, steps)
    before = 0.0 if lane.device == "cuda" else _peak_mib("cpu")
    SIDES[side](lane, folder, make_units(lane, 1))
    return figures(lane, units, SIDES[side](lane, folder, units), before)


def figures(lane: Lane, units: Sequence[Unit], learnt: Learnt, libraries_mib: float) -> Measured:
    """Figures of a side's time."""
    sequences = [sequence for unit in units for sequence in unit]
    lengths, trained = (
        [len(sequence.token_ids) for sequence in sequences],
        int(sum(sequence.mask.sum() for sequence in sequences)),
    )
    flops = training_flops(lane.shape, lane.algorithm, lengths, trained) / learnt.wall
    peak = peak_flops(torch.cuda.get_device_name()) if lane.device == "cuda" else None
    return Measured(
        per_s=sum(lengths) / learnt.wall,
        per_cpu_s=sum(lengths) / learnt.cpu,
        peak_mib=_peak_mib(lane.device),
        libraries_mib=libraries_mib,
        tflops_per_s=flops / 1e12,
        utilisation=None if peak is None else flops / peak,
        losses=tuple(learnt.losses),
    )


def _peak_mib(device: str) -> float:
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _be_side(order: str) -> None:
    """Run the order of `in_a_process`."""
    asked = json_module.loads(order)
    if asked["side"] == "trl":
        for name in ("datasets", "trl.trainer.dpo_trainer", "trl.trainer.sft_trainer"):
            importlib.import_module(name)  # a library's own size is not memory of the training
    lane = Lane(**{**asked["lane"], "shape": Shape(**asked["lane"]["shape"])})
    print(json_module.dumps(asdict(measure(asked["side"], lane, asked["steps"], Path(asked["folder"])))))


if __name__ == "__main__":
    _be_side(sys.argv[1])
