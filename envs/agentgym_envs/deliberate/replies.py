"""Replies in a thinking mode: their every section, and the answer, is one word.

Two surfaces. `compact` is one line for tiny models with a vocabulary of words, in this project's own form;
`full` is AMPO's text, which `agentgym_envs.thinking` checks strictly. Mode 2 in compact form:

    Level 2 Intent 2 Style 4 Response 3 Answer 3
"""

from collections.abc import Sequence
from typing import Literal

from agentgym_envs import thinking
from agentgym_envs.thinking import HEADERS, Reply

Surface = Literal["compact", "full"]

LONGEST = 4096
"""Maximum length of a reply that is read; well-formed ones have fewer than 500 characters."""


def read(text: str, surface: Surface) -> Reply:
    """The reply in a message; `answer` is without quotes. Any text is accepted."""
    if len(text) > LONGEST:
        return Reply(mode=-1, fault="outside_template")
    return _read_compact(text.split()) if surface == "compact" else _read_full(text)


def write(mode: int, words: Sequence[str], answer: str, surface: Surface) -> str:
    """The message of a reply whose sections hold `words`."""
    if surface == "full":
        return thinking.render(mode, words, answer)
    thought = [word for section in zip(HEADERS[mode], words, strict=True) for word in section]
    return " ".join(["Level", str(mode), *thought, "Answer", answer])


def _read_compact(words: Sequence[str]) -> Reply:
    modes = {str(mode): mode for mode in HEADERS}
    if len(words) < 2 or words[0] != "Level" or words[1] not in modes:
        return Reply(mode=-1, fault="no_level")
    mode = modes[words[1]]
    headers, bodies = tuple(words[2::2]), tuple(words[3::2])
    if "Answer" not in headers:
        return Reply(mode=-1, fault="missing_tag")
    if headers != (*HEADERS[mode], "Answer"):
        return Reply(mode=-1, fault="header_order")
    if len(bodies) < len(headers):
        return Reply(mode=-1, fault="missing_tag")
    return Reply(mode, bodies[-1], bodies[:-1])


def _read_full(text: str) -> Reply:
    reply = thinking.check(text, strict=True)
    if reply.answer is None:
        return reply
    answer = reply.answer[1:-1]
    if any(len(piece.split()) != 1 for piece in (*reply.sections, answer)):
        return Reply(mode=-1, fault="outside_template")
    return Reply(reply.mode, answer, reply.sections)
