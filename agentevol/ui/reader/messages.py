"""The agent's message of a turn, split into what precedes its action, the action, and what follows it."""

from dataclasses import dataclass

from agentgym_envs.thinking import parts


@dataclass(frozen=True)
class Message:
    """Parts of a message; joined, they are the message."""

    thought: str
    action: str
    rest: str = ""


def split_message(message: str, action: str) -> Message:
    """Split a message at its action, which is looked for from the end.

    > split_message("Thought: left.\\nAction: go left", "go left")
    Message("Thought: left.\\nAction: ", "go left", "")

    Where the action is not a part of the message, the whole message is the thought.
    """
    place = message.rfind(action) if action else -1
    if place >= 0:
        return Message(message[:place], action, message[place + len(action) :])
    return Message(message, action)


def mode_of(info: dict[str, object], message: str) -> str:
    """Thinking mode of a turn: `2`, `malformed`; empty where there is none."""
    mode = info.get("mode")
    if isinstance(mode, int):
        return "malformed" if mode < 0 else str(mode)
    return "" if parts(message) is None else message.partition("Level:")[2].strip()[:1]
