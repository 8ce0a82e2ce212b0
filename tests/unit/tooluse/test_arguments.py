"""Validation and coercion of arguments."""

import pytest

from agentgym_envs.tooluse.arguments import compiled
from agentgym_envs.tooluse.errors import CallError

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 10},
        "days": {"type": "integer", "minimum": 1, "maximum": 31},
        "share": {"type": "number"},
        "exact": {"type": "boolean"},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "ids": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        "note": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        "fields": {
            "type": "object",
            "properties": {"email": {"type": "string", "pattern": "@"}},
            "additionalProperties": False,
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}
check = compiled(SCHEMA)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"share": 2}, {"share": 2}),
        ({"share": "2.5"}, {"share": 2.5}),
        ({"share": "-3"}, {"share": -3}),
        ({"exact": "true"}, {"exact": True}),
        ({"exact": "False"}, {"exact": False}),
        ({"days": 3.0}, {"days": 3}),
        ({"note": None}, {"note": None}),
        ({"either": ["x"]}, {"either": ["x"]}),
        ({"fields": {"email": "a@b"}}, {"fields": {"email": "a@b"}}),
    ],
)
def test_values_are_read_and_coerced(given: dict[str, object], read: dict[str, object]) -> None:
    assert check({"city": "Bern", **given}, "") == {"city": "Bern", **read}


@pytest.mark.parametrize(
    ("given", "argument", "message", "expected"),
    [
        ({}, "city", "is required", {"type": "string"}),
        ({"city": 3}, "city", "must be of type string, not integer", {"type": "string"}),
        ({"city": None}, "city", "must be of type string, not null", {"type": "string"}),
        ({"city": ""}, "city", "must have a length of at least 1", {"minLength": 1}),
        ({"city": "x" * 11}, "city", "must have a length of at most 10", {"maxLength": 10}),
        ({"city": "x", "days": "3"}, "days", "must be of type integer, not string", {"type": "integer"}),
        ({"city": "x", "days": 2.5}, "days", "must be of type integer, not number", {"type": "integer"}),
        ({"city": "x", "days": True}, "days", "must be of type integer, not boolean", {"type": "integer"}),
        ({"city": "x", "days": 32}, "days", "must be at most 31", {"maximum": 31}),
        ({"city": "x", "share": "much"}, "share", "must be of type number, not string", {"type": "number"}),
        ({"city": "x", "share": "nan"}, "share", "must be of type number, not string", {"type": "number"}),
        ({"city": "x", "share": "٣"}, "share", "must be of type number, not string", {"type": "number"}),
        ({"city": "x", "exact": 1}, "exact", "must be of type boolean, not integer", {"type": "boolean"}),
        ({"city": "x", "unit": "K"}, "unit", "must be one of: C, F", ["C", "F"]),
        ({"city": "x", "ids": [1, "2"]}, "ids[1]", "must be of type integer", {"type": "integer"}),
        ({"city": "x", "ids": [1, 2, 3]}, "ids", "number of items of at most 2", {"maxItems": 2}),
        ({"city": "x", "note": 4}, "note", "must be of type string or null", {"type": ["string", "null"]}),
        ({"city": "x", "either": [1]}, "either[0]", "must be of type string", {"type": "string"}),
        ({"city": "x", "fields": {"email": "b"}}, "fields.email", "has another form", {"pattern": "@"}),
        ({"city": "x", "fields": {"mail": "b"}}, "fields.mail", "there are: email", ["email"]),
    ],
)
def test_refusals_name_the_argument_and_what_is_expected(
    given: dict[str, object], argument: str, message: str, expected: object
) -> None:
    with pytest.raises(CallError) as raised:
        check(given, "")
    assert raised.value.code == "invalid_arguments"
    assert (raised.value.argument, raised.value.expected) == (argument, expected)
    assert message in raised.value.message


def test_a_schema_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown type 'dict'"):
        compiled({"type": "dict"})


def test_a_pattern_of_another_dialect_is_left_to_the_tool() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": r"^\p{L}+$"}}}
    assert compiled(schema)({"name": "x1"}, "") == {"name": "x1"}
