"""The work that episodes gave an engine, turn by turn, so that it can be given to another one."""

from collections.abc import Iterable
from dataclasses import dataclass

from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class Ask:
    """One turn: what was read, the whole history, and how many tokens were sampled."""

    prompt_ids: tuple[int, ...]
    sampled: int


def asks(episodes: Iterable[Trajectory]) -> list[Ask]:
    """Every turn of every episode, an episode's turns one after another, where a prefix cache finds most.

    Raises `ValueError` for an episode that did not run to its end: sides would not do the same work.
    """
    found: list[Ask] = []
    for episode in sorted(episodes, key=lambda one: one.id):
        if episode.ending.kind != "terminated":
            raise ValueError(f"episode {episode.id} ended otherwise: {episode.ending}")
        samples = [turn.sample for turn in episode.turns if turn.sample is not None]
        found += [Ask(tuple(sample.prompt_ids), len(sample.token_ids)) for sample in samples]
    return found


def sampled(work: Iterable[Ask]) -> int:
    """Tokens sampled in all."""
    return sum(ask.sampled for ask in work)
