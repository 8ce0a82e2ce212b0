"""Telecom of tau2-bench: the published tasks, and the figures that policies without skill have on them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.tau import played

from agentgym_envs.core import Observation
from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.telecom.builtin.faults import combined
from agentgym_envs.tau.telecom.builtin.generator import divided
from agentgym_envs.tau.telecom.builtin.published import SUBSCRIBER, faults_of
from agentgym_envs.tau.telecom.importing import counts, import_official, verify
from benchmarks.tau import DONE, RECIPE, TRANSFER

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def source(shared_data: Path) -> Path:
    folder = shared_data / "tau"
    if not (folder / "tau2" / "telecom").is_dir():
        pytest.skip(f"no tau2/telecom in {folder}")
    return folder


@pytest.fixture(scope="module")
def home(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    report = import_official(source, home)
    assert report.refused == ()
    assert (verify(home), counts(home)) == ([], report.counts)
    return home


@pytest.fixture(scope="module")
def environment(home: Path) -> TauTelecom:
    return TauTelecom(home=home)


@pytest.fixture(scope="module")
def base(environment: TauTelecom) -> Sequence[TauTask]:
    return environment.tasks("tau2_base")


def won(environment: TauTelecom, tasks: Sequence[TauTask], plan: Callable[[TauTask], list[str]]) -> int:
    return round(sum(played(environment, task, plan(task)).reward for task in tasks))


def test_all_published_tasks_are_there(
    source: Path, environment: TauTelecom, base: Sequence[TauTask]
) -> None:
    folder = source / "tau2" / "telecom"
    ids = json.loads((folder / "split_tasks.json").read_text())
    assert {task.id for task in base} == set(ids["base"])
    assert {task.id for task in environment.tasks("tau2_test")} == set(ids["test"])
    assert {task.id for task in environment.tasks("tau2_small")} == set(ids["small"])
    rest = set(ids["full"]) - set(ids["base"]) - set(ids["small"])
    assert {task.id for task in environment.tasks("tau2_generated")} == rest


def test_the_oracle_wins_all(environment: TauTelecom, base: Sequence[TauTask]) -> None:
    tasks = [*base, *environment.tasks("tau2_small")]
    assert won(environment, tasks, lambda task: environment.expert(task) or []) == len(tasks)


def test_the_published_figures_of_policies_without_skill(
    environment: TauTelecom, base: Sequence[TauTask]
) -> None:
    if len(base) != 92:
        pytest.skip(f"the figures are those of 92 tasks, not of {len(base)}")
    assert won(environment, base, lambda _: [DONE]) == 0
    assert won(environment, base, lambda _: [TRANSFER, DONE]) == 17
    assert won(environment, base, lambda _: RECIPE) == 25


def test_the_fault_table_makes_the_published_tasks(environment: TauTelecom, base: Sequence[TauTask]) -> None:
    for task in (*base, *environment.tasks("tau2_small")):
        parts = faults_of(task.id)
        assert parts is not None
        made = combined(parts[0], parts[1], SUBSCRIBER)
        assert (made.setup, made.gold, made.assertions) == (task.setup, task.gold, task.assertions), task.id


def test_the_searcher_wins_all_and_keeps_the_strict_conditions(home: Path) -> None:
    strict = TauTelecom(home=home, strict=True)
    base = strict.tasks("tau2_base")
    assert won(strict, base, lambda task: strict.demonstrate(task, 3)) == len(base)
    assert won(strict, base, lambda task: strict.expert(task) or []) == len(base)
    assert won(strict, base, lambda _: [TRANSFER, DONE]) == 0
    assert won(strict, base, lambda _: RECIPE) < 25


def test_a_broken_tool_would_be_noticed(
    environment: TauTelecom, base: Sequence[TauTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentgym_envs.tau.telecom import network

    monkeypatch.setitem(network.SPEEDS_MBPS, "5G", (50.0, 300.0))  # 175 Mbit/s with an excellent signal
    assert won(environment, base, lambda task: environment.expert(task) or []) < len(base)


def test_no_built_in_task_has_a_reserved_combination_of_faults(source: Path) -> None:
    ids = json.loads((source / "tau2" / "telecom" / "split_tasks.json").read_text())["full"]
    allowed = {parts[:2] for task_id in ids if (parts := faults_of(task_id)) is not None}
    for issue in ("service_issue", "mobile_data_issue", "mms_issue"):
        chosen = [(issue, faults) for combinations in divided(issue).values() for faults in combinations]
        assert set(chosen) <= allowed


def test_the_policy_is_that_of_the_benchmark(environment: TauTelecom, source: Path) -> None:
    task = environment.tasks("tau2_small")[0]
    first = environment.reset(task, 0)
    assert isinstance(first, Observation)
    folder = source / "tau2" / "telecom"
    main, manual = (
        (folder / "main_policy_solo.md").read_text(),
        (folder / "tech_support_manual.md").read_text(),
    )
    assert first.text.partition("\n\nTicket:\n")[0].endswith(
        f"<main_policy>\n{main}\n</main_policy>\n<tech_support_policy>\n{manual}\n</tech_support_policy>"
    )
