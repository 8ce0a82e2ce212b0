"""Guess a hidden number from "higher" and "lower": the smallest complete environment.

> 4
Go higher than 4.
> 6
Right.
"""

import re
from collections.abc import Sequence
from random import Random

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound

HIGHEST = 8
SECRETS = {"train": (1, 2, 5, 7), "valid": (4, 8), "test": (3, 6)}
"""The numbers of each split; together 1 to `HIGHEST`, each once."""


class GuessTask(Task):
    """Guess task. `secret` stays on the server: only `Task`'s own fields cross the wire."""

    secret: int


class Guess(Environment[GuessTask]):
    """Reward 1 for the number. Bisection always wins; uniform guesses win 1 - (7/8)**4 = 41 %."""

    name = "guess"
    max_turns = 4
    blocking = False
    forkable = True
    # Spray sends 0, 1, 2, 3 in its four turns: it finds three of the eight numbers.
    baselines = {"idle": (0.0, 0.0), "spray": (0.375, 0.375)}  # noqa: RUF012 - a class fact, never changed

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(SECRETS)

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        if split not in SECRETS:
            raise TaskNotFound(f"guess has no split {split!r}; there are: {', '.join(SECRETS)}")
        if difficulty is not None:
            raise ValueError(f"guess has no difficulty levels, so not {difficulty!r} either")
        text = f"Find the number between 1 and {HIGHEST}. Answer with a number."
        return [
            GuessTask(env=self.name, id=f"guess-{number}", split=split, instruction=text, secret=number)
            for number in SECRETS[split]
        ]

    def task(self, task_id: str) -> GuessTask:
        for task in (task for split in self.splits for task in self.tasks(split)):
            if task.id == task_id:
                return task
        raise TaskNotFound(f"guess has no task {task_id[:80]!r}; they are guess-1 to guess-{HIGHEST}")

    def reset(self, task: GuessTask, seed: int) -> Observation:
        self.secret = task.secret
        return Observation(text="Make a guess.")

    def step(self, action: str) -> StepResult:
        number = re.search(r"[0-9]+", action)
        if number is None:  # a malformed action is part of the environment, not an exception
            return StepResult(
                observation=Observation(text="That is not a number."), info={"invalid_action": True}
            )
        digits = number.group().lstrip("0")[:4] or "0"  # Python refuses to convert very long numbers
        guess = int(digits)
        if guess == self.secret:
            return StepResult(observation=Observation(text="Right."), reward=1.0, terminated=True)
        hint = "higher" if self.secret > guess else "lower"
        return StepResult(observation=Observation(text=f"Go {hint} than {guess}."))

    def expert(self, task: GuessTask) -> list[str]:
        return [str(task.secret)]

    def demonstrate(self, task: GuessTask, seed: int, care: float = 1.0) -> list[str]:
        random, low, high, said = Random(seed), 1, HIGHEST, list[str]()
        while not said or (int(said[-1]) != task.secret and len(said) < self.max_turns):
            guess = (low + high) // 2 if random.random() < care else random.randint(1, HIGHEST)
            low, high = (max(low, guess + 1), high) if task.secret > guess else (low, min(high, guess - 1))
            said.append(str(guess))
        return said

    def snapshot(self) -> object:
        return self.secret

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, int):
            raise TypeError(f"not a snapshot of guess: {type(snapshot).__name__}")
        self.secret = snapshot
