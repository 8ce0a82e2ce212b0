"""Generated states: a dialogue of the social worlds after a few turns, whose value a program knows.

The value of a state is what the family's thinker makes of it against the same partner, 0 to 10: the goal,
less what secrets and rules cost. The value after a reply is that of the state which the reply leads to.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from agentgym_envs.social.episode import Episode
from agentgym_envs.social.tasks import SocialTask
from agentgym_envs.social.thinking_seat import ThinkingSeat
from agentgym_envs.sotopia.protocol.actions import Action, from_text

MOST_TURNS: Final = 5
"""Own turns before a state, at most."""
CARE: Final = 0.7
"""Share of these turns that the thinker plays; the others are random moves."""


def staged(task: SocialTask) -> ThinkingSeat:
    """The agent's seat after a few turns; a function of the task."""
    draws = Random(f"ampo/{task.id}")
    seed, turns = draws.randrange(1 << 30), draws.randrange(MOST_TURNS + 1)
    taken = list[Action]()
    seat = _begun(task, seed)
    for _ in range(turns):
        words = seat.think().words
        if draws.random() >= CARE:
            words = task.family.random_move(task.setting, task.seat, draws)
        seat.act(from_text(words))
        if seat.episode.ended:
            break
        taken.append(from_text(words))
    return resumed(task, seed, taken)


def resumed(task: SocialTask, seed: int, taken: Sequence[Action]) -> ThinkingSeat:
    """The agent's seat after these actions."""
    seat = _begun(task, seed)
    for action in taken:
        seat.act(action)
    return seat


def value(seat: ThinkingSeat, reply: Action | None = None) -> float:
    """Value of a state, or of the one after a reply; the seat itself stays where it is."""
    episode = seat.episode
    taken = [action for action in episode.taken if action is not None]
    copy = resumed(episode.task, episode.seed, [*taken, *([reply] if reply is not None else [])])
    copy.play_on()
    return 10 * copy.episode.outcome(episode.task.seat).reward


def transcript(seat: ThinkingSeat) -> str:
    """The whole dialogue as the agent reads it, its own turns included."""
    talk, own = seat.episode.conversation, seat.episode.task.seat
    lines = [f"Turn #{turn}: {talk.heard[turn]}" for turn in range(talk.turn_number)]
    return "\n".join([talk.backgrounds[own], "Conversation Starts:", *lines])


def _begun(task: SocialTask, seed: int) -> ThinkingSeat:
    return ThinkingSeat(Episode(task, seed, "relationship", both_seats=False))
