# ruff: noqa: ARG001 - the functions are read, not called
"""Tools made of functions, and their four renderings."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from agentgym_envs.tooluse import Tool, Toolset, tool
from agentgym_envs.tooluse.renderings import mcp_tools, openai_functions, python_stubs, react_block


class Changes(TypedDict, total=False):
    """Fields to change."""

    email: str
    age: int


@tool("write")
def update(
    state: dict[str, Any],
    person: Annotated[int, Field(ge=1)],
    changes: Changes,
    mode: Literal["all", "one"] = "one",
    note: str | None = None,
) -> dict[str, int]:
    """Update a person.

    Only what is given changes.

    Args:
        person: Number of the person,
            from 1.
        changes: What changes.
        mode: How many.
        note: A remark.

    Raises:
        ToolError: nobody has this number
    """
    return {"changed": len(changes)}


PARAMETERS = {
    "type": "object",
    "properties": {
        "person": {"type": "integer", "minimum": 1, "description": "Number of the person, from 1."},
        "changes": {
            "type": "object",
            "properties": {"email": {"type": "string"}, "age": {"type": "integer"}},
            "additionalProperties": False,
            "description": "What changes.",
        },
        "mode": {
            "type": "string",
            "enum": ["all", "one"],
            "default": "one",
            "description": "How many.",
        },
        "note": {"type": "string", "description": "A remark."},
    },
    "required": ["person", "changes"],
    "additionalProperties": False,
}


def test_signature_and_docstring_are_the_schema() -> None:
    assert update.name == "update"
    assert update.description == "Update a person.\n\nOnly what is given changes."
    assert update.parameters == PARAMETERS
    assert update.returns == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert update.run({}, 1, {"age": 3}) == {"changed": 1}


def test_the_four_renderings_have_the_same_tools_and_arguments() -> None:
    assert openai_functions([update]) == [
        {
            "type": "function",
            "function": {
                "name": "update",
                "description": "Update a person.\n\nOnly what is given changes.",
                "parameters": PARAMETERS,
            },
        }
    ]
    assert mcp_tools([update])[0]["inputSchema"] == PARAMETERS
    assert mcp_tools([update])[0]["annotations"] == {"readOnlyHint": False}
    stubs = python_stubs([update])
    compile(stubs, "stubs", "exec")
    assert (
        "def update(self, person: int, changes: dict, mode: Literal['all', 'one'] = 'one', "
        "note: str = None) -> dict:" in stubs
    )
    assert react_block([update]).splitlines()[0] == "Name: update(person, changes, mode, note)"
    assert "- person (Type: int): Number of the person, from 1." in react_block([update])


def test_a_description_cannot_end_the_docstring_of_a_stub() -> None:
    hostile = Tool("f", '"""\nimport os\n"""', {"type": "object", "properties": {}}, "read", lambda state: 1)
    tree = compile(python_stubs([hostile]), "stubs", "exec")
    assert "os" not in tree.co_names


def test_functions_that_do_not_describe_their_arguments_are_refused() -> None:
    def silent(state: int, x: int) -> int:
        return x

    def undescribed(state: int, x: int) -> int:
        """Return x."""
        return x

    def untyped(state: int, x) -> int:  # pyright: ignore
        """Return x.

        Args:
            x: A value.
        """
        return x  # pyright: ignore

    def mistaken(state: int) -> int:
        """Return 1.

        Args:
            y: A value.
        """
        return 1

    def opaque(state: int, x: object.__class__) -> int:
        """Return 1.

        Args:
            x: A value.
        """
        return 1

    for function, reason in (
        (silent, "has no docstring"),
        (undescribed, "'x' is not described"),
        (untyped, "'x' has no type"),
        (mistaken, "describes 'y'"),
        (opaque, "a type that JSON does not have"),
    ):
        with pytest.raises(TypeError, match=reason):
            tool("read")(function)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are called 'update'"):
        Toolset([update, update])
