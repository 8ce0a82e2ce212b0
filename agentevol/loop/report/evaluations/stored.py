"""Records of an evaluation that a run has made, from its table of episodes."""

from collections.abc import Sequence
from pathlib import Path

from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import IterationSummary, RunSummary, best
from agentevol.data.selection.filters import sampled_tokens
from agentevol.data.stored_episodes import open_table
from agentevol.loop.report.evaluations.records import Agent, EvaluationRecord, Setting, record_of
from agentgym_store.records import Trajectory
from agentgym_store.store import Where


def records_of_run(folder: Path, summary: RunSummary, iteration: int | None = None) -> list[EvaluationRecord]:
    """Records of the held-out evaluation of an iteration; None is that of the best checkpoint.

    Raises `ConfigError` for an iteration that was not evaluated, and `StoreError`.
    """
    chosen = _chosen(folder, summary, iteration)
    splits = chosen.evaluation.splits if chosen.evaluation is not None else None
    config = RunConfig.model_validate(summary.config)
    where = Where(
        run=summary.run,
        purpose="evaluate",
        iteration=chosen.iteration,
        split=splits,
    )
    found = sorted(open_table(folder).trajectories(where), key=lambda one: one.id)
    settings = {name: _setting(own.environment, found) for name, own in config.by_environment.items()}
    return [record_of(one, _agent(summary.run, one, config), settings[one.env]) for one in found]


def _setting(own: EnvironmentConfig, found: Sequence[Trajectory]) -> Setting:
    """Setting of the evaluation in one environment, in which some of the episodes were played."""
    partner = "" if (own.seats or 1) == 1 else "self" if own.partner == "policy" else own.partner
    requested = len({one.episode for one in found if one.env == own.name})
    return Setting(requested, partner, dict(own.options), own.max_turns)


def _chosen(folder: Path, summary: RunSummary, iteration: int | None) -> IterationSummary:
    evaluated = {one.iteration: one for one in summary.iterations if one.evaluation is not None}
    if not evaluated:
        raise ConfigError(f"{folder} has nothing evaluated yet")
    leader = best(summary)
    number = iteration if iteration is not None else leader.iteration if leader else max(evaluated)
    if number not in evaluated:
        known = ", ".join(map(str, evaluated))
        raise ConfigError(f"{folder} has no evaluation of iteration {number}; there are: {known}")
    return evaluated[number]


def _agent(run: str, trajectory: Trajectory, config: RunConfig) -> Agent:
    sampled = any(turn.sample is not None for turn in trajectory.turns)
    return Agent(
        f"{run}/{trajectory.policy}",
        config.environment.format,
        config.evaluate.temperature,
        sampled_tokens(trajectory) if sampled else None,
    )
