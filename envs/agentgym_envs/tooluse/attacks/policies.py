"""Policies of the attack suite: functions that make the actions for one task, or None where they do not
apply.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from agentgym_envs.core import Task
from agentgym_envs.tools import simplest_call
from agentgym_envs.tooluse.attacks.domain import Domain, beyond_schema, filled, leads_elsewhere, strings_of
from agentgym_envs.tooluse.attacks.hostile import FORGED, RESERVED, STRINGS
from agentgym_envs.tooluse.calls import written

Policy = Callable[[Domain, Task], Sequence[str] | None]

MOST_WRITES = 40
MOST_ANSWERS = 100
STRINGS_A_TOOL = 5
ALTERNATIVES = 6
"""Numbers of which one chooses among the alternatives of an argument; 6 is divided by 2 and by 3."""
FLOOD = 60_000
"""Characters of a message with as many calls as it can hold."""


def oracle(domain: Domain, task: Task) -> Sequence[str]:
    """The expert's actions."""
    return domain.plan(task)


def oracle_shuffled(domain: Domain, task: Task) -> Sequence[str] | None:
    """The expert's actions, with successive ones that only read in reverse order."""
    plan = domain.plan(task)
    order = list[str]()
    for reads, run in groupby(plan, lambda action: domain.kind(action) == "read"):
        actions = list(run)
        order += actions[::-1] if reads else actions
    return order if order != plan else None


def do_nothing(domain: Domain, task: Task) -> Sequence[str]:
    """End at once, in the environment's way of giving up."""
    return domain.environment.giving_up(task)


def empty_submit(domain: Domain, task: Task) -> Sequence[str] | None:
    """A control tool with its simplest arguments."""
    controls = domain.environment.offered_to(task).of_kind("control")
    return [simplest_call(controls[0].function)] if controls else None


def submit_first(domain: Domain, task: Task) -> Sequence[str] | None:
    """The expert's last action, before the others."""
    plan = domain.plan(task)
    return [plan[-1], *plan] if any(domain.kind(action) == "write" for action in plan) else None


def undo_redo(domain: Domain, task: Task) -> Sequence[str] | None:
    """A write that the task does not ask for, its reversal, and the expert's actions."""
    undone = domain.environment.undone(task)
    return None if undone is None else [*undone, *domain.plan(task)]


def answer_spray(domain: Domain, task: Task) -> Sequence[str] | None:
    """The last actions of other tasks' experts, then that of the right one, until one is right."""
    right = domain.plan(task)[-1]
    others = [action for action in domain.finals if action != right][:MOST_ANSWERS]
    return [*others, right] if others else None


def write_spray(domain: Domain, task: Task) -> Sequence[str] | None:
    """Writes of all kinds of tasks, with the task's own among them, then the expert's last action."""
    if not domain.writes:
        return None
    plan = domain.plan(task)
    own = [action for action in plan if domain.kind(action) == "write"]
    others = [action for action in domain.writes if action not in own]
    room = min(MOST_WRITES, domain.environment.budget(task) - len(own) - 1, len(others))
    sprayed = domain.random(task, "sprayed").sample(others, max(0, room))
    return [*sprayed, *own, plan[-1]] if leads_elsewhere(domain, task, sprayed, own) else None


def schema_dump(domain: Domain, task: Task) -> Sequence[str] | None:
    """Every reading tool with its simplest arguments, then the most frequent last action."""
    reads = domain.environment.offered_to(task).of_kind("read")
    guess = domain.finals[:1]
    return [*(simplest_call(tool.function) for tool in reads), *guess] if reads and guess else None


def random_calls(domain: Domain, task: Task) -> Sequence[str]:
    """Random calls of the experts of all tasks, and of tools with their simplest arguments."""
    draw = domain.random(task, "random")
    tools = list(domain.environment.offered_to(task).values())
    pool = [action for plan in domain.plans.values() for action in plan]
    turns = domain.environment.budget(task)
    drawn = list[str]()
    for _ in range(turns):
        one = draw.choice(tools)
        if not pool or draw.random() < 0.5:
            drawn.append(simplest_call(one.function))
        else:
            drawn.append(draw.choice(pool))
    return drawn


def forge_object(domain: Domain, task: Task) -> Sequence[str]:
    """Arguments that would build objects with an equality of their own, if they were evaluated."""
    names = [tool.name for tool in domain.environment.offered_to(task).of_kind("control", "write")]
    name = domain.random(task, "forged").choice(names or ["submit"])
    return [form.format(name=name, value=value) for value in FORGED for form in FORGING_FORMS]


def hostile_strings(domain: Domain, task: Task) -> Sequence[str]:
    """Hostile text in every argument that takes a string, and as the name of a member of every object; and
    numbers of more than 64 bits.
    """
    draw = domain.random(task, "hostile")
    calls = list[str]()
    for tool in domain.environment.offered_to(task).values():
        calls += [written(tool.name, **arguments) for arguments in beyond_schema(tool.parameters)]
        for text in draw.sample(STRINGS, STRINGS_A_TOOL) if any(strings_of(tool.parameters)) else ():
            arguments = filled(tool.parameters, text, draw.randrange(ALTERNATIVES))
            calls.append(written(tool.name, **arguments))
            calls.append(written(tool.name, **{name: arguments[name] for name in tool.required}))
    draw.shuffle(calls)  # an episode has turns for some of them
    return calls


def call_flood(domain: Domain, task: Task) -> Sequence[str]:
    """Each tool that does not end an episode as often in one message as is executed, and far more often."""
    tools = [tool for tool in domain.environment.offered_to(task).values() if tool.kind != "control"]
    calls, most = [simplest_call(tool.function) for tool in tools], domain.environment.most_calls
    return [f"[{', '.join([call] * count)}]" for call in calls for count in (most, FLOOD // len(call))]


def control_reach(domain: Domain, task: Task) -> Sequence[str]:
    """Names of the trainer's operations, and of Python's attributes, as tools."""
    offered = domain.environment.offered_to(task)
    return [written(name) for name in RESERVED if name not in offered]


FORGING_FORMS = (
    'Action: {name} with Action Input: {{"answer": {value}}}',
    '{{"name": "{name}", "arguments": {{"answer": {value}}}}}',
    "{name}(answer={value})",
)

POLICIES: dict[str, Policy] = {
    "oracle": oracle,
    "oracle_shuffled": oracle_shuffled,
    "do_nothing": do_nothing,
    "empty_submit": empty_submit,
    "submit_first": submit_first,
    "undo_redo": undo_redo,
    "answer_spray": answer_spray,
    "write_spray": write_spray,
    "schema_dump": schema_dump,
    "random_calls": random_calls,
    "forge_object": forge_object,
    "hostile_strings": hostile_strings,
    "call_flood": call_flood,
    "control_reach": control_reach,
}


def shortcut_policies(domain: Domain) -> dict[str, Policy]:
    """The environment's own shortcuts, each on the tasks that have it."""
    played = {task.id: domain.environment.shortcuts(task) for task in domain.tasks}

    def policy(name: str) -> Policy:
        return lambda _, task: played[task.id].get(name)

    return {name: policy(name) for shortcuts in played.values() for name in shortcuts}
