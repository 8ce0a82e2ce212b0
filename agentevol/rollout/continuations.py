"""Requests for episodes that continue from a recorded state."""

import hashlib

from agentevol.data.rewards.state_values import State, continuation_ids
from agentevol.rollout.episode import EpisodeRequest


def continuations(state: State, count: int, seed: int, max_turns: int | None) -> list[EpisodeRequest]:
    """Requests for episodes that continue from the state: in its environment, with seeds of their own, up to
    the same limit.
    """
    episode = state.episode
    return [
        EpisodeRequest(
            id=identity,
            run=episode.run,
            iteration=episode.iteration,
            purpose="value",
            env=episode.env,
            task_id=episode.task_id,
            split=episode.split,
            kind=episode.kind,
            difficulty=episode.difficulty,
            instruction=episode.instruction,
            seed=episode.seed,
            attempt=number,
            max_turns=max_turns,
            prefix=episode.turns[: state.turn + 1],
            parent=episode.id,
            policy_seed=_seed(f"{seed}/{identity}"),
            temperature=episode.temperature,
        )
        for number, identity in enumerate(continuation_ids(state, count))
    ]


def _seed(identity: str) -> int:
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4], "big") >> 1
