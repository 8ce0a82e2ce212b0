"""Experiments of learning from opinions and from own episodes: arms, seeds, a control, intervals.

agentevol bench evolution population --seeds 3 --file population.json
"""

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from agentevol.cli.benchmarks.evolution.experiment import Experiment, Outcome, Scale
from agentevol.cli.benchmarks.evolution.feedback import FEEDBACK
from agentevol.cli.benchmarks.evolution.population import POPULATION
from agentevol.cli.benchmarks.evolution.self_judgement import SELF_JUDGEMENT
from agentevol.cli.benchmarks.evolution.table import table
from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.kept_outcomes import completed, kept_records
from agentevol.cli.benchmarks.progress import say
from agentevol.core.errors import ConfigError

EXPERIMENTS: Final = {"feedback": FEEDBACK, "self-judgement": SELF_JUDGEMENT, "population": POPULATION}
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
) -> None:
    """Run an experiment and print its table. Raises `ConfigError` for an unknown one."""
    if experiment is None or experiment not in EXPERIMENTS:
        raise ConfigError(f"name an experiment: agentevol bench evolution {' | '.join(EXPERIMENTS)}")
    scale = Scale(rounds, tasks, tuple(settings))
    report("evolution", partial(_tried, experiment, seeds, scale, file), json=json)


def _tried(name: str, seeds: int, scale: Scale, file: Path | None) -> dict[str, Any]:
    experiment = EXPERIMENTS[name]
    settings: dict[str, Any] = {"experiment": name, "rounds": scale.rounds, "tasks": scale.tasks}
    settings["settings"] = list(scale.settings)
    found = {(one.part, one.seed): one for one in kept_records(file, settings, Outcome)}
    wanted = [(part, seed) for seed in range(seeds) for part in experiment.parts]
    with tempfile.TemporaryDirectory(prefix="agentevol-evolution-") as place:
        common = Path(place) / "common"

        def make(trial: tuple[str, int]) -> Outcome:
            if not common.is_dir():
                common.mkdir()
                experiment.prepare(common, scale)
            say(f"{name}: {trial[0]}, seed {trial[1]}")
            return _outcome(experiment, *trial, common, scale)

        outcomes = completed(wanted, found, make, file, settings)
    rows = [row for one in outcomes for row in one.rows]
    for line in table(experiment, rows):
        print(line)
    return {**settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}


def _outcome(experiment: Experiment, part: str, seed: int, common: Path, scale: Scale) -> Outcome:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentevol-evolution-") as folder:
        rows = experiment.rows(part, seed, common, Path(folder), scale)
    return Outcome(part=part, seed=seed, minutes=(time.monotonic() - began) / 60, rows=rows)
