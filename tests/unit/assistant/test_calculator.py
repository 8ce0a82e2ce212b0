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
    ],
)
def test_everything_else_is_refused(expression: str) -> None:
    with pytest.raises(ToolError, match="invalid_expression"):
        calculated(expression)
