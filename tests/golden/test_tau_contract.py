"""Domains of tau with their published tasks: the contract of environments, the attack suite, known issues."""

import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from support.tau import call, played
from typer.testing import CliRunner

import agentgym_envs.tau
from agentevol.cli import app
from agentevol.cli.data import IMPORTERS
from agentgym_envs.import_report import ImportReport
from agentgym_envs.registry import make
from agentgym_envs.tau.environment import TauEnvironment
from agentgym_envs.testing import check_environment
from agentgym_envs.tooluse import ToolEnvironment
from agentgym_envs.tooluse.attacks import attack

pytestmark = pytest.mark.golden
DOMAINS = [name for name in IMPORTERS if name.startswith("tau-")]


SIZES = {"tau-airline": 50, "tau-mock": 9, "tau-retail": 91, "tau-telecom": 92}
"""Tasks of the base sets that the known issues are about."""


@pytest.fixture(scope="module")
def imported(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ImportReport]]:
    """The published tasks of all domains, imported."""
    source = shared_data / "tau"
    if not source.is_dir():
        pytest.skip(f"no tau in {shared_data}")
    folder = tmp_path_factory.mktemp("home")
    return folder, [import_module(IMPORTERS[name]).import_official(source, folder) for name in DOMAINS]


@pytest.fixture(scope="module")
def home(imported: tuple[Path, list[ImportReport]]) -> Path:
    return imported[0]


@pytest.fixture(scope="module")
def issues() -> dict[str, list[dict[str, Any]]]:
    path = Path(inspect.getfile(agentgym_envs.tau)).with_name("known_issues.json")
    return json.loads(path.read_text(encoding="utf-8"))


def facts(environment: TauEnvironment[Any], split: str) -> Iterator[tuple[str, str, str, str]]:
    """What is known to be wrong with the tasks of a split, found by playing them."""
    for task in environment.tasks(split):
        place = (environment.name, split, task.id)
        if played(environment, task, [call("done")]).reward:
            yield (*place, "idle")
        if environment.gold(task).failed:
            yield (*place, "refused_write")


def test_known_issues_are_those_that_playing_finds(
    imported: tuple[Path, list[ImportReport]], issues: dict[str, list[dict[str, Any]]]
) -> None:
    """Whole sets are compared: an issue that is missing is found, and one that is none."""
    home, reports = imported
    environments = [cast("TauEnvironment[Any]", make(name, home=home)) for name in DOMAINS]
    if {one.name: len(one.tasks("tau2_base")) for one in environments} != SIZES:
        pytest.skip("the known issues are about other base sets")
    splits = ("tau2_base", "tau2_small", "tau1_test", "tau1_train", "tau1_dev")
    found = {
        fact
        for one in environments
        for split in splits
        if split in (*one.splits, "tau2_base")
        for fact in facts(one, split)
    }
    found |= {
        (name, "tau2_base", refused.name, "refused_task")
        for name, report in zip(DOMAINS, reports, strict=True)
        for refused in report.refused
    }
    assert found == {
        (issue["environment"], issue["split"], task_id, issue["kind"])
        for issue in issues["tasks"]
        for task_id in issue["tasks"]
    }


def test_tasks_with_known_issues_are_the_untrainable_ones(
    home: Path, issues: dict[str, list[dict[str, Any]]]
) -> None:
    for name in DOMAINS:
        environment = cast("TauEnvironment[Any]", make(name, home=home))
        known = {
            task_id
            for issue in issues["tasks"]
            for task_id in issue["tasks"]
            if issue["environment"] == name and issue["kind"] != "refused_task"
        }
        listed = [task for split in environment.splits for task in environment.tasks(split)]
        assert {task.id for task in listed if not task.trainable} == known
    assert all(
        issue[key]
        for issue in (*issues["tasks"], *issues["general"])
        for key in ("reason", "effect", "source")
    )


def test_an_evaluation_prints_the_score_of_the_airline_without_the_untrainable_tasks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTEVOL_HOME", str(home))
    command = ["eval", "--env", "tau-airline", "--split", "tau2_base", "--model", "expert"]
    if len(make("tau-airline").tasks("tau2_base")) != SIZES["tau-airline"]:
        pytest.skip("another base set")
    told = CliRunner().invoke(app, [*command, "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["by"]["trainable"] == {"not trainable": [23, 23], "trainable": [27, 27]}
    printed = CliRunner().invoke(app, command).stdout
    rows = [line.split("│") for line in printed.splitlines() if "trainable" in line]
    assert [row[-2].strip() for row in rows] == ["23/23", "27/27"]


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_with_its_published_tasks_keeps_the_contract(name: str, home: Path) -> None:
    report = check_environment(lambda: make(name, home=home))
    assert report.passed, "\n".join(report.lines())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("tau-airline", "tau1_test"),
        ("tau-airline", "tau2_test"),
        ("tau-airline", "tau2_train"),
        ("tau-mock", "tau2_base"),
        ("tau-retail", "tau1_dev"),
        ("tau-retail", "tau1_test"),
        ("tau-retail", "tau2_test"),
        ("tau-retail", "tau2_train"),
        ("tau-telecom", "tau2_small"),
        ("tau-telecom", "tau2_test"),
        ("tau-telecom", "tau2_train"),
    ],
)
def test_no_attack_earns_more_than_declared_on_any_published_task(name: str, split: str, home: Path) -> None:
    environment = make(name, home=home)
    assert isinstance(environment, ToolEnvironment)
    report = attack(environment, tasks=None, splits=(split,))
    assert report.passed, [result for result in report.results if result.violations]
    played = {result.name: result for result in report.results}
    assert played["oracle"].mean == 1.0
    assert played["do_nothing"].mean <= environment.attack_bounds.get("do_nothing", (0.0, 0.0))[1]
