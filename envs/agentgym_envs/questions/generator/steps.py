"""Worked arithmetic: single operations, and texts that calculate them in small steps.

> worked(Step(47, "+", 38))
'47 + 38 = 77 + 8 = 85.'
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

LARGEST = 999
"""Largest number of a problem or of a step."""


@dataclass(frozen=True)
class Step:
    """An operation on two whole numbers; divisions have no remainder, differences are not negative."""

    left: int
    sign: str
    """`+`, `-`, `*` or `/`."""
    right: int

    @property
    def result(self) -> int:
        """The result."""
        match self.sign:
            case "+":
                return self.left + self.right
            case "-":
                return self.left - self.right
            case "*":
                return self.left * self.right
            case _:
                return self.left // self.right

    @property
    def is_plain(self) -> bool:
        """True if all numbers are whole and from 0 to `LARGEST`."""
        if self.sign == "/" and (self.right == 0 or self.left % self.right):
            return False
        return min(self.left, self.right, self.result) >= 0 and self.result <= LARGEST


def worked(step: Step, result: int | None = None) -> str:
    """A sentence that calculates a step; with another `result` than the right one, a slip."""
    middle = [] if result is not None and result != step.result else _middle(step)
    end = step.result if result is None else result
    return " = ".join([f"{step.left} {step.sign} {step.right}", *middle, str(end)]) + "."


def solution(steps: Sequence[Step]) -> str:
    """The sentences of all steps, and the answer."""
    return " ".join([*map(worked, steps), f"The answer is {steps[-1].result}."])


def careless(steps: Sequence[Step], links: Sequence[tuple[int, int]], random: Random, care: float) -> str:
    """The sentences of a player who miscalculates each step with probability 1 - `care`, and calculates on
    with the result. `links`: for each step, the earlier ones that its two numbers are results of, or -1.
    """
    results, told = list[int](), list[str]()
    for step, (left, right) in zip(steps, links, strict=True):
        numbers = (step.left if left < 0 else results[left], step.right if right < 0 else results[right])
        actual = Step(numbers[0], step.sign, numbers[1])
        slips = random.random() >= care or not actual.is_plain
        result = max(0, step.result + random.choice((-10, -2, -1, 1, 2, 10))) if slips else actual.result
        told.append(worked(actual, result))
        results.append(result)
    return " ".join([*told, f"The answer is {results[-1]}."])


def _middle(step: Step) -> list[str]:
    """The sum or difference that remains after the tens, or the hundreds and tens, were calculated."""
    tens, units = step.right - step.right % 10, step.right % 10
    if step.sign in "+-" and step.right > 9 and step.left > 9 and units:
        return [f"{Step(step.left, step.sign, tens).result} {step.sign} {units}"]
    large, small = max(step.left, step.right), min(step.left, step.right)
    if step.sign == "*" and large > 10 and large % 10 and small > 1:
        return [f"{(large - large % 10) * small} + {large % 10 * small}"]
    return []
