"""Templates by level, and the drafts of tasks by number.

A draft that fails a check is discarded, and the next seed is tried: its bindings are not unique, the program
and a query of its own disagree, it changes nothing and asks nothing, or its answer stands in the instruction.
"""

import sqlite3
from random import Random

from agentgym_envs.assistant.database import NetChange, Office
from agentgym_envs.assistant.database.schema import VERSION
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tasks import chained, conditional, refusals, several, single
from agentgym_envs.assistant.tasks.answers import same_answer
from agentgym_envs.assistant.tasks.drafts import Draft, Setting, Template
from agentgym_envs.assistant.tasks.gold import Gold
from agentgym_envs.assistant.tasks.programs import Solved, solved
from agentgym_envs.tooluse import CallError

REVISION = 3
"""Version of the templates and tools within that of the offices: another one means other tasks, observations
or verdicts.
"""
MOST_TRIED = 200
LEVELS: dict[str, tuple[tuple[Template, ...], tuple[Template, ...]]] = {
    "single": (single.TEMPLATES, ()),
    "chained": (chained.TEMPLATES, chained.UNSEEN),
    "conditional": (conditional.TEMPLATES, conditional.UNSEEN),
    "refusal": (refusals.TEMPLATES, ()),
    "multi": (several.TEMPLATES, several.UNSEEN),
}
"""Level to its templates, and to those of tests only."""
BY_NAME: dict[str, Template] = {
    template.__name__: template for seen, unseen in LEVELS.values() for template in (*seen, *unseen)
}


def draft(template: str, seed: str, split: str, session: Session) -> tuple[Gold, Solved]:
    """The first acceptable draft of a template in an office: equal arguments, equal drafts.

    `session` is left as it was. Raises `LookupError` if none of 200 seeds gives an acceptable one.
    """
    for attempt in range(MOST_TRIED):
        setting = Setting(Random(f"{VERSION}/{template}/{seed}/{attempt}"), session, split)
        found = BY_NAME[template](setting)
        made = None if found is None else accepted(found, session)
        if made is not None:
            return made
    raise LookupError(f"no task {template!r} of seed {seed!r} can be made")


def accepted(found: Draft, session: Session) -> tuple[Gold, Solved] | None:
    """The gold and the solution of a draft; None where it fails a check."""
    trial = fresh(found, session.office.fresh())
    try:
        solution = solved(found.program(), trial)
    except (CallError, LookupError, StopIteration, RuntimeError, sqlite3.Error):
        return None
    office = trial.office
    gold = Gold(found, office.state.statements, office.net_change(), solution.final.answer)
    return (gold, solution) if _sound(gold, solution) else None


def fresh(found: Draft, office: Office) -> Session:
    """A session at the beginning of a task."""
    return Session(office, replies=found.replies, failing=found.failing)


def _sound(gold: Gold, solution: Solved) -> bool:
    found = gold.draft
    if found.changes is not None and _keys(gold.change) != found.changes:
        return False
    if not gold.change and found.answer is None and not found.refusal:
        return False
    if found.answer is not None:
        if not same_answer(found.answer, solution.final.answer, found.expected, found.tolerance):
            return False
        if str(found.expected) in found.instruction and found.answer != "list_string":
            return False
    return bool(found.refusal) == (solution.final.status == "cannot")


def _keys(change: NetChange) -> frozenset[tuple[str, object]]:
    return frozenset((table, key[0] if len(key) == 1 else key) for table, key in change.changed)
