"""Run and output of all lanes, side by side."""

import argparse
import importlib.util
import json as json_module
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from agentevol.cli.benchmarks.figures import ratio, report
from agentevol.cli.benchmarks.learn.lanes import Lane, lanes
from agentevol.cli.benchmarks.learn.measure import Measured, in_a_process
from agentevol.cli.benchmarks.learn.sides import make_model

COMPARED_LOSSES = 3
TOLERANCE = {"float32": 1e-3, "bf16": 3e-2}
"""Largest relative difference of the first losses of two sides: rounding, which steps amplify."""
UNITS = {"per_s": "tokens/s", "per_cpu_s": "tokens per CPU second", "peak_mib": "peak memory"}

Run = Mapping[str, Measured]
"""Measurements by side."""


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the requested lanes; prints each result, returns every figure."""
    known = lanes(cuda=torch.cuda.is_available())
    found = [
        compare_sides(_changed(known[name], arguments), arguments.steps, arguments.runs)
        for name in arguments.lanes or known
    ]
    return {"lanes": found}


def compare_sides(lane: Lane, steps: int, runs: int) -> dict[str, Any]:
    """Run one lane: its sides alternate, `runs` times."""
    sides = [side for side in lane.sides if side != "trl" or importlib.util.find_spec("trl")]
    done: list[Run] = []
    print(heading(lane, steps), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        make_model(lane.shape, Path(folder))
        for number in range(1, runs + 1):
            order = sides if number % 2 else sides[::-1]
            run = {side: in_a_process(side, lane, steps, Path(folder)) for side in order}
            done.append({side: run[side] for side in sides})
            for side in sides:
                print(f"run {number}  {side:8}{line(run[side])}", flush=True)
    for side in sides[1:]:
        print(f"learner / {side}: {losses_beside(lane, done[0]['learner'], side, done[0][side])}")
        for unit, named in UNITS.items():
            print(f"learner / {side}, {ratio_of(done, side, unit, named)}")
    return {"lane": asdict(lane), "steps": steps, "runs": [_as_json(run) for run in done]}


def heading(lane: Lane, steps: int) -> str:
    """Description of a comparison."""
    sequences = "sequences" if lane.algorithm == "sft" else "sequences (in pairs)"
    return (
        f"== {lane.name}: {steps} steps of {lane.sequences_per_step} {sequences}, {lane.dtype} on"
        f" {lane.device}, passes of at most {lane.pass_tokens:,} tokens (TRL: {lane.trl_sequences} sequences)"
    )


def line(measured: Measured) -> str:
    """Figures of one side in one run."""
    own = f" ({measured.peak_mib - measured.libraries_mib:,.0f} beyond its libraries)"
    flops = f"{measured.tflops_per_s:9,.3f} TFLOP/s"
    if measured.utilisation is not None:
        own, flops = "", f"{flops}, utilisation {measured.utilisation:.1%}"
    return (
        f"{measured.per_s:9,.0f} tokens/s{measured.per_cpu_s:9,.0f} tokens per CPU second"
        f"{measured.peak_mib:8,.0f} MiB at most{own}{flops}"
    )


def losses_beside(lane: Lane, learner: Measured, side: str, other: Measured) -> str:
    """The first losses of both; raises `RuntimeError` where they differ, so that the work was not the
    same.
    """
    ours, theirs = learner.losses[:COMPARED_LOSSES], other.losses[:COMPARED_LOSSES]
    apart = max(abs(one - two) / abs(two) for one, two in zip(ours, theirs, strict=True))
    both = f"{_shown(ours)} and {_shown(theirs)}"
    if len(learner.losses) != len(other.losses) or apart > TOLERANCE[lane.dtype]:
        raise RuntimeError(f"learner and {side} do not do the same work: their first losses are {both}")
    return f"the losses of the first steps are {both}, {apart:.1g} apart"


def ratio_of(runs: Sequence[Run], side: str, unit: str, named: str) -> str:
    """Median of the ratio with its range; `unit` is a field of `Measured`."""
    above, below = ([asdict(run[name])[unit] for run in runs] for name in ("learner", side))
    return str(ratio(named, above, below))


def _shown(losses: Sequence[float]) -> str:
    return " ".join(f"{loss:.5f}" for loss in losses)


def _as_json(run: Run) -> dict[str, dict[str, Any]]:
    return {side: asdict(measured) for side, measured in run.items()}


def _changed(lane: Lane, arguments: argparse.Namespace) -> Lane:
    """The lane, changed by the command line's options."""
    changes: dict[str, Any] = {"threads": arguments.threads}
    if arguments.trl_sequences is not None:
        changes["trl_sequences"] = arguments.trl_sequences
    if arguments.dtype is not None:
        changes["dtype"] = arguments.dtype
    return replace(lane, **changes)


def parse(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from `given`, or else the command line."""
    names = tuple(lanes(cuda=torch.cuda.is_available()))
    parser = argparse.ArgumentParser(
        prog="python -m agentevol.cli.benchmarks.learn",
        description="Learning speed beside TRL and a padded loop.",
    )
    parser.add_argument("--lanes", nargs="+", choices=names, help="all by default")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "bf16"), help="the lane's own by default")
    parser.add_argument(
        "--trl-sequences", type=int, help="sequences in a pass of TRL; they have to divide a step's"
    )
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    return parser.parse_args(given)


def main(json: bool = False) -> None:
    """Compare with the default options and print."""
    report("learn", lambda: compare(parse([])), json=json)


def script() -> None:
    """Compare with the command line's options."""
    arguments = parse()
    figures = compare(arguments)
    if arguments.json:
        arguments.json.write_text(json_module.dumps(figures, indent=2) + "\n", encoding="utf-8")
