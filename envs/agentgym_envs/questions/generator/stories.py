"""Stories of someone who has things, and gets and gives some.

Ada has 12 plums. She buys 3 bags with 4 plums each. She gives 6 plums to Ben. How many plums does she have
now?
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from agentgym_envs.questions.generator.problems import Problem
from agentgym_envs.questions.generator.steps import Step

KIND = "story"
PEOPLE = (
    *(("Ada", "She"), ("Ben", "He"), ("Cleo", "She"), ("Dan", "He"), ("Eva", "She"), ("Finn", "He")),
    *(("Gina", "She"), ("Hugo", "He"), ("Ida", "She"), ("Jon", "He"), ("Kim", "She"), ("Leo", "He")),
)
THINGS = ("plums", "pens", "coins", "cards", "shells", "eggs", "stamps", "beads", "nuts", "books")
PACKS = ("bags", "boxes", "packs")


@dataclass
class _Told:
    """Story so far, and the number of things after it."""

    random: Random
    name: str
    pronoun: str
    things: str
    value: int
    sentences: list[str] = field(default_factory=list[str])
    steps: list[Step] = field(default_factory=list[Step])
    links: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    content: list[str] = field(default_factory=list[str])
    step: int = -1
    """Step that `value` results from; -1 for the number that the story begins with."""

    def number(self, *most: int) -> int:
        """A number from 2 up to one of the largest ones."""
        return self.random.randint(2, max(2, self.random.choice(most)))

    def calculate(self, left: int, sign: str, right: int, links: tuple[int, int]) -> int:
        """Add a step; its result."""
        self.steps.append(Step(left, sign, right))
        self.links.append(links)
        return self.steps[-1].result

    def change(self, sign: str, by: int, of: int = -1) -> None:
        """Change the number of things by a number, or by the result of step `of`."""
        self.value = self.calculate(self.value, sign, by, (self.step, of))
        self.step = len(self.steps) - 1

    def say(self, form: str, text: str, *numbers: int) -> None:
        """Add a sentence of a form with its numbers."""
        self.sentences.append(text)
        self.content.append(":".join([form, *map(str, numbers)]))


def story(random: Random, operations: int) -> Problem | None:
    """A story with this number of operations."""
    name, pronoun = random.choice(PEOPLE)
    told = _Told(random, name, pronoun, random.choice(THINGS), 0)
    told.value = told.number(12, 40, 99)
    told.say("has", f"{name} has {told.value} {told.things}.", told.value)
    while len(told.steps) < operations:
        event = random.choice(_ONE if len(told.steps) + 1 == operations else (*_ONE, *_TWO))
        event(told)
        if not told.steps[-1].is_plain or told.value < 1:
            return None
    question = f"How many {told.things} does {pronoun.lower()} have now?"
    text = " ".join([*told.sentences, question])
    return Problem(text, KIND, tuple(told.steps), tuple(told.links), f"{KIND}/{'/'.join(told.content)}")


def _finds(told: _Told) -> None:
    number = told.number(9, 30, 60)
    verb = told.random.choice(("finds", "gets"))
    told.say("finds", f"{told.pronoun} {verb} {number} more {told.things}.", number)
    told.change("+", number)


def _gives(told: _Told) -> None:
    number = told.number(min(9, told.value - 1), min(60, told.value - 1))
    friend = told.random.choice([name for name, _ in PEOPLE if name != told.name])
    told.say("gives", f"{told.pronoun} gives {number} {told.things} to {friend}.", number)
    told.change("-", number)


def _multiplies(told: _Told) -> None:
    factor = told.random.choice((2, 3, 4))
    told.say(
        "times",
        f"Then {told.pronoun.lower()} wins until {told.pronoun.lower()} has {factor} times as many.",
        factor,
    )
    told.change("*", factor)


def _divides(told: _Told) -> None:
    divisors = [one for one in range(2, 11) if told.value % one == 0 and told.value > one]
    number = told.random.choice(divisors or [2])
    text = f"{told.pronoun} divides them into {number} equal heaps and keeps one of them."
    told.say("divides", text, number)
    told.change("/", number)


def _buys_packs(told: _Told) -> None:
    packs, each = told.number(6, 12), told.number(9, 20)
    kind = told.random.choice(PACKS)
    told.say("packs", f"{told.pronoun} buys {packs} {kind} with {each} {told.things} each.", packs, each)
    bought = told.calculate(packs, "*", each, (-1, -1))
    told.change("+", bought, len(told.steps) - 1)


def _gives_each(told: _Told) -> None:
    friends, each = told.number(4, 6), told.number(3, 9)
    told.say(
        "each", f"{told.pronoun} gives {each} {told.things} to each of {friends} friends.", each, friends
    )
    given = told.calculate(friends, "*", each, (-1, -1))
    told.change("-", given, len(told.steps) - 1)


Event = Callable[[_Told], None]
_ONE: tuple[Event, ...] = (_finds, _gives, _gives, _multiplies, _divides)
"""Events that take one operation."""
_TWO: tuple[Event, ...] = (_buys_packs, _gives_each)
"""Events that take two operations."""
