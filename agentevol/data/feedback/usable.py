"""Opinions sorted by whether they can teach, with counts of the others by reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agentevol.data.feedback.outcomes import contradicts
from agentevol.data.feedback.rules import NO_SCALE, why_no_correction, why_no_episode, why_no_pair
from agentgym_store.feedback.records import Comparison, Correction, Dimensions, Feedback, Flag, Score
from agentgym_store.records import Trajectory

ELSEWHERE = "of episodes that are not chosen"
FLAGGED = "of flagged episodes"
CONFLICT = "against the outcome"


@dataclass(frozen=True)
class Usable:
    """Opinions that can teach."""

    flagged: frozenset[str]
    """Episodes that nothing is learnt from."""
    corrections: tuple[tuple[str, int, str], ...]
    """Episode, turn and better action; equal ones of several sources are one."""
    comparisons: tuple[Feedback, ...]
    scores: tuple[Feedback, ...]
    """Scores of whole episodes."""
    turns: tuple[Feedback, ...] = ()
    """Scores and dimensions of turns."""
    given: Counter[str] = field(default_factory=Counter[str])
    """Kind -> number of opinions."""
    left_out: Counter[str] = field(default_factory=Counter[str])
    """Reason -> number of opinions."""


def usable(
    opinions: Sequence[Feedback],
    episodes: Mapping[str, Trajectory],
    split: str,
    *,
    drops_conflicts: bool = False,
) -> Usable:
    """Sort the opinions; `episodes` are the chosen ones by id, `split` is the one that may be learnt, and
    `drops_conflicts` leaves out opinions against the outcome.
    """
    flagged = frozenset(one.trajectory_id for one in opinions if isinstance(one.opinion, Flag))
    left_out, kept = Counter[str](), list[Feedback]()
    for one in opinions:
        if isinstance(one.opinion, Flag):
            continue
        reason = _why_not(one, episodes, flagged, split)
        if not reason and drops_conflicts and contradicts(one, episodes):
            reason = CONFLICT
        if reason:
            left_out[reason] += 1
        else:
            kept.append(one)
    return Usable(
        flagged,
        tuple(_corrections(kept)),
        tuple(one for one in kept if isinstance(one.opinion, Comparison)),
        tuple(one for one in kept if isinstance(one.opinion, Score) and one.turn is None),
        tuple(one for one in kept if _is_of_a_turn(one)),
        Counter(one.kind for one in opinions),
        left_out,
    )


def _corrections(kept: Iterable[Feedback]) -> list[tuple[str, int, str]]:
    """In the order of episode and turn."""
    return sorted(
        {
            (one.trajectory_id, one.turn or 0, one.opinion.action)
            for one in kept
            if isinstance(one.opinion, Correction)
        }
    )


def _why_not(one: Feedback, episodes: Mapping[str, Trajectory], flagged: frozenset[str], split: str) -> str:
    if flagged.intersection(one.episodes):
        return FLAGGED
    if not all(name in episodes for name in one.episodes):
        return ELSEWHERE
    found = [episodes[name] for name in one.episodes]
    reasons = [why_no_episode(episode, split) for episode in found]
    if isinstance(one.opinion, Correction) or _is_of_a_turn(one):
        reasons.append(why_no_correction(found[0], one.turn))
    if isinstance(one.opinion, Comparison):
        reasons.append(why_no_pair(found[0], found[1]))
    if isinstance(one.opinion, Dimensions) and one.turn is not None and one.opinion.shares is None:
        reasons.append(NO_SCALE)
    return next(filter(None, reasons), "")


def _is_of_a_turn(one: Feedback) -> bool:
    return one.turn is not None and isinstance(one.opinion, Score | Dimensions)
