"""Comparison of answers by their types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.families.answers import Answer, Scalar, matches

TEMPERATURE = Answer(kind="number", value=18.5, tolerance=0.1)
COUNT = Answer(kind="integer", value=1)
NAME = Answer(kind="string", value="Brádwick Studios")
DAY = Answer(kind="date", value="2026-03-02")
YES = Answer(kind="boolean", value="yes")
THREE = Answer(kind="number", value=[1.5, 2.0, 4.5], tolerance=0.1, ordered=True)
NAMES = Answer(kind="string", value=["Anna", "Ben", "Ben"])


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (TEMPERATURE, 18.5),
        (TEMPERATURE, "18.5"),
        (TEMPERATURE, "18.5 "),
        (TEMPERATURE, 18.6),
        (TEMPERATURE, 18.4),
        (COUNT, 1),
        (COUNT, 1.0),
        (COUNT, "1"),
        (NAME, "brádwick  studios "),
        (NAME, "Bra\u0301dwick Studios"),
        (DAY, "2026-03-02"),
        (YES, "Yes"),
        (YES, True),
        (THREE, [1.5, 2, 4.5]),
        (THREE, ["1.5", 2.05, 4.5]),
        (NAMES, ["Ben", "anna", "Ben"]),
    ],
)
def test_an_answer_of_the_type_is_right(answer: Answer, given: object):
    assert matches(answer, given)


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (TEMPERATURE, 18.61),
        (TEMPERATURE, "18,5"),
        (TEMPERATURE, "１８.５"),
        (TEMPERATURE, "18.5 °C"),
        (TEMPERATURE, [18.5]),
        (TEMPERATURE, None),
        (TEMPERATURE, float("nan")),
        (TEMPERATURE, float("inf")),
        (COUNT, True),
        (COUNT, "1.0"),
        (COUNT, 1.5),
        pytest.param(COUNT, "1" * 100_000, id="text of digits"),
        pytest.param(COUNT, 10**100_000, id="digits"),
        (COUNT, "one"),
        (NAME, "Brádwick"),
        (NAME, "It is Brádwick Studios"),
        (NAME, {"name": "Brádwick Studios"}),
        (NAME, 1),
        (DAY, "2 March 2026"),
        (DAY, "20260302"),
        (YES, "no"),
        (YES, 1),
        (YES, "true"),
        (YES, False),
        (THREE, [2.0, 1.5, 4.5]),
        (THREE, [1.5, 2.0]),
        (THREE, [[1.5, 2.0, 4.5]]),
        (THREE, [1.5, 2.0, 4.5, 4.5]),
        (THREE, "1.5, 2.0, 4.5"),
        (NAMES, ["Anna", "Anna", "Ben"]),
        (NAMES, ["Anna", "Ben"]),
        (NAMES, ["Anna", "Ben", ["Ben"]]),
        (NAMES, {"Anna": 1, "Ben": 2}),
    ],
)
def test_any_other_answer_is_wrong(answer: Answer, given: object):
    assert not matches(answer, given)


class Equal:
    """An object that claims to equal everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("answer", [TEMPERATURE, COUNT, NAME, DAY, YES, THREE, NAMES])
def test_an_object_with_an_equality_of_its_own_is_wrong(answer: Answer):
    assert not matches(answer, Equal())
    assert not matches(answer, [Equal()] * 3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.sampled_from(["number", "integer", "string", "date", "boolean"]))
def test_no_value_raises(value: object, kind: Scalar):
    matches(Answer(kind=kind, value="yes" if kind == "boolean" else "1"), value)
    matches(Answer(kind=kind, value=["1", "2"]), value)


@given(st.lists(st.integers(-50, 50), max_size=8))
def test_the_order_counts_only_where_it_is_asked_for(values: list[int]):
    turned = values[::-1]
    assert matches(Answer(kind="integer", value=values), turned)
    assert matches(Answer(kind="integer", value=values, ordered=True), turned) == (turned == values)
