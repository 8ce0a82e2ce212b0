"""Reader of task files of tau-bench and tau2-bench: `tau1_task`, `tau2_task`.

tau1: {user_id, actions: [{name, kwargs}], instruction, outputs: [text], task_id?}
tau2: {id, user_scenario, ticket?, initial_state, evaluation_criteria: {actions, env_assertions,
       communicate_info, nl_assertions, reward_basis}}

Raises `TauDataError` for anything else.
"""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from agentgym_envs.tau.tasks import Action, Assertion, Invocation, Scenario, TauTask


class TauDataError(ValueError):
    """Data of a tau domain that cannot be used; says which, and why."""


def tau1_task(env: str, split: str, number: int, raw: Mapping[str, Any]) -> TauTask:
    """A task of tau-bench; its id is `tau1/SPLIT/INDEX`, with the original index where the file has it."""
    index = raw.get("task_id", number)
    try:
        return TauTask(
            env=env,
            id=f"tau1/{split}/{index}",
            split=f"tau1_{split}",
            instruction=raw["instruction"],
            kind="tau1",
            source="tau1",
            version="tau1",
            user_id=raw["user_id"],
            scenario=Scenario(reason=raw["instruction"]),
            gold=tuple(Action(name=one["name"], arguments=one["kwargs"]) for one in raw["actions"]),
            communicate=tuple(raw["outputs"]),
            basis=("DB", "COMMUNICATE"),
        )
    except (KeyError, TypeError, ValidationError) as cause:
        raise TauDataError(f"tau1 {split} task {index}: {_reason(cause)}") from None


def tau2_task(env: str, split: str, raw: Mapping[str, Any], *, prefix: str = "") -> TauTask:
    """A task of tau2-bench; its id is the source's own, after `prefix`."""
    try:
        criteria: Mapping[str, Any] = raw["evaluation_criteria"]
        scenario = _scenario(raw["user_scenario"])
        _refuse_states(raw)
        return TauTask(
            env=env,
            id=f"{prefix}{raw['id']}",
            split=split,
            instruction=raw.get("ticket") or ticket_of(scenario),
            kind=_kind(raw["id"]),
            source="tau2",
            scenario=scenario,
            setup=tuple(
                map(_invocation, _listed(_listed(raw.get("initial_state")), "initialization_actions"))
            ),
            gold=tuple(map(_action, _listed(criteria, "actions"))),
            assertions=tuple(map(_assertion, _listed(criteria, "env_assertions"))),
            communicate=tuple(_listed(criteria, "communicate_info")),
            statements=tuple(_listed(criteria, "nl_assertions")),
            basis=tuple(criteria["reward_basis"]),
        )
    except (KeyError, TypeError, AttributeError, ValidationError) as cause:
        raise TauDataError(f"tau2 task {str(raw.get('id'))[:80]}: {_reason(cause)}") from None


def ticket_of(scenario: Scenario) -> str:
    """The scenario as a ticket, for an agent that has no user to ask."""
    parts = (
        scenario.reason,
        scenario.known,
        scenario.unknown,
        f"Wishes: {scenario.instructions}" if scenario.instructions.strip(" .") else "",
    )
    return "\n\n".join(part.strip() for part in parts if part.strip(" ."))


def _scenario(raw: Mapping[str, Any]) -> Scenario:
    instructions: Mapping[str, Any] = raw["instructions"]
    return Scenario(
        persona=(raw.get("persona") or "").strip(),
        reason=instructions["reason_for_call"],
        known=instructions.get("known_info") or "",
        unknown=instructions.get("unknown_info") or "",
        instructions=instructions.get("task_instructions") or "",
    )


def _refuse_states(raw: Mapping[str, Any]) -> None:
    """Raise for initial states beyond set-up calls: no domain that is served has one."""
    state: Mapping[str, Any] = raw.get("initial_state") or {}
    for name in ("initialization_data", "message_history"):
        if state.get(name):
            raise TauDataError(f"tau2 task {str(raw.get('id'))[:80]}: {name} is not supported")


def _action(raw: Mapping[str, Any]) -> Action:
    compared = raw.get("compare_args")
    return Action(
        name=raw["name"],
        arguments=raw["arguments"],
        compared=None if compared is None else tuple(compared),
    )


def _invocation(raw: Mapping[str, Any]) -> Invocation:
    return Invocation(side=raw["env_type"], function=raw["func_name"], arguments=raw["arguments"])


def _assertion(raw: Mapping[str, Any]) -> Assertion:
    value = raw.get("assert_value", True)
    return Assertion(side=raw["env_type"], function=raw["func_name"], arguments=raw["arguments"], value=value)


def _kind(task_id: object) -> str:
    """Type of a task whose id begins with one: `[mms_issue]...`."""
    text = str(task_id)
    return text[1:].partition("]")[0] if text.startswith("[") else "tau2"


def _listed(value: Any, name: str | None = None) -> Any:
    """A member that may be missing or null."""
    if name is None:
        return value or {}
    return cast("Mapping[str, Any]", value).get(name) or ()


def _reason(cause: Exception) -> str:
    if isinstance(cause, ValidationError):
        first = cause.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(cause).__name__}: {cause}"
