"""Replay of a recorded conversation: its outcome follows from the task, the seed and the log alone."""

from collections.abc import Sequence

from agentgym_envs.social.episode import Episode
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.tasks import task
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import TurnError


def replayed(task_id: str, seed: int, log: Sequence[tuple[Action, Action]]) -> Episode:
    """The episode in which both seats act as in `log`, by step.

    The seed gives the partner's hidden parameters, as when the episode was played. Raises `TaskNotFound`, and
    `TurnError` for an action out of turn or after the end.
    """
    episode = Episode(task(task_id, tuple(FAMILIES)), seed, "relationship", both_seats=True)
    for step, both in enumerate(log):
        if episode.ended:
            raise TurnError(f"the conversation is over before step {step}")
        if both[1 - episode.acting].action_type != "none":
            raise TurnError(f"in step {step} it is the turn of the other seat")
        episode.act(both[episode.acting])
    return episode
