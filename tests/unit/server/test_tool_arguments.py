"""Arguments of tool calls against JSON schemas: what fits, and how it is said what does not."""

from typing import Any

import pytest

from agentgym_server.dialects.tool_arguments import misfits
from agentgym_server.wire import strict_json


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        ({}, 5, []),
        ({"type": "what"}, 5, []),
        ({"type": ["string", "null"]}, None, []),
        ({"type": ["string", "null"]}, 5, [("", "must be of type string or null")]),
        ({"type": "number"}, 5, []),
        ({"type": "number"}, True, [("", "must be of type number")]),
        ({"type": "boolean"}, 0, [("", "must be of type boolean")]),
        ({"type": "number"}, "-1.5e3", []),
        ({"type": "number"}, "1,5", [("", "must be of type number")]),
        ({"type": "number", "enum": [1.5]}, "1.5", []),
        ({"type": "number", "enum": [1.5]}, "2.5", [("", "must be one of the values that the schema lists")]),
        ({"type": "boolean"}, "True", []),
        ({"type": "boolean"}, "yes", [("", "must be of type boolean")]),
        ({"type": "integer"}, 2.0, []),
        ({"type": "integer"}, 2.5, [("", "must be of type integer")]),
        ({"type": "string"}, 5, [("", "must be of type string")]),
        ({"properties": {"a": {"type": "integer"}}}, {"a": None}, []),
        (
            {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"a": None},
            [("/a", "must be of type integer")],
        ),
        (
            {"properties": {"a": {"properties": {"b": {"type": "integer"}}}}},
            {"a": {"b": None}},
            [("/a/b", "must be of type integer")],
        ),
        ({"enum": [1, 2]}, True, [("", "must be one of the values that the schema lists")]),
        ({"enum": [1, 2]}, 1.0, []),
        ({"type": "array", "items": {"type": "string"}}, ["a", 5], [("/1", "must be of type string")]),
        (
            {"properties": {"a": {"required": ["b"]}}},
            {"a": {}},
            [("/a/b", "is required")],
        ),
        ({"additionalProperties": {"type": "integer"}}, {"x": "1"}, [("/x", "must be of type integer")]),
        ({"type": "object", "additionalProperties": False}, {"x": 1}, [("/x", "unknown argument")]),
        ({"properties": None, "required": None}, {"x": 1}, []),
    ],
)
def test_arguments_are_held_against_the_schema(schema: Any, value: Any, wrong: Any):
    assert list(misfits(schema, value)) == wrong


def test_the_deepest_json_that_is_read_can_be_checked():
    deep = strict_json.parse(b"[" * 64 + b"]" * 64)
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    assert list(misfits(schema, deep)) == []
