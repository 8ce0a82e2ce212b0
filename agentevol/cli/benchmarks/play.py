"""Play of a policy on held-out tasks, as `agentevol eval` does."""

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.config.sections.exploration import ExploreConfig
from agentevol.core.protocols import Policy
from agentevol.rollout.metrics import failed_episodes, stop_above
from agentevol.runs.evaluation import Report, trial
from agentevol.runs.seating import Seating
from agentgym_store.records import Trajectory


def play_tasks(
    policy: Policy | str,
    environment: EnvironmentConfig,
    split: str,
    episodes: int | None,
    *,
    seed: int,
    temperature: float,
    difficulty: str | None = None,
    repeats: int = 1,
    seating: Seating | None = None,
) -> list[Trajectory]:
    """Trajectories of the policy on `episodes` tasks, evenly over the split.

    Raises `RunStopped` where more episodes failed than a run accepts: on an overloaded machine long ones fail
    first, so that the others are no sample of the tasks.
    """
    found = trial(
        policy,
        environment,
        split,
        difficulty=difficulty,
        episodes=episodes,
        temperature=temperature,
        seed=seed,
        started=_unreported,
        repeats=repeats,
        seating=seating,
    )
    played = len({one.episode for one in found.trajectories})
    stop_above(ExploreConfig().max_failed, failed_episodes(found.trajectories), played)
    return found.episodes


def _unreported(_: int) -> Report:
    return lambda _: None
