"""Documents of functions become tools with JSON schemas."""

import json

import pytest
from support.bfcl import DOCUMENTS, TEXTS, document

from agentgym_envs.bfcl.documents import Documents, named_arguments, tool_of
from agentgym_envs.tooluse import Call, CallError, parse
from agentgym_envs.tooluse.renderings import mcp_tools, openai_functions, python_stubs, react_block

EVERY_TYPE = document(
    "measure",
    ["length"],
    length={"type": "float", "description": "In metres."},
    places={"type": "integer", "default": 2},
    names={"type": "array", "items": {"type": "string"}},
    options={"type": "dict", "properties": {"exact": {"type": "boolean"}}},
    free={"type": "dict"},
    unit={"type": "string", "default": "None"},
)


def test_a_document_becomes_a_json_schema() -> None:
    assert tool_of("TicketAPI", EVERY_TYPE).parameters == {
        "type": "object",
        "properties": {
            "length": {"type": "number", "description": "In metres."},
            "places": {"type": "integer", "default": 2},
            "names": {"type": "array", "items": {"type": "string"}},
            "options": {
                "type": "object",
                "properties": {"exact": {"type": "boolean"}},
                "additionalProperties": False,
            },
            "free": {"type": "object"},
            "unit": {"type": ["string", "null"]},
        },
        "additionalProperties": False,
        "required": ["length"],
    }


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"length": 2}, {"length": 2}),
        ({"length": "2.5", "unit": None}, {"length": 2.5, "unit": None}),
        ({"length": 1, "options": {"exact": "true"}}, {"length": 1, "options": {"exact": True}}),
        ({"length": 1, "free": {"any": [1]}}, {"length": 1, "free": {"any": [1]}}),
    ],
)
def test_arguments_are_validated_against_it(arguments: dict[str, object], found: object) -> None:
    assert tool_of("TicketAPI", EVERY_TYPE).check(arguments, "") == found


@pytest.mark.parametrize(
    ("arguments", "bad"),
    [
        ({}, "length"),
        ({"length": "long"}, "length"),
        ({"length": 1, "self": 1}, "self"),
        ({"length": 1, "places": "two"}, "places"),
        ({"length": 1, "options": {"precise": True}}, "options.precise"),
        ({"length": 1, "names": [1]}, "names[0]"),
    ],
)
def test_other_arguments_are_refused_by_name(arguments: dict[str, object], bad: str) -> None:
    with pytest.raises(CallError) as refused:
        tool_of("TicketAPI", EVERY_TYPE).check(arguments, "")
    assert (refused.value.code, refused.value.argument) == ("invalid_arguments", bad)


def test_positional_arguments_are_in_the_documented_order() -> None:
    tool = DOCUMENTS.every["create_ticket"]
    (call,) = parse("create_ticket('Leak', 2, note='wet')", python=True)
    assert named_arguments(tool, call) == {"title": "Leak", "priority": 2, "note": "wet"}


@pytest.mark.parametrize("text", ["create_ticket('a', 1, 'b', 2)", "create_ticket('a', title='b')"])
def test_too_many_arguments_and_those_given_twice_are_refused(text: str) -> None:
    (call,) = parse(text, python=True)
    with pytest.raises(CallError):
        named_arguments(DOCUMENTS.every["create_ticket"], call)


def test_tools_are_those_of_the_classes_without_the_hidden_ones() -> None:
    classes = ("TicketAPI", "MessageAPI")
    assert list(DOCUMENTS.tools(classes, frozenset({"send"}), False)) == [
        *("get_ticket", "close_ticket", "create_ticket"),
        "list_users",
    ]
    assert list(DOCUMENTS.every) == ["get_ticket", "close_ticket", "create_ticket", "list_users", "send"]


def test_ids_may_be_strings_where_the_world_has_such() -> None:
    plain = DOCUMENTS.tools(("TicketAPI",), frozenset(), False)["close_ticket"]
    textual = DOCUMENTS.tools(("TicketAPI",), frozenset(), True)["close_ticket"]
    assert textual.check({"ticket_id": "t-1"}, "") == {"ticket_id": "t-1"}
    assert textual.check({"ticket_id": 1}, "") == {"ticket_id": 1}
    with pytest.raises(CallError):
        plain.check({"ticket_id": "t-1"}, "")


@pytest.mark.parametrize("name", ["_load_scenario", "__init__", "a b", "", "os.system", "x" * 65])
def test_a_document_of_what_is_no_public_function_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no public function"):
        tool_of("TicketAPI", {**EVERY_TYPE, "name": name})


@pytest.mark.parametrize("broken", [{}, {"name": "a"}, {"name": 1}, {**EVERY_TYPE, "parameters": []}])
def test_a_document_of_another_form_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="of TicketAPI"):
        tool_of("TicketAPI", broken)


def test_two_functions_of_one_name_are_refused() -> None:
    twice = {**TEXTS, "MathAPI": json.dumps(document("send"))}
    with pytest.raises(ValueError, match="two tools are called 'send'"):
        Documents(twice)


def test_a_class_without_documents_is_an_error() -> None:
    with pytest.raises(ValueError, match="no documents of MathAPI"):
        DOCUMENTS.tools(("MathAPI",), frozenset(), False)


def test_all_renderings_have_the_same_names_and_parameters() -> None:
    tools = list(DOCUMENTS.every.values())
    openai, mcp = openai_functions(tools), mcp_tools(tools)
    assert (
        [one["function"]["name"] for one in openai] == [one["name"] for one in mcp] == list(DOCUMENTS.every)
    )
    assert [one["function"]["parameters"] for one in openai] == [one["inputSchema"] for one in mcp]
    assert "Name: create_ticket(title, priority, note)" in react_block(tools)
    assert "def create_ticket(self, title: str, priority: int = 1, note: str | None = None)" in python_stubs(
        tools
    )


def test_a_call_without_arguments_has_none() -> None:
    assert named_arguments(DOCUMENTS.every["list_users"], Call("list_users", {})) == {}
