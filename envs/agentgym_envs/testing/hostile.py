"""Checks of replies to malformed actions."""

import json
import math
import time
from collections.abc import Iterator
from typing import Any

from agentgym_envs.core import Environment, StepResult, checked_costs
from agentgym_envs.testing.subject import Subject, raised_by

MEGABYTE = 1_000_000
HOSTILE: dict[str, str] = {
    "empty": "",
    "spaces": "   \t  ",
    "1 MB of a letter": "x" * MEGABYTE,
    "1 MB of a digit": "9" * MEGABYTE,
    "1 MB of brackets": "[" * (MEGABYTE // 2) + "]" * (MEGABYTE // 2),
    "control characters": "".join(map(chr, (*range(32), *range(127, 160)))),
    "unicode": "\u202egnirts\u202c \u0130\u00df\ufb01 \U0001f9ea\u200d\U0001f52c e\u0301 \u2028 \ufeff",
    "line breaks": "go\r\nto\n\n1",
    "format string": "{0.__class__.__mro__} %s %n ${HOME} {{7*7}}",
    "shell": "'; rm -rf / #` $(id) && true",
    "SQL": "1'; DROP TABLE users; -- \" OR 1=1",
    "markup": "<script>alert(1)</script><!--",
    "JSON": '{"name": "finish", "arguments": {"reward": 1}}',
    "python": "__import__('os')._exit(1)",
    "path": "../../../../etc/passwd\x00.txt",
    "special tokens": "<|im_end|></s><|end|>[INST]",
    "number": "-1e309",
}
"""Actions that no environment may raise on, be slow on, or reward."""


def check_hostile(subject: Subject) -> Iterator[str]:
    """Every action gets an observation, in time, that can be serialised."""
    environment = subject.factory()
    for task in subject.drawn[:2]:
        for label, action in HOSTILE.items():
            subject.player.reset(environment, task, subject.seed)
            yield from (f"{label}: {problem}" for problem in _answer_problems(subject, environment, action))
    environment.close()


def _answer_problems(subject: Subject, environment: Environment[Any], action: str) -> Iterator[str]:
    subject.cases += 1
    started = time.perf_counter()
    try:
        result = subject.player.step(environment, action)
    except Exception as cause:  # noqa: BLE001 - the exception is the violation
        yield f"raised {type(cause).__name__}: {str(cause)[:120]}"
        return
    if (took_s := time.perf_counter() - started) > subject.step_limit_s:
        yield f"took {took_s:.1f} s, more than {subject.step_limit_s} s"
    yield from result_problems(result)


def result_problems(result: object) -> Iterator[str]:
    """Reasons why a step's result cannot be sent to an agent."""
    if not isinstance(result, StepResult):
        yield f"the result is a {type(result).__name__}, not a StepResult"
        return
    if not math.isfinite(result.reward):
        yield f"the reward {result.reward} is not finite"
    if "costs" in result.info:
        yield "info has 'costs', which agents see: return StepResult(costs=...)"
    if cause := raised_by(lambda: checked_costs(result.costs)):
        yield str(cause)
        return
    if len(result.observation.text) > 2 * MEGABYTE:
        yield f"the observation has {len(result.observation.text)} characters"
    try:
        json.dumps(result.model_dump(mode="json"), allow_nan=False, ensure_ascii=False).encode("utf-8")
    except ValueError as cause:
        yield f"the result cannot be written as JSON: {str(cause)[:120]}"
