"""Actions of a conversation: `Action`, its text, and the readers of an agent's reply."""

import json
import re
from dataclasses import dataclass
from typing import ClassVar, Literal, cast, get_args

from pydantic import ConfigDict

ActionType = Literal["none", "speak", "non-verbal communication", "action", "leave"]
ACTION_TYPES: tuple[ActionType, ...] = get_args(ActionType)
"""The types in the order of prompts and masks."""
LEFT = "left the conversation"
MOST_CHARACTERS = 16_384
"""The longest argument of an action."""

_BRACKETED = re.compile(r"\[(action|non-verbal communication)\][ \t]*(.*)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n?```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Action:
    """Action of one agent in one step. Raises `ValueError` for an unknown type.

    Conversations that are open hold many: as a pydantic model each would take 350 bytes more.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    action_type: ActionType
    argument: str = ""
    """The words, the gesture or the act; without meaning for `none` and `leave`."""

    def __post_init__(self) -> None:
        if self.action_type not in ACTION_TYPES:
            raise ValueError(
                f"action_type is {str(self.action_type)[:80]!r}, not one of {', '.join(ACTION_TYPES)}"
            )

    @property
    def json(self) -> str:
        """The action as an agent writes it (`from_json`)."""
        fields = {"action_type": self.action_type, "argument": self.argument}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    @property
    def text(self) -> str:
        """The action as others read it, after the agent's name."""
        match self.action_type:
            case "none":
                return "did nothing"
            case "speak":
                return f'said: "{self.argument}"'
            case "leave":
                return LEFT
            case _:
                return f"[{self.action_type}] {self.argument}"


NOTHING = Action(action_type="none")


class ReplyError(ValueError):
    """A reply that is no action; the message says why, in words for the agent."""


def from_json(reply: str) -> Action:
    """The action of a JSON reply, optionally in a code fence; raises `ReplyError`."""
    fenced = _FENCE.match(reply.strip())
    try:
        found = json.loads(fenced[1] if fenced else reply)
    except (ValueError, RecursionError):
        raise ReplyError('the reply is not JSON; write {"action_type": ..., "argument": ...}') from None
    if not isinstance(found, dict):
        raise ReplyError('the reply is not a JSON object; write {"action_type": ..., "argument": ...}')
    fields = cast("dict[str, object]", found)
    if unknown := set(fields) - {"action_type", "argument", "to"}:
        raise ReplyError(f"unknown field {sorted(unknown)[0][:80]!r}")
    if fields.get("to"):
        raise ReplyError("`to` is not empty: there are no private messages between two characters")
    kind, argument = fields.get("action_type"), fields.get("argument")
    if kind not in ACTION_TYPES:
        raise ReplyError(f"action_type is {str(kind)[:80]!r}, not one of {', '.join(ACTION_TYPES)}")
    if not isinstance(argument, str):
        raise ReplyError("argument is not a text")
    return Action(action_type=kind, argument=_bounded(argument))


def from_text(reply: str) -> Action:
    """The action of a plain reply: words to say, `[action] ...`, `[non-verbal communication] ...`, or the
    whole text `left the conversation`; an empty reply does nothing. Raises `ReplyError`.
    """
    text = reply.strip()
    if not text:
        return NOTHING
    if text.casefold().rstrip(".") == LEFT:
        return Action(action_type="leave")
    if bracketed := _BRACKETED.fullmatch(text):
        kind = cast("ActionType", bracketed[1].lower())
        return Action(action_type=kind, argument=_bounded(bracketed[2]))
    return Action(action_type="speak", argument=_bounded(text))


def whole(text: str) -> str:
    """The text with `?` for each half of a character (a lone surrogate), which no reply can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _bounded(argument: str) -> str:
    if len(argument) > MOST_CHARACTERS:
        raise ReplyError(f"the argument has {len(argument):,} characters, more than {MOST_CHARACTERS:,}")
    return whole(argument)
