"""Rules by which an opinion can teach: which episodes, which turns, which pairs."""

from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import said, task_key
from agentgym_store.records import Trajectory

HELD_OUT = "held out"
NO_RETURN = "without a return"
NO_TURN = "of a turn that is not there"
GIVEN = "of a given turn"
SCRIPTED = "of a turn that no model sampled"
OTHER_TASK = "of two tasks"
NO_SCALE = "of dimensions without a scale"
ALIKE = "of two episodes with the same actions"


def why_no_episode(episode: Trajectory, split: str) -> str:
    """Reason for which nothing is learnt from an episode; empty if something may be.

    `split` is the trained one; retained episodes are of any split that another run trained on.
    """
    if episode.split != split and episode.purpose != "retain":
        return HELD_OUT
    return NO_RETURN if episode.total_reward is None else ""


def why_no_correction(episode: Trajectory, turn: int | None) -> str:
    """Reason for which a turn cannot be corrected, or labelled; empty if it can be."""
    if turn is None or turn >= len(episode.turns):
        return NO_TURN
    if turn < episode.given_turns:
        return GIVEN
    return SCRIPTED if episode.turns[turn].sample is None else ""


def why_no_pair(first: Trajectory, second: Trajectory) -> str:
    """Reason for which two episodes are no pair of one task; empty if they are.

    A task is as the agent first sees it.
    """
    one, other = own_part(first), own_part(second)
    if first.id == second.id or task_key(one) != task_key(other):
        return OTHER_TASK
    return ALIKE if said(one) == said(other) else ""
