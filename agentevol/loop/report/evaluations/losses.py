"""Classes of lost episodes: for each episode that has a return and no success, one class, by rule.

Of several rules that hold, the first one counts:

    context full            the model's window was full
    invalid actions         at least 3 actions in a row could not be carried out
    same state              at least 3 turns were taken in one and the same state
    ended wrongly           the environment ended the episode as a loss
    left                    an agent left
    limit with progress     another limit cut the episode, and some reward had been earned
    limit without progress  another limit cut it, and no reward had been earned

Failed and cancelled episodes are in none: nothing is known of the policy. Records of earlier versions do not
tell of rows and states, so that those two rules do not hold for them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, get_args

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.proportions import clustered_proportion
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentgym_envs.core import Record

LossClass = Literal[
    "context full",
    "invalid actions",
    "same state",
    "ended wrongly",
    "left",
    "limit with progress",
    "limit without progress",
]
LOSS_CLASSES: tuple[LossClass, ...] = get_args(LossClass)
"""In the order of the rules."""
MOST_INVALID, MOST_VISITS = 3, 3
"""Invalid actions in a row, and turns in one state, from which an episode is in these classes."""
LEFT = "left"
"""End reason of an episode that an agent left."""
EXAMPLES = 3
"""Maximum number of examples of a class."""

_RULES: Mapping[LossClass, Callable[[EvaluationRecord], bool]] = {
    "context full": lambda one: one.ending == "truncated(context)",
    "invalid actions": lambda one: (one.invalid_in_a_row or 0) >= MOST_INVALID,
    "same state": lambda one: (one.state_visits or 0) >= MOST_VISITS,
    "ended wrongly": lambda one: one.ending == "terminated" and LEFT not in one.end_reasons,
    "left": lambda one: LEFT in one.end_reasons,
    "limit with progress": lambda one: (one.reward or 0.0) > 0,
    "limit without progress": lambda one: (one.reward or 0.0) <= 0,
}


class Loss(Record):
    """Lost episodes of one class."""

    episodes: int
    share: MeanScore
    """Of the episodes that have a return, won ones included."""
    examples: tuple[str, ...]
    """Ids of the first of them."""


def loss_class(record: EvaluationRecord) -> LossClass | None:
    """The class of a lost episode; None of one that was won, failed or was cancelled."""
    if record.reward is None or record.succeeded:
        return None
    return next(name for name in LOSS_CLASSES if _RULES[name](record))


def losses(records: Iterable[EvaluationRecord]) -> dict[LossClass, Loss]:
    """Lost episodes of the policy by class, in the order of the rules; classes without any are left out."""
    scored = [one for one in records if one.role == "policy" and one.reward is not None]
    classes = [loss_class(one) for one in scored]
    clusters = [one.scenario for one in scored]
    found: dict[LossClass, Loss] = {}
    for name in LOSS_CLASSES:
        within = [float(one == name) for one in classes]
        lost = [one.id for one, is_in in zip(scored, within, strict=True) if is_in]
        if lost:
            share = clustered_proportion(within, clusters)
            found[name] = Loss(episodes=len(lost), share=share, examples=tuple(lost[:EXAMPLES]))
    return found
