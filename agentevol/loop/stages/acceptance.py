"""Acceptance test of an update against forgetting on protected tasks (`protect.*`).

The policy that the run begins with plays the protected tasks, and so does every update before it becomes a
checkpoint. An update that falls by more than chance explains is rejected.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.config.sections.forgetting import ProtectedTasks
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import spread
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.learn.continual.forgetting_metrics import Fall, backward_transfer, changes, forgetting
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.episodes import Episodes
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.metrics import summarise

Protected = Mapping[str, EvaluationSummary]


@dataclass(frozen=True)
class Verdict:
    """Verdict on one update."""

    falls: tuple[Fall, ...]
    figures: Mapping[str, float]
    """`forgetting_NAME`, `fall_NAME` beside `fall_allowed_NAME`, `backward_transfer`; `rejected`, 0 or 1."""

    @property
    def reason(self) -> str | None:
        """Reason for which the update is rejected; None where it is accepted."""
        told = [
            f"{fall.environment} fell by {fall.fall:.3f}, more than {fall.allowed:.3f}" for fall in self.falls
        ]
        return "; ".join(told) or None


class Acceptance:
    """Acceptance of the updates of one run. Safe to repeat."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def measure_first(self, policy: Checkpoint) -> None:
        """Note the results of the policy that the run begins with on the protected tasks."""
        context = self._context
        if not context.config.protect:
            return
        with context.drafts.timed(0, "protect"):
            before = play_protected(context.episodes, context.config, 0, policy)
        context.drafts.note(0, protected=before)

    def accept(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """Checkpoint of this iteration: the update, or the previous one where it regressed (`protect.*`)."""
        context, config, folder = self._context, self._context.config, self._context.folder
        if not config.protect or context.has_finished(iteration):
            return update
        earlier = folder.summaries.earlier(iteration)
        with context.drafts.timed(iteration, "protect"):
            after = play_protected(context.episodes, config, iteration, update)
        verdict = verdict_on(config.protect, earlier[0].protected, after, earlier)
        learnt = {**context.drafts.of(iteration).learn, **verdict.figures}
        context.drafts.note(iteration, protected=after, rejected=verdict.reason, learn=learnt)
        if verdict.reason is None:
            return folder.checkpoints.accept(iteration)
        context.say(iteration, f"update rejected, {verdict.reason}")
        return folder.checkpoints.reject(iteration)


def served_environments(config: RunConfig) -> list[EnvironmentConfig]:
    """Environments of a run's server: those of the run, then those of protected tasks."""
    own = config.by_environment
    named = {tasks.environment for tasks in config.protect.values() if tasks.environment is not None}
    others = [EnvironmentConfig(name=name) for name in sorted(named - own.keys())]
    return [*(one.environment for one in own.values()), *others]


def protected_split(config: RunConfig, protected: ProtectedTasks) -> str:
    """Split of protected tasks; without a name the validation split of the run's environment, or `valid` of
    another one.
    """
    own = config.by_environment.get(protected.environment or config.environment.name)
    return protected.split or ("valid" if own is None else own.validate_split)


def verdict_on(
    protect: Mapping[str, ProtectedTasks],
    before: Protected,
    after: Protected,
    earlier: Sequence[IterationSummary] = (),
) -> Verdict:
    """Verdict on the update with the results `after`, against the policy that the run began with.

    `earlier` are the iterations so far, number 0 included: forgetting is against the best that was accepted.
    Raises `ConfigError` for fewer than 2 scored episodes.
    """
    found = [
        fall
        for name, tasks in protect.items()
        for fall in changes(
            {name: _outcomes(before[name])},
            {name: _outcomes(after[name])},
            points=tasks.points,
            standard_errors=tasks.standard_errors,
        )
    ]
    stages = [one.protected for one in earlier if one.rejected is None and one.protected]
    beyond = tuple(fall for fall in found if fall.beyond)
    gate = {f"fall_{one.environment}": one.fall for one in found}
    gate |= {f"fall_allowed_{one.environment}": one.allowed for one in found}
    figures = _figures(list(protect), [*(stages or [before]), after])
    return Verdict(beyond, {**figures, **gate, "rejected": float(bool(beyond))})


def play_protected(
    episodes: Episodes, config: RunConfig, iteration: int, policy: Checkpoint
) -> dict[str, EvaluationSummary]:
    """Evaluate a policy on the protected tasks, by name; episodes in the table are not played again."""
    found: dict[str, EvaluationSummary] = {}
    for name, protected in config.protect.items():
        env, split = protected.environment, protected_split(config, protected)
        tasks = episodes.tasks(split, protected.difficulty, spread(protected.episodes), env)
        requests = [episodes.request("protect", iteration, task, 0) for task in tasks]
        found[name] = judged_by(episodes, config, iteration, policy, requests)
    return found


def judged_by(
    episodes: Episodes,
    config: RunConfig,
    iteration: int,
    policy: Checkpoint,
    requests: Sequence[EpisodeRequest],
) -> EvaluationSummary:
    """Evaluate a policy for acceptance on the requested episodes; played as in evaluation.

    Raises `RunStopped` where too many episodes failed.
    """
    episodes.play("protect", iteration, policy, requests, config.evaluate_sampling)
    wanted = {request.id for request in requests}
    played = [t for t in episodes.of("protect", iteration) if t.episode in wanted]
    episodes.stop_if_too_many_failed(played)
    return summarise(played, requests[0].split if requests else config.validate_split)


def last_stage(earlier: Iterable[IterationSummary]) -> int:
    """Latest of these iterations with an accepted update; 0 where there is none."""
    stages = [one.iteration for one in earlier if one.trained_tokens and one.rejected is None]
    return max(stages, default=0)


def _figures(names: Sequence[str], stages: Sequence[Protected]) -> dict[str, float]:
    """Figures of success by stage and name; the last stage is the update."""
    success_SE = np.asarray([[_success(stage[name]) for name in names] for stage in stages])
    lost = forgetting(success_SE).tolist()
    figures = {f"forgetting_{name}": value for name, value in zip(names, lost, strict=True)}
    return figures | {"backward_transfer": backward_transfer(success_SE, [0] * len(names))}


def _success(summary: EvaluationSummary) -> float:
    return summary.successes / summary.n if summary.n else float("nan")


def _outcomes(summary: EvaluationSummary) -> list[float]:
    """1 for every episode that was won, 0 for every other scored one."""
    return [1.0] * summary.successes + [0.0] * (summary.n - summary.successes)
