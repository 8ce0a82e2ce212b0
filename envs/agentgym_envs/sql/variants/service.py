"""The rule by which tasks are served: their databases tell the gold from constants and from mistakes.

A database counts for a task if the gold's result on it is neither empty nor NULL only. A task is served if
at least three databases count, the base among them, the gold's results on them are not all equal, no constant
query matches on all of them, and most mutants of the gold differ on at least one. Variants are added, up to
eight, until every mutant differs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentgym_envs.sql.comparison.expectation import Expected, UnusableGold, expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.executor.database import Database
from agentgym_envs.sql.executor.results import Result
from agentgym_envs.sql.variants.mutants import Mutant, mutants
from agentgym_envs.sql.variants.schema import Table

LEAST, MOST = 3, 8
"""Numbers of variants."""
LEAST_COUNTING = 3
LEAST_KILLED = 0.5
"""Share of its mutants that must differ from a gold; some mutants of many golds mean the same as they."""
CONSTANTS = (
    "SELECT 1 WHERE 0",
    *(f"SELECT {number}" for number in range(11)),
    "SELECT NULL",
    "SELECT 'Yes'",
    "SELECT 'No'",
)


class Service(NamedTuple):
    """Judgement of a task."""

    counting: tuple[int, ...]
    """Numbers of the databases by which predictions are judged, 0 for the base; () if it is not served."""
    reason: str = ""
    """Reason for which it is not served."""
    killed: tuple[str, ...] = ()
    """Kinds of the mutants that differ from the gold on a database that counts."""
    alive: tuple[str, ...] = ()
    """Kinds of the other mutants that can be executed."""

    @property
    def served(self) -> bool:
        """True if the task is served."""
        return bool(self.counting)


def judge(
    databases: Sequence[Database],
    gold: str,
    schema: Sequence[Table] = (),
    *,
    least_killed: float = LEAST_KILLED,
) -> Service:
    """The judgement of a gold by its base and variants, in their order."""
    try:
        base = expected(databases[0], gold)
    except UnusableGold as cause:
        return Service((), f"gold unusable: {cause}")
    if base.empty:
        return Service((), "the result on the base is empty")
    left = _executable(databases[0], mutants(gold, schema))
    constants = {constant: databases[0].run(constant) for constant in CONSTANTS}  # alike on all databases
    allowed = {0: base}
    result = databases[0].run(gold)
    alive = _alive(databases[0], base, left)
    for number in range(1, min(MOST, len(databases) - 1) + 1):
        try:
            found = expected(databases[number], gold)
        except UnusableGold:
            continue
        if not found.empty:
            allowed[number] = found
            alive = _alive(databases[number], found, alive)
        if number >= LEAST and not alive and not _objection(result, allowed, constants):
            break
    reason = _objection(result, allowed, constants)
    kinds = Counter(mutant.kind for mutant in left)
    kinds.subtract(mutant.kind for mutant in alive)
    killed, living = tuple(kinds.elements()), tuple(mutant.kind for mutant in alive)
    if not reason and len(killed) < least_killed * len(left):
        reason = "its mutants have its results"
    return Service(() if reason else tuple(allowed), reason, killed, living)


def _objection(result: Result, allowed: Mapping[int, Expected], constants: Mapping[str, Result]) -> str:
    """Reason not to judge a gold with this `result` on the base by the databases of `allowed`; '' if none."""
    if len(allowed) < LEAST_COUNTING:
        return "the result is empty on most variants"
    if all(matches(result, one) for one in allowed.values()):
        return "the result is the same on all variants"
    for constant, found in constants.items():
        if all(matches(found, one) for one in allowed.values()):
            return f"{constant} has its results"
    return ""


def _executable(base: Database, found: Sequence[Mutant]) -> list[Mutant]:
    return [mutant for mutant in found if base.run(mutant.sql).status in ("ok", "too_many_rows")]


def _alive(database: Database, allowed: Expected, left: Sequence[Mutant]) -> list[Mutant]:
    return [mutant for mutant in left if matches(database.run(mutant.sql), allowed)]
