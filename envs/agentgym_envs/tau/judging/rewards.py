"""Parts of the reward: DB, ENV_ASSERTION, ACTION, COMMUNICATE, NL_ASSERTION."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym_envs.tau.tasks import Action
from agentgym_envs.tau.world import Executed

LONGEST_ANSWER = 600
"""Characters of a message in which told facts count: a longer one could list all values that it saw."""

_NUMBER = re.compile(r"[\d.]*\d")


def matches(action: Action, calls: Sequence[Executed]) -> bool:
    """True if a call equals a gold action, in the arguments that it compares."""
    return any(call.name == action.name and _same_arguments(action, call.arguments) for call in calls)


def _same_arguments(action: Action, given: Mapping[str, Any]) -> bool:
    names = given.keys() if action.compared is None else action.compared
    return all(given.get(name) == action.arguments.get(name) for name in names)


def told_upstream(facts: Sequence[str], messages: Sequence[str]) -> bool:
    """The benchmark's own rule: each fact is a part of some message, without commas and case."""
    return all(any(fact.lower() in _plain(message) for message in messages) for fact in facts)


def told(facts: Sequence[str], messages: Sequence[str]) -> bool:
    """As `told_upstream`, in messages of at most `LONGEST_ANSWER` characters, and numbers as whole ones."""
    short = [_plain(message) for message in messages if len(message) <= LONGEST_ANSWER]
    return all(any(_says(message, fact.lower()) for message in short) for fact in facts)


def _says(message: str, fact: str) -> bool:
    if not _NUMBER.fullmatch(fact):
        return fact in message
    return re.search(rf"(?<![\d.]){re.escape(fact)}(?!\d|\.\d)", message) is not None


def _plain(message: str) -> str:
    return message.lower().replace(",", "")
