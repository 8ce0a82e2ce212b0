"""Observations of an agent in a seat, and the actions in its messages: `observed`, `action_in`."""

from typing import Final

from agentgym_envs.formats import THINKING, after_thinking
from agentgym_envs.sotopia.options import Form, Options
from agentgym_envs.sotopia.protocol.actions import Action, from_json, from_text
from agentgym_envs.sotopia.protocol.conversation import Conversation, told
from agentgym_envs.sotopia.protocol.prompts import agent_prompt

HOW: Final = {
    "json": 'Note: each of your messages is one JSON object: {"action_type": "speak", "argument": "..."}.'
    " Action types: none, speak, non-verbal communication, action, leave.",
    "text": "Note: what you write is said. `[action] ...` and `[non-verbal communication] ...` are done, the"
    " whole message `left the conversation` leaves, and an empty one does nothing.",
}
"""Notes to an agent on its messages, by their form."""


def observed(talk: Conversation, seat: int, seen: int | None, options: Options) -> str:
    """News of a seat that has observed `seen` steps; None: with its background, too."""
    if options.observation == "prompt" and not talk.ended:
        return agent_prompt(talk, seat)
    lines = talk.news(seat, seen or 0)
    if seen is None:
        lines = [talk.backgrounds[seat], HOW[options.actions], "Conversation Starts:", *lines]
    return "\n".join([*lines, told(talk.end_reasons)] if talk.ended else lines)


def action_in(message: str, form: Form) -> Action:
    """The action in a message, without a thought at its start, which nobody else may read.

    Raises `ReplyError`.
    """
    said = after_thinking(message) if message.lstrip().startswith(THINKING) else message
    return from_json(said) if form == "json" else from_text(said)


def refused(reason: object) -> str:
    """Observation of an agent whose message is no action, and which may write another one."""
    return f"That is no action: {reason}. Write it again."
