"""RLHF on questions and its baselines: each arm clones one base, trains with each seed, and is measured on
held-out questions after every round.

    agentevol bench rlhf                                      a small one: three arms, one seed, minutes
    agentevol bench rlhf --arms all --seeds 3 --rounds 12 --tasks 250 --file rlhf.json

All arms explore the same number of questions and samples in a round. The arms `pushed` and `stopped` have no
penalty for leaving the clone, and larger steps.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.kept_outcomes import kept_records
from agentevol.cli.benchmarks.progress import run_on_stderr
from agentevol.cli.benchmarks.rlhf.arms import ARMS, GENERATED, QUICK, Trial
from agentevol.cli.benchmarks.rlhf.base import with_base
from agentevol.cli.benchmarks.rlhf.measure import answers, divergence, rate
from agentevol.cli.benchmarks.rlhf.outcomes import Outcome, Rate, round_of
from agentevol.cli.benchmarks.rlhf.table import table
from agentevol.cli.benchmarks.trials import completed
from agentevol.config.rewards.reward import PreferenceModelReward
from agentevol.config.run import RunConfig
from agentevol.core.errors import ConfigError
from agentevol.loop.state.checkpoints import RunCheckpoints
from agentevol.models.resolution import resolve
from agentevol.runs import lifecycle

FEWEST = 2
"""Rounds: one for preferences, one for the policy."""


@dataclass(frozen=True)
class Comparison:
    """Settings that all trials of a table have in common."""

    env: str
    rounds: int
    tasks: int
    given: tuple[str, ...] = ()
    """Settings as runs have them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings, for the file of outcomes, which other ones do not continue."""
        return {"env": self.env, "rounds": self.rounds, "tasks": self.tasks, "settings": list(self.given)}


def main(
    *,
    json: bool,
    env: str = GENERATED,
    seeds: int = 1,
    rounds: int = 4,
    tasks: int = 200,
    arms: str = ",".join(QUICK),
    file: Path | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
) -> None:
    """Run the comparison, `jobs` trials at a time, and print its table."""
    if rounds < FEWEST:
        raise ConfigError(f"--rounds {rounds}: the first half trains the reward model, give {FEWEST} or more")
    trials = [Trial(arm, seed) for seed in range(seeds) for arm in named(arms)]
    comparison = Comparison(env, rounds, tasks, tuple(settings))
    report("rlhf", partial(_compared, trials, comparison, file, jobs), json=json)


def named(arms: str) -> list[str]:
    """Arms of a list with commas, or all, in the order of the table. Raises `ConfigError` for an unknown
    one.
    """
    wanted = [name.strip() for name in arms.split(",") if name.strip()]
    if wanted == ["all"]:
        return list(ARMS)
    if unknown := [name for name in wanted if name not in ARMS]:
        raise ConfigError(f"no arm {unknown[0]!r}; there are: all, {', '.join(ARMS)}")
    return [name for name in ARMS if name in wanted]


def _compared(
    trials: Sequence[Trial], comparison: Comparison, file: Path | None, jobs: int
) -> dict[str, Any]:
    settings = comparison.settings
    found = {one.trial: one for one in kept_records(file, settings, Outcome)}
    missing = [trial for trial in trials if trial not in found]
    configs = _configs(missing, comparison)
    base = next((one.base for one in found.values()), None)
    if base is None:
        base = _base(configs[missing[0]])
    outcomes = completed(trials, found, partial(_tried, configs, base), file, settings, jobs)
    for line in table(outcomes):
        print(line)
    return {**settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}


def _configs(trials: Sequence[Trial], comparison: Comparison) -> dict[Trial, RunConfig]:
    """Configurations of all trials, checked before the first of them runs. Raises `ConfigError`."""
    if not trials:
        return {}
    given = with_base(comparison.env, comparison.given)
    return {
        trial: lifecycle.prepared(trial.config(comparison.env, comparison.rounds, comparison.tasks, given))
        for trial in trials
    }


def _base(config: RunConfig) -> Rate:
    """Right answers of the model that all arms clone."""
    return rate(answers(config, resolve(config.base), config.evaluate.temperature, 0))


def _tried(configs: Mapping[Trial, RunConfig], base: Rate, trial: Trial) -> Outcome:
    """Train an arm, and measure its policies."""
    config, began = configs[trial], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentevol-rlhf-") as name:
        folder = Path(name) / "run"
        summary = run_on_stderr(config, folder)
        checkpoints, last = RunCheckpoints(folder, config), summary.iterations[-1].iteration
        clone, policy = checkpoints.accepted(0), checkpoints.accepted(last)
        sampled = [answers(config, one, 1.0, trial.seed) for one in (clone, policy)]
        kl = divergence(config, sampled[1], policy, clone)
    reward, trains = config.reward, ARMS[trial.arm].trains
    return Outcome(
        arm=trial.arm,
        seed=trial.seed,
        minutes=(time.monotonic() - began) / 60,
        base=base,
        sampled=(rate(sampled[0]), rate(sampled[1])),
        rounds=tuple(round_of(one) for one in summary.iterations if trains or not one.iteration),
        preference_rounds=reward.preference_rounds if isinstance(reward, PreferenceModelReward) else 0,
        planned=config.iterations if trains else 0,
        kl=kl,
    )
