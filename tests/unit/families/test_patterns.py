"""Regular expressions in linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.families.sheet.patterns import Pattern, Test


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("", "", True),
        ("b", "abc", True),
        ("^b", "abc", False),
        ("c$", "abc", True),
        ("^a.c$", "abc", True),
        ("a.c", "a\nc", False),
        ("^(ab)+c?$", "ababc", True),
        ("^(ab)+c?$", "aba", False),
        ("^[a-cx]{2,3}$", "axc", True),
        ("^[a-cx]{2,3}$", "axcb", False),
        ("[^0-9]", "123", False),
        (r"^\d+\.\d{2}$", "12.50", True),
        (r"^\d+\.\d{2}$", "12x50", False),
        (r"\W", "a_1", False),
        (r"\s", "a b", True),
        ("cat|dog", "hotdog", True),
        ("(?:ab|c)*d", "abcd", True),
        ("a{3}", "aa", False),
        ("a{2,}", "aaa", True),
        ("[]a]", "]", True),
        ("[a-]", "-", True),
        ("a**", "b", True),
        ("(^a|b$)c*", "xb", True),
    ],
)
def test_a_pattern_finds_what_it_says(pattern: str, text: str, found: bool):
    assert Pattern(pattern).search(text) == found


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab)", "(a|)", "(?:b*)"])
PIECES = st.tuples(ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"]))
PATTERNS = st.tuples(
    st.sampled_from(["", "^"]), st.lists(PIECES, max_size=5), st.sampled_from(["", "$"])
).map(lambda parts: parts[0] + "".join(map("".join, parts[1])) + parts[2])


@given(PATTERNS, st.text("ab", max_size=8))
def test_it_agrees_with_pythons_regular_expressions(pattern: str, text: str):
    assert Pattern(pattern).search(text) == bool(re.search(pattern, text))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*a){20}", "(a?){50}a{50}", "((a*)*)*b"])
def test_each_character_is_compared_with_each_state_at_most_once(pattern: str):
    compared, one = 0, Pattern(pattern)

    def counted(test: Test) -> Test:
        def call(character: str) -> bool:
            nonlocal compared
            compared += 1
            return test(character)

        return call

    for state in one.all_states:
        state.test = counted(state.test) if state.test else None
    one.search("a" * 400 + "!")
    assert 0 < compared <= 401 * one.states


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[a",
        "*a",
        "a{3,2}",
        "a{101}",
        "(?=a)",
        "(?P<x>a)",
        r"\1",
        r"\b",
        "a\\",
        "((((((((((" * 3,
        "x" * 201,
    ],
)
def test_what_is_not_supported_is_refused(pattern: str):
    with pytest.raises(ValueError, match=r"\w"):
        Pattern(pattern)
