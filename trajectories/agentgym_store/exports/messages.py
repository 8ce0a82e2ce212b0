"""Episodes as conversations: the texts of environment and agent in turn."""

from collections.abc import Iterable, Iterator, Sequence

from agentgym_store.exports.contract import Tally
from agentgym_store.records import Trajectory, may_be_learnt, message_of

Message = dict[str, str]
Opening = tuple[str, str]
"""AgentGym's start of a conversation: the prompt of an environment and its acknowledgement."""

FAILED = "failed: no return"
CANCELLED = "cancelled: no return"
IDLE = "without a turn"
UNLEARNABLE = "without a turn to learn from"


def acted(episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Trajectory]:
    """Episodes with a return and a turn; the others are counted by reason."""
    for episode in episodes:
        if episode.ending.kind == "failed":
            tally.left_out[FAILED] += 1
        elif episode.ending.kind == "cancelled":
            tally.left_out[CANCELLED] += 1
        elif not episode.turns:
            tally.left_out[IDLE] += 1
        else:
            yield episode


def first_message(episode: Trajectory) -> str:
    """The first message to an agent: the observation, after the instruction unless it contains that."""
    if not episode.instruction or episode.instruction in episode.initial_observation:
        return episode.initial_observation
    return f"{episode.instruction}\n\n{episode.initial_observation}"


def texts(episode: Trajectory, opening: Opening | None = None) -> list[str]:
    """Messages of environment and agent in turn, from the environment's first to the agent's last.

    The observation after the last action is left out: no message follows it.
    """
    found = [first_message(episode)] if opening is None else [*opening, episode.initial_observation]
    for turn in episode.turns:
        found += [message_of(turn), turn.observation]
    return found[: -1 if episode.turns else None]


def as_messages(said: Sequence[str]) -> list[Message]:
    """Texts as messages of `user` and `assistant` in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(said)]


def learnt_turns(episode: Trajectory) -> list[bool]:
    """For each turn, whether any token of it may be trained on: not where it was given, or is masked."""
    given = episode.given_turns
    return [number >= given and may_be_learnt(turn) for number, turn in enumerate(episode.turns)]


def turn_rows(episode: Trajectory, opening: Opening | None = None) -> Iterator[tuple[list[Message], Message]]:
    """Prompt and completion of each turn that may be learnt."""
    said = as_messages(texts(episode, opening))
    before = 0 if opening is None else len(opening)
    for number, is_learnt in enumerate(learnt_turns(episode)):
        if is_learnt:
            place = before + 2 * number + 1
            yield said[:place], said[place]
