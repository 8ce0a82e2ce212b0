"""Purchases: prices of several things, a discount, a payment.

A pen costs 3 dollars and a book costs 12 dollars. Ben buys 4 pens and 2 books. How many dollars does he pay?
"""

from dataclasses import dataclass, field
from random import Random

from agentgym_envs.questions.generator.problems import Problem
from agentgym_envs.questions.generator.steps import Step
from agentgym_envs.questions.generator.stories import PEOPLE

KIND = "purchase"
GOODS = ("pen", "book", "cup", "lamp", "ball", "cake", "plant", "chair")
PERCENT = (10, 20, 25, 50)


@dataclass
class _Bill:
    """Steps of a bill."""

    steps: list[Step] = field(default_factory=list[Step])
    links: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def add(self, left: int, sign: str, right: int, links: tuple[int, int]) -> int:
        """Add a step; its result."""
        self.steps.append(Step(left, sign, right))
        self.links.append(links)
        return self.steps[-1].result

    def problem(self, text: str, content: str) -> Problem:
        """The problem whose last step is the answer."""
        return Problem(text, KIND, tuple(self.steps), tuple(self.links), f"{KIND}/{content}")


def purchase(random: Random, operations: int) -> Problem | None:
    """A purchase with this number of operations."""
    forms = {1: _one_kind, 2: _change, 3: _two_kinds, 4: _two_kinds_and_change, 5: _discount_and_change}
    return forms[operations](random)


def _one_kind(random: Random) -> Problem:
    (name, pronoun), (good,), bill = _drawn(random, 1)
    count, price = random.randint(2, 12), random.randint(2, 40)
    bill.add(count, "*", price, (-1, -1))
    text = (
        f"A {good} costs {price} dollars. {name} buys {count} of them. How many dollars does {pronoun} pay?"
    )
    return bill.problem(text, f"one/{count}/{price}")


def _change(random: Random) -> Problem:
    (name, pronoun), (good,), bill = _drawn(random, 1)
    count, price = random.randint(2, 9), random.randint(2, 20)
    cost = bill.add(count, "*", price, (-1, -1))
    paid = _note(random, cost)
    bill.add(paid, "-", cost, (-1, 0))
    text = (
        f"A {good} costs {price} dollars. {name} buys {count} of them and pays with {paid} dollars. "
        f"How many dollars does {pronoun} get back?"
    )
    return bill.problem(text, f"change/{count}/{price}/{paid}")


def _two_kinds(random: Random) -> Problem:
    (name, pronoun), goods, bill = _drawn(random, 2)
    numbers = _numbers(random)
    _add_two(bill, numbers)
    text = f"{_listed(name, goods, numbers)}. How many dollars does {pronoun} pay?"
    return bill.problem(text, f"two/{'/'.join(map(str, numbers))}")


def _two_kinds_and_change(random: Random) -> Problem:
    (name, pronoun), goods, bill = _drawn(random, 2)
    numbers = _numbers(random)
    cost = _add_two(bill, numbers)
    paid = _note(random, cost)
    bill.add(paid, "-", cost, (-1, 2))
    text = (
        f"{_listed(name, goods, numbers)} and pays with {paid} dollars. "
        f"How many dollars does {pronoun} get back?"
    )
    return bill.problem(text, f"two change/{'/'.join(map(str, numbers))}/{paid}")


def _discount_and_change(random: Random) -> Problem | None:
    (name, pronoun), (good,), bill = _drawn(random, 1)
    count, price, percent = random.randint(2, 9), 10 * random.randint(1, 9), random.choice(PERCENT)
    part = 100 // percent
    cost = bill.add(count, "*", price, (-1, -1))
    if cost % part:
        return None
    less = bill.add(cost, "/", part, (0, -1))
    pays = bill.add(cost, "-", less, (0, 1))
    paid = _note(random, pays)
    back = bill.add(paid, "-", pays, (-1, 2))
    extra = random.randint(2, 30)
    bill.add(back, "+", extra, (3, -1))
    text = (
        f"A {good} costs {price} dollars. {name} buys {count} of them, {percent} percent cheaper, and pays "
        f"with {paid} dollars. At home {pronoun} has {extra} dollars. How many dollars does {pronoun} have "
        "in the end?"
    )
    return bill.problem(text, f"discount/{count}/{price}/{percent}/{paid}/{extra}")


def _drawn(random: Random, goods: int) -> tuple[tuple[str, str], list[str], _Bill]:
    name, pronoun = random.choice(PEOPLE)
    return (name, pronoun.lower()), random.sample(GOODS, goods), _Bill()


def _numbers(random: Random) -> tuple[int, int, int, int]:
    """Price and count of each of two goods."""
    return random.randint(2, 20), random.randint(2, 9), random.randint(2, 20), random.randint(2, 9)


def _add_two(bill: _Bill, numbers: tuple[int, int, int, int]) -> int:
    first = bill.add(numbers[1], "*", numbers[0], (-1, -1))
    second = bill.add(numbers[3], "*", numbers[2], (-1, -1))
    return bill.add(first, "+", second, (0, 1))


def _listed(name: str, goods: list[str], numbers: tuple[int, int, int, int]) -> str:
    prices = f"A {goods[0]} costs {numbers[0]} dollars and a {goods[1]} costs {numbers[2]} dollars."
    return f"{prices} {name} buys {numbers[1]} {goods[0]}s and {numbers[3]} {goods[1]}s"


def _note(random: Random, cost: int) -> int:
    """An amount of money, in tens, that is more than the cost."""
    return cost - cost % 10 + 10 * random.randint(1, 5)
