"""Populations beside as many single runs, and means of weights beside their members.

The single runs are the members that both populations begin with, each played to the end on its own. All arms
of a seed explore the same number of episodes, and all are measured on the same held-out tasks, which choose
nothing. In a few iterations no member masters small ALFWorld, so that the choice among them matters.
"""

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from statistics import fmean

import torch

from agentevol.cli.benchmarks.evolution.experiment import Column, Experiment, Row, Scale
from agentevol.cli.benchmarks.evolution.play import played, success
from agentevol.cli.benchmarks.progress import run_on_stderr
from agentevol.config.run import RunConfig, load
from agentevol.config.self_evolution.population import PopulationConfig
from agentevol.core.errors import ConfigError
from agentevol.learn.continual.averaging import write_mean
from agentevol.loop.population.judgement import RESULT
from agentevol.loop.population.members import first_legs, leg_config
from agentevol.loop.population.records import read_record
from agentevol.loop.state.checkpoints import RunCheckpoints
from agentevol.models.resolution import resolve

ENV, DIFFICULTY, SIZE = "alfworld", "small", 4
SETTINGS = (
    f"env={ENV}",
    "algorithm=grpo",
    f"explore.difficulty={DIFFICULTY}",
    "explore.tasks=8",
    "explore.samples=8",
    f"evaluate.difficulty={DIFFICULTY}",
    "evaluate.episodes=1",
    "evaluate.validation_episodes=50",  # half of the split: populations judge their result on the other
    "learn.threads=1",
    "learn.learning_rate=1e-4",
    f"population.size={SIZE}",
    "population.rates=[0.5,1,2,4]",
)
SINGLE, HALVING, PBT = "single runs", "halving", "pbt"
BEST, MEAN = "best of the single runs", "mean of the single runs"
MEAN_OF_WEIGHTS = "mean of all weights"


class _Measure:
    """Measurement on the held-out tasks."""

    def __init__(self, seed: int, scale: Scale) -> None:
        self._seed, self._scale = seed, scale

    def success(self, checkpoint: Path) -> float:
        """Success rate in percent."""
        return success(
            played(str(checkpoint), ENV, "test", self._scale.tasks, seed=self._seed, difficulty=DIFFICULTY)
        )

    def row(
        self, arm: str, checkpoint: Path, *, members: int | None = None, chosen_by: float | None = None
    ) -> Row:
        """Row of a checkpoint that was chosen by a validation, or by none."""
        found = self.success(checkpoint)
        return self.made(arm, {"success": found}, members=members, chosen_by=chosen_by)

    def made(
        self,
        arm: str,
        figures: Mapping[str, float],
        *,
        members: int | None = None,
        chosen_by: float | None = None,
    ) -> Row:
        """Row of figures; optimism is the validation that chose less the success on held-out tasks."""
        told = dict(figures)
        if members is not None:
            told["members"] = float(members)
        if chosen_by is not None:
            told |= {"validation": chosen_by, "optimism": chosen_by - told["success"]}
        return Row(arm=arm, seed=self._seed, figures=told)


def run_settings(part: str, seed: int, scale: Scale) -> list[str]:
    """Settings of a population; those of the single runs are those of `halving`."""
    rule = HALVING if part == SINGLE else part
    common = [*SETTINGS, f"seed={seed}", f"iterations={scale.rounds}", f"population.rule={rule}"]
    return [*common, *scale.settings]


def _single(config: RunConfig, folder: Path, measure: _Measure) -> list[Row]:
    """Rows of the members' runs, each on its own, and of the mean of their weights."""
    population = config.population or PopulationConfig(size=SIZE)
    found = list[tuple[float, Path]]()
    for leg in first_legs(config, population):
        summary = run_on_stderr(leg_config(config, leg), folder / leg.name)
        last = summary.iterations[-1]
        if last.validation is None:
            raise ConfigError(f"{folder / leg.name} has no validation")
        weights = RunCheckpoints(folder / leg.name, config).accepted(last.iteration).path
        found.append((100 * last.validation.successes / last.validation.n, weights))
    found.sort(key=itemgetter(0), reverse=True)
    rates = [measure.success(weights) for _, weights in found]
    write_mean([weights for _, weights in found], folder / "mean", RESULT, torch.float32)
    return [
        measure.row("start", resolve(config.base).path),
        measure.made(BEST, {"success": rates[0]}, members=1, chosen_by=found[0][0]),
        measure.made(MEAN, {"success": fmean(rates)}),
        measure.made("worst of the single runs", {"success": min(rates)}),
        measure.row(MEAN_OF_WEIGHTS, folder / "mean", members=len(found)),
    ]


def _rows(part: str, seed: int, _common: Path, folder: Path, scale: Scale) -> list[Row]:
    """Rows of four single runs, or of a population."""
    config, measure = load(None, run_settings(part, seed, scale)), _Measure(seed, scale)
    if part == SINGLE:
        return _single(config, folder, measure)
    run_on_stderr(config, folder / "run")
    record = read_record(folder / "run")
    if record is None:
        raise ConfigError(f"{folder / 'run'} has no record of a population")
    best = 100 * record.spans[-1].members[0].standing.mean
    result = RunCheckpoints(folder / "run", config).accepted(RESULT).path
    return [measure.row(part, result, members=1, chosen_by=best)]


POPULATION = Experiment(
    title=f"{ENV} {DIFFICULTY}: success on held-out tasks, from a population of {SIZE}",
    arms=(
        "start",
        BEST,
        MEAN,
        "worst of the single runs",
        MEAN_OF_WEIGHTS,
        HALVING,
        PBT,
    ),
    control=BEST,
    beside={MEAN_OF_WEIGHTS: MEAN, PBT: HALVING},
    columns=(
        Column("success", "success %", 1),
        Column("validation", "chosen by %", 1),
        Column("optimism", "optimism %", 1),
        Column("members", "members in it", 0),
    ),
    parts=(SINGLE, HALVING, PBT),
    rows=_rows,
)
"""Experiment with a population of four, whose members have other seeds and learning rates."""
