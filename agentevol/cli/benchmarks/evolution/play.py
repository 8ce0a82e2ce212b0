"""Play of a model outside of a run, as `agentevol eval` does."""

from collections.abc import Sequence
from statistics import fmean

from agentevol.cli.benchmarks.play import play_tasks
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.data.selection.filters import sampled_tokens, scored
from agentgym_store.records import Trajectory


def played(
    model: str,
    env: str,
    split: str,
    episodes: int,
    *,
    seed: int = 0,
    difficulty: str | None = None,
    temperature: float = 0.0,
    repeats: int = 1,
) -> list[Trajectory]:
    """Episodes with an outcome on `episodes` tasks, evenly over a split, of a model as `agentevol eval` names
    it; greedy by default.
    """
    found = play_tasks(
        model,
        EnvironmentConfig(name=env),
        split,
        episodes,
        seed=seed,
        temperature=temperature,
        difficulty=difficulty,
        repeats=repeats,
    )
    return scored(found)


def success(episodes: Sequence[Trajectory]) -> float:
    """Success rate in percent."""
    return 100 * fmean(t.succeeded() for t in episodes)


def tokens(episodes: Sequence[Trajectory]) -> float:
    """Mean sampled tokens of an episode."""
    return fmean(sampled_tokens(t) for t in episodes)
