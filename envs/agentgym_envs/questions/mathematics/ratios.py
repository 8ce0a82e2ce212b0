"""Quotients of sums of terms: arithmetic of what an answer says, with exact roots."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256

from agentgym_envs.questions.mathematics.limits import (
    MOST_POWER,
    MOST_RADICAND,
    MOST_ROOT,
    Budget,
    Unreadable,
)
from agentgym_envs.questions.mathematics.terms import (
    ONE,
    Atom,
    I,
    Terms,
    added,
    constant,
    is_opaque,
    monomial_power,
    multiplied,
    normal,
    raised,
    scaled,
    symbol,
    text_of,
    value_of,
)

PRIMES_TO = 10_000
"""Trial division: a remainder of at most `MOST_RADICAND` has no square of a larger prime but its own."""


@dataclass(frozen=True)
class Ratio:
    """A quotient of terms. The denominator is 1 or has several terms: single ones are negative powers."""

    top: Terms
    bottom: Terms = field(default_factory=lambda: ONE)

    @property
    def rational(self) -> Fraction | None:
        """The rational number, or None of anything else."""
        if self.bottom != ONE or any(self.top.keys() - {()}):
            return None
        return self.top.get((), Fraction(0))

    @property
    def value(self) -> complex | None:
        """Approximate value of a constant."""
        top, bottom = value_of(self.top), value_of(self.bottom)
        return top / bottom if top is not None and bottom else None

    @property
    def opaque(self) -> bool:
        """True if a part was left as it is."""
        return is_opaque(self.top) or is_opaque(self.bottom)

    @property
    def text(self) -> str:
        """Text of the terms, equal for equal terms."""
        return text_of(self.top) if self.bottom == ONE else f"({text_of(self.top)})/({text_of(self.bottom)})"


def number(value: Fraction | int) -> Ratio:
    """A rational number."""
    return Ratio(constant(Fraction(value)))


def atom(name: str, value: complex | None = None) -> Ratio:
    """A variable, or a constant with its approximate value."""
    return Ratio(symbol(Atom(name, value)))


def opaque(text: str, value: complex | None) -> Ratio:
    """An expression that is compared by its text or value."""
    digest = sha256(text.encode()).hexdigest()[:24]  # nested texts would grow without bound
    return Ratio(symbol(Atom(f"@{digest}", value, opaque=True)))


def total(left: Ratio, right: Ratio, budget: Budget) -> Ratio:
    """The sum."""
    if left.bottom == right.bottom:
        return Ratio(added(left.top, right.top, budget), left.bottom)
    top = added(
        multiplied(left.top, right.bottom, budget), multiplied(right.top, left.bottom, budget), budget
    )
    return Ratio(top, multiplied(left.bottom, right.bottom, budget))


def negative(ratio: Ratio) -> Ratio:
    """The negative."""
    return Ratio(scaled(ratio.top, Fraction(-1)), ratio.bottom)


def product(left: Ratio, right: Ratio, budget: Budget) -> Ratio:
    """The product."""
    return Ratio(multiplied(left.top, right.top, budget), multiplied(left.bottom, right.bottom, budget))


def inverse(ratio: Ratio, budget: Budget) -> Ratio:
    """One divided by the ratio. Raises `Unreadable` for 0."""
    if not ratio.top:
        raise Unreadable("a division by zero")
    if len(ratio.top) > 1:
        return Ratio(ratio.bottom, ratio.top)
    ((monomial, coefficient),) = ratio.top.items()
    factor, powers = monomial_power(monomial, Fraction(-1))
    single = {powers: factor / coefficient}
    return Ratio(multiplied(ratio.bottom, single, budget))


def power(base: Ratio, exponent: Ratio, budget: Budget) -> Ratio:
    """A power; one that is not exact is left as it is. Raises `Unreadable` beyond the bounds."""
    by = exponent.rational
    if by is None:
        return _opaque_power(base, exponent)
    if by.denominator == 1:
        return _whole_power(base, int(by), exponent, budget)
    exact = _fractional_power(base, by, budget)
    return exact or _opaque_power(base, exponent)


def equal(left: Ratio, right: Ratio, budget: Budget) -> bool:
    """True for equal expressions. Where parts were left as they are, constants are compared by value."""
    if multiplied(left.top, right.bottom, budget) == multiplied(right.top, left.bottom, budget):
        return True
    if not (left.opaque or right.opaque):
        return False
    one, other = left.value, right.value
    return one is not None and other is not None and abs(one - other) <= 1e-11 * max(abs(one), abs(other))


def _whole_power(base: Ratio, by: int, exponent: Ratio, budget: Budget) -> Ratio:
    if by < 0:
        return _whole_power(inverse(base, budget), -by, negative(exponent), budget)
    if base.bottom == ONE and len(base.top) <= 1:
        if not base.top:
            return number(0 if by else 1)
        ((monomial, coefficient),) = base.top.items()
        factor, powers = monomial_power(monomial, Fraction(by))
        return Ratio({powers: raised(coefficient, by) * factor})
    if by > MOST_POWER:
        return _opaque_power(base, exponent)
    found = number(1)
    for _ in range(by):
        found = product(found, base, budget)
    return found


def _fractional_power(base: Ratio, by: Fraction, budget: Budget) -> Ratio | None:
    """An exact root; None where there is none."""
    if base.bottom != ONE or len(base.top) != 1 or by.denominator > MOST_ROOT:
        return None if base.top else number(0)
    ((monomial, coefficient),) = base.top.items()
    if max(abs(coefficient.numerator), coefficient.denominator) > MOST_RADICAND:
        return None
    sign = _root_of_sign(by) if coefficient < 0 else ONE
    if sign is None or any(one == I for one, _ in monomial):
        return None
    powers = {Atom(str(p), p, prime=p): times * by for p, times in _factors(abs(coefficient))}
    first, roots = normal(powers)
    second, symbols = monomial_power(monomial, by)
    return Ratio(multiplied(multiplied({roots: first}, {symbols: second}, budget), sign, budget))


def _root_of_sign(by: Fraction) -> Terms | None:
    """A power of -1: real for odd roots, of the imaginary unit for square roots."""
    if by.denominator % 2:
        return constant(Fraction((-1) ** (by.numerator % 2)))
    if by.denominator == 2:
        factor, powers = normal({I: Fraction(by.numerator)})
        return {powers: factor}
    return None


def _factors(value: Fraction) -> Iterator[tuple[int, Fraction]]:
    """Primes of a positive number with their powers; those of the denominator are negative."""
    found = dict(_factored(value.numerator))
    for prime, times in _factored(value.denominator):
        found[prime] = found.get(prime, 0) - times
    return ((prime, Fraction(times)) for prime, times in found.items())


@lru_cache(maxsize=4096)
def _factored(whole: int) -> tuple[tuple[int, int], ...]:
    """Prime factors of a number up to `MOST_RADICAND`; a remainder of two large primes counts as one."""
    found, left = list[tuple[int, int]](), whole
    for candidate in _primes():
        if candidate * candidate > left:
            break
        times = 0
        while left % candidate == 0:
            left, times = left // candidate, times + 1
        if times:
            found.append((candidate, times))
    root = math.isqrt(left)
    if left > 1:
        found.append((root, 2) if root * root == left else (left, 1))
    return tuple(found)


@lru_cache(maxsize=1)
def _primes() -> tuple[int, ...]:
    sieve = bytearray([1]) * (PRIMES_TO + 1)
    for one in range(2, math.isqrt(PRIMES_TO) + 1):
        if sieve[one]:
            sieve[one * one :: one] = bytes(len(range(one * one, PRIMES_TO + 1, one)))
    return tuple(one for one in range(2, PRIMES_TO + 1) if sieve[one])


def _opaque_power(base: Ratio, exponent: Ratio) -> Ratio:
    value: complex | None = None
    if base.value is not None and exponent.value is not None:
        try:
            value = base.value**exponent.value
        except (OverflowError, ZeroDivisionError):
            value = None
    return opaque(f"({base.text})^({exponent.text})", value)
