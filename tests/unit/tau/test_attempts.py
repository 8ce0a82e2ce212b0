"""Attempts of tool calls: whatever a tool raises is an answer, and leaves the state as it was."""

import json
from copy import deepcopy
from random import Random
from typing import Any, cast

import pytest
from support.tau import call, texts

from agentgym_envs.tau.airline import TauAirline
from agentgym_envs.tau.environment import TauEnvironment
from agentgym_envs.tau.mock import TauMock
from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.users import UserModel
from agentgym_envs.tau.world import World
from agentgym_envs.tooluse import CallError, ToolError, tool

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**39, -(10**39), 1e308, -1e308, 1e-308, "", "x" * 200, "\u202e\x00"),
    *("{0}", "%s", [], {}, [[]], [None], {"a": 1}, "NaN", "true", "2024-02-30T", "certificate", "#W0000000"),
)
NUMBERS = (0, 1, 2, 2.5, -3, 100, 1e308, -1e308, 10**39)


def drawn(schema: dict[str, Any], pool: list[str], draw: Random) -> Any:
    """A value that a schema mostly allows: texts come from the tables."""
    if draw.random() < 0.06:
        return draw.choice(HOSTILE)
    if "anyOf" in schema:
        return drawn(draw.choice(schema["anyOf"]), pool, draw)
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if schema.get("type") in ("array", "object"):
        return drawn_members(schema, pool, draw)
    simple = {"string": pool, "integer": NUMBERS, "number": NUMBERS, "boolean": (True, False)}
    kind = schema.get("type", "null")
    return draw.choice(simple.get(draw.choice(kind) if isinstance(kind, list) else kind, (None,)))


def drawn_members(schema: dict[str, Any], pool: list[str], draw: Random) -> Any:
    """An array, of which all items may be there twice, or an object."""
    if schema["type"] == "array":
        items = [drawn(schema.get("items", {}), pool, draw) for _ in range(draw.randint(0, 2))]
        return items * draw.choice((1, 1, 2))
    members = schema.get("properties", {})
    kept = [one for one in members if one in schema.get("required", ()) or draw.random() < 0.5]
    return {one: drawn(members[one], pool, draw) for one in kept}


def texts_in(value: Any) -> list[str]:
    """All texts of a JSON value, names of members too."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return [*members, *(text for one in members.values() for text in texts_in(one))]
    if isinstance(value, list):
        return [text for one in cast("list[Any]", value) for text in texts_in(one)]
    return [value] if isinstance(value, str) else []


def pool_of(environment: TauEnvironment[Any], task: TauTask, draw: Random) -> list[str]:
    """Texts of a few rows that belong together, and of the task's solution."""
    tables = environment.domain_of(task).tables
    sampled = {
        name: dict(draw.sample(sorted(rows.items()), min(2, len(rows)))) for name, rows in tables.items()
    }
    solution = [text for action in task.gold for text in texts_in(action.arguments)]
    return [*texts_in(sampled), *solution * 8]


def seen(world: World) -> Any:
    return deepcopy((world.changes(), world.user_changes(), world.messages))


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *((TauTelecom, "tau2"), (TauMock, "tau2"), (TauRetail, "tau1"), (TauRetail, "tau2")),
        *((TauAirline, "tau1"), (TauAirline, "tau2")),
    ],
)
def test_no_call_raises_and_a_refused_one_changes_nothing(
    kind: type[TauEnvironment[Any]], version: str
) -> None:
    environment, draw = kind(), Random(f"{kind.__name__}/{version}")
    tasks = environment.tasks("train")
    before = json.dumps(environment.domain_of(tasks[0]).tables)
    refused = executed = 0
    for _ in range(25):
        task = draw.choice(tasks).model_copy(update={"version": version})
        world = environment.fresh(task, environment.domain_of(task), 0)
        pool, tools = pool_of(environment, task, draw), list(environment.solo_tools_of(task.version).values())
        for _ in range(60):
            chosen = draw.choice(tools)
            arguments = drawn({"type": "object", **chosen.parameters}, pool, draw)
            was = seen(world)
            try:
                value = environment.run_tool(world, chosen, chosen.check(arguments, ""))  # type: ignore[arg-type]
            except CallError:
                refused += 1
                assert seen(world) == was, (chosen.name, arguments)
            else:
                executed += 1
                json.dumps((value, world.changes()), allow_nan=False)
    assert json.dumps(environment.domain_of(tasks[0]).tables) == before
    assert refused > 100
    assert executed > 100


def broken(exception: Exception) -> Any:
    """A tool that changes the state, and then raises."""

    @tool("write")
    def spoil(world: World) -> str:
        """Change a row, and fail."""
        world.tables["tasks"].edit(next(iter(world.tables["tasks"])))["title"] = "spoilt"
        world.messages.append("spoilt")
        raise exception

    return spoil


@pytest.mark.parametrize(
    "exception",
    [
        *(KeyError("task_9"), IndexError(), ValueError(), TypeError(), AttributeError(), StopIteration()),
        *(
            OverflowError(),
            ZeroDivisionError(),
            RecursionError(),
            UnicodeEncodeError("utf-8", "x", 0, 1, "-"),
        ),
    ],
)
def test_an_exception_of_a_tool_is_an_error_that_leaves_the_state_alone(exception: Exception) -> None:
    environment = TauMock()
    world = environment.fresh(
        environment.tasks("train")[0], environment.domain_of(environment.tasks("train")[0]), 0
    )
    was = seen(world)
    with pytest.raises(ToolError, match="spoil cannot be executed with these arguments"):
        environment.run_tool(world, broken(exception), {})
    assert seen(world) == was


def test_a_refusal_after_a_change_leaves_the_state_alone_too() -> None:
    environment = TauMock()
    task = environment.tasks("train")[0]
    world = environment.fresh(task, environment.domain_of(task), 0)
    was = seen(world)
    with pytest.raises(ToolError, match="late"):
        environment.run_tool(world, broken(ToolError("late")), {})
    assert seen(world) == was


def test_a_defect_that_is_no_tools_own_is_not_hidden() -> None:
    environment = TauMock()
    task = environment.tasks("train")[0]
    with pytest.raises(MemoryError):
        environment.run_tool(
            environment.fresh(task, environment.domain_of(task), 0), broken(MemoryError()), {}
        )  # type: ignore[arg-type]


def test_calls_of_agent_and_user_are_answered_with_the_error() -> None:
    spoil = broken(KeyError("task_9"))
    model = UserModel(base_url="http://user/v1", model="tiny")
    environment = TauMock(user="llm", user_model=model)
    plain = TauMock()
    plain.reset(plain.tasks("train")[0], 0)
    plain.offered = type(plain.offered)([*plain.offered.values(), spoil])
    told = plain.step(call("spoil"))
    assert told.observation.text == "Error: spoil cannot be executed with these arguments"  # type: ignore[union-attr]
    assert plain.net_change() == ({}, None, [])
    environment.state = plain.state
    seat = environment._user_seat(plain.task_now)
    assert seat is not None
    assert seat[1](spoil, {}) == "Error: spoil cannot be executed with these arguments"
    assert [one.refused for one in plain.state.calls] == [True, True]


def test_executed_calls_say_whether_they_were_refused_and_what_a_text_told() -> None:
    environment = TauTelecom()
    task = environment.tasks("train")[0]
    texts(environment, task, [call("check_vpn_status"), call("get_customer_by_id", customer_id="C0")])
    assert [(one.name, one.refused, one.text) for one in environment.state.calls] == [
        ("check_vpn_status", False, "VPN is turned OFF."),
        ("get_customer_by_id", True, ""),
    ]
