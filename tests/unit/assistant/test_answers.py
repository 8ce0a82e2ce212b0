"""Typed comparison of answers."""

from typing import Any

import pytest

from agentgym_envs.assistant.tasks.answers import same_answer

SAME: list[tuple[str, Any, Any]] = [
    ("number", 18.5, 18.5),
    ("number", 18, 18.0),
    ("integer", 3, 3),
    ("boolean", True, True),
    ("date", "2026-03-02", "2026-03-02"),
    ("datetime", "2026-03-02T09:00", "2026-03-02T09:00"),
    ("string", "  ÉLBA Dorn ", "e\u0301lba dorn"),
    ("list_string", ["b", "A"], ["a", "B"]),
    ("list_integer", [2, 1], [2, 1]),
    ("object", {"a": 1}, {"a": 1}),
]
OTHER: list[tuple[str, Any, Any]] = [
    ("number", "18.5", 18.5),
    ("number", "18,5", 18.5),
    ("number", True, 1),
    ("number", 18.6, 18.5),
    ("number", float("nan"), 18.5),
    ("number", 10**400, 18.5),
    ("number", None, 0),
    ("integer", 3.0, 3),
    ("integer", True, 1),
    ("integer", "3", 3),
    ("boolean", 1, True),
    ("boolean", "true", True),
    ("date", "2026-3-2", "2026-03-02"),
    ("date", "2026-03-02T09:00", "2026-03-02"),
    ("date", "２０２６-03-02", "2026-03-02"),
    ("datetime", "2026-03-02 09:00", "2026-03-02T09:00"),
    ("string", "It is Elba Dorn.", "Elba Dorn"),
    ("string", ["Elba Dorn"], "Elba Dorn"),
    ("string", None, ""),
    ("list_string", ["a", "a", "b"], ["a", "b"]),
    ("list_string", "a", ["a"]),
    ("list_string", [["a"]], ["a"]),
    ("list_integer", [1, 2], [2, 1]),
    ("list_integer", [True], [1]),
    ("object", [["a", 1]], {"a": 1}),
]


@pytest.mark.parametrize(("kind", "given", "expected"), SAME)
def test_equal_answers(kind: str, given: Any, expected: Any) -> None:
    assert same_answer(kind, given, expected, 1e-6)


@pytest.mark.parametrize(("kind", "given", "expected"), OTHER)
def test_no_type_stands_in_for_another(kind: str, given: Any, expected: Any) -> None:
    assert not same_answer(kind, given, expected, 1e-6)


def test_a_rounded_number_may_be_off_by_half_a_digit() -> None:
    assert same_answer("number", 18.54, 18.5, 0.0501)
    assert not same_answer("number", 18.6, 18.5, 0.0501)
