"""Tasks: ids, splits, templates, and that their experts are right."""

import re
from collections import Counter

import pytest

from agentgym_envs.assistant import Assistant
from agentgym_envs.assistant.content import names
from agentgym_envs.assistant.tasks.templates import BY_NAME
from agentgym_envs.core import TaskNotFound

UNSEEN = {"weather_stat", "conflict_resolve", "coauthor_mail", "partial", "dedupe_contacts"}
REFUSALS = {
    "not_permitted",
    "not_found",
    "ambiguous",
    "conflict",
    "missing_information",
    "out_of_scope",
}


@pytest.fixture(scope="module")
def assistant() -> Assistant:
    return Assistant()


def test_splits_have_tasks_of_every_level_and_ids_lead_back_to_them(assistant: Assistant) -> None:
    sizes = {"train": 2_000, "valid": 300, "test": 500}
    for split, size in sizes.items():
        assert len(assistant.tasks(split)) == 5 * size
        for level in assistant.difficulties:
            tasks = assistant.tasks(split, level)
            assert len(tasks) == size
            for number in (0, size // 2, size - 1):
                task = tasks[number]
                assert (task.split, task.difficulty) == (split, level)
                assert assistant.task(task.id) == task


@pytest.mark.parametrize(
    "task_id",
    [
        "assistant/train/todo_done/0-4",
        "assistant/train/todo_done/9999-0",
        "assistant/train/weather_stat/0-0",
        "assistant/train/todo_done/00-0",
        "assistant/train/todo_done/20000-0",
        "assistant/test/nothing/20000-0",
        "assistant/train/todo_done/0-0/..",
        "",
    ],
)
def test_ids_of_no_task_are_refused(assistant: Assistant, task_id: str) -> None:
    with pytest.raises(TaskNotFound):
        assistant.task(task_id)


def test_some_templates_are_in_tests_only(assistant: Assistant) -> None:
    kinds = {
        split: {assistant.tasks(split, level)[n].kind for level in assistant.difficulties for n in range(13)}
        for split in assistant.splits
    }
    assert kinds["test"] == set(BY_NAME)
    assert kinds["train"] == kinds["valid"] == set(BY_NAME) - UNSEEN


def test_no_split_has_a_name_of_another(assistant: Assistant) -> None:
    for shares in (names.first_names, names.last_names, names.project_names, names.subjects, names.goods):
        train, valid, test = (set(shares(split)) for split in names.SPLITS)
        assert train
        assert valid
        assert test
        assert not (train & valid)
        assert not (train & test)
        assert not (valid & test)
    texts = {split: _quoted(assistant, split) for split in assistant.splits}
    assert not (texts["train"] & texts["test"])
    assert not (texts["train"] & texts["valid"])


def _quoted(assistant: Assistant, split: str) -> set[str]:
    """Titles and names that instructions quote."""
    found = set[str]()
    for level in ("single", "chained"):
        for number in range(40):
            task = assistant.tasks(split, level)[number]
            found.update(re.findall(r'"([a-z]+ the [a-z ]+)"', task.instruction))
    return found


def test_refusals_are_a_tenth_of_all_and_every_reason_is_as_frequent(assistant: Assistant) -> None:
    reasons = Counter[str]()
    for number in range(120):
        last = assistant.expert(assistant.tasks("train", "refusal")[number])[-1]
        found = re.search(r'"reason_code":"(\w+)"', last)
        reasons[found.group(1) if found else ""] += 1
    assert reasons.pop("") == 60  # half of one level of five
    assert reasons == dict.fromkeys(REFUSALS, 10)


@pytest.mark.parametrize("level", Assistant.difficulties)
def test_experts_earn_the_maximum(assistant: Assistant, level: str) -> None:
    for split in assistant.splits:
        for task in assistant.tasks(split, level)[:26]:
            assistant.reset(task, seed=0)
            results = [assistant.step(action) for action in assistant.expert(task)]
            assert [result.reward for result in results] == [0] * (len(results) - 1) + [1], task.id
            assert results[-1].info == {"outcome": "success"}


def test_instructions_have_several_phrasings(assistant: Assistant) -> None:
    for level in assistant.difficulties:
        by_kind = dict[str, set[str]]()
        for task in assistant.tasks("train", level)[:120]:
            by_kind.setdefault(task.kind, set()).add(task.instruction[:8])
        assert all(len(beginnings) > 1 for beginnings in by_kind.values()), by_kind


def test_a_careful_player_wins_and_a_careless_one_does_not(assistant: Assistant) -> None:
    def wins(care: float) -> float:
        won = 0.0
        tasks = [task for level in assistant.difficulties for task in assistant.tasks("train", level)[:24]]
        for task in tasks:
            assistant.reset(task, seed=0)
            plan = assistant.demonstrate(task, 0, care)
            assistant.reset(task, seed=0)
            won += sum(assistant.step(action).reward for action in plan)
        return won / len(tasks)

    assert wins(1.0) == 1.0
    assert wins(0.5) < 0.7
    assert wins(0.0) < 0.25
