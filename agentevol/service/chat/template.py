"""Chat template with tools, rendered to token ids; sampled ids are never encoded again.

prompt    the whole conversation, rendered afresh
extended  prompt and sampled ids, then the template's text after an assistant's message
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jinja2 import TemplateError

from agentevol.models.rendering import ACTION_MARK, ChatRenderer
from agentevol.service.chat.messages import ChatMessage, ToolCall
from agentevol.service.errors import invalid

Tools = Sequence[dict[str, Any]]

TOOL = {"type": "function", "function": {"name": "probe-tool", "description": "?", "parameters": {}}}
ASKED = ChatMessage("user", "?")
CALLING = ChatMessage("assistant", "", (ToolCall("probe", "probe-call", {}),))
ANSWERING = ChatMessage("tool", "probe-answer", name="probe-call", tool_call_id="probe")
FAULTS = (TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError)
"""Exceptions that a template may raise for unsupported messages."""


class ChatTemplate:
    """Chat template of one set of weights, and the members that it supports."""

    def __init__(self, renderer: ChatRenderer) -> None:
        self.renderer = renderer
        self.takes_tools = self._shows("probe-tool", ASKED)
        self.takes_calls = self._shows("probe-call", ASKED, CALLING, replace(ANSWERING, name=None))
        self.takes_answers = self._shows("probe-answer", ASKED, CALLING, ANSWERING)

    def check(self, messages: Sequence[ChatMessage], tools: Tools) -> None:
        """Raise `Refusal` for members that the template would drop silently."""
        found = (
            ("tools", self.takes_tools, bool(tools)),
            ("tool_calls of assistants", self.takes_calls, any(message.tool_calls for message in messages)),
            ("messages of role tool", self.takes_answers, any(one.role == "tool" for one in messages)),
        )
        for what, taken, given in found:
            if given and not taken:
                raise invalid(
                    f"the chat template of this model has no place for {what}: write them into the messages,"
                    " or serve a model whose template has",
                    "tools" if what == "tools" else "messages",
                    "unsupported_by_template",
                )

    def prompt(self, messages: Sequence[ChatMessage], tools: Tools) -> list[int]:
        """Ids of a conversation up to the start of the assistant's reply. Raises `Refusal`."""
        return self._encoded(self._rendered(messages, tools))

    def extended(self, seen_ids: Sequence[int], messages: Sequence[ChatMessage], tools: Tools) -> list[int]:
        """`seen_ids`, which end with the assistant's reply, extended by `messages` up to its next reply.

        Raises `Refusal`.
        """
        mark = ACTION_MARK
        while mark in json.dumps(list(tools), ensure_ascii=False):
            mark += "-"
        exchange = [ASKED, ChatMessage("assistant", mark), *messages]
        added = self._encoded(self._rendered(exchange, tools).partition(mark)[2])
        ended = bool(seen_ids) and seen_ids[-1] == self.renderer.end_id
        return [*seen_ids, *(added[1:] if ended else added)]

    def _encoded(self, text: str) -> list[int]:
        return list(self.renderer.tokenizer.encode(text, add_special_tokens=False))

    def _rendered(self, messages: Sequence[ChatMessage], tools: Tools) -> str:
        self.check(messages, tools)
        try:
            return self._text(messages, tools)
        except FAULTS as cause:
            raise invalid(f"the chat template refuses these messages: {cause}", "messages") from cause

    def _text(self, messages: Sequence[ChatMessage], tools: Tools) -> str:
        text = self.renderer.tokenizer.apply_chat_template(
            [message.for_template() for message in messages],
            tools=list(tools) or None,  # pyright: ignore[reportArgumentType]
            add_generation_prompt=True,
            tokenize=False,
        )
        if not isinstance(text, str):
            raise TypeError(f"the chat template gave {type(text).__name__}, not text")
        return text

    def _shows(self, word: str, *messages: ChatMessage) -> bool:
        """True if the rendering of these messages and a tool contains the word."""
        try:
            return word in self._text(messages, [TOOL])
        except FAULTS:
            return False
