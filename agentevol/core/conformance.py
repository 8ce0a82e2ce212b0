"""Results of the checks of a contract: violations as sentences, an exception as one of them."""

from collections.abc import Callable, Iterator
from itertools import islice

from agentevol.core.errors import one_line
from agentgym_envs.testing import CheckResult

Violations = Iterator[str | None]
"""None for a case that holds and a sentence for one that does not."""

MOST_VIOLATIONS = 20


def check_result(name: str, check: Callable[[], Violations]) -> CheckResult:
    """Run one check; whatever it raises is a violation."""
    cases, violations = 0, list[str]()
    try:
        for violation in check():
            cases += 1
            violations += [] if violation is None else [violation]
    except Exception as cause:  # noqa: BLE001 - whatever a user's object raises is a finding
        cases += 1
        violations.append(f"raised {type(cause).__name__}: {one_line(cause)}")
    return CheckResult(name=name, cases=cases, violations=tuple(islice(violations, MOST_VIOLATIONS)))


def unless(holds: bool, violation: str) -> str | None:
    """None where it holds, else the sentence."""
    return None if holds else violation
