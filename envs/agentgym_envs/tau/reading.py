"""Reader of task files of tau-bench and tau2-bench: `tau1_task`, `tau2_task`.

tau1: {user_id, actions: [{name, kwargs}], instruction, outputs: [text], task_id?}
tau2: {id, user_scenario: {persona?, instructions: {...} | text}, ticket?,
       initial_state: {initialization_data, initialization_actions, message_history},
       evaluation_criteria: {actions, env_assertions, communicate_info, nl_assertions, reward_basis?}}

Raises `TauDataError` for anything else.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import ValidationError

from agentgym_envs.tau.judging.judgement import Line
from agentgym_envs.tau.tasks import UPDATE, Action, Assertion, Invocation, Part, Scenario, Side, TauTask
from agentgym_envs.tooluse.calls import written

DEFAULT_BASIS: tuple[Part, ...] = ("DB", "COMMUNICATE")
"""Parts of the reward of a task of tau2-bench that names none."""
_SIDES: dict[str, Side] = {"agent_data": "assistant", "user_data": "user"}
_SPEAKERS: dict[str, Literal["agent", "customer", "tools"]] = {
    "assistant": "agent",
    "user": "customer",
    "tool": "tools",
}


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


def tau2_task(
    env: str, split: str, raw: Mapping[str, Any], *, prefix: str = "", states: bool = False
) -> TauTask:
    """A task of tau2-bench; its id is the source's own, after `prefix`.

    `states`: whether initial data and a dialogue so far are read, and not refused.
    """
    try:
        criteria: Mapping[str, Any] = raw["evaluation_criteria"]
        scenario = _scenario(raw["user_scenario"])
        state: Mapping[str, Any] = raw.get("initial_state") or {}
        if not states:
            _refuse_states(raw, state)
        return TauTask(
            env=env,
            id=f"{prefix}{raw['id']}",
            split=split,
            instruction=raw.get("ticket") or ticket_of(scenario),
            kind=_kind(raw["id"]),
            source="tau2",
            scenario=scenario,
            setup=tuple(_setup(state)),
            history=_history(_listed(state, "message_history")),
            gold=tuple(map(_action, _listed(criteria, "actions"))),
            assertions=tuple(map(_assertion, _listed(criteria, "env_assertions"))),
            communicate=tuple(_listed(criteria, "communicate_info")),
            statements=tuple(_listed(criteria, "nl_assertions")),
            basis=_basis(criteria),
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
    instructions: Mapping[str, Any] | str = raw["instructions"]
    persona: str = (raw.get("persona") or "").strip()
    if isinstance(instructions, str):
        return Scenario(persona=persona, reason=instructions)
    return Scenario(
        persona=persona,
        reason=instructions["reason_for_call"],
        known=instructions.get("known_info") or "",
        unknown=instructions.get("unknown_info") or "",
        instructions=instructions.get("task_instructions") or "",
    )


def _refuse_states(raw: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Raise for initial states beyond set-up calls."""
    for name in ("initialization_data", "message_history"):
        if state.get(name):
            raise TauDataError(f"tau2 task {str(raw.get('id'))[:80]}: {name} is not supported")


def _setup(state: Mapping[str, Any]) -> Iterator[Invocation]:
    """Initial data, set-up calls and the calls of the dialogue so far, in the benchmark's order."""
    data: Mapping[str, Any] = state.get("initialization_data") or {}
    for member, side in _SIDES.items():
        if data.get(member):
            yield Invocation(side=side, function=UPDATE, arguments=data[member])
    yield from map(_invocation, _listed(state, "initialization_actions"))
    for message in _listed(state, "message_history"):
        for call in _listed(message, "tool_calls"):
            yield Invocation(side="assistant", function=call["name"], arguments=call["arguments"])


def _history(messages: Sequence[Mapping[str, Any]]) -> tuple[Line, ...]:
    """The dialogue so far, which only the agent calls tools in, and which ends with a text of the agent."""
    if any(one.get("tool_calls") and one["role"] == "user" for one in messages):
        raise TypeError("message_history has calls of the user")
    if messages and (messages[-1]["role"] != "assistant" or messages[-1].get("tool_calls")):
        raise TypeError("message_history does not end with a text of the agent")
    return tuple(Line(_SPEAKERS[one["role"]], _text(one)) for one in messages)


def _text(message: Mapping[str, Any]) -> str:
    calls = [written(one["name"], **one["arguments"]) for one in _listed(message, "tool_calls")]
    return "\n".join([*filter(None, [message.get("content")]), *calls])


def _basis(criteria: Mapping[str, Any]) -> tuple[Part, ...]:
    """Parts of the reward. As in the benchmark, any final state will do where a task names neither actions
    nor assertions.
    """
    parts: Sequence[Part] = criteria.get("reward_basis", DEFAULT_BASIS)
    stated = any(criteria.get(name) is not None for name in ("actions", "env_assertions"))
    return tuple(part for part in parts if stated or part not in ("DB", "ENV_ASSERTION"))


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
