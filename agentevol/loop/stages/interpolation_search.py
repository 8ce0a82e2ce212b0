"""Interpolated updates (`interpolate.shares`): the share of an update with the best mean success in
validation.

    share   validation   protect.easy   mean
    0.5           0.40           0.90   0.65   this one
    1             0.50           0.70   0.60

Every candidate plays the same tasks with the same seeds. The held-out tasks of the report are not used.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean

from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import spread
from agentevol.loop.stages.acceptance import judged_by, protected_split
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.episodes import Episodes
from agentevol.rollout.episode import EpisodeRequest

WHOLE = 1.0


class InterpolationSearch:
    """Choice of the share of each update in one run. Safe to repeat."""

    def __init__(self, context: RunContext, mixture: DataMixture) -> None:
        self._context, self._mixture = context, mixture

    def mix(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """The share of an update that validates best, mixed with the anchor checkpoint; without a choice of
        shares the update is returned unchanged.
        """
        context, folder = self._context, self._context.folder
        learnt = folder.checkpoints.learnt(iteration)
        if update != learnt or context.has_finished(iteration):
            return update
        with context.drafts.timed(iteration, "interpolate"):
            success = tried(
                context.episodes,
                context.config,
                iteration,
                learnt,
                lambda share: self._mixed(iteration, share),
            )
            share = best_share(success)
            place = folder.checkpoints.destination(iteration)
            if not (place.path.is_dir() or folder.checkpoints.update(iteration).path.is_dir()):
                folder.checkpoints.repeat(learnt if share == WHOLE else self._mixed(iteration, share), place)
        figures = {f"interpolation_success_{one:g}": value for one, value in success.items()}
        chosen = {**context.drafts.of(iteration).learn, "interpolation_share": share, **figures}
        context.drafts.note(iteration, learn=chosen)
        context.say(iteration, f"{share:g} of the update is kept, by validation")
        return folder.checkpoints.destination(iteration)

    def _mixed(self, iteration: int, share: float) -> Checkpoint:
        """Checkpoint with this share of the update, computed where it is missing."""
        folder, anchor = self._context.folder, self._mixture.anchor_checkpoint(iteration)
        mixed = folder.checkpoints.mixed(iteration, share)
        if not mixed.path.is_dir():
            self._context.cluster.interpolate(anchor, folder.checkpoints.learnt(iteration), share, mixed)
        return mixed


def candidates(config: RunConfig) -> list[float]:
    """Candidate shares in ascending order; the last is the whole update."""
    return [*sorted(config.interpolate.shares), WHOLE]


def tried(
    episodes: Episodes,
    config: RunConfig,
    iteration: int,
    whole: Checkpoint,
    between: Callable[[float], Checkpoint],
) -> dict[float, float]:
    """Mean success of every share over the validation tasks and each group of protected ones.

    `between` makes the weights of a share below 1; it is called only where its episodes are not in the table.
    """
    there = episodes.ids("protect", iteration)
    found: dict[float, float] = {}
    for number, share in enumerate(candidates(config), start=1):
        groups = _requests(episodes, config, iteration, number)
        missing = any(request.id not in there for group in groups for request in group)
        weights = between(share) if missing and share != WHOLE else whole
        found[share] = fmean(_success(episodes, config, iteration, weights, group) for group in groups)
    return found


def best_share(success: Mapping[float, float]) -> float:
    """Share with the highest success; among equals the largest, which keeps the most of the update."""
    return max(success, key=lambda share: (success[share], share))


def _success(
    episodes: Episodes,
    config: RunConfig,
    iteration: int,
    policy: Checkpoint,
    group: list[EpisodeRequest],
) -> float:
    summary = judged_by(episodes, config, iteration, policy, group)
    return summary.successes / summary.n if summary.n else 0.0


def _requests(
    episodes: Episodes, config: RunConfig, iteration: int, number: int
) -> list[list[EpisodeRequest]]:
    """Requests of candidate `number` from 1: the validation tasks of each environment, then each group of
    protected ones.
    """
    asked = [
        (name, own.validate_split, own.evaluate.difficulty, own.evaluate.validation_episodes)
        for name, own in config.by_environment.items()
    ] + [
        (tasks.environment, protected_split(config, tasks), tasks.difficulty, tasks.episodes)
        for tasks in config.protect.values()
    ]
    return [
        [
            # its own id, and the environment seed of the acceptance test
            replace(
                episodes.request("protect", iteration, task, number),
                seed=episodes.request("protect", iteration, task, 0).seed,
            )
            for task in episodes.tasks(split, difficulty, spread(count), env)
        ]
        for env, split, difficulty, count in asked
    ]
