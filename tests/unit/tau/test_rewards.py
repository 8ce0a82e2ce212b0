"""Told facts, matched calls, and the calculator."""

import pytest

from agentgym_envs.tau.calculator import calculated
from agentgym_envs.tau.judging.rewards import matches, told, told_upstream
from agentgym_envs.tau.tasks import Action
from agentgym_envs.tau.world import Executed
from agentgym_envs.tooluse import ToolError


@pytest.mark.parametrize(
    ("fact", "message", "ours", "upstream"),
    [
        ("327", "It costs 327.", True, True),
        ("1786", "In all $1,786.", True, True),
        ("327", "It costs 1327.", False, True),
        ("327", "It costs 327.5.", False, True),
        ("44.08", "You get $44.08 back.", True, True),
        ("4.08", "You get $44.08 back.", False, True),
        ("Camera", "the CAMERA is here", True, True),
        ("cam", "the camera is here", True, True),
        ("64GB", "It has 64gb.", True, True),
        ("64GB", "It has 164GB.", False, True),
        ("64GB", "It has 1.64GB.", False, True),
        ("20 hours", "after 20 hours", True, True),
        ("20 hours", "after 120 hours", False, True),
        ("room 10", "in room 10.", True, True),
        ("room 10", "in room 101", False, True),
        ("10", "see item10", False, True),
        ("10", "about 1e10", False, True),
        ("10", "the 10th", False, True),
        ("10", "item_10", False, True),
        ("10", "$10.", True, True),
        ("10", "10, and", True, True),
        ("10", "(10)", True, True),
        ("10", "10%", True, True),
        ("10", "costs 10.50", False, True),
        ("10", "costs 5.10", False, True),
        (".5", "costs 1.5", False, True),
        (".5", "is .5", True, True),
        ("327", "no", False, False),
        ("327", "327 " + "x" * 600, False, True),
    ],
)
def test_a_fact_is_told_in_a_short_message_as_a_whole_number(
    fact: str, message: str, ours: bool, upstream: bool
) -> None:
    assert (told([fact], [message]), told_upstream([fact], [message])) == (ours, upstream)


def test_all_facts_are_to_be_told_in_any_of_the_messages() -> None:
    assert told(["1", "2"], ["a 1", "a 2"])
    assert not told(["1", "2"], ["a 1"])
    assert told([], [])


def test_calls_match_by_the_compared_arguments() -> None:
    calls = [Executed("refuel_data", {"line_id": "L1", "gb_amount": 2})]

    def action(compared: tuple[str, ...] | None, **arguments: object) -> Action:
        return Action(name="refuel_data", arguments=arguments, compared=compared)

    assert matches(action(None, line_id="L1", gb_amount=2.0), calls)
    assert not matches(action(None, line_id="L2", gb_amount=2.0), calls)
    assert matches(action((), line_id="L2"), calls)
    assert matches(action(("line_id",), line_id="L1", gb_amount=9), calls)
    assert not matches(Action(name="resume_line", compared=()), calls)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        ("(3 + 4) * 2.5", "17.5"),
        ("-1 / 3", "-0.33"),
        ("0.1+0.2", "0.3"),
        ("7//2", "3.0"),
        ("1e", None),
    ],
)
def test_arithmetic_is_rounded_to_two_digits(expression: str, value: str | None) -> None:
    if value is None:
        with pytest.raises(ToolError):
            calculated(expression)
    else:
        assert calculated(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "1/0",
        "(" * 300 + "1" + ")" * 300,
        "1+" * 400 + "1",
        "",
        "9" * 400,
        "1 2",
        "()",
        "1//0",
        "2**3",
    ],
)
def test_what_is_no_arithmetic_or_too_large_is_an_error(expression: str) -> None:
    with pytest.raises(ToolError):
        calculated(expression)
