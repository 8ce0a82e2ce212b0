"""Replies of agents: the first search or answer in tags, as AgentGym-RL's environment reads them."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from agentgym_envs.searchqa.records import Passage

RIGHT: Final = "Congratulations! You have answered the question correctly."
WRONG: Final = "Sorry, your answer is incorrect. Please try again."
LOST: Final = "Sorry, your answer is incorrect."
"""The reply to a wrong answer after which the episode ends."""
INVALID: Final = (
    "Your previous action is invalid. If you want to search, you should put the query between <search> and"
    " </search>. If you want to give the final answer, you should put the answer between <answer> and"
    " </answer>. Please try again."
)
RULES: Final = (
    "Think between <think> and </think> first. To look something up, write a query between <search> and"
    " </search>, and stop: the passages that are found come between <information> and </information>. Think"
    " again about what they say, and search again where you need to. When you know the answer, write it"
    " between <answer> and </answer>, without an explanation, for example <answer> Beijing </answer>."
)

_TAG = re.compile(r"<(search|answer)>(.*?)</\1>", re.DOTALL)


class Reply(NamedTuple):
    """Request of a reply: `search` or `answer`, and its text."""

    kind: str
    text: str


def parsed(reply: str) -> Reply | None:
    """The first search or answer; None where there is none."""
    found = _TAG.search(reply)
    return Reply(found[1], found[2].strip()) if found else None


def shown(passages: Sequence[Passage]) -> str:
    """Observation of a search."""
    lines = [f"Doc {at}(Title: {one.title}) {one.text}\n" for at, one in enumerate(passages, 1)]
    return f"<information>{''.join(lines).strip()}</information>"


def asked(question: str) -> str:
    """First observation."""
    return f"{RULES}\n\nQuestion: {question.strip()}"


def searching(thought: str, query: str) -> str:
    """Reply that searches."""
    return f"<think>{thought}</think>\n<search>{query}</search>"


def answering(thought: str, answer: str) -> str:
    """Reply that answers."""
    return f"<think>{thought}</think>\n<answer>{answer}</answer>"
