"""Habits of careless players: `habit`."""

from random import Random
from typing import Final

from agentgym_envs.social.family import Speaker
from agentgym_envs.social.scripts.policies import Policy
from agentgym_envs.social.scripts.table import IDLE, POLICIES
from agentgym_envs.social.tasks import SocialTask

HABITS: Final[dict[str, tuple[Policy, ...]]] = {
    family: tuple(
        entry.policy for name, entry in entries.items() if name not in IDLE and entry.rule != "expert"
    )
    for family, entries in POLICIES.items()
}
"""Scripted policies that make moves, by family."""


def habit(task: SocialTask, draws: Random) -> Speaker:
    """A player that keeps to one of them for an episode: at random, takes the first offer, insists, recites."""
    return draws.choice(HABITS[task.family.name])(task, draws)
