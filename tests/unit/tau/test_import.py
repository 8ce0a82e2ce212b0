"""Import of folders in the benchmarks' layouts, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.tau import tau2_form, write_json, write_telecom

from agentgym_envs.core import TaskNotFound
from agentgym_envs.tau.data.library import MANIFEST
from agentgym_envs.tau.reading import TauDataError, tau1_task, tau2_task
from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.retail import importing as retail
from agentgym_envs.tau.retail.builtin.shop import shop
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.telecom.importing import counts, import_official, verify

FIXABLE = [task for task in TauTelecom().tasks("test") if "ACTION" not in task.basis][:6]
RAW = [{**tau2_form(task), "id": f"own {number}"} for number, task in enumerate(FIXABLE)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A telecom folder below a root, whose last task belongs to no split."""
    ids = [task["id"] for task in RAW]
    write_telecom(tmp_path / "tau2" / "telecom", RAW, {"train": ids[:3], "test": ids[3:5], "base": ids[:5]})
    return tmp_path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_folder_is_imported_into_splits_and_found_again(source: Path, home: Path) -> None:
    seen = list[int]()
    report = import_official(source, home, seen.append)
    assert report.counts == {"tau2_train": 3, "tau2_test": 2, "tau2_base": 1}
    assert (report.refused, seen) == ((), [1, 2, 3, 4, 5, 6])
    assert (counts(home), verify(home)) == (report.counts, [])
    environment = TauTelecom(home=home)
    assert environment.splits == ("train", "valid", "test", "tau2_train", "tau2_test", "tau2_base")
    task = environment.tasks("tau2_train")[1]
    assert environment.task("own 1") == task
    assert (task.split, task.source, environment.domain_of(task).phone["device"]) == (
        "tau2_train",
        "tau2",
        {"battery_level": 55},
    )
    assert environment.data_version != TauTelecom(home=home / "none").data_version


def test_the_base_set_is_both_halves_where_no_task_is_left(source: Path, home: Path) -> None:
    write_json(source / "tau2" / "telecom" / "tasks.json", RAW[:5])
    import_official(source, home)
    environment = TauTelecom(home=home)
    assert [task.id for task in environment.tasks("tau2_base")] == [f"own {number}" for number in range(5)]
    assert "tau2_base" not in environment.splits


def test_the_domain_folder_itself_may_be_named(source: Path, home: Path) -> None:
    assert import_official(source / "tau2" / "telecom", home).counts["tau2_train"] == 3


def without_gold(task: dict[str, Any]) -> dict[str, Any]:
    return {**task, "evaluation_criteria": {**task["evaluation_criteria"], "actions": []}}


def with_gold(task: dict[str, Any], name: str) -> dict[str, Any]:
    criteria = {**task["evaluation_criteria"], "actions": [{"name": name, "arguments": {}}]}
    return {**task, "evaluation_criteria": criteria}


def with_setup(task: dict[str, Any], name: str) -> dict[str, Any]:
    call = {"env_type": "user", "func_name": name, "arguments": {}}
    return {**task, "initial_state": {"initialization_actions": [call]}}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (without_gold(RAW[0]), "its gold solution earns 0"),
        (with_gold(RAW[0], "__class__"), "unknown tool '__class__'"),
        (with_setup(RAW[0], "format_disk"), "no set-up function 'format_disk'"),
        ({"id": "own 0"}, "KeyError: 'evaluation_criteria'"),
        ({**RAW[0], "evaluation_criteria": {"reward_basis": ["MOOD"]}}, "basis.0"),
        ({**RAW[0], "initial_state": {"message_history": [1]}}, "message_history is not supported"),
        (RAW[1], "the id 'own 1' occurs twice"),
    ],
)
def test_a_task_that_is_not_sound_is_refused_and_the_others_are_imported(
    source: Path, home: Path, bad: dict[str, Any], reason: str
) -> None:
    write_json(source / "tau2" / "telecom" / "tasks.json", [bad, *RAW[1:]])
    report = import_official(source, home)
    (refused,) = report.refused
    assert reason in refused.reason
    assert sum(report.counts.values()) == 5


