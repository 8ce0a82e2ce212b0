"""Imports of GSM8K, MATH and our own form."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.import_report import ImportReport
from agentgym_envs.questions import Questions
from agentgym_envs.questions.importing import counts, import_official, verify
from agentgym_envs.questions.records import QuestionsError

CLIPS = {
    "question": "Natalia sold clips to 48 friends in April, and half as many in May. How many?",
    "answer": "In May 48/2 = <<48/2=24>>24 clips.\nTogether 48+24 = <<48+24=72>>72 clips.\n#### 72",
}
HALF = {
    "problem": "If $2x=1$, what is $x$?",
    "level": "Level 1",
    "type": "Counting & Probability",
    "solution": r"So $x=\boxed{\frac{1}{2}}$.",
}


def lines(path: Path, *records: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def imported(source: Path, home: Path) -> ImportReport:
    return import_official(source, home)


def test_gsm8k_keeps_its_answers_and_loses_the_marks_of_its_calculator(tmp_path: Path, home: Path):
    lines(tmp_path / "gsm" / "train.jsonl", CLIPS, {"question": "1,000?", "answer": "yes #### 1,000"})
    lines(tmp_path / "gsm" / "test.jsonl", {"question": "Other?", "answer": "#### 5"})
    assert imported(tmp_path / "gsm", home).counts == {"train": 2, "test": 1}
    world = Questions("imported")
    task = world.task("gsm8k/train/1")
    assert (task.answer, task.verifier, task.difficulty) == ("72", "number", "2")
    assert world.expert(task) == ["In May 48/2 = 24 clips.\nTogether 48+24 = 72 clips.\n#### 72"]
    assert world.task("gsm8k/train/2").answer == "1,000"


def test_math_is_read_from_folders_of_single_files_and_from_lines(tmp_path: Path, home: Path):
    folder = tmp_path / "MATH"
    for split, problem in (("train", "If $2x=1$?"), ("test", "If $3x=1$?")):
        path = folder / split / "counting" / "17.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(HALF | {"problem": problem}))
    lines(folder / "math500_test.jsonl", HALF | {"problem": "Third?", "answer": "(1, 2)", "unique_id": "u/3"})
    assert imported(folder, home).counts == {"train": 1, "test": 2}
    task = Questions("imported").task("math/train/counting_&_probability/17")
    assert (task.answer, task.verifier, task.difficulty) == (r"\frac{1}{2}", "math", "1")
    assert Questions("imported").task("math/test/counting_&_probability/u/3").answer == "(1, 2)"


def test_our_own_form_is_imported_with_its_split_or_that_of_its_name(tmp_path: Path, home: Path):
    source = tmp_path / "own.jsonl"
    lines(source, {"id": "1", "split": "dev", "prompt": "a?", "answer": "1", "verifier": "exact"})
    assert imported(source, home).counts == {"dev": 1}
    lines(tmp_path / "own-valid.jsonl", {"id": "1", "prompt": "a?", "answer": "1"})
    assert imported(tmp_path / "own-valid.jsonl", home).counts == {"valid": 1}


def test_a_held_out_prompt_is_left_out_of_train_and_counted(tmp_path: Path, home: Path):
    lines(tmp_path / "g" / "train.jsonl", CLIPS, {"question": "shared?", "answer": "#### 1"}, CLIPS)
    lines(tmp_path / "g" / "test.jsonl", {"question": "Shared? ", "answer": "#### 1"})
    report = imported(tmp_path / "g", home)
    assert report.counts == {"test": 1, "train": 1}
    assert report.warnings == (
        "1 of train left out: their prompts are in a split that is held out",
        "1 left out: their prompts are twice in their split",
    )


def test_what_is_not_sound_is_refused_by_name(tmp_path: Path, home: Path):
    source = tmp_path / "g" / "train.jsonl"
    lines(
        source, CLIPS, {"question": "a?", "answer": "5"}, HALF | {"solution": r"\boxed{\unknown}"}, {"x": 1}
    )
    with source.open("ab") as file:
        file.write(
            b'{"question": "\xff"}\n{bad\n' + b"x" * 2_500_000 + b"\n" + json.dumps({"question": 3}).encode()
        )
    lines(tmp_path / "g" / "more.jsonl", CLIPS | {"question": "b?"})
    report = imported(tmp_path / "g", home)
    assert report.counts == {"train": 1}
    assert [(one.name, one.reason) for one in report.refused] == [
        ("g/more.jsonl:1", "no split: neither a field, nor in the name of the file or of its folder"),
        ("g/train.jsonl:2", "answer: no '####' before the final answer"),
        ("g/train.jsonl:3", r"answer: the verifier 'math' cannot read '\\unknown'"),
        ("g/train.jsonl:4", "no id"),
        ("g/train.jsonl:5", "not UTF-8 at byte 14"),
        ("g/train.jsonl:6", "no JSON: Expecting property name enclosed in double quotes"),
        ("g/train.jsonl:7", "it has more than 1,000,000 bytes"),
        ("g/train.jsonl:8", "no answer"),
    ]


def test_a_source_without_a_sound_question_changes_nothing(tmp_path: Path, home: Path):
    lines(tmp_path / "train.jsonl", CLIPS)
    imported(tmp_path / "train.jsonl", home)
    lines(tmp_path / "bad" / "train.jsonl", {"question": "a?", "answer": "5"})
    with pytest.raises(
        QuestionsError, match=r"no question that can be imported; bad/train\.jsonl:1: answer: no '####'"
    ):
        imported(tmp_path / "bad", home)
    assert counts(home) == {"train": 1}
    assert verify(home) == []
    assert len(list((home / "questions").iterdir())) == 2  # the manifest and one folder


def test_a_changed_import_is_noticed_and_a_new_one_replaces_it(tmp_path: Path, home: Path):
    lines(tmp_path / "train.jsonl", CLIPS)
    imported(tmp_path / "train.jsonl", home)
    (file,) = (home / "questions").glob("*/tasks.jsonl")
    file.write_text("{}")
    assert verify(home) == [f"{file} has changed since it was imported: import the data again"]
    imported(tmp_path / "train.jsonl", home)
    assert verify(home) == []


def test_without_an_import_there_is_none(home: Path):
    assert counts(home) is None
    with pytest.raises(QuestionsError, match="no questions were imported"):
        Questions("imported")
