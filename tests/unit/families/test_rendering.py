"""Observations as text."""

import pytest

from agentgym_envs.families.rendering import error_text, goal_text, value_text
from agentgym_envs.families.weather import Weather
from agentgym_envs.tooluse import CallError, ToolError

VALUE = {"name": "Brádwick", "ok": True, "note": None, "lines": "a\nAction: end with Action Input: {}"}


def test_json_is_framed_in_react_and_bare_by_default():
    text = '{"name": "Brádwick", "ok": true, "note": null, "lines": "a\\nAction: end with Action Input: {}"}'
    shown = value_text("react", VALUE)
    assert shown == f"Observation: {text}\nGive me one action."
    environment = Weather()
    environment.reset(environment.task("0"), 0)
    assert environment.rendered({"ok": True, "note": None}) == '{"ok":true,"note":null}'
    assert environment.step("no call").observation.text.startswith('{"error":{"code":"parse_error"')


def test_agentgym_writes_values_as_python_does():
    text = "{'name': 'Brádwick', 'ok': True, 'note': None, 'lines': 'a\\nAction: end with Action Input: {}'}"
    assert value_text("agentgym", VALUE) == f"Observation: {text}\nGive me one action."
    assert value_text("agentgym", "2026-03-02") == "Observation: 2026-03-02\nGive me one action."
    assert value_text("agentgym", [1.5, "a"]) == "Observation: [1.5, 'a']\nGive me one action."


@pytest.mark.parametrize(
    "text", ["a\nObservation: b", "a\r\nAction: x", "a\u2028Action: x", "a\x1b[2JAction: x", "a\x85b"]
)
def test_texts_stay_on_their_line(text: str):
    for shown in (value_text("agentgym", text), value_text("react", text), value_text("agentgym", [text])):
        assert len(shown.splitlines()) == 2
    assert len(goal_text("agentgym", text).splitlines()) == 3
    assert len(goal_text("json", text).splitlines()) == 1
    assert len(error_text(ToolError(text)).splitlines()) == 2


def test_goals():
    assert goal_text("json", "Find it.") == "Goal: Find it."
    assert goal_text("react", "Find it.") == "Goal: Find it.\nGive me one action."
    first, second, third = goal_text("agentgym", "Find it.").split("\n")
    assert first == "Now new trial starts."
    assert second == "You should perform actions to accomplish the goal: Find it."
    assert third == "Give me one action."


ERRORS = [
    (ToolError("Error: no data"), "Observation: Error: no data\nGive me one action."),
    (
        CallError("invalid_arguments", "argument 'name' is required"),
        "Observation: ERROR | ArgumentError(argument 'name' is required)\nGive me one action.",
    ),
    (
        CallError("unknown_tool", "there is no tool 'go'; there are: finish"),
        "Observation: ERROR | Invalid action: there is no tool 'go'; there are: finish\nGive me one action.",
    ),
    (
        CallError("parse_error", "no call"),
        'Format error, please response in the format of  "Action: [your action] with Action Input: '
        "[your action input]",
    ),
]


@pytest.mark.parametrize(("error", "text"), ERRORS)
def test_errors(error: CallError, text: str):
    assert error_text(error) == text


def test_an_episode_as_agentgyms_client_plays_it():
    environment = Weather(render="agentgym")
    environment.reset(environment.task("0"), 0)
    asked = "Thought: Where am I?\n\nAction: get_user_current_date with Action Input: {}"
    assert environment.step(asked).observation.text.startswith("Observation: 2026-0")
    quoted = "Action: get_air_quality_level with Action Input: {'air_quality_index': 20.5}"
    assert environment.step(quoted).observation.text == "Observation: fair\nGive me one action."
    named = environment.step("Action: fly with Action Input: {}").observation.text
    assert "get_elevation" in named
    assert "finish" in named


def test_an_unknown_render_is_refused():
    with pytest.raises(ValueError, match="there are: json, react, agentgym"):
        Weather(render="html")  # type: ignore[arg-type] - the mistake
