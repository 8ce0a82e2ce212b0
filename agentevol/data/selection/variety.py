"""Variety of explored episodes: what falls when a policy collapses onto few actions.

Two tasks with two samples each, of which one pair has the same actions: distinct_episodes (1/2 + 2/2) / 2.
"""

from collections.abc import Iterable
from statistics import fmean

from agentevol.data.groups import by_task
from agentevol.data.selection.filters import sampled_tokens, scored
from agentgym_store.records import Trajectory, Turn

DISTINCT, ENTROPY, LENGTH = "distinct_episodes", "action_entropy", "episode_tokens"


def variety_figures(explored: Iterable[Trajectory]) -> dict[str, float]:
    """Share of distinct episodes among the samples of a task, mean over tasks with several; entropy of an
    action in nats; sampled tokens of an episode. Figures without data are left out.

    The entropy is estimated without bias by the mean of -log p of the sampled actions, under the distribution
    that they were drawn from.
    """
    known = scored(explored)
    groups = [group for group in by_task(known).values() if len(group) > 1]
    surprises = [value for t in known for turn in t.turns if (value := _surprise(turn)) is not None]
    tokens = [sampled_tokens(t) for t in known if any(turn.sample is not None for turn in t.turns)]
    found = dict[str, float]()
    if groups:
        found[DISTINCT] = fmean(len({_actions(t) for t in group}) / len(group) for group in groups)
    if surprises:
        found[ENTROPY] = fmean(surprises)
    if tokens:
        found[LENGTH] = fmean(tokens)
    return found


def _actions(trajectory: Trajectory) -> tuple[str, ...]:
    return tuple(turn.action for turn in trajectory.turns)


def _surprise(turn: Turn) -> float | None:
    """-log p of a sampled action; None where no policy of tokens sampled it."""
    if turn.sample is None or not turn.sample.token_ids:
        return None
    mask = turn.sample.loss_mask or (1,) * len(turn.sample.token_ids)
    return -sum(logp for logp, drawn in zip(turn.sample.logprobs, mask, strict=True) if drawn)
