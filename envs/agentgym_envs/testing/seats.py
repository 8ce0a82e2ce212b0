"""Check of environments with several seats: whole episodes, and their determinism and isolation."""

import inspect
import random
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from agentgym_envs.core import Environment, Observation, StepResult, Task
from agentgym_envs.episodes import ANSWERS
from agentgym_envs.testing.hostile import result_problems
from agentgym_envs.testing.subject import Subject

ValueT = TypeVar("ValueT")
Actions = Mapping[str, str]
Results = Mapping[str, StepResult]


def check_seats(subject: Subject) -> Iterator[str]:
    """Every seat acts in its turn until it has ended; equal actions give equal episodes, also interleaved."""
    seats = subject.factory().seats
    if not seats:
        return
    if len(seats) < 2 or len(set(seats)) != len(seats):
        yield f"seats {seats} are not two or more different names"
        return
    played = [_Episode(subject, task) for task in subject.drawn]
    for episode in played:
        subject.cases += 1
        yield from (f"{episode.task.id!r}: {problem}" for problem in episode.play())
    if subject.factory().deterministic:
        yield from _replay_problems(subject, played)


def _replay_problems(subject: Subject, played: Sequence["_Episode"]) -> Iterator[str]:
    """Each episode again, step by step in between another one."""
    for one, other in zip(played, reversed(played), strict=True):
        again = [_Episode(subject, episode.task, episode.actions) for episode in (one, other)]
        runs = [episode.play() for episode in again]
        for _ in range(max(len(one.actions), len(other.actions)) + 2):
            for run in runs:
                next(run, None)
        if [again[0].results, again[1].results] != [one.results, other.results]:
            yield f"{one.task.id!r} and {other.task.id!r}: equal actions of the seats give other episodes"


class _Episode:
    """One episode with a player in every seat, random or from a plan; `play` yields what is wrong."""

    def __init__(self, subject: Subject, task: Task, plan: Sequence[Actions] | None = None) -> None:
        self._subject, self.task, self._plan = subject, task, plan
        self._generator = random.Random(subject.seed)
        self.actions: list[Actions] = []
        self.results: list[Mapping[str, Observation] | Results] = []

    def play(self) -> Iterator[str]:
        """Violations; an empty string is none, and lets the caller step another episode meanwhile."""
        environment = self._subject.factory()
        yield from filter(None, self._turns(environment)) if self._plan is None else self._turns(environment)
        environment.close()

    def _turns(self, environment: Environment[Any]) -> Iterator[str]:
        shown = self._settled(environment.reset_seats(self.task, self._subject.seed))
        self.results.append(shown)
        left, returns = set(environment.seats), dict.fromkeys(environment.seats, 0.0)
        acting = dict(shown)
        most = environment.max_turns * len(environment.seats)
        while left:
            if not acting or not acting.keys() <= left:
                yield f"seats {sorted(acting)} are to act; there are {sorted(left)}"
                return
            if len(self.actions) >= (most if self._plan is None else len(self._plan)):
                break
            self.actions.append(self._chosen(acting))
            results = self._settled(environment.step_seats(self.actions[-1]))
            self.results.append(results)
            yield ""
            for seat, result in results.items():
                yield from result_problems(result)
                returns[seat] = returns.get(seat, 0.0) + result.reward
            over = {seat for seat, result in results.items() if result.terminated or result.truncated}
            acting = {seat: result.observation for seat, result in results.items() if seat not in over}
            left -= over
        low, high = environment.reward_range
        for seat, total in returns.items():
            if not low - 1e-9 <= total <= high + 1e-9:
                yield f"return {total} of seat {seat!r} outside {(low, high)}"

    def _chosen(self, acting: Mapping[str, Observation]) -> Actions:
        if self._plan is not None:
            return self._plan[len(self.actions)]
        return {seat: self._generator.choice(seen.actions or ANSWERS) for seat, seen in acting.items()}

    def _settled(self, value: ValueT | Awaitable[ValueT]) -> ValueT:
        async def wait(awaited: Awaitable[ValueT]) -> ValueT:
            return await awaited

        if inspect.isawaitable(value):
            return self._subject.player.run(wait(value))
        return value
