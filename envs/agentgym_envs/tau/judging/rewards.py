"""Parts of the reward: DB, ENV_ASSERTION, ACTION, COMMUNICATE, NL_ASSERTION."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym_envs.tau.tasks import Action
from agentgym_envs.tau.world import Executed

LONGEST_ANSWER = 600
"""Characters of a message in which told facts count: a longer one could list all values that it saw."""

_STARTS_WITH_NUMBER = re.compile(r"\.?\d")
_ENDS_WITH_DIGIT = re.compile(r"\d\Z")
_NO_TOKEN_BEFORE, _NO_TOKEN_AFTER = r"(?<![\w.])", r"(?!\w|\.\d)"


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
    """As `told_upstream`, in messages of at most `LONGEST_ANSWER` characters, and numbers as whole ones: the
    digits with which a fact begins or ends are neither a part of a word nor of a longer number.
    """
    short = [_plain(message) for message in messages if len(message) <= LONGEST_ANSWER]
    return all(any(_says(message, fact.lower()) for message in short) for fact in facts)


def _says(message: str, fact: str) -> bool:
    before = _NO_TOKEN_BEFORE if _STARTS_WITH_NUMBER.match(fact) else ""
    after = _NO_TOKEN_AFTER if _ENDS_WITH_DIGIT.search(fact) else ""
    return re.search(f"{before}{re.escape(fact)}{after}", message) is not None


def _plain(message: str) -> str:
    return message.lower().replace(",", "")
