"""Held-out tasks of a run, of all its environments, and the summary of their episodes."""

from collections.abc import Callable, Sequence
from typing import Literal

from agentevol.config.run import RunConfig
from agentevol.core.splits import Choice, spread
from agentevol.core.summaries import EvaluationSummary
from agentevol.loop.state.episodes import Episodes
from agentevol.rollout.metrics import summarise, summarise_environments
from agentevol.rollout.tasks import EnvTask
from agentgym_store.records import Trajectory

HeldOut = Literal["test", "validation"]
"""Tasks that the report is about, or those that choose the best checkpoint."""


def split_of(config: RunConfig, held_out: HeldOut) -> str:
    """Split of held-out tasks in a run of one environment."""
    return config.evaluate_split if held_out == "test" else config.validate_split


def splits_of(config: RunConfig, held_out: HeldOut) -> tuple[str, ...]:
    """Names of the splits of held-out tasks, of all environments."""
    return tuple(dict.fromkeys(split_of(own, held_out) for own in config.by_environment.values()))


def held_out_tasks(
    episodes: Episodes,
    config: RunConfig,
    held_out: HeldOut,
    choose: Callable[[int | None], Choice] = spread,
) -> list[EnvTask]:
    """The held-out tasks of each environment of the run, one after the other.

    `choose` maps their configured number to the choice of positions in the split.
    """
    found = list[EnvTask]()
    for name, own in config.by_environment.items():
        count = own.evaluate.episodes if held_out == "test" else own.evaluate.validation_episodes
        found += episodes.tasks(split_of(own, held_out), own.evaluate.difficulty, choose(count), name)
    return found


def summary_of(config: RunConfig, played: Sequence[Trajectory], held_out: HeldOut) -> EvaluationSummary:
    """Metrics of the episodes of held-out tasks; in a mixed run those of each environment, too."""
    splits = {name: split_of(own, held_out) for name, own in config.by_environment.items()}
    if len(splits) == 1:
        return summarise(played, next(iter(splits.values())))
    return summarise_environments(played, splits)
