"""Token work of episodes, turn by turn, for replay on another engine."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from agentevol.core.protocols import Conversation, Policy
from agentgym_store.records import Sample, Trajectory


@dataclass(frozen=True)
class Ask:
    """One turn: its prompt, the whole history, and the number of sampled tokens."""

    prompt_ids: tuple[int, ...]
    sampled: int


class Listed:
    """Policy wrapper that records the episodes whose turns it began, in order."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.name, self.version = policy.name, policy.version
        self.begun: list[str] = []

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Act with the wrapped policy."""
        self.begun.append(conversation.id)
        return await self._policy.act(conversation, seed)

    def release(self, conversation_id: str) -> None:
        """Release the conversation in the wrapped policy."""
        self._policy.release(conversation_id)


def asks(episodes: Iterable[Trajectory]) -> list[Ask]:
    """Every turn of every episode, an episode's turns one after another, which is best for a prefix cache.

    Raises `ValueError` for an incomplete episode: sides would not do the same work.
    """
    found: list[Ask] = []
    for episode in sorted(episodes, key=lambda one: one.id):
        if episode.ending.kind != "terminated":
            raise ValueError(f"episode {episode.id} ended otherwise: {episode.ending}")
        samples = [turn.sample for turn in episode.turns if turn.sample is not None]
        found += [Ask(tuple(sample.prompt_ids), len(sample.token_ids)) for sample in samples]
    return found


def as_begun(episodes: Collection[Trajectory], begun: Sequence[str]) -> list[Ask]:
    """The same turns in the order in which they were begun: `begun` has the id of the episode of each.

    Raises `ValueError` where these are not the episodes' turns.
    """
    turns = {episode.id: iter(asks([episode])) for episode in episodes}
    found = [ask for episode_id in begun if (ask := next(turns[episode_id], None)) is not None]
    if not len(found) == len(begun) == sum(len(episode.turns) for episode in episodes):
        raise ValueError(f"{len(begun)} turns were begun, and {len(found)} of them recorded")
    return found


def sampled(work: Iterable[Ask]) -> int:
    """Total number of sampled tokens."""
    return sum(ask.sampled for ask in work)
