"""Sums of terms in canonical form: a rational coefficient for each product of powers of atoms.

2 + 3x^2 - sqrt(8)     {(): 2, ((x, 2),): 3, ((2, 1/2),): -2}

Roots of integers are fractional powers of primes, between 0 and 1: every other part is in the coefficient. So
equal sums of roots have equal terms.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from agentgym_envs.questions.mathematics.limits import MOST_BITS, MOST_EXPONENT, Budget, Unreadable


@dataclass(frozen=True)
class Atom:
    """A symbol: a variable, a constant, a prime under a root, or an expression that is left as it is."""

    name: str
    value: complex | None = field(default=None, compare=False)
    """Value of a constant; None of a variable."""
    prime: int = 0
    """The prime, of which only fractional powers are kept; 0 for other symbols."""
    opaque: bool = field(default=False, compare=False)
    """True for an expression that is compared by its text, or by its value."""


I = Atom("i", 1j)  # noqa: E741 - the mathematical name
Monomial = tuple[tuple[Atom, Fraction], ...]
"""Powers of atoms, sorted by name; exponents are not 0."""
Terms = Mapping[Monomial, Fraction]
"""Coefficient, not 0, of each monomial."""

ONE: Terms = {(): Fraction(1)}
NOTHING: Terms = {}


def constant(number: Fraction) -> Terms:
    """The terms of a rational number."""
    return {(): checked(number)} if number else NOTHING


def symbol(atom: Atom) -> Terms:
    """The terms of an atom."""
    return {((atom, Fraction(1)),): Fraction(1)}


def checked(number: Fraction) -> Fraction:
    """The number. Raises `Unreadable` where it has too many digits."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
        raise Unreadable("a number has too many digits")
    return number


def raised(number: Fraction, power: int) -> Fraction:
    """An integer power of a rational number. Raises `Unreadable` before a result becomes too long, and for
    a negative power of 0.
    """
    if power < 0 and not number:
        raise Unreadable("a division by zero")
    bits = max(number.numerator.bit_length(), number.denominator.bit_length())
    if abs(number) != 1 and number and (bits - 1) * abs(power) > MOST_BITS:
        raise Unreadable("a power has too many digits")
    return checked(Fraction(1 if power % 2 == 0 else number) if abs(number) == 1 else number**power)


def added(left: Terms, right: Terms, budget: Budget) -> Terms:
    """The sum."""
    budget.spend(len(left) + len(right))
    found = dict(left)
    for monomial, coefficient in right.items():
        total = checked(found.pop(monomial, Fraction(0)) + coefficient)
        if total:
            found[monomial] = total
    return found


def scaled(terms: Terms, factor: Fraction) -> Terms:
    """The terms times a rational number."""
    return {monomial: checked(value * factor) for monomial, value in terms.items()} if factor else NOTHING


def multiplied(left: Terms, right: Terms, budget: Budget) -> Terms:
    """The product."""
    found: dict[Monomial, Fraction] = {}
    for one, first in left.items():
        for other, second in right.items():
            budget.spend(1 + len(one) + len(other))
            factor, monomial = _joined(one, other)
            total = checked(found.pop(monomial, Fraction(0)) + first * second * factor)
            if total:
                found[monomial] = total
    return found


def monomial_power(monomial: Monomial, power: Fraction) -> tuple[Fraction, Monomial]:
    """A power of a monomial: a coefficient and a monomial."""
    return normal({atom: exponent * power for atom, exponent in monomial})


def _joined(one: Monomial, other: Monomial) -> tuple[Fraction, Monomial]:
    powers = dict(one)
    for atom, exponent in other:
        powers[atom] = powers.get(atom, Fraction(0)) + exponent
    return normal(powers)


def normal(powers: Mapping[Atom, Fraction]) -> tuple[Fraction, Monomial]:
    """Coefficient and monomial of a product of powers: whole powers of primes, and of the imaginary unit,
    belong to the coefficient.
    """
    factor, kept = Fraction(1), list[tuple[Atom, Fraction]]()
    for atom, exponent in powers.items():
        if max(abs(exponent.numerator), exponent.denominator) > MOST_EXPONENT:
            raise Unreadable("an exponent is too large")
        if atom.prime:
            whole = math.floor(exponent)
            factor, exponent = factor * raised(Fraction(atom.prime), whole), exponent - whole
        elif atom == I and exponent.denominator == 1:
            factor, exponent = factor * (-1 if exponent.numerator % 4 > 1 else 1), Fraction(exponent % 2)
        if exponent:
            kept.append((atom, exponent))
    return checked(factor), tuple(sorted(kept, key=lambda pair: pair[0].name))


def value_of(terms: Terms) -> complex | None:
    """Approximate value of terms; None with a variable, and beyond the range of floating point."""
    try:
        total = sum((_value_of_term(*term) for term in terms.items()), start=0j)
    except (OverflowError, ZeroDivisionError, _NoValue):
        return None
    return total if math.isfinite(total.real) and math.isfinite(total.imag) else None


class _NoValue(Exception):
    """A term has a variable."""


def _value_of_term(monomial: Monomial, coefficient: Fraction) -> complex:
    product = complex(float(coefficient))
    for atom, exponent in monomial:
        if atom.value is None:
            raise _NoValue
        product *= atom.value ** float(exponent)
    return product


def is_opaque(terms: Terms) -> bool:
    """True if an atom of the terms is an expression that was left as it is."""
    return any(atom.opaque for monomial in terms for atom, _ in monomial)


def text_of(terms: Terms) -> str:
    """Canonical text, equal for equal terms."""
    told = (
        f"{coefficient}" + "".join(f"*{atom.name}^{exponent}" for atom, exponent in monomial)
        for monomial, coefficient in terms.items()
    )
    return "+".join(sorted(told))
