"""Replies of resets and steps in OpenEnv's shape, made from the server's own reply.

{"observation": {"text": "...", "info": {}, "metadata": {"turn": 1, ...}},
 "reward": 0.0, "done": false, "metadata": {"turn": 1, ...}}
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from agentgym_server.wire.reply import Reply


def read(reply: Reply) -> dict[str, Any]:
    """The server's own reply as a parsed value."""
    return from_json(reply.body)


def played(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply of a reset or of a text action."""
    metadata = metadata_of(reply)
    observation = {"text": reply["observation"], "info": reply["info"], "metadata": metadata}
    return seen(reply, observation, reply["reward"])


def seen(reply: Mapping[str, Any], observation: dict[str, Any], reward: float) -> dict[str, Any]:
    """A reply with this observation and the fields beside it."""
    done = reply["terminated"] or reply["truncated"]
    return {"observation": observation, "reward": reward, "done": done, "metadata": observation["metadata"]}


def metadata_of(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of an observation."""
    return {name: reply[name] for name in ("terminated", "truncated", "session_id", "turn")}
