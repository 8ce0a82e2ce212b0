"""The final answer of a reply, and the verdicts of verifiers."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.questions.extraction import MOST_REPLY, final_answer, last_boxed
from agentgym_envs.questions.verifiers import VERIFIERS, VerifierFault, can_read, checked_name, verify


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (r"So \boxed{1} or rather \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed 5 apples", "5"),
        (r"\fbox{3}", "3"),
        (r"\boxed{4} and \boxed{unclosed", "4"),
        ("2 + 3 = 5\n#### 5", "5"),
        ("#### 4\n#### 5 \nbye", "5"),
        ("The answer is 5. Really.", "5"),
        ("The answer is 3.5. Really.", "3.5"),
        ("The answer is 4. No, the answer is 5!", "5"),
        ("**Final Answer:** 5", "5"),
        ("answer = x + 1\nand more", "x + 1"),
        (r"The answer is 1, so \boxed{2}", "2"),
    ],
)
def test_a_marked_answer_is_found(reply: str, answer: str):
    found = final_answer(reply)
    assert (found.text, found.marked) == (answer, True)


def test_a_reply_without_a_mark_is_the_answer_as_a_whole():
    assert (final_answer(" 5 apples ").text, final_answer(" 5 apples ").marked) == ("5 apples", False)


def test_only_the_end_of_a_long_reply_is_read():
    assert final_answer("The answer is 5. " + "x" * MOST_REPLY).marked is False


def test_many_unclosed_boxes_are_not_all_followed():
    assert last_boxed(r"\boxed{1}" + r"\boxed{" * 8) is None
    assert last_boxed(r"\boxed{1}" + r"\boxed{" * 7) == "1"


@pytest.mark.parametrize(
    ("name", "reply", "answer", "outcome"),
    [
        ("exact", "Paris", "Paris", "right"),
        ("exact", "It is so. The answer is  Paris.", "Paris", "right"),
        ("exact", "paris", "Paris", "wrong"),
        ("exact", "", "Paris", "no answer found"),
        ("choice", "I think A is bad, (C)", "C", "right"),
        ("choice", "The answer is B.", "B", "right"),
        ("choice", "b", "(B)", "right"),
        ("choice", "A good idea is needed", "A", "no answer found"),
        ("choice", "I do not know", "I", "no answer found"),
        ("choice", "C, not B", "C", "wrong"),  # the last letter of a reply without a mark
        ("number", "48/2 = <<48/2=24>>24\n#### 24", "24", "right"),
        ("number", "The answer is 18 eggs of 20.", "18", "right"),
        ("number", "first 20, then 18", "18", "right"),
        ("number", "I have 1,234.50 dollars", "1234.5", "right"),
        ("number", "It is 1/2", "0.5", "right"),
        ("number", "I do not know", "18", "no answer found"),
        ("math", r"so $x = \boxed{\frac{\sqrt{8}}{2}}$", r"\sqrt2", "right"),
        ("math", "(1, 2)", "(1,2)", "right"),
        ("math", "It is (1, 2)", "(1,2)", "wrong"),  # without a mark the last number is taken
        ("math", "The answer is 42 because 6*7=42.", "42", "right"),
        ("math", "x = 4", "4", "right"),
        ("math", "3 + 4 = 7", "7", "right"),
        ("math", "3 + 4 = 7", "3 + 4 = 8", "wrong"),
        ("math", r"\boxed{5", "5", "right"),
        ("math", "no idea", "5", "no answer found"),
        ("math", r"The answer is \text{Evelyn}", r"\text{Evelyn}", "right"),
        ("none", "anything", "", "not verified"),
    ],
)
def test_a_verdict(name: str, reply: str, answer: str, outcome: str):
    verdict = verify(name, reply, answer)
    assert (verdict.outcome, verdict.score) == (outcome, float(outcome == "right"))


@pytest.mark.parametrize(
    ("name", "answer", "readable"),
    [
        ("exact", " ", False),
        ("choice", "B", True),
        ("choice", "(B)", True),
        ("choice", "both", False),
        ("number", "1,200", True),
        ("number", "12 eggs", True),
        ("number", r"\sqrt{2}", False),
        ("number", "x", False),
        ("math", r"\sqrt{2}", True),
        ("math", "((", False),
        ("math", "", False),
        ("none", "", True),
    ],
)
def test_answers_that_a_verifier_can_read(name: str, answer: str, readable: bool):
    assert can_read(name, answer) is readable


@given(st.text(max_size=300), st.sampled_from(sorted(VERIFIERS)))
def test_no_reply_makes_a_verifier_fail(reply: str, name: str):
    assert verify(name, reply, "7").score in (0.0, 1.0)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_verifiers.py").write_text(
        "def half(reply, answer):\n    return 0.5 if answer in reply else True\n"
        "def broken(reply, answer):\n    raise KeyError('x')\n"
        "def much(reply, answer):\n    return 2\n"
        "NUMBER = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return "own_verifiers"


def test_a_users_function_gives_a_score(own: str):
    assert verify(f"{own}:half", "it is 7", "7").score == 0.5
    assert verify(f"{own}:half", "it is 8", "7").outcome == "right"


@pytest.mark.parametrize(
    ("name", "reason"), [("broken", "raised KeyError"), ("much", "returned 2, not a number")]
)
def test_a_users_function_that_fails_is_a_fault_and_no_score(own: str, name: str, reason: str):
    with pytest.raises(VerifierFault, match=reason):
        verify(f"{own}:{name}", "7", "7")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("maths", "no verifier 'maths'; there are: exact, choice, number, math, none, or module:attribute"),
        ("own_verifiers:missing", "cannot be imported"),
        ("no_such_module:f", "cannot be imported: No module named"),
        ("own_verifiers:NUMBER", "is a int, not a function"),
    ],
)
@pytest.mark.usefixtures("own")
def test_an_unknown_verifier_is_told(name: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        checked_name(name)
