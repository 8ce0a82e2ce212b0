"""SQL in plain messages: a fenced block, or a bare statement."""

import re

from agentgym_envs.formats import after_thinking
from agentgym_envs.sql.executor.rules import READING, first_word

_FENCED = re.compile(r"```(?i:sql|sqlite)?[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)


def statement_in(message: str, words: frozenset[str] = READING) -> str | None:
    """The statement of a message: that of its last fenced block, or all of it; None if there is none.

    `words`: the words with which it may begin.
    """
    text = after_thinking(message) if "think>" in message else message
    for candidate in (*reversed(_FENCED.findall(text)), text):
        if first_word(candidate) in words:
            return candidate.strip()
    return None