def test_a_failed_import_leaves_the_earlier_one(source: Path, home: Path) -> None:
    report = import_official(source, home)
    folder = source / "tau2" / "telecom"
    (folder / "tasks.json").write_text("[{", encoding="utf-8")
    with pytest.raises(TauDataError, match=r"tasks\.json cannot be read"):
        import_official(source, home)
    write_json(folder / "tasks.json", [without_gold(task) for task in RAW])
    with pytest.raises(TauDataError, match="no task of tau-telecom that can be solved; the first of 6"):
        import_official(source, home)
    (folder / "user_db.json").unlink()
    with pytest.raises(TauDataError, match=r"lacks user_db\.toml"):
        import_official(source, home)
    assert (counts(home), verify(home)) == (report.counts, [])
    assert len(list((home / "tau-telecom").iterdir())) == 2  # the manifest and one folder


def test_a_second_import_replaces_the_first(source: Path, home: Path) -> None:
    import_official(source, home)
    write_json(source / "tau2" / "telecom" / "tasks.json", RAW[:2])
    import_official(source, home)
    assert counts(home) == {"tau2_train": 2}
    with pytest.raises(TaskNotFound, match="agentevol data import tau-telecom DIR"):
        TauTelecom(home=home).tasks("tau2_test")


def test_damage_is_told(source: Path, home: Path) -> None:
    import_official(source, home)
    (data,) = home.rglob("tau2.json")
    data.write_bytes(data.read_bytes().replace(b"Active", b"Closed"))
    assert verify(home) == [f"{data}: its SHA-256 is {sha(data)}..., not {stored(home)}... as imported"]
    (home / "tau-telecom" / MANIFEST).write_text("{}")
    assert "is broken: agentevol data import tau-telecom DIR" in verify(home)[0]


def sha(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def stored(home: Path) -> str:
    return json.loads((home / "tau-telecom" / MANIFEST).read_text())["sources"]["tau2"]["sha256"][:12]


def test_a_folder_without_the_domain_says_what_was_looked_for(tmp_path: Path, home: Path) -> None:
    with pytest.raises(
        TauDataError, match=r"no folder of the domain 'telecom': looked for db\.json or db\.toml"
    ):
        import_official(tmp_path, home)
    with pytest.raises(TauDataError, match="is no folder"):
        import_official(tmp_path / "absent", home)


def test_tau1_is_imported_beside_tau2(tmp_path: Path, home: Path) -> None:
    user = next(iter(shop().tables["users"].values()))
    order_id = user["orders"][0]
    cancel = {"name": "get_order_details", "kwargs": {"order_id": order_id}}
    raw = {"user_id": user["user_id"], "actions": [cancel], "instruction": "Ask.", "outputs": ["7"]}
    folder = tmp_path / "tau1" / "retail"
    for name, rows in shop().tables.items():
        write_json(folder / "db" / f"{name}.json", rows)
    write_json(folder / "tasks_test.json", [{**raw, "task_id": 41}])
    write_json(folder / "tasks_train.json", [{**raw, "outputs": []}])
    (folder / "policy.md").write_text("Be kind.")
    report = retail.import_official(tmp_path, home)
    assert report.counts == {"tau1_test": 1, "tau1_train": 1}
    environment = TauRetail(home=home)
    assert (environment.task("tau1/test/41").trainable, environment.task("tau1/train/0").trainable) == (
        True,
        False,
    )
    assert TauRetail(home=home, trainable=True).tasks("tau1_train") == []
    assert "think" in environment.offered_to(environment.task("tau1/test/41"))


def test_readers_name_the_task_and_the_field() -> None:
    with pytest.raises(TauDataError, match="tau1 test task 3: KeyError: 'instruction'"):
        tau1_task("tau-retail", "test", 3, {})
    with pytest.raises(TauDataError, match="tau2 task x: "):
        tau2_task("tau-retail", "test", {"id": "x", "evaluation_criteria": [], "user_scenario": 1})
