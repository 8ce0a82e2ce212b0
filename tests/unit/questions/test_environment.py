"""The environment of questions: rewards, outcomes, options, action formats."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs import registry
from agentgym_envs.core import StepResult
from agentgym_envs.formats import FORMATS, render_react, render_thinking
from agentgym_envs.questions import Questions
from agentgym_envs.questions.verifiers import VerifierFault
from agentgym_envs.thinking import render

TASK = "test/2/3"  # 40 - 6 * 4 = 16


def played(action: str, world: Questions | None = None, task: str = TASK) -> StepResult:
    world = world or Questions()
    world.reset(world.task(task), seed=0)
    return world.step(action)


def file_of(folder: Path, **fields: Any) -> str:
    path = folder / "own.jsonl"
    path.write_text(json.dumps({"id": "1", "split": "train", "prompt": "Capital?", **fields}) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("reply", "reward", "info"),
    [
        ("The answer is 16.", 1.0, {"outcome": "right", "answer": "16"}),
        ("6 * 4 = 24, and 40 - 24 is 16", 1.0, {"outcome": "right", "answer": "16"}),
        ("The answer is 17.", 0.0, {"outcome": "wrong", "answer": "17"}),
        ("I do not know.", 0.0, {"outcome": "no answer found", "invalid_action": True}),
        ("", 0.0, {"outcome": "no answer found", "invalid_action": True}),
    ],
)
def test_a_reply_ends_the_episode(reply: str, reward: float, info: dict[str, Any]):
    result = played(reply)
    assert (result.reward, result.terminated, result.info) == (reward, True, info)


def test_a_second_reply_earns_nothing():
    world = Questions()
    played("The answer is 16.", world)
    again = world.step("The answer is 16.")
    assert (again.reward, again.observation.text) == (0.0, "It is over.")


def test_the_answer_never_leaves_the_server():
    world = Questions()
    task = world.task(TASK)
    told = [world.reset(task, 0).text, played("The answer is 17.").model_dump_json(), task.instruction]
    assert not any(task.answer in text for text in told)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("plain", "6 * 4 = 24.\n40 - 24 = 16."),
        ("plain", render_thinking("3? no", "The answer is 16.")),
        ("react", render_react("6 * 4 = 24", "The answer is 16.")),
        ("modes", render(2, ("6 * 4 = 24",) * 3, "The answer is 16.")),
    ],
)
def test_every_action_format_carries_an_answer(form: str, message: str):
    assert played(FORMATS[form].parse(message)).reward == 1.0


def test_the_expert_says_the_solution_or_marks_the_answer(tmp_path: Path):
    for fields, said in (
        ({"answer": "Paris", "verifier": "exact"}, "Paris"),
        ({"answer": "7", "solution": "3 + 4 = 7"}, "3 + 4 = 7"),
        ({"answer": "7", "solution": "It is 7, as 3 + 4."}, "It is 7, as 3 + 4.\nThe answer is 7"),
        ({"answer": "B", "verifier": "choice"}, "B"),
    ):
        world = Questions(file_of(tmp_path, **fields))
        assert world.expert(world.task("1")) == [said]
        assert played(said, world, "1").reward == 1.0


def test_without_a_verifier_there_is_no_reward_but_a_demonstration(tmp_path: Path):
    world = Questions(file_of(tmp_path, answer="Paris"), verifier="none")
    assert world.scored is False
    result = played("Paris", world, "1")
    assert (result.reward, result.info) == (0.0, {"outcome": "not verified", "trainable": False})
    assert world.expert(world.task("1")) is None
    assert world.demonstrate(world.task("1"), 0) == ["Paris"]
    world = Questions(file_of(tmp_path), verifier="none")
    with pytest.raises(NotImplementedError):
        world.demonstrate(world.task("1"), 0)


def test_a_verifier_that_raises_gives_no_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "checkers_of_test.py").write_text("def check(reply, answer):\n    return 1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    world = Questions(file_of(tmp_path, answer="Paris"), verifier="checkers_of_test:check")
    with pytest.raises(VerifierFault, match="raised ZeroDivisionError"):
        played("Paris", world, "1")


@pytest.mark.parametrize("options", [{"verifier": "exact"}, {"verifier": "none"}, {"verifier": "maths"}])
def test_a_verifier_without_an_effect_is_refused(options: dict[str, str]):
    with pytest.raises(ValueError, match="verifier"):
        Questions(**options)


def test_a_file_is_named_after_a_colon(tmp_path: Path):
    path = file_of(tmp_path, answer="7")
    assert registry.make(f"questions:{path}").task("1").id == "1"
    assert registry.with_argument("guess") == ("guess", {})
    for wrong in ("guess:x", "questions:"):
        with pytest.raises(registry.UnknownEnvironment, match="those with an argument are: questions:FILE"):
            registry.make(wrong)
