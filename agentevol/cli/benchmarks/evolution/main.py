"""Experiments on learning from opinions, own episodes and several environments: arms, seeds, a control,
intervals.

agentevol bench evolution population --seeds 3 --file population.json
"""

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from agentevol.cli.benchmarks.evolution.experiment import Outcome, Scale, Trial
from agentevol.cli.benchmarks.evolution.feedback import FEEDBACK
from agentevol.cli.benchmarks.evolution.mixed import MIXED
from agentevol.cli.benchmarks.evolution.population import POPULATION
from agentevol.cli.benchmarks.evolution.self_judgement import SELF_JUDGEMENT
from agentevol.cli.benchmarks.evolution.table import table
from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.kept_outcomes import kept_records
from agentevol.cli.benchmarks.trials import completed
from agentevol.core.errors import ConfigError

EXPERIMENTS: Final = {
    "feedback": FEEDBACK,
    "self-judgement": SELF_JUDGEMENT,
    "population": POPULATION,
    "mixed": MIXED,
}
"""Experiments by name."""


def main(
    *,
    json: bool,
    experiment: str | None = None,
    seeds: int = 1,
    rounds: int = 4,
    tasks: int = 100,
    file: Path | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
) -> None:
    """Run an experiment, `jobs` trials at a time, and print its table. Raises `ConfigError` for an unknown
    one.
    """
    if experiment is None or experiment not in EXPERIMENTS:
        raise ConfigError(f"name an experiment: agentevol bench evolution {' | '.join(EXPERIMENTS)}")
    scale = Scale(rounds, tasks, tuple(settings))
    report("evolution", partial(_tried, experiment, seeds, scale, file, jobs), json=json)


def _tried(name: str, seeds: int, scale: Scale, file: Path | None, jobs: int) -> dict[str, Any]:
    experiment = EXPERIMENTS[name]
    settings: dict[str, Any] = {"experiment": name, "rounds": scale.rounds, "tasks": scale.tasks}
    settings["settings"] = list(scale.settings)
    found = {Trial(one.part, one.seed): one for one in kept_records(file, settings, Outcome)}
    wanted = [Trial(part, seed) for seed in range(seeds) for part in experiment.parts]
    with tempfile.TemporaryDirectory(prefix="agentevol-evolution-") as place:
        common = Path(place)
        if not found.keys() >= set(wanted):
            experiment.prepare(common, scale)
        outcomes = completed(wanted, found, partial(_outcome, name, common, scale), file, settings, jobs)
    rows = [row for one in outcomes for row in one.rows]
    for line in table(experiment, rows):
        print(line)
    return {**settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}


def _outcome(name: str, common: Path, scale: Scale, trial: Trial) -> Outcome:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentevol-evolution-") as folder:
        rows = EXPERIMENTS[name].rows(trial.part, trial.seed, common, Path(folder), scale)
    minutes = (time.monotonic() - began) / 60
    return Outcome(part=trial.part, seed=trial.seed, minutes=minutes, rows=rows)
