"""Evaluation metrics of a policy: success, reward, scores, turns and tokens, by task type and difficulty.

Failed and cancelled episodes are counted but say nothing about the policy: rates are over the episodes with a
return.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import stdev

from agentevol.core.errors import RunStopped
from agentevol.core.summaries import EvaluationSummary
from agentevol.data.selection.filters import sampled_tokens
from agentevol.rollout.dimensions.means import dimensions_of
from agentevol.rollout.seats import PARTNER
from agentevol.rollout.thinking import thinking_summary
from agentgym_store.records import Trajectory, Turn

NOT_TRAINABLE = "not trainable"
"""Group of the tasks of which environments say that their reward tells little: see `StepResult.info`."""


def summarise(trajectories: Sequence[Trajectory], split: str) -> EvaluationSummary:
    """Metrics of one evaluation; `n` counts the episodes that have a return, each seat of the policy by
    itself.
    """
    scored = [t for t in trajectories if t.total_reward is not None]
    returns = [t.total_reward or 0.0 for t in scored]
    seats = _breakdown(scored, lambda t: "" if t.episode_id is None else f"seat {t.seat}")
    trainable = _breakdown(scored, _trainability)
    return EvaluationSummary(
        split=split,
        n=len(scored),
        successes=sum(t.succeeded() for t in scored),
        mean_reward=_mean(returns),
        reward_deviation=stdev(returns) if len(returns) > 1 else None,
        mean_turns=_mean(len(t.turns) for t in scored),
        mean_tokens=_mean(sampled_tokens(t) for t in scored),
        invalid_actions=_mean(is_invalid(turn) for t in scored for turn in t.turns[t.given_turns :]),
        endings=endings(trajectories),
        by={
            "kind": _breakdown(scored, lambda t: t.kind),
            "difficulty": _breakdown(scored, lambda t: t.difficulty),
            **({"seat": seats} if seats else {}),
            **({"trainable": trainable} if NOT_TRAINABLE in trainable else {}),
        },
        thinking=thinking_summary(scored),
        dimensions=dimensions_of(scored),
    )


def summarise_environments(
    trajectories: Sequence[Trajectory], splits: Mapping[str, str]
) -> EvaluationSummary:
    """Metrics of an evaluation in several environments, together and by environment; `splits` are those of
    each. Kinds and difficulties are in the summary of their environment alone.
    """
    own = {
        name: summarise([t for t in trajectories if t.env == name], split) for name, split in splits.items()
    }
    together = summarise(trajectories, ", ".join(dict.fromkeys(splits.values())))
    return together.model_copy(update={"by": {}, "environments": own})


def is_invalid(turn: Turn) -> bool:
    """Return whether the environment could not carry out the action of a turn (`StepResult.info`)."""
    return bool(turn.info.get("invalid_action", False))


def _trainability(trajectory: Trajectory) -> str:
    """Whether the task is trainable, as its last step tells; one that was cut from outside does not."""
    told = trajectory.turns[-1].info.get("trainable") if trajectory.turns else None
    if not isinstance(told, bool):
        return "trainable not told"
    return "trainable" if told else NOT_TRAINABLE


def compared(summary: EvaluationSummary, since: Mapping[str, float]) -> EvaluationSummary:
    """The summary with the changes since the previous iteration
    (`agentevol.data.selection.statistics.since_previous`).
    """
    if not since:
        return summary
    gained, lost = since["tasks_gained_since_previous"], since["tasks_lost_since_previous"]
    return summary.model_copy(update={"gained": int(gained), "lost": int(lost)})


def endings(trajectories: Iterable[Trajectory]) -> dict[str, int]:
    """Number of episodes by ending: `terminated`, `truncated(max_turns)`, `failed(worker-lost)`, ...; the
    counts sum to the number of episodes.
    """
    return dict(sorted(Counter(ending_label(t) for t in trajectories).items()))


def failed_episodes(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    """A failed trajectory of each failed episode: of a seat that did not fail because of its partner, if one
    is there.
    """
    found: dict[str, Trajectory] = {}
    for t in trajectories:
        if t.ending.kind != "failed":
            continue
        if t.episode not in found or t.ending.failure != PARTNER:
            found[t.episode] = t
    return list(found.values())


def stop_above(limit: float, broken: Sequence[Trajectory], of: int) -> None:
    """Raise `RunStopped` with the counted reasons where more than this share of the episodes failed."""
    if len(broken) <= limit * of:
        return
    reasons = ", ".join(f"{count} {name}" for name, count in endings(broken).items())
    details = (t.ending.detail for t in broken if t.ending.kind == "failed")
    raise RunStopped(
        f"{len(broken)} of {of} episodes failed, not by the agent's fault: {reasons};"
        f" for example {next(details, '')}"
    )


def ending_label(trajectory: Trajectory) -> str:
    """`terminated`, `truncated(max_turns)`, `failed(worker-lost)`, ..."""
    ending = trajectory.ending
    match ending.kind:
        case "truncated":
            return f"truncated({ending.limit})"
        case "failed":
            return f"failed({ending.failure})"
        case _:
            return ending.kind


def _breakdown(
    trajectories: Iterable[Trajectory], key: Callable[[Trajectory], str]
) -> dict[str, tuple[int, int]]:
    groups: dict[str, list[bool]] = defaultdict(list)
    for t in trajectories:
        if key(t):
            groups[key(t)].append(t.succeeded())
    return {name: (sum(successes), len(successes)) for name, successes in sorted(groups.items())}


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
