"""An environment of one's own tools, as docs/tools.md shows it."""

import importlib.util
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.testing import check_environment
from agentgym_envs.tooluse import TaskFileEnvironment
from agentgym_envs.tooluse.attacks import attack
from agentgym_envs.tooluse.task_file import same_json

DOCS = Path(__file__).parents[3] / "docs" / "tools.md"
Desk = type[TaskFileEnvironment[Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page."""
    folder = tmp_path_factory.mktemp("desk")
    text = DOCS.read_text(encoding="utf-8")
    for language, name in (("python", "desk.py"), ("json", "tasks.json")):
        block = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
        assert block is not None
        (folder / name).write_text(block.group(1), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def desk(folder: Path) -> Desk:
    """The environment of the page."""
    spec = importlib.util.spec_from_file_location("desk_of_the_docs", folder / "desk.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.SupportDesk


def test_it_keeps_the_contract_and_withstands_the_attacks(desk: Desk) -> None:
    report = check_environment(desk)
    assert report.passed, report.lines()
    attacked = attack(desk())
    assert attacked.passed, [result for result in attacked.results if result.violations]


def test_the_reward_is_for_the_state_and_the_answer(desk: Desk) -> None:
    environment = desk()

    def play(task_id: str, *calls: tuple[str, Mapping[str, object]]) -> tuple[float, object]:
        environment.reset(environment.task(task_id), seed=0)
        results = [environment.step(json.dumps({"name": name, "arguments": given})) for name, given in calls]
        return results[-1].reward, results[-1].info.get("outcome")

    close = ("close_ticket", {"ticket": "T1"})
    assert play("close-printer", close, ("finish", {})) == (1, "success")
    assert play("close-printer", ("finish", {})) == (0, "wrong_state")
    assert play("close-printer", close, ("close_ticket", {"ticket": "T3"}), ("finish", {})) == (
        0,
        "wrong_state",
    )
    assert play("count-open", ("finish", {"answer": 2.0})) == (1, "success")
    assert play("count-open", ("finish", {"answer": "2"})) == (0, "wrong_answer")
    assert play("count-open", ("finish", {})) == (0, "wrong_answer")


def test_a_tool_that_raises_leaves_the_state(desk: Desk) -> None:
    environment = desk()
    environment.reset(environment.task("close-printer"), seed=0)
    before = environment.net_change()
    refused = environment.step('{"name": "close_ticket", "arguments": {"ticket": "T2"}}')
    assert "there is no open ticket T2" in refused.observation.text
    assert environment.net_change() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "the file: Invalid JSON"),
        ('{"tasks": []}', "state: Field required"),
        ('{"state": {}, "tasks": [{"id": "1"}]}', "tasks.0.split: Field required"),
        ('{"state": {}, "tasks": [], "more": 1}', "more: Extra inputs are not permitted"),
    ],
)
def test_a_file_of_another_form_is_refused(desk: Desk, tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(content, encoding="utf-8")
    other = type("Other", (desk,), {"tasks_file": file})
    with pytest.raises(ValueError, match=re.escape(message)):
        assert other().splits


def test_a_solution_that_a_tool_refuses_is_an_error(desk: Desk, folder: Path, tmp_path: Path) -> None:
    content = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    content["tasks"][0]["actions"] = [{"name": "close_ticket", "arguments": {"ticket": "T2"}}]
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    environment: TaskFileEnvironment[Any] = type("Other", (desk,), {"tasks_file": file})()
    environment.reset(environment.task("close-printer"), seed=0)
    with pytest.raises(
        ValueError, match="task 'close-printer': close_ticket refuses: there is no open ticket T2"
    ):
        environment.step('{"name": "finish", "arguments": {}}')


def test_json_values_are_compared_by_their_meaning() -> None:
    assert same_json({"a": [1, 2.0], "b": None}, {"b": None, "a": [1.0, 2]})
    assert not same_json([1, 2], [2, 1])
    assert not same_json({"a": True}, {"a": 1})
    assert not same_json({"a": 1}, {"a": 1, "b": None})
    assert not same_json("1", 1)
