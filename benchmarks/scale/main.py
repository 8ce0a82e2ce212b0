"""Simulated sizes, and the output of the results."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from agentevol.cli.benchmarks.figures import short
from agentevol.core.errors import ConfigError
from benchmarks.scale.costs import Costs, Setup, limits, mean
from benchmarks.scale.simulation import Outcome, Simulation

REPLICAS = (1, 4, 16, 64)
ENVIRONMENTS = 10_000
"""Number of environments at the most replicas; fewer replicas have as many each."""
TURNS = (5, 15)
LEAST_EPISODES = 2000
PARTS = ("engines", "driver", "table", "gateway", "servers")


@dataclass(frozen=True)
class Row:
    """Result of one size."""

    setup: Setup
    outcome: Outcome
    limits: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """All figures, including derived ones."""
        outcome = self.outcome
        found = {**asdict(outcome), "episodes_per_s": outcome.rate, "bottleneck": outcome.bottleneck}
        return {"setup": asdict(self.setup), **found, "limits_episodes_per_s": dict(self.limits)}


def main(given: Sequence[str]) -> None:
    """Measure the parts, unless `--costs` names a file with them, simulate, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description="Replicas of a run.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--costs", type=Path, help="file of costs that `--json` printed before")
    arguments = parser.parse_args(given)
    costs: Path | None = arguments.costs
    load = os.getloadavg()[0]
    try:
        known = Costs.read(costs) if costs is not None else _calibrated()
    except ConfigError as cause:
        parser.error(str(cause))
    rows = [simulated(replicas, known) for replicas in REPLICAS]
    if arguments.json:
        found = {"load_average": load, "costs": known.as_json(), "table": [row.as_json() for row in rows]}
        print(json.dumps({"benchmark": "scale", **found}, indent=2))
        return
    source = f"read from {costs}" if costs is not None else f"measured at a load average of {load:.1f}"
    for line in lines(known, rows, source):
        print(line)


def _calibrated() -> Costs:
    from benchmarks.scale.calibration import calibrate  # brings torch and Ray

    return calibrate()


def simulated(replicas: int, costs: Costs) -> Row:
    """Simulate `replicas` replicas, each with an environment server and its share of the environments."""
    environments = ENVIRONMENTS * replicas // max(REPLICAS)
    setup = Setup(replicas=replicas, environments=environments, turns=TURNS, servers=replicas)
    outcome = Simulation(setup, costs).run(max(LEAST_EPISODES, 3 * environments))
    return Row(setup, outcome, limits(setup, costs))


def lines(costs: Costs, rows: Sequence[Row], source: str) -> Iterator[str]:
    """All results as text."""
    setup = rows[-1].setup
    yield f"costs, {source}:"
    yield from (f"  {line}" for line in _cost_lines(costs))
    yield (
        f"simulated: episodes of {TURNS[0]} to {TURNS[1]} turns of {setup.tokens} tokens; a replica has"
        f" {setup.slots} slots and an environment server of one processor; all share a gateway and a driver"
    )
    yield f"{'replicas':>8}{'envs':>8}{'episodes/s':>12}   in use: {_heads()}  bottleneck"
    for row in rows:
        used = "".join(f"{row.outcome.used[part]:>9.0%}" for part in PARTS)
        sizes = f"{row.setup.replicas:>8}{row.setup.environments:>8,}{row.outcome.rate:>12,.1f}"
        yield f"{sizes}           {used}  {row.outcome.bottleneck}"
    yield "limits in episodes/s, if the other parts took no time:"
    yield f"{'replicas':>8}{'':>31}{_heads()}"
    for row in rows:
        yield f"{row.setup.replicas:>8}{'':>31}" + "".join(f"{row.limits[part]:>9,.0f}" for part in PARTS)


def _heads() -> str:
    return "".join(f"{part:>9}" for part in PARTS)


def _cost_lines(costs: Costs) -> Iterator[str]:
    speeds = (f"{short(batch / step_s)} at {batch}" for batch, step_s in costs.step_s)
    yield f"engine: {', '.join(speeds)} turns at a time, tokens/s"
    yield f"gateway: {short(1e6 * costs.gateway_s)} us a request"
    world = f"{short(1e6 * mean(costs.world_s))} us a step ({_spread(costs.world_s, 1e6)})"
    yield f"server: {short(1e6 * costs.server_s)} us a request; world: {world}"
    yield f"world: {short(1e3 * mean(costs.open_s))} ms to begin"
    yield f"table: {short(1e3 * mean(costs.append_s))} ms a commit of 64 ({_spread(costs.append_s, 1e3)})"
    hand_out, take_in = short(1e3 * costs.hand_out_s), short(1e3 * costs.take_in_s)
    looks = ", ".join(f"{short(1e3 * look_s)} ms with {count:,}" for count, look_s in costs.look_s)
    yield f"driver: {hand_out} ms to hand out, {take_in} ms to take in; {looks} in flight to see which ended"


def _spread(seconds: Sequence[float], unit: float) -> str:
    low, middle, high = (short(unit * one) for one in (min(seconds), median(seconds), max(seconds)))
    return f"{low} to {high}, median {middle}"
