"""Values of answers, and when two are the same: `same`.

A tuple, an interval or a matrix has an order; a set and a bare list have none. Units, degrees and currencies
count only where both sides have one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym_envs.questions.mathematics.limits import Budget, Unreadable
from agentgym_envs.questions.mathematics.ratios import Ratio, equal


@dataclass(frozen=True)
class Scalar:
    """A number or an expression."""

    ratio: Ratio
    unit: str = ""
    """Unit as it is written, in lower case; '' without one."""
    bare: "Ratio | None" = None
    """The number before a percent sign; `ratio` is a hundredth of it. None without a sign."""


@dataclass(frozen=True)
class Words:
    """A text."""

    text: str


@dataclass(frozen=True)
class Group:
    """A tuple, an interval or a proportion."""

    brackets: str
    """Opening and closing bracket, as `[)`; `::` for a proportion."""
    items: tuple["Value", ...]


@dataclass(frozen=True)
class Collection:
    """A set, or a list without brackets: items in any order."""

    items: tuple["Value", ...]


@dataclass(frozen=True)
class Union:
    """A union of sets."""

    items: tuple["Value", ...]


@dataclass(frozen=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple["Value", ...], ...]


@dataclass(frozen=True)
class Relation:
    """Two sides of an equation or inequality, or more in a chain."""

    signs: tuple[str, ...]
    sides: tuple["Value", ...]


Value = Scalar | Words | Group | Collection | Union | Matrix | Relation


def same(reference: Value, given: Value, budget: Budget | None = None) -> bool:
    """True if a given answer is the reference. False also where telling it takes too many operations."""
    try:
        return _same(reference, given, budget or Budget())
    except Unreadable:
        return False


def _same(one: Value, other: Value, budget: Budget) -> bool:
    budget.spend(1)
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return _same_scalar(one, other, budget)
    if isinstance(other, Relation) and not isinstance(one, Relation) and set(other.signs) == {"="}:
        return _same(one, other.sides[-1], budget)  # the answer at the end of its calculation
    if isinstance(one, Words) or isinstance(other, Words):
        return _word(one) is not None and _word(one) == _word(other)
    if isinstance(one, Collection) or isinstance(other, Collection):
        return _in_any_order(_items(one), _items(other), budget)
    if type(one) is not type(other):
        return False
    return _same_structure(one, other, budget)


def _same_structure(one: Value, other: Value, budget: Budget) -> bool:
    match one, other:
        case Union(items), Union(others):
            return _in_any_order(items, others, budget)
        case Group(brackets, items), Group(others_brackets, others):
            return brackets == others_brackets and _in_order(items, others, budget)
        case Matrix(rows), Matrix(others):
            return len(rows) == len(others) and all(map(lambda a, b: _in_order(a, b, budget), rows, others))
        case Relation(), Relation():
            return _same_relation(one, other, budget)
        case _:
            return False


def _same_scalar(one: Scalar, other: Scalar, budget: Budget) -> bool:
    if one.unit and other.unit:
        return one.unit == other.unit and equal(one.ratio, other.ratio, budget)
    return equal(one.ratio, other.ratio, budget) or _same_percentage(one, other, budget)


def _same_percentage(reference: Scalar, given: Scalar, budget: Budget) -> bool:
    """True where one side has a percent sign that the other leaves out: 50% and 50. A reference of at most 1
    may be a share, so that its sign is not left out.
    """
    if reference.bare is not None and given.bare is None:
        return equal(reference.bare, given.ratio, budget)
    if reference.bare is None and given.bare is not None:
        share = reference.ratio.value
        return share is not None and abs(share) > 1 and equal(reference.ratio, given.bare, budget)
    return False


def _same_relation(one: Relation, other: Relation, budget: Budget) -> bool:
    turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
    back = Relation(tuple(turned[sign] for sign in reversed(other.signs)), tuple(reversed(other.sides)))
    return any(one.signs == way.signs and _in_order(one.sides, way.sides, budget) for way in (other, back))


def _items(value: Value) -> tuple[Value, ...]:
    return value.items if isinstance(value, Collection) else (value,)


def _in_order(items: Sequence[Value], others: Sequence[Value], budget: Budget) -> bool:
    pairs = zip(items, others, strict=False)
    return len(items) == len(others) and all(_same(one, other, budget) for one, other in pairs)


def _in_any_order(items: Sequence[Value], others: Sequence[Value], budget: Budget) -> bool:
    left = list(others)
    for item in items:
        match = next((place for place, other in enumerate(left) if _same(item, other, budget)), None)
        if match is None:
            return False
        del left[match]
    return not left


def _word(value: Value) -> str | None:
    """The text of a value in lower case; a single letter is one, too."""
    if isinstance(value, Words):
        return value.text
    if isinstance(value, Scalar) and len(value.ratio.top) == 1:
        ((monomial, coefficient),) = value.ratio.top.items()
        if len(monomial) == 1 and monomial[0][1] == coefficient == 1 and len(monomial[0][0].name) == 1:
            return monomial[0][0].name.lower()
    return None
