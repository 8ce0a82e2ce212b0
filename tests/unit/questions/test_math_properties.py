"""Renderings of one value are equal, those of different values are not; hostile texts stay in bounds."""

import tracemalloc
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_envs.questions.mathematics import Unreadable, limits, parsing, read, same, terms

WHOLE = st.integers(-(10**6), 10**6)
FRACTIONS = st.builds(Fraction, WHOLE, st.integers(1, 10**4))
SURDS = st.tuples(st.integers(1, 60), st.integers(2, 200), st.integers(1, 60))


def renderings(value: Fraction) -> list[str]:
    top, bottom, sign = abs(value.numerator), value.denominator, "-" if value < 0 else ""
    found = [
        f"{sign}{top}/{bottom}",
        f"{sign}\\frac{{{top}}}{{{bottom}}}",
        f"\\dfrac{{{value.numerator * 3}}}{{{bottom * 3}}}",
        f"$\\left({sign}{top} \\div {bottom}\\right)$",
        f"\\boxed{{{sign}{2 * top} / {2 * bottom}}}",
    ]
    whole, rest = divmod(top, bottom)
    if whole and rest:
        found += [f"{sign}{whole}\\frac{{{rest}}}{{{bottom}}}", f"{sign}{whole} {rest}/{bottom}"]
    if bottom == 1:
        found += [f"{value.numerator:,}", f"{value.numerator}.0", f"x = {value.numerator}"]
    return found


@given(FRACTIONS)
def test_renderings_of_a_fraction_are_equal(value: Fraction):
    first, *others = [read(text) for text in renderings(value)]
    assert all(same(first, other) for other in others)


@given(FRACTIONS, FRACTIONS)
def test_different_fractions_are_not(one: Fraction, other: Fraction):
    assert same(read(renderings(one)[1]), read(renderings(other)[0])) == (one == other)


@given(SURDS)
def test_renderings_of_a_root_are_equal(surd: tuple[int, int, int]):
    times, radicand, bottom = surd
    texts = [
        rf"\frac{{{times}\sqrt{{{radicand}}}}}{{{bottom}}}",
        rf"\frac{{{times}}}{{{bottom}}}\sqrt{{{radicand}}}",
        rf"\frac{{\sqrt{{{radicand * times**2}}}}}{{{bottom}}}",
        rf"\frac{{{times * radicand}}}{{{bottom}\sqrt{{{radicand}}}}}",
        f"{times} sqrt({radicand})/{bottom}",
        f"{times}*{radicand}^(1/2)/{bottom}",
    ]
    first, *others = [read(text) for text in texts]
    assert all(same(first, other) for other in others)


@given(SURDS, SURDS)
def test_different_roots_are_not(one: tuple[int, int, int], other: tuple[int, int, int]):
    squares = [Fraction(times**2 * radicand, bottom**2) for times, radicand, bottom in (one, other)]
    values = [read(rf"\frac{{{a}\sqrt{{{b}}}}}{{{c}}}") for a, b, c in (one, other)]
    assert same(values[0], values[1]) == (squares[0] == squares[1])


@given(st.text(alphabet="0123456789+-*/^_!()[]{}\\,.%$xyie sqrtfracpmbox=<>|&", max_size=120))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text: str):
    try:
        value = read(text)
    except Unreadable:
        return
    assert same(value, value) in (True, False)


HOSTILE = {
    "nesting": "(" * 400 + "1" + ")" * 400,
    "tower": "9^9^9^9^9^9",
    "nested powers": "((((9^99)^99)^99)^99)",
    "long number": "9" * 990,
    "scientific": "1e999999",
    "factorial": "99999!",
    "sums to a power": "(x+1)^{20}" * 40,
    "many variables": "(a+b+c+d+f+g+h+j)^{20}",
    "variables with numbers": "(" + "+".join(f"x_{n}" for n in range(90)) + ")^9",
    "large exponents": "x^{10000}" * 100,
    "nested roots": r"\sqrt{" * 300 + "2" + "}" * 300,
    "list": "1," * 400 + "1",
    "signs": r"\pm 1" * 200,
    "fractions": "+".join(f"1/{n}" for n in range(100003, 100093)),
    "braces": r"\frac" * 200,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_few_operations_and_little_memory(name: str, monkeypatch: pytest.MonkeyPatch):
    spent = 0
    spend = limits.Budget.spend

    def counted(self: limits.Budget, operations: int) -> None:
        nonlocal spent
        spent += operations
        spend(self, operations)

    monkeypatch.setattr(limits.Budget, "spend", counted)
    tracemalloc.start()
    try:
        value: Any = read(HOSTILE[name])
        same(value, value)
    except Unreadable:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert spent <= 2 * limits.MOST_OPERATIONS + 5_000  # a text, a comparison, and the step that was too many
    assert peak < 20e6


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1" * 1001, "more than 1000 characters"),
        ("(" * 40 + "1" + ")" * 40, "nested deeper than 32"),
        ("2^{5000}", "too many digits"),
        ("1e301", "too many digits"),
        ("171!", "not a whole number from 0 to 170"),
        ("x^{10001}", "exponent is too large"),
        ("(x+1)^{20}" * 20, "too many operations"),
        (",".join("1" * 65), "more than 64 items"),
        ("0^{-1}", "division by zero"),
        (r"\frac{1}{x-x}", "division by zero"),
    ],
)
def test_each_bound_has_its_message(text: str, reason: str):
    with pytest.raises(Unreadable, match=reason):
        read(text)


@pytest.mark.parametrize(
    "text", ["2^{4000}", "1e300", "170!", "x^{9999}", "(x+1)^{20}", "(" * 20 + "1" + ")" * 20]
)
def test_what_is_just_within_a_bound_is_read(text: str):
    assert same(read(text), read(text))


def test_a_power_is_refused_before_it_is_calculated():
    with pytest.raises(Unreadable, match="too many digits"):
        terms.raised(Fraction(10), 10**9)
    assert terms.raised(Fraction(-1), 10**9 + 1) == -1


def test_a_decimal_is_refused_before_it_is_converted():
    with pytest.raises(Unreadable, match="too many digits"):
        parsing.decimal("1e99999999")
