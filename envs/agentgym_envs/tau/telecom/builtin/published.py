"""Tasks generated for published ids without a task: `published_tasks`.

tau2-bench publishes the ids of 2,263 combinations of faults, and the tasks of a part of them. The others are
made from the fault table, with the texts of a published task of the same issue and place.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.telecom.builtin.faults import FAULTS, NEEDED, Subscriber, combined

_ID = re.compile(r"\[(\w+)\]([\w|]+)\[PERSONA:(\w+)\]")
SUBSCRIBER = Subscriber(
    customer_id="C1001",
    line_id="L1002",
    name="John Smith",
    phone_number="555-123-2002",
    data_limit_gb=15.0,
    data_refueling_gb=0.0,
    bill_id="B1234321",
)
"""The customer of the benchmark's tasks."""


def published_tasks(split: str, ids: Iterable[str], known: Sequence[TauTask]) -> list[TauTask]:
    """Tasks for the ids that no known task has, in their order; ids of another form are left out."""
    texts = _texts(known)
    done = {task.id for task in known}
    made = [_made(split, task_id, texts) for task_id in ids if task_id not in done]
    return [task for task in made if task is not None]


def faults_of(task_id: str) -> tuple[str, tuple[str, ...], str] | None:
    """Issue, faults and persona of an id; None for an id of another form."""
    found = _ID.fullmatch(task_id)
    if found is None:
        return None
    issue, faults = found[1], tuple(found[2].split("|"))
    return (issue, faults, found[3]) if issue in NEEDED and all(one in FAULTS for one in faults) else None


def _texts(known: Sequence[TauTask]) -> Mapping[tuple[str, bool, str], TauTask]:
    """A task by issue, whether it is abroad, and persona."""
    found: dict[tuple[str, bool, str], TauTask] = {}
    for task in known:
        parts = faults_of(task.id)
        if parts is not None:
            issue, faults, persona = parts
            found.setdefault((issue, _is_abroad(faults), persona), task)
            found.setdefault((issue, _is_abroad(faults), ""), task)
            found.setdefault(("", False, persona), task)
    return found


def _made(split: str, task_id: str, texts: Mapping[tuple[str, bool, str], TauTask]) -> TauTask | None:
    parts = faults_of(task_id)
    if parts is None:
        return None
    issue, faults, persona = parts
    like = texts.get((issue, _is_abroad(faults), ""))
    if like is None:
        return None
    made = combined(issue, faults, SUBSCRIBER)
    character = texts.get((issue, _is_abroad(faults), persona)) or texts.get(("", False, persona)) or like
    return like.model_copy(
        update={
            "id": task_id,
            "split": split,
            "scenario": like.scenario.model_copy(update={"persona": character.scenario.persona}),
            "setup": made.setup,
            "gold": made.gold,
            "assertions": made.assertions,
            "basis": ("ENV_ASSERTION", "ACTION") if made.is_transfer else ("ENV_ASSERTION",),
        }
    )


def _is_abroad(faults: Sequence[str]) -> bool:
    return any("abroad" in one for one in faults)
