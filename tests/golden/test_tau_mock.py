"""Mock domain of tau2-bench: the published tasks, the one that cannot be won, and policies without skill."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.tau import call, played

from agentgym_envs.core import Observation
from agentgym_envs.import_report import ImportReport, Refused
from agentgym_envs.tau.data.domain import Tasks
from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tau.judging.gold import checked
from agentgym_envs.tau.mock import TauMock, tools
from agentgym_envs.tau.mock.importing import counts, import_official, verify
from agentgym_envs.tau.reading import tau2_task
from agentgym_envs.tau.tasks import TauTask
from benchmarks.tau import DONE, TRANSFER

pytestmark = pytest.mark.golden

UNWINNABLE = "update_task_with_user_tools"
DISMISS = call("dismiss_notification", notification_id="notif_1")


@pytest.fixture(scope="module")
def source(shared_data: Path) -> Path:
    folder = shared_data / "tau" / "tau2" / "mock"
    if not folder.is_dir():
        pytest.skip(f"no tau2/mock in {folder.parents[1]}")
    return folder


@pytest.fixture(scope="module")
def raw(source: Path) -> list[dict[str, Any]]:
    return json.loads((source / "tasks.json").read_text())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def report(source: Path, home: Path) -> ImportReport:
    return import_official(source, home)


@pytest.fixture(scope="module")
def environment(report: ImportReport, home: Path) -> TauMock:
    assert report.counts["tau2_base"] > 0
    return TauMock(home=home)


@pytest.fixture(scope="module")
def everything(environment: TauMock, raw: list[dict[str, Any]]) -> TauMock:
    """All published tasks, also the one that an import refuses."""
    tasks = [tau2_task("tau-mock", "tau2_base", one, states=True) for one in raw]
    domain = environment.domain_of(environment.tasks("tau2_base")[0])
    return TauMock(sources=(Tasks({"tau2_base": tasks}, {"tau2": domain}, "all"),))


def won(environment: TauMock, plan: Callable[[TauTask], Sequence[str]]) -> set[str]:
    tasks = environment.tasks("tau2_base")
    return {task.id for task in tasks if played(environment, task, plan(task)).reward == 1}


def test_all_published_tasks_but_one_are_imported(
    report: ImportReport, environment: TauMock, source: Path, home: Path
) -> None:
    ids = json.loads((source / "split_tasks.json").read_text())["base"]
    assert [task.id for task in environment.tasks("tau2_base")] == [one for one in ids if one != UNWINNABLE]
    assert report.refused == (Refused(name=UNWINNABLE, reason="its gold solution earns 0"),)
    assert (verify(home), counts(home)) == ([], report.counts)


def test_the_gold_actions_of_every_task_replay_without_an_error(everything: TauMock) -> None:
    for task in everything.tasks("tau2_base"):
        assert everything.gold(task).failed == ()
        offered, world = (
            everything.solo_tools_of(task.version),
            everything.fresh(task, everything.domain_of(task), 0),
        )
        for action in task.gold:
            offered[action.name].run(world, **checked(offered[action.name], action))


def test_recorded_calls_have_the_recorded_results(everything: TauMock, raw: list[dict[str, Any]]) -> None:
    domain = everything.domain_of(everything.task(UNWINNABLE))
    compared = 0
    for one in raw:
        history = (one.get("initial_state") or {}).get("message_history") or []
        world = DeskWorld(domain, "tau2")
        for said, told in pairwise(history):
            for made in said.get("tool_calls") or ():
                result = tools.AGENT_TOOLS[made["name"]].run(world, **made["arguments"])
                assert result == json.loads(told["content"])
                compared += 1
    assert compared == 2


def test_the_oracle_wins_all_that_are_imported(environment: TauMock, home: Path) -> None:
    tasks = environment.tasks("tau2_base")
    for one in (environment, TauMock(home=home, strict=True)):
        assert won(one, lambda task, one=one: one.expert(task) or []) == {task.id for task in tasks}


def test_the_task_that_is_refused_contradicts_itself(everything: TauMock) -> None:
    """Its assertion wants the notification read; its gold actions, and so the tables, leave it unread."""
    task = everything.task(UNWINNABLE)
    update, _ = everything.expert(task) or []

    def reward(basis: Sequence[str], *plan: str) -> float:
        return played(everything, task.model_copy(update={"basis": tuple(basis)}), plan).reward

    assert task.basis == ("DB", "ACTION", "ENV_ASSERTION")
    assert [reward(task.basis, update, DONE), reward(task.basis, update, DISMISS, DONE)] == [0, 0]
    assert reward(("DB", "ACTION"), update, DONE) == 1
    assert reward(("ACTION", "ENV_ASSERTION"), update, DISMISS, DONE) == 1


def test_policies_without_skill_win_what_the_data_leave_open(environment: TauMock, home: Path) -> None:
    """One task names neither actions nor assertions, and one wants a transfer."""
    assert won(environment, lambda _: [DONE]) == {"create_task_1_nl_eval"}
    assert won(environment, lambda _: [TRANSFER, DONE]) == {"create_task_1_nl_eval", "impossible_task_1"}
    idle = [task.id for task in environment.tasks("tau2_base") if not task.trainable]
    assert idle == ["create_task_1_nl_eval"]
    assert len(TauMock(home=home, trainable=True).tasks("tau2_base")) == 8


def test_a_broken_tool_would_be_noticed(environment: TauMock, monkeypatch: pytest.MonkeyPatch) -> None:
    for task in environment.tasks("tau2_base"):
        environment.gold(task)  # replayed before the tool breaks
    monkeypatch.setattr(tools, "put", lambda world, table, key, row: None)
    assert won(environment, lambda task: environment.expert(task) or []) == {
        *("create_task_1_nl_eval", "update_task_1", "update_task_with_initialization_data"),
        "impossible_task_1",
    }


def test_the_policy_is_that_of_the_benchmark(environment: TauMock, home: Path, source: Path) -> None:
    for one, name in ((environment, "policy_solo.md"), (TauMock(home=home, user="stub"), "policy.md")):
        first = one.reset(one.task("update_task_1"), 0)
        assert isinstance(first, Observation)
        assert f"\n\n{(source / name).read_text()}\n\n" in first.text
