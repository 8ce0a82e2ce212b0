"""Observations as text: JSON, or AgentGym's lines.

json      {"elevation": 162}
react     Observation: {"elevation": 162}
          Give me one action.
agentgym  Observation: {'elevation': 162}
          Give me one action.

The text of data stays on its line, so that it cannot imitate an action or an observation.
"""

import json
from typing import Literal

from agentgym_envs.tooluse import CallError, ToolError

Render = Literal["json", "react", "agentgym"]
RENDERS = ("json", "react", "agentgym")

FORMAT_ERROR = (
    'Format error, please response in the format of  "Action: [your action] with Action Input: '
    "[your action input]"
)
"""AgentGym's own words, also where they are not English."""
ERRORS = {
    "invalid_arguments": "ArgumentError",
    "limit": "LimitError",
    "episode_done": "EpisodeDone",
}

encode = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode


def goal_text(render: Render, goal: str) -> str:
    """The first observation."""
    line = one_line(goal)
    if render == "agentgym":
        return (
            "Now new trial starts.\n"
            f"You should perform actions to accomplish the goal: {line}\nGive me one action."
        )
    return f"Goal: {line}" + ("\nGive me one action." if render == "react" else "")


def value_text(render: Render, value: object) -> str:
    """The result of a tool, other than as JSON."""
    return framed(json_line(value) if render == "react" else python_text(value))


def error_text(error: CallError) -> str:
    """An error of a call, other than as JSON."""
    if error.code == "parse_error":
        return FORMAT_ERROR
    if isinstance(error, ToolError):
        return framed(one_line(error.message))
    if error.code == "unknown_tool":
        return framed(f"ERROR | Invalid action: {one_line(error.message)}")
    return framed(f"ERROR | {ERRORS[error.code]}({one_line(error.message)})")


def json_line(value: object) -> str:
    """A JSON value on one line also for those who break lines at other characters than line feeds."""
    text = encode(value)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def python_text(value: object) -> str:
    """A JSON value as Python writes it; a text without quotes."""
    return one_line(value) if isinstance(value, str) else repr(value)


def one_line(text: str) -> str:
    """A text whose line breaks and other control characters are written as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def framed(text: str) -> str:
    """A text as AgentGym's observation."""
    return f"Observation: {text}\nGive me one action."
