"""Files of questions: what is read, and what is refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.core import TaskNotFound
from agentgym_envs.questions import Questions
from agentgym_envs.questions.files import MOST_LINE, open_questions
from agentgym_envs.questions.records import QuestionsError
from agentgym_envs.testing import check_environment


def question(number: int, split: str = "train", **fields: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "split": split,
        "prompt": f"What is {number} + 1?",
        "answer": str(number + 1),
    } | fields


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "questions.jsonl"
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return path


def test_questions_are_found_by_split_level_and_id(tmp_path: Path):
    path = written(
        tmp_path,
        question(1, difficulty="easy"),
        b"",
        question(2, difficulty="hard", kind="sum"),
        question(3, "test", difficulty="easy"),
    )
    world = Questions(str(path))
    assert (world.splits, world.difficulties) == (("train", "test"), ("easy", "hard"))
    assert [task.id for task in world.tasks("train")] == ["q1", "q2"]
    assert [task.id for task in world.tasks("train", "hard")] == ["q2"]
    assert list(world.tasks("test", "hard")) == []
    assert (world.task("q2").prompt, world.task("q2").answer, world.task("q2").kind) == (
        "What is 2 + 1?",
        "3",
        "sum",
    )
    with pytest.raises(TaskNotFound):
        world.task("q4")


def test_a_file_keeps_the_contract(tmp_path: Path):
    path = written(tmp_path, *(question(n, ("train", "valid", "test")[n % 3]) for n in range(1, 40)))
    report = check_environment(lambda: Questions(str(path)))
    assert report.passed, report.lines()
    assert {result.name: result.cases for result in report.results}["assets"] > 0


def test_the_data_version_is_that_of_the_content(tmp_path: Path):
    first = Questions(str(written(tmp_path, question(1)))).data_version
    assert first.startswith("file:")
    assert Questions(str(written(tmp_path, question(1)))).data_version == first
    assert Questions(str(written(tmp_path, question(2)))).data_version != first


def test_numbers_may_stand_for_texts_and_a_byte_order_mark_is_skipped(tmp_path: Path):
    line = json.dumps(question(1) | {"id": 7, "answer": 2, "difficulty": 3})
    world = Questions(str(written(tmp_path, b"\xef\xbb\xbf" + line.encode())))
    assert (world.task("7").answer, world.difficulties) == ("2", ("3",))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"id": "a", "prompt": "x", "answer": "1"}, "no split"),
        ({"split": "train", "prompt": "x", "answer": "1"}, "no id"),
        ({"id": "a", "split": "train", "answer": "1"}, "no prompt"),
        (question(2, prompt="  "), "prompt: only white space"),
        (question(2, split="train:valid"), "split: String should match pattern"),
        (question(2, answer="(("), r"answer: the verifier 'math' cannot read '\(\('"),
        (question(2, answer=""), "answer: the verifier 'math' cannot read ''"),
        (question(2, verifier="choice"), "answer: the verifier 'choice' cannot read '3'"),
        (question(2, verifier="os:system"), "verifier: 'os:system' is not one of"),
        (question(2, answr="3"), "answr: Extra inputs are not permitted"),
        (question(2, id="a\nb"), "id: a control character"),
        (
            {"question": "x", "answer": "#### 1"},
            "a record of GSM8K's form: import it with `agentevol data import",
        ),
        ({"problem": "x", "solution": "1"}, "a record of MATH's form"),
        ([1], "a list, not an object"),
        (b"{bad", "no JSON: Expecting property name"),
        (b"[" * 100_000, "no JSON: it is nested too deeply"),
        (b'{"id": "\xff"}', "not UTF-8 at byte 8"),
        (b" " * (MOST_LINE + 1), "the line has more than 1,000,000 bytes"),
        (question(1, prompt="Another?"), "the id 'q1' occurs twice"),
        (question(2, "test", prompt="what  is 1 + 1?"), "prompt of 'q2' in 'test' is also in 'train'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: Any, reason: str):
    path = written(tmp_path, question(1), line)
    with pytest.raises(QuestionsError, match=reason) as refused:
        Questions(str(path))
    assert str(refused.value).startswith(f"{path}:2: ")
    assert "\n" not in str(refused.value)


def test_a_file_without_questions_and_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(QuestionsError, match="has no question"):
        Questions(str(written(tmp_path, b"", b" ")))
    with pytest.raises(QuestionsError, match="is a folder"):
        Questions(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        Questions(str(tmp_path / "missing.jsonl"))


def test_a_file_that_has_changed_is_noticed(tmp_path: Path):
    found = open_questions(written(tmp_path, question(1)), "math")
    written(tmp_path, b"x" * 70)
    with pytest.raises(QuestionsError, match="has changed since it was opened"):
        found.question(0)


def test_a_checked_file_is_checked_once(tmp_path: Path):
    path = written(tmp_path, question(1))
    assert open_questions(path, "math") is open_questions(path, "math")
    assert open_questions(path, "math") is not open_questions(path, "exact")
