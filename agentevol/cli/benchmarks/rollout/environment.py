"""In-process environment whose steps take wall time and no CPU time.

It replaces `EnvClient`, so that scheduler and engine are measured, not a server.
"""

import asyncio
from random import Random
from typing import Any

from agentevol.cli.benchmarks.rollout.embedded import FIRST_TOKENS, NEXT_TOKENS, VOCABULARY
from agentevol.rollout.episode import EpisodeRequest
from agentgym_envs.core import Observation, StepResult

_WORDS = [f"w{word}" for word in range(VOCABULARY - 3)]


def told(number: int, turn: int) -> str:
    """Observation of episode `number`: long at first, then short, and different from that of any other."""
    random, length = Random(1000 * number + turn), NEXT_TOKENS if turn else FIRST_TOKENS
    return " ".join(random.choices(_WORDS, k=length))


class PatientWorld:
    """Client of episodes of `first` to `last` turns, each equally often, whose steps take `latency_s`."""

    def __init__(self, latency_s: float, first: int, last: int) -> None:
        self._latency_s, self._first, self._last = latency_s, first, last

    async def open(self, env: str, task_id: str, **_: Any) -> "PatientSession":
        """Open an episode; its task is the number that determines its observations."""
        number = int(task_id)
        turns = self._first + number % (self._last - self._first + 1)
        return PatientSession(env, number, turns, self._latency_s)


class PatientSession:
    """The part of a session that `play` uses."""

    env_version = data_version = "1"

    def __init__(self, env: str, number: int, turns: int, latency_s: float) -> None:
        self.env, self._number, self._turns, self._latency_s = env, number, turns, latency_s
        self._turn = 0
        self.observation = Observation(text=told(number, 0))

    async def step(self, action: str) -> StepResult:
        """Return the next observation after the latency."""
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        self._turn += 1
        shown = Observation(text=told(self._number, self._turn))
        return StepResult(observation=shown, terminated=self._turn == self._turns)

    async def close(self) -> None:
        """Do nothing: no resources are held."""


def requests(first: int, count: int) -> list[EpisodeRequest]:
    """Requests of `count` episodes from number `first` on: other numbers share no prompt with them."""
    return [
        EpisodeRequest(
            id=str(number),
            run="bench",
            iteration=1,
            purpose="explore",
            env="patient",
            task_id=str(number),
            split="train",
            kind="",
            difficulty="",
            instruction="",
            seed=number,
            attempt=0,
        )
        for number in range(first, first + count)
    ]
