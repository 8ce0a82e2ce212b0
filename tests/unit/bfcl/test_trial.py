"""The import plays the solutions of tasks on the benchmark's classes."""

from pathlib import Path
from typing import Any

import pytest
from support.bfcl import needs_wheel, write_source

from agentgym_envs.bfcl.apis import documents_of_the_wheel
from agentgym_envs.bfcl.dialogues import DialogueError
from agentgym_envs.bfcl.documents import FILES
from agentgym_envs.bfcl.importing import import_official
from agentgym_envs.import_report import ImportReport

pytestmark = needs_wheel

TREE = {"root": {"home": {"type": "directory", "contents": {"a.txt": {"type": "file", "content": "one"}}}}}
GOOD = {"config": {"GorillaFileSystem": TREE}, "truth": [["cat(file_name='a.txt')"]]}


def imported(home: Path, *tasks: dict[str, Any], source: str = "source") -> ImportReport:
    """The report on tasks of one turn, the id of each being its place from 1."""
    texts = {owner: documents_of_the_wheel(owner) for owner in FILES}
    pairs = [
        (
            {
                "id": f"multi_turn_base_{number}",
                "question": [[{"role": "user", "content": "Do it."}]],
                "initial_config": task["config"],
                "involved_classes": list(task["config"]),
            },
            {"id": f"multi_turn_base_{number}", "ground_truth": task["truth"]},
        )
        for number, task in enumerate(tasks, 1)
    ]
    return import_official(write_source(home / source, {"base": pairs}, texts), home)


def test_a_task_that_its_solution_wins_is_imported(tmp_path: Path) -> None:
    report = imported(tmp_path, GOOD)
    assert (report.counts, report.refused, report.warnings) == ({"base": 1}, (), ())


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (
            {"config": {"GorillaFileSystem": {"root": {"home": 5}}}, "truth": [["ls()"]]},
            "multi_turn_base_2: it cannot be played: TypeError:",
        ),
        (
            {"config": {"MathAPI": {}}, "truth": [["power(base=2, exponent=5000)"]]},
            "multi_turn_base_2: it cannot be played: CallError: argument 'exponent' must be from -1000",
        ),
        (
            {"config": {"GorillaFileSystem": TREE}, "truth": [[]]},
            "multi_turn_base_2: no turn of its solution has a call, so that nothing is checked",
        ),
    ],
)
def test_a_task_that_its_solution_does_not_win_is_refused(
    task: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    report = imported(tmp_path, GOOD, task)
    assert report.counts == {"base": 1}
    (refused,) = report.refused
    assert refused.name == "base line 2"
    assert refused.reason.startswith(reason)


def test_a_solution_with_an_error_is_told(tmp_path: Path) -> None:
    missing = {"config": {"GorillaFileSystem": TREE}, "truth": [["cat(file_name='b.txt')"]]}
    report = imported(tmp_path, GOOD, missing, missing)
    assert report.counts == {"base": 3}
    (warning,) = report.warnings
    assert warning == (
        '2 solutions have calls with errors; the first, multi_turn_base_2: {"name": "cat", "arguments": '
        '{"file_name": "b.txt"}} has the result {"error": "cat: \'b.txt\': No such file or directory"}'
    )


def test_an_import_that_plays_leaves_earlier_tasks_alone(tmp_path: Path) -> None:
    imported(tmp_path, GOOD, GOOD)
    manifest = tmp_path / "bfcl" / "manifest.json"
    before = manifest.read_text()
    broken = {"config": {"GorillaFileSystem": {"root": {"home": 5}}}, "truth": [["ls()"]]}
    with pytest.raises(DialogueError, match="the first of 1: base line 1: multi_turn_base_1: it cannot be"):
        imported(tmp_path, broken, source="another")
    assert manifest.read_text() == before
