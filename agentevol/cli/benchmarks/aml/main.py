"""Adaptive Mode Learning and its baselines: each arm trains with each seed, then plays held-out tasks.

    agentevol bench aml                                     a small one: three arms, one seed, minutes
    agentevol bench aml --seeds 3 --arms all --rounds 10 --tasks 300 --file aml.json

All arms begin with the same cloned policy, and explore the same number of tasks and samples. A policy is
played beside the environment's partner, where there are several seats in all of them at once, and beside
another model, if one is named, once in each seat. Seeds differ in explored tasks, draws of samples, and
partners.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agentevol.cli.benchmarks.aml.arms import ARMS, MODEL, PARTNER, QUICK, SELF, Trial
from agentevol.cli.benchmarks.aml.outcomes import Outcome
from agentevol.cli.benchmarks.aml.play import check_partner, figures_of, has_seats
from agentevol.cli.benchmarks.aml.table import table
from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.kept_outcomes import kept_records
from agentevol.cli.benchmarks.progress import run_on_stderr
from agentevol.cli.benchmarks.trials import completed
from agentevol.config.run import RunConfig
from agentevol.core.action_formats.registry import ACTION_FORMATS
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.loop.state.checkpoints import RunCheckpoints
from agentevol.models.resolution import resolve
from agentevol.runs.seating import BESIDE, Seating

PLAIN = "plain"
"""Format of a partner model by default: only the arms are made to think in modes."""


@dataclass(frozen=True)
class Comparison:
    """Settings that all trials of a table have in common."""

    env: str
    rounds: int
    tasks: int
    given: tuple[str, ...] = ()
    """Settings as runs have them."""
    seating: Seating = field(default_factory=Seating)
    """The partner model and its format, where there is one."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, for the file of outcomes, which other ones do not continue."""
        told: dict[str, Any] = {"env": self.env, "rounds": self.rounds, "tasks": self.tasks}
        told["settings"] = list(self.given)
        if self.seating.model is not None:
            told |= {"partner": self.seating.model, "partner_format": self.seating.partner_format}
        return told

    def config(self, trial: Trial) -> RunConfig:
        """Configuration of a trial's run."""
        return trial.config(self.env, self.rounds, self.given)


def main(
    *,
    json: bool,
    env: str = "social",
    seeds: int = 1,
    rounds: int = 2,
    tasks: int = 36,
    arms: str = ",".join(QUICK),
    file: Path | None = None,
    settings: Sequence[str] = (),
    partner: str | None = None,
    partner_format: str | None = None,
    jobs: int = 1,
) -> None:
    """Run the comparison, `jobs` trials at a time, and print its table."""
    trials = [Trial(arm, seed) for seed in range(seeds) for arm in named(arms)]
    comparison = Comparison(env, rounds, tasks, tuple(settings), seating_of(partner, partner_format))
    report("aml", partial(_compared, trials, comparison, file, jobs), json=json)


def seating_of(partner: str | None, partner_format: str | None) -> Seating:
    """Seating beside a partner model, if there is one. Raises `ConfigError`."""
    if partner is None and partner_format is not None:
        raise ConfigError("--partner-format is that of a model: give --partner")
    if partner in BESIDE:
        raise ConfigError(f"--partner {partner} is no model: the table has these plays already")
    return Seating(partner, None if partner is None else ACTION_FORMATS.checked(partner_format or PLAIN))


def named(arms: str) -> list[str]:
    """Arms of a list with commas, or all. Raises `ConfigError` for an unknown one."""
    if arms == "all":
        return list(ARMS)
    wanted = [name for name in ARMS if name in _split(arms)]
    if unknown := [name for name in _split(arms) if name not in ARMS]:
        raise ConfigError(f"no arm {unknown[0]!r}; there are: all, {', '.join(_short(one) for one in ARMS)}")
    return wanted


def _split(arms: str) -> list[str]:
    """Names, with `bc-mode-2` for "bc, mode 2"."""
    known = {_short(name): name for name in ARMS}
    return [known.get(name.strip(), name.strip()) for name in arms.split(",") if name.strip()]


def _short(arm: str) -> str:
    return arm.replace(", ", "-").replace(" ", "-")


def _compared(
    trials: Sequence[Trial], comparison: Comparison, file: Path | None, jobs: int
) -> dict[str, Any]:
    settings = comparison.settings
    found = {one.trial: one for one in kept_records(file, settings, Outcome)}
    plays = _plays(comparison, comparison.config(trials[0]))
    outcomes = completed(trials, found, partial(_tried, comparison, plays), file, settings, jobs)
    for line in table(outcomes):
        print(line)
    return {**settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}


def _plays(comparison: Comparison, config: RunConfig) -> list[str]:
    """Ways of playing that the environment and the partner allow. Raises `ConfigError`."""
    model = comparison.seating.model
    if not has_seats(config):
        if model is not None:
            raise ConfigError(f"--partner {model} has no seat: {comparison.env} has one")
        return [PARTNER]
    check_partner(comparison.seating, config)
    return [PARTNER, SELF, *([MODEL] if model is not None else [])]


def _tried(comparison: Comparison, plays: Sequence[str], trial: Trial) -> Outcome:
    """Train an arm, and play its policy."""
    config, began = comparison.config(trial), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentevol-aml-") as name:
        checkpoint = resolve(config.base)
        if ARMS[trial.arm].trains:
            checkpoint = _trained(config, Path(name) / "run")
        figures = {
            play: figures_of(checkpoint, config, play, comparison.tasks, trial.seed, comparison.seating)
            for play in plays
        }
    return Outcome(arm=trial.arm, seed=trial.seed, minutes=(time.monotonic() - began) / 60, plays=figures)


def _trained(config: RunConfig, folder: Path) -> Checkpoint:
    """Checkpoint of the last round."""
    run_on_stderr(config, folder)
    return RunCheckpoints(folder, config).accepted(config.iterations)
