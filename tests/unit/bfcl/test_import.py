"""Importing tasks: what can be played is kept, the rest is reported, and nothing is ever half written."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.bfcl import ANSWER, TASK, TEXTS, write_source

from agentgym_envs.bfcl import apis
from agentgym_envs.bfcl.dialogues import DialogueError
from agentgym_envs.bfcl.importing import counts, import_official, verify
from agentgym_envs.bfcl.library import Catalogue
from agentgym_envs.import_report import Refused


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tasks are of classes of our own: without the wheel nobody plays them."""
    monkeypatch.setattr(apis, "find_spec", lambda name: None)


def pair(category: str, number: int, **changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    name = {"id": f"multi_turn_{category}_{number}"}
    return {**TASK, **name, **changes}, {**ANSWER, **name}


def files_under(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    tasks = {"base": [pair("base", 7), pair("base", 9)], "long_context": [pair("long_context", 7)]}
    return write_source(tmp_path / "source", tasks)


def test_tasks_are_imported_by_category_with_their_ids(source: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    report = import_official(source, tmp_path, seen.append)
    assert (report.counts, report.refused, seen) == ({"base": 2, "long_context": 1}, (), [1, 2, 3])
    assert counts(tmp_path) == {"base": 2, "long_context": 1}
    assert verify(tmp_path) == []
    catalogue = Catalogue.open(tmp_path)
    assert catalogue is not None
    assert catalogue.splits == ("base", "long_context")
    assert [row.id for row in catalogue.rows("base")] == ["multi_turn_base_7", "multi_turn_base_9"]
    assert catalogue.places["multi_turn_long_context_7"] == ("long_context", 0)
    assert [row.dialogue.long_context for row in catalogue.rows("long_context")] == [True]
    assert next(iter(catalogue.documents.every)) == "list_users"


def test_the_wheel_is_not_needed_but_its_lack_is_told(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was imported")

    monkeypatch.setattr(apis, "import_module", refuse)
    report = import_official(source, tmp_path)
    assert report.counts == {"base": 2, "long_context": 1}
    (warning,) = report.warnings
    assert warning.startswith("the solutions were not played, since the wheel bfcl-eval is not installed")


def test_the_environment_says_which_module_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'bfcl_eval'"):
        apis.require_wheel()


def test_what_cannot_be_played_is_refused_with_its_place(tmp_path: Path) -> None:
    answerless = (pair("base", 3)[0], {"id": "other", "ground_truth": []})
    tasks = [pair("base", 1), pair("base", 1), pair("base", 2, involved_classes=["X"]), answerless]
    source = write_source(tmp_path / "source", {"base": tasks})
    report = import_official(source, tmp_path)
    assert report.counts == {"base": 1}
    assert report.refused == (
        Refused("base line 2", "the id 'multi_turn_base_1' occurs twice"),
        Refused("base line 3", "there is no class 'X'"),
        Refused("base line 4", "multi_turn_base_3 has no answer"),
    )


@pytest.mark.parametrize("line", ["{", "[]", "1", '{"id": 1}', '{"id": "../x"}', "[" * 5000])
def test_a_line_that_is_no_task_is_refused(line: str, source: Path, tmp_path: Path) -> None:
    with (source / "BFCL_v4_multi_turn_base.json").open("a") as file:
        file.write(f"{line}\n")
    report = import_official(source, tmp_path)
    assert [refused.name for refused in report.refused] == ["base line 3"]


def test_strange_line_separators_are_part_of_a_text(tmp_path: Path) -> None:
    question = [[{"role": "user", "content": "one\u2028two\x85three"}]] * 2
    pairs = [pair("base", 1, question=question)]
    source = write_source(tmp_path / "source", {"base": pairs})
    path = source / "BFCL_v4_multi_turn_base.json"
    path.write_text(json.dumps(pairs[0][0], ensure_ascii=False) + "\n", encoding="utf-8")
    assert import_official(source, tmp_path).counts == {"base": 1}
    catalogue = Catalogue.open(tmp_path)
    assert catalogue is not None
    assert catalogue.rows("base")[0].dialogue.says[0] == "one\u2028two\x85three"


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (lambda source: (source / "multi_turn_func_doc" / "math_api.json").unlink(), "no math_api.json"),
        (
            lambda source: (source / "multi_turn_func_doc" / "math_api.json").write_text("{}"),
            "of MathAPI has",
        ),
        (
            lambda source: (source / "multi_turn_func_doc" / "math_api.json").write_text(TEXTS["TicketAPI"]),
            "two tools are called",
        ),
        (lambda source: [path.unlink() for path in source.glob("*.json")], "no file BFCL_v4_multi_turn_"),
        (
            lambda source: (source / "possible_answer" / "BFCL_v4_multi_turn_base.json").unlink(),
            "no file of answers",
        ),
        (lambda source: (source / "BFCL_v4_multi_turn_base.json").write_bytes(b"\xff"), "is not UTF-8"),
    ],
)
def test_a_broken_folder_changes_nothing(break_it: Any, reason: str, source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    before = files_under(tmp_path / "bfcl")
    break_it(source)
    with pytest.raises(DialogueError, match=reason):
        import_official(source, tmp_path)
    assert files_under(tmp_path / "bfcl") == before
    assert verify(tmp_path) == []


def test_no_valid_task_is_an_error_with_the_first_reason(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source", {"base": [pair("base", 1, involved_classes=["X"])]})
    with pytest.raises(DialogueError, match="the first of 1: base line 1: there is no class 'X'"):
        import_official(source, tmp_path)
    with pytest.raises(DialogueError, match="is no folder"):
        import_official(tmp_path / "nowhere", tmp_path)


def test_a_second_import_replaces_the_first(source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    first = Catalogue.open(tmp_path)
    write_source(tmp_path / "other", {"miss_func": [pair("miss_func", 1)]})
    import_official(tmp_path / "other", tmp_path)
    second = Catalogue.open(tmp_path)
    assert first is not None
    assert second is not None
    assert (counts(tmp_path), first.digest != second.digest) == ({"miss_func": 1}, True)
    assert len(files_under(tmp_path / "bfcl")) == 3


def test_equal_data_have_an_equal_digest(source: Path, tmp_path: Path) -> None:
    digests = []
    for home in (tmp_path / "a", tmp_path / "b"):
        import_official(source, home)
        catalogue = Catalogue.open(home)
        assert catalogue is not None
        digests.append(catalogue.digest)
    assert digests[0] == digests[1]
    assert len(digests[0]) == 12


def test_damage_is_noticed(source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    (path,) = tmp_path.rglob("base.jsonl")
    path.write_bytes(path.read_bytes().replace(b"ticket 1", b"ticket 2"))
    assert [line.startswith(f"{path}: its SHA-256 is ") for line in verify(tmp_path)] == [True]
    path.unlink()
    assert verify(tmp_path) == [f"{path}: No such file or directory"]
    manifest = tmp_path / "bfcl" / "manifest.json"
    manifest.write_text("{")
    assert verify(tmp_path) == [f"{manifest} is broken: import the tasks again"]
    with pytest.raises(DialogueError):
        counts(tmp_path)


def test_nothing_imported_is_no_error(tmp_path: Path) -> None:
    assert (counts(tmp_path), verify(tmp_path), Catalogue.open(tmp_path)) == (None, [], None)
