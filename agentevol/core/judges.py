"""Judges of episodes: the protocol, and the records that a run and a judge exchange.

    class Polite:
        version, scale, stochastic = "1", (0.0, 1.0), False

        async def judge(self, episode: JudgedEpisode) -> Verdict:
            return Verdict(float(any("please" in turn.action for turn in episode.turns)))

        async def close(self) -> None: ...

An episode is given as texts, without the environment's rewards: a judge that reads the outcome repeats it.
Texts of an episode are not trusted: one may ask for a high score.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class JudgedTurn:
    """One turn as text."""

    action: str
    """Text of the agent: what its model said, the answer of a reply in thinking modes, or the action of a
    scripted agent.
    """
    observation: str


@dataclass(frozen=True)
class JudgedEpisode:
    """One episode as text; of several seats, the view of one."""

    env: str
    task_id: str
    instruction: str
    initial_observation: str
    turns: tuple[JudgedTurn, ...]
    seat: int = 0
    """Seat of the agent in the episode, from 0."""


@dataclass(frozen=True)
class Verdict:
    """Judgement of one episode."""

    score: float | None
    """Number on the judge's scale; None where the judge gives none, which is a failure of the judge."""
    reason: str = ""
    """Reason for the score; without a score it is needed."""
    dimensions: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scores of dimensions by name, each on a scale of its own; one that does not apply is left out."""


class Judge(Protocol):
    """Judge of episodes. `Extensions.load` finds a factory: its keyword-only arguments are options."""

    version: str
    """Fingerprint that changes whenever equal episodes may get other scores: scores of two versions are not
    compared.
    """
    scale: tuple[float, float]
    """Lowest and highest score."""
    stochastic: bool
    """True if equal episodes may get different scores."""

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        """Judge one episode; several are judged concurrently. Whatever it raises is a failure of the judge,
        and no score.
        """
        ...

    async def close(self) -> None:
        """Close connections; safe to repeat."""
        ...
