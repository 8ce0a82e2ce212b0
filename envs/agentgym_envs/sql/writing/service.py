"""The rule by which tasks that write are served.

As for queries: at least three databases count, on which the gold changes something, its change on them is not
all the same (an INSERT of given values is), and its mutants have other changes on at least one.
"""

from collections.abc import Sequence

from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.variants.mutants import mutants
from agentgym_envs.sql.variants.service import LEAST_COUNTING, LEAST_KILLED, Service
from agentgym_envs.sql.writing.changes import net_change, same_change


def judge_write(sources: Sequence[Source], gold: str) -> Service:
    """The judgement of a gold that writes, by its base and variants, in their order."""
    found = {number: net_change(source, gold) for number, source in enumerate(sources)}
    changes = {number: change for number, change in found.items() if not change.empty}
    if len(changes) < LEAST_COUNTING or 0 not in changes:
        return Service((), "it changes nothing on most variants")
    first, *others = changes.values()
    if not first.inserted and all(same_change(first, other) for other in others):
        return Service((), "the change is the same on all variants")
    killed, alive = list[str](), list[str]()
    for mutant in mutants(gold):
        differs = any(
            not same_change(net_change(sources[number], mutant.sql), change)
            for number, change in changes.items()
        )
        (killed if differs else alive).append(mutant.kind)
    if len(killed) < LEAST_KILLED * (len(killed) + len(alive)):
        return Service((), "its mutants have its changes", tuple(killed), tuple(alive))
    return Service(tuple(changes), "", tuple(killed), tuple(alive))
