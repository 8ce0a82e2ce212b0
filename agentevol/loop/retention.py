"""Whether an update may stay: how good it is at what the run must not forget (`protect.*`).

Protected tasks are played by the policy that the run begins with, and by every update before it becomes a
checkpoint. One that falls by more than chance explains is rejected.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agentevol.config.forgetting import ProtectedTasks
from agentevol.config.run import RunConfig
from agentevol.learn.retention import Fall, backward_transfer, changes, forgetting
from agentevol.loop.episodes import Episodes
from agentevol.loop.evaluate import summarise
from agentevol.loop.explore import EpisodeRequest
from agentevol.protocols import Checkpoint
from agentevol.report.summary import EvaluationSummary, IterationSummary
from agentevol.splits import spread

Protected = Mapping[str, EvaluationSummary]


@dataclass(frozen=True)
class Verdict:
    """On one update."""

    falls: tuple[Fall, ...]
    figures: Mapping[str, float]
    """`forgetting_NAME`, `fall_NAME` beside `fall_allowed_NAME`, `backward_transfer`; `rejected`, 0 or 1."""

    @property
    def reason(self) -> str | None:
        """Why the update is rejected; None where it may stay."""
        told = [
            f"{fall.environment} fell by {fall.fall:.3f}, more than {fall.allowed:.3f}" for fall in self.falls
        ]
        return "; ".join(told) or None


def protected_environments(config: RunConfig) -> list[str]:
    """Environments of protected tasks besides the run's own."""
    named = {tasks.environment for tasks in config.protect.values() if tasks.environment is not None}
    return sorted(named - {config.environment.name})


def protected_split(config: RunConfig, protected: ProtectedTasks) -> str:
    """The split of protected tasks; without a name the run's validation split, or `valid` of another
    environment.
    """
    return protected.split or (config.validate_split if protected.environment is None else "valid")


def verdict_on(
    protect: Mapping[str, ProtectedTasks],
    before: Protected,
    after: Protected,
    earlier: Sequence[IterationSummary] = (),
) -> Verdict:
    """The update that earned `after`, against the policy that the run began with.

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
    """How good a policy is at the protected tasks, by name; what is in the table is not played again."""
    found: dict[str, EvaluationSummary] = {}
    for name, protected in config.protect.items():
        env, split = protected.environment, protected_split(config, protected)
        tasks = episodes.tasks(split, protected.difficulty, spread(protected.episodes), env)
        requests = [episodes.request("protect", iteration, task, 0, env=env) for task in tasks]
        found[name] = judged_by(episodes, config, iteration, policy, requests)
    return found


def judged_by(
    episodes: Episodes,
    config: RunConfig,
    iteration: int,
    policy: Checkpoint,
    requests: Sequence[EpisodeRequest],
) -> EvaluationSummary:
    """How good a policy is at what is requested, which decides whether it stays; played as evaluation plays.

    Raises `RunStopped` where too many episodes failed.
    """
    episodes.play("protect", iteration, policy, requests, config.evaluate_sampling)
    wanted = {request.id for request in requests}
    played = [t for t in episodes.of("protect", iteration) if t.id in wanted]
    episodes.stop_if_too_many_failed(played)
    return summarise(played, requests[0].split if requests else config.validate_split)


def last_stage(earlier: Iterable[IterationSummary]) -> int:
    """The latest of these iterations that left a policy of its own; 0 where none has."""
    stages = [one.iteration for one in earlier if one.trained_tokens and one.rejected is None]
    return max(stages, default=0)


def _figures(names: Sequence[str], stages: Sequence[Protected]) -> dict[str, float]:
    """Of success by stage and name; the last stage is the update."""
    success_SE = np.asarray([[_success(stage[name]) for name in names] for stage in stages])
    lost = forgetting(success_SE).tolist()
    figures = {f"forgetting_{name}": value for name, value in zip(names, lost, strict=True)}
    return figures | {"backward_transfer": backward_transfer(success_SE, [0] * len(names))}


def _success(summary: EvaluationSummary) -> float:
    return summary.successes / summary.n if summary.n else float("nan")


def _outcomes(summary: EvaluationSummary) -> list[float]:
    """1 for every episode that was won, 0 for every other that was scored."""
    return [1.0] * summary.successes + [0.0] * (summary.n - summary.successes)
