"""Adaptive Mode Learning and its baselines: each arm trains with each seed, then plays held-out tasks.

    agentevol bench aml                                     a small one: three arms, one seed, minutes
    agentevol bench aml --seeds 3 --arms all --rounds 10 --tasks 300 --file aml.json

All arms begin with the same cloned policy, and explore the same number of tasks and samples. A policy is
played beside the environment's partner, and where there are several seats in all of them at once. Seeds
differ in explored tasks, draws of samples, and partners.
"""

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from agentevol.cli.benchmarks.aml.arms import ARMS, PLAYS, QUICK, Trial
from agentevol.cli.benchmarks.aml.outcomes import Outcome, keep, kept
from agentevol.cli.benchmarks.aml.play import figures_of, has_seats
from agentevol.cli.benchmarks.aml.table import table
from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.progress import say
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.loop.state.checkpoints import RunCheckpoints
from agentevol.models.resolution import resolve
from agentevol.runs import lifecycle


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
) -> None:
    """Run the comparison and print its table."""
    trials = [Trial(arm, seed) for seed in range(seeds) for arm in named(arms)]
    compare = partial(_compared, trials, env, rounds, tasks, tuple(settings), file)
    report("aml", compare, json=json)


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
    trials: Sequence[Trial], env: str, rounds: int, tasks: int, given: tuple[str, ...], file: Path | None
) -> dict[str, Any]:
    settings = {"env": env, "rounds": rounds, "tasks": tasks, "settings": list(given)}
    found = {one.trial: one for one in kept(file, settings)}
    plays = PLAYS if has_seats(trials[0].config(env, rounds, given)) else PLAYS[:1]
    for trial in trials:
        if trial not in found:
            say(f"{trial.arm}, seed {trial.seed}")
            found[trial] = _tried(trial, env, rounds, tasks, given, plays)
            keep(file, settings, list(found.values()))
    outcomes = [found[trial] for trial in trials]
    for line in table(outcomes):
        print(line)
    return {**settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}


def _tried(
    trial: Trial, env: str, rounds: int, tasks: int, given: tuple[str, ...], plays: Sequence[str]
) -> Outcome:
    """Train an arm, and play its policy."""
    config, began = trial.config(env, rounds, given), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentevol-aml-") as name:
        checkpoint = resolve(config.base)
        if ARMS[trial.arm].trains:
            checkpoint = _trained(trial, env, rounds, given, Path(name) / "run")
        figures = {play: figures_of(checkpoint, config, play, tasks, trial.seed) for play in plays}
    return Outcome(arm=trial.arm, seed=trial.seed, minutes=(time.monotonic() - began) / 60, plays=figures)


def _trained(trial: Trial, env: str, rounds: int, given: tuple[str, ...], folder: Path) -> Checkpoint:
    """Checkpoint of the last round."""
    config = trial.config(env, rounds, given)
    lifecycle.run(config, out=folder, console=Console(stderr=True, highlight=False))
    return RunCheckpoints(folder, config).accepted(rounds)
