"""Mock domain: tools, set-ups, a dialogue that goes on, both policies, and what an import refuses."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.tau import USER_MODEL, call, endpoint, played, settled, texts, wired, write_json

from agentgym_envs.core import Observation, StepResult
from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tau.judging.judgement import Line
from agentgym_envs.tau.mock import TauMock
from agentgym_envs.tau.mock.builtin import team
from agentgym_envs.tau.mock.functions import invoke
from agentgym_envs.tau.mock.importing import import_official
from agentgym_envs.tau.mock.tools import AGENT_TOOLS
from agentgym_envs.tau.reading import TauDataError, tau2_task
from agentgym_envs.tau.tasks import Assertion, Invocation, TauTask
from agentgym_envs.tooluse import CallError

DONE = call("done")
COMPLETE_1 = call("update_task_status", task_id="task_1", status="completed")
ROW = {"task_id": "task_1", "title": "Water the plants", "description": None, "status": "pending"}
NOTE = {"notification_id": "n1", "message": "New.", "status": "unread", "task_id": "task_1"}
TABLES: dict[str, dict[str, Any]] = {
    "tasks": {"task_1": ROW},
    "users": {"ann": {"user_id": "ann", "name": "Ann Lee", "tasks": ["task_1"]}},
}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "A new task, please: sweep."},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "1", "name": "create_task", "arguments": {"user_id": "ann", "title": "Sweep"}},
        ],
    },
    {"role": "tool", "id": "1", "content": "{}"},
    {"role": "assistant", "content": "I created task_2."},
]


def raw_task(task_id: str, state: Any = None, **criteria: Any) -> dict[str, Any]:
    return {
        "id": task_id,
        "user_scenario": {"persona": "Brief", "instructions": f"You want {task_id}."},
        "initial_state": state,
        "evaluation_criteria": criteria,
    }


def update(task_id: str, status: str = "completed") -> dict[str, Any]:
    return {"name": "update_task_status", "arguments": {"task_id": task_id, "status": status}}


RAW = [
    raw_task("update", actions=[update("task_1")]),
    raw_task("history", {"message_history": HISTORY}, actions=[update("task_2")]),
    raw_task(
        "data",
        {
            "initialization_data": {
                "agent_data": {
                    "tasks": {"task_2": {**ROW, "task_id": "task_2"}, "task_1": {"status": "completed"}},
                    "users": {"ann": {"tasks": ["task_1", "task_2"]}},
                },
                "user_data": {"notifications": {"n1": {"status": "read"}}},
            }
        },
        actions=[update("task_2"), update("task_1", "pending")],
        communicate_info=["All set"],
    ),
    raw_task("anything", nl_assertions=["The agent is kind."]),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "tau2" / "mock"
    write_json(folder / "db.json", TABLES)
    write_json(folder / "user_db.json", {"notifications": {"n1": NOTE}})
    write_json(folder / "tasks.json", RAW)
    write_json(folder / "split_tasks.json", {"base": [one["id"] for one in RAW]})
    (folder / "policy.md").write_text("Policy with a user.")
    (folder / "policy_solo.md").write_text("Policy alone.")
    return tmp_path


@pytest.fixture
def home(source: Path, tmp_path: Path) -> Path:
    assert import_official(source, tmp_path / "home").counts == {"tau2_base": 4}
    return tmp_path / "home"


@pytest.fixture
def world() -> DeskWorld:
    return DeskWorld(Domain({**TABLES, "notifications": {"n1": NOTE}}), "tau2")


def set_up(world: DeskWorld, side: Any, function: str, **arguments: Any) -> object:
    return invoke(world, Invocation(side=side, function=function, arguments=arguments))


def shown(text: str) -> str:
    """The text of an observation, after the policy."""
    return text.partition("The dialogue so far:\n")[2]


def test_tools_answer_as_the_benchmarks_do(home: Path) -> None:
    environment = TauMock(home=home)
    told = texts(
        environment,
        environment.task("update"),
        [
            call("create_task", user_id="ann", title="Sweep"),
            call("get_users"),
            COMPLETE_1,
            call("check_notifications"),
            call("dismiss_notification", notification_id="n1"),
            call("transfer_to_human_agents", summary="-"),
            call("create_task", user_id="bob", title="Sweep"),
            call("update_task_status", task_id="task_9", status="pending"),
            call("dismiss_notification", notification_id="n9"),
            call("delete_task", task_id="task_1"),
        ],
    )
    created = {"task_id": "task_2", "title": "Sweep", "description": None, "status": "pending"}
    assert list(map(json.loads, told[:4])) == [
        created,
        [{"user_id": "ann", "name": "Ann Lee", "tasks": ["task_1", "task_2"]}],
        {**ROW, "status": "completed"},
        [NOTE],
    ]
    assert told[4:] == [
        "Notification n1 dismissed",
        "Transfer successful",
        "Error: User bob not found",
        "Error: Task task_9 not found",
        "Error: Notification n9 not found",
        "Error: Tool 'delete_task' not found.",
    ]


def test_set_up_functions_add_rows_and_complete_them(world: DeskWorld) -> None:
    set_up(world, "assistant", "update_db", tasks={"task_1": {"status": "completed"}, "task_3": {}})
    set_up(world, "assistant", "create_task", user_id="ann", title="Sweep")  # in place of the third
    set_up(world, "user", "add_notification", notification_id="n1", message="Again.")
    assert world.changes() == {
        "tasks": {
            "task_1": {**ROW, "status": "completed"},
            "task_3": {"task_id": "task_3", "title": "Sweep", "description": None, "status": "pending"},
        },
        "users": {"ann": {"user_id": "ann", "name": "Ann Lee", "tasks": ["task_1", "task_3"]}},
        "notifications": {"n1": {**NOTE, "message": "Again.", "task_id": None}},
    }
    assert TABLES["users"]["ann"]["tasks"] == ["task_1"]


@pytest.mark.parametrize(
    ("side", "function", "arguments", "message"),
    [
        ("user", "create_task", {"user_id": "ann", "title": "x"}, "mock has no function 'create_task'"),
        ("assistant", "create_task", {"user_id": "bob", "title": "x"}, "fails: User bob not found"),
        ("assistant", "create_task", {}, "the function create_task fails: .* missing"),
        ("assistant", "update_db", {"plans": {"p": {}}}, "the function update_db fails: 'plans'"),
        ("assistant", "update_db", {"tasks": 1}, "the function update_db fails"),
    ],
)
def test_a_function_that_fails_is_told(
    world: DeskWorld, side: Any, function: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TauDataError, match=message):
        set_up(world, side, function, **arguments)


@pytest.mark.parametrize(
    ("side", "function", "arguments", "holds"),
    [
        ("assistant", "assert_number_of_tasks", {"user_id": "ann", "expected_number": 1}, True),
        ("assistant", "assert_number_of_tasks", {"user_id": "ann", "expected_number": 2}, False),
        ("assistant", "assert_number_of_tasks", {"user_id": "bob", "expected_number": 0}, False),
        ("assistant", "assert_task_status", {"task_id": "task_1", "expected_status": "pending"}, True),
        ("assistant", "assert_task_status", {"task_id": "task_1", "expected_status": "completed"}, False),
        ("assistant", "assert_task_status", {"task_id": "task_9", "expected_status": "pending"}, False),
        ("user", "assert_notification_status", {"notification_id": "n1", "expected_status": "unread"}, True),
        ("user", "assert_notification_status", {"notification_id": "n9", "expected_status": "unread"}, False),
    ],
)
def test_assertions_hold_for_rows_that_are_there(
    world: DeskWorld, side: Any, function: str, arguments: dict[str, Any], holds: bool
) -> None:
    assertion = Assertion(side=side, function=function, arguments=arguments)
    assert TauMock().holds(world, assertion) is holds


def test_initial_data_are_merged_into_both_sides(home: Path) -> None:
    environment = TauMock(home=home)
    task = environment.task("data")
    told = texts(environment, task, [call("get_users"), call("check_notifications")])
    assert json.loads(told[0])[0] == {"user_id": "ann", "name": "Ann Lee", "tasks": ["task_1", "task_2"]}
    assert json.loads(told[1]) == [{**NOTE, "status": "read"}]
    both = [json.dumps(update("task_2")), json.dumps(update("task_1", "pending"))]
    assert played(environment, task, [*both, DONE]).info["outcome"] == "wrong_answer"
    assert played(environment, task, [*both, call("reply", text="All set!"), DONE]).reward == 1
    assert played(environment, task, [both[0], call("reply", text="All set!"), DONE]).reward == 0


def test_a_dialogue_goes_on_where_it_stands(home: Path) -> None:
    environment = TauMock(home=home)
    task = environment.task("history")
    first = environment.reset(task, 0)
    assert isinstance(first, Observation)
    created = call("create_task", user_id="ann", title="Sweep")
    assert shown(first.text) == (
        f"Customer: A new task, please: sweep.\nAgent: {created}\nTools: {{}}\n"
        "Agent: I created task_2.\n\nTicket:\nYou want history."
    )
    assert environment.state.dialogue == [*task.history, Line("ticket", "You want history.")]
    assert environment.state.calls == []
    assert played(environment, task, [json.dumps(update("task_2")), DONE]).reward == 1
    assert played(environment, task, [DONE]).reward == 0


def test_a_model_as_the_user_has_said_its_part_of_the_dialogue(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport, seen = endpoint({"content": "It is done."}, {"content": "###STOP###"})
    environment = wired(TauMock(home=home, user="llm", user_model=USER_MODEL), transport, monkeypatch)
    task = environment.task("history")

    async def dialogue() -> tuple[Observation, StepResult]:
        first = await settled(environment.reset(task, 0))
        await settled(environment.step(json.dumps(update("task_2"))))
        return first, await settled(environment.step("I completed it."))

    first, end = asyncio.run(dialogue())
    assert shown(first.text).endswith("Agent: I created task_2.\n\nCustomer: It is done.")
    assert seen[0]["messages"][1:] == [
        {"role": "assistant", "content": "A new task, please: sweep."},
        {"role": "user", "content": "I created task_2."},
    ]
    assert [tool["function"]["name"] for tool in seen[0]["tools"]] == [
        *("check_notifications", "dismiss_notification"),
    ]
    assert (end.reward, end.terminated) == (1.0, True)


def test_a_user_looks_into_its_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = TauMock()
    task = next(one for one in kinds.tasks("train") if one.kind == "inbox")
    look, complete, dismissal = task.gold
    uses = [
        {"content": None, "tool_calls": [{"id": "1", "function": {"name": one.name, "arguments": text}}]}
        for one, text in ((look, "{}"), (dismissal, json.dumps(dismissal.arguments)))
    ]
    transport, seen = endpoint(uses[0], {"content": "My task."}, uses[1], {"content": "###STOP###"})
    environment = wired(TauMock(user="llm", user_model=USER_MODEL), transport, monkeypatch)

    async def dialogue() -> StepResult:
        await settled(environment.reset(task, 0))
        await settled(environment.step(call(complete.name, **complete.arguments)))
        return await settled(environment.step("It is completed."))

    assert asyncio.run(dialogue()).reward == 1
    assert len(json.loads(seen[1]["messages"][-1]["content"])) == 2
    assert "dismiss_notification" not in environment.offered


def test_the_policy_is_that_of_the_mode(home: Path) -> None:
    for environment, policy in (
        (TauMock(home=home), "Policy alone."),
        (TauMock(home=home, user="stub"), "Policy with a user."),
    ):
        first = environment.reset(environment.task("update"), 0)
        assert isinstance(first, Observation)
        assert first.text.split("\n\n")[1] == policy


def test_a_task_without_actions_and_assertions_takes_any_final_state(home: Path) -> None:
    environment, strict = TauMock(home=home), TauMock(home=home, strict=True)
    task = environment.task("anything")
    assert (task.basis, task.trainable) == (("COMMUNICATE",), False)
    for plan in ([DONE], [COMPLETE_1, DONE]):
        assert played(environment, task, plan).reward == 1
        assert played(strict, task, plan).reward == 1
    assert environment.task("update").basis == ("DB", "COMMUNICATE")


def test_assertions_without_gold_actions_are_solved_by_what_they_assert() -> None:
    environment = TauMock()
    task = environment.tasks("train")[0].model_copy(
        update={
            "gold": (),
            "basis": ("ENV_ASSERTION",),
            "assertions": (
                Assertion(
                    side="assistant",
                    function="assert_task_status",
                    arguments={"task_id": "task_1", "expected_status": "completed"},
                ),
            ),
        }
    )
    assert environment.expert(task) == [COMPLETE_1, DONE]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (HISTORY[:1], "does not end with a text of the agent"),
        (HISTORY[:2], "does not end with a text of the agent"),
        ([{**HISTORY[1], "role": "user"}, HISTORY[3]], "has calls of the user"),
        ([{"role": "system", "content": "x"}, HISTORY[3]], "KeyError: 'system'"),
        ([1], "TypeError|AttributeError"),
    ],
)
def test_a_dialogue_that_cannot_go_on_is_refused(messages: list[Any], reason: str) -> None:
    raw = raw_task("x", {"message_history": messages}, actions=[])
    with pytest.raises(TauDataError, match=reason):
        tau2_task("tau-mock", "test", raw, states=True)


def test_initial_data_are_refused_where_a_domain_has_none() -> None:
    with pytest.raises(TauDataError, match="initialization_data is not supported"):
        tau2_task("tau-retail", "test", RAW[2])


def test_a_task_whose_parts_contradict_each_other_is_not_imported(source: Path, home: Path) -> None:
    """The notification has to be read, and as the gold actions leave it."""
    assertion = {
        "env_type": "user",
        "func_name": "assert_notification_status",
        "arguments": {"notification_id": "n1", "expected_status": "read"},
    }
    parts = {"env_assertions": [assertion], "reward_basis": ["DB", "ENV_ASSERTION"]}
    bad = raw_task("bad", actions=[update("task_1")], **parts)
    write_json(source / "tau2" / "mock" / "tasks.json", [bad, *RAW])
    (refused,) = import_official(source, home).refused
    assert (refused.name, refused.reason) == ("bad", "its gold solution earns 0")


@pytest.mark.parametrize("name", ["policy_solo.md", "user_db.json", "policy.md"])
def test_a_folder_that_lacks_a_file_is_refused(source: Path, home: Path, name: str) -> None:
    (source / "tau2" / "mock" / name).unlink()
    with pytest.raises(TauDataError, match=f"lacks {name}"):
        import_official(source, home)


def test_experts_win_every_built_in_task_and_doing_nothing_none() -> None:
    before = repr(team().tables)
    own = (TauMock.builtin(),)
    for environment in (TauMock(sources=own), TauMock(sources=own, strict=True)):
        for split in environment.splits:
            for task in environment.tasks(split):
                assert played(environment, task, environment.expert(task) or []).reward == 1
                assert played(environment, task, [DONE]).reward == 0
    assert repr(team().tables) == before


def test_the_built_in_splits_are_disjoint_in_members() -> None:
    environment = TauMock(sources=(TauMock.builtin(),))
    found: list[list[TauTask]] = [list(environment.tasks(split)) for split in environment.splits]
    members = [{task.user_id for task in tasks} for tasks in found]
    assert [(len(tasks), len(who)) for tasks, who in zip(found, members, strict=True)] == [
        *((84, 28), (12, 4), (24, 8)),
    ]
    assert sum(map(len, members)) == len(set.union(*members))


def test_the_scripted_user_is_not_offered() -> None:
    with pytest.raises(ValueError, match="no user 'scripted'; there are: solo, stub, llm"):
        TauMock(user="scripted")


def test_a_refused_call_changes_nothing(world: DeskWorld) -> None:
    with pytest.raises(CallError):
        AGENT_TOOLS["create_task"].run(world, user_id="bob", title="x")
    assert world.changes() == {}
