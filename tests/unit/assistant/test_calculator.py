"""The calculator."""

import pytest

from agentgym_envs.assistant.tools.calculator import calculated
from agentgym_envs.tooluse import ToolError


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-7 // 2", -4),
        ("7 % 4", 3),
        ("0.1 + 0.2", 0.3),
        ("1 / 4", 0.25),
        (" (.5 + 2.) * -3 ", -7.5),
        ("1e3 - 2E-1 + 1e+1", 1009.8),
        ("2 - -3", 5),
        ("0." + "0" * 28 + "1", 0.0),  # 30 digits
    ],
)
def test_values(expression: str, value: float) -> None:
    assert calculated(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9**9",
        "1 / 0",
        "1e15 * 2",
        "1e999",
        "__import__('os')",
        "a",
        "1 if 1 else 2",
        "'1' * 9",
        "[1]",
        "1 + 1j",
        "True + True",
        "(" * 150 + "1" + ")" * 150 + "+",
        "+".join("1" * 200),
        "",
        "1 << 9",
        "1 and 2",
        "0x10",
        "0b1",
        "0o7",
        "1_000",
        "1j",
        "1 + 2 # three",
        "1 + \\\n2",
        "+1",
        "2 * (+1)",
        "1 + + 2",
        "2 ** 3",
        "\uff11 + 1",
        "1\u00a0+ 1",
        "0." + "0" * 29 + "1",  # 31 digits
    ],
)
def test_everything_else_is_refused(expression: str) -> None:
    with pytest.raises(ToolError, match="invalid_expression"):
        calculated(expression)
