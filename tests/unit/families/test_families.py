"""What all five environments have in common."""

import json
from collections import Counter
from typing import Any

import pytest

from agentgym_envs.core import TaskNotFound
from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.knowledge import SPLITS, split_of
from agentgym_envs.knowledge.names import words
from agentgym_envs.registry import make

NAMES = {"weather": 343, "movie": 238, "academia": 20, "todo": 155, "sheet": 20}
"""Environments, with AgentGym's numbers of tasks."""
every = pytest.mark.parametrize("name", NAMES)


def family(name: str, **options: Any) -> FamilyEnvironment[Any]:
    found = make(name, **options)
    assert isinstance(found, FamilyEnvironment)
    return found


def called(tool: str, **arguments: object) -> str:
    return json.dumps({"name": tool, "arguments": arguments})


@every
def test_the_numbers_of_agentgyms_tasks_are_ids(name: str):
    environment = family(name)
    tasks = environment.tasks("agentgym")
    assert [task.id for task in tasks] == [str(number) for number in range(NAMES[name])]
    assert environment.task("7") == tasks[7]
    assert environment.task("train/7") == environment.tasks("train")[7]
    assert [len(environment.tasks(split)) for split in environment.splits[:3]] == [400, 100, 200]


@every
@pytest.mark.parametrize(
    "task_id", ["-1", "1000000", "1.0", "01", "None", "", "train/400", "agentgym/1", "train/-1", "٣", "1\n"]
)
def test_other_ids_are_unknown(name: str, task_id: str):
    with pytest.raises(TaskNotFound):
        family(name).task(task_id)


@every
def test_the_expert_earns_1_on_every_task_that_agentgym_counts(name: str):
    environment = family(name)
    for task in environment.tasks("agentgym"):
        environment.reset(task, 0)
        results = [environment.step(action) for action in environment.expert(task)]
        assert [result.reward for result in results[:-1]] == [0.0] * (len(results) - 1)
        assert results[-1].reward == 1.0, task.id
        assert results[-1].terminated
        assert results[-1].info == {"outcome": "success"}


def types(name: str) -> Counter[str]:
    """Types of the answers of AgentGym's tasks."""
    found = Counter[str]()
    for task in family(name).tasks("agentgym"):
        answer = task.answer
        if answer is None:
            found["operation"] += 1
        else:
            found["list" if isinstance(answer.value, list) else answer.kind] += 1
    return found


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("weather", {"number": 130, "integer": 49, "list": 39}),
        ("movie", {"number": 3, "integer": 12, "list": 21}),
        ("academia", {"integer": 3, "list": 5}),
        ("todo", {"integer": 31, "list": 26}),
        ("sheet", {"operation": 20}),
    ],
)
def test_answers_have_agentgyms_types_in_its_proportions(name: str, others: dict[str, int]):
    found = types(name)
    texts = sum(found[kind] for kind in ("string", "date", "boolean", "operation")) - others.get(
        "operation", 0
    )
    assert {kind: found[kind] for kind in others} == others
    assert texts == NAMES[name] - sum(others.values())


@every
def test_goals_of_different_splits_share_no_invented_name(name: str):
    known = {one for split in SPLITS for kind in vars(words(split)).values() for one in kind}
    environment = family(name)
    for split in environment.splits:
        texts = " ".join(task.instruction for task in environment.tasks(split))
        coined = known & {word.strip("'.,?;:") for word in texts.replace("'s ", " ").split()}
        assert len(coined) >= 16
        assert {split_of(word) for word in coined} == {split}


class Careless:
    """Flaw: the verdict does not ask for evidence."""

    def verdict(self, task: Any, state: Any) -> Any:
        return super().verdict(task.model_copy(update={"evidence": ()}), state)  # type: ignore[misc] - mixed in


def outcomes_of_guessing(environment: FamilyEnvironment[Any]) -> Counter[str]:
    """Outcomes of the right answer, at once, in tasks whose answer could be guessed."""
    found = Counter[str]()
    for task in environment.tasks("train"):
        if task.evidence:
            environment.reset(task, 0)
            found[environment.step(task.plan[-1]).info["outcome"]] += 1
    return found


@pytest.mark.parametrize("name", ["weather", "movie", "academia", "todo"])
def test_a_right_answer_that_could_be_guessed_needs_the_rows_on_which_it_rests(name: str):
    environment = family(name)
    found = outcomes_of_guessing(environment)
    assert set(found) == {"missing_evidence"}
    assert found.total() > 80

    class Guessable(Careless, type(environment)):  # type: ignore[misc] - the class is only known here
        pass

    assert set(outcomes_of_guessing(Guessable())) == {"success"}


@pytest.mark.parametrize("name", ["weather", "movie", "academia", "todo"])
def test_yes_and_no_and_choices_need_evidence(name: str):
    for task in family(name).tasks("train"):
        assert task.answer is None or task.answer.kind != "boolean" or task.evidence


@every
def test_only_the_first_finish_counts(name: str):
    environment = family(name)
    task = environment.task("0")
    plan = environment.expert(task)
    environment.reset(task, 0)
    first = environment.step(called("finish", **({} if name == "sheet" else {"answer": "I do not know"})))
    assert (first.reward, first.terminated) == (0.0, True)
    later = [environment.step(action) for action in plan]
    assert {result.reward for result in later} == {0.0}
    assert all('"episode_done"' in result.observation.text for result in later)


@every
def test_an_episode_continues_from_a_snapshot_in_another_instance(name: str):
    environment, other = family(name), family(name)
    task = environment.task("1")
    *before, finish = environment.expert(task)
    environment.reset(task, 0)
    for action in before:
        environment.step(action)
    snapshot = environment.snapshot()
    assert environment.step(finish).reward == 1.0
    other.reset(environment.task("2"), 0)
    for _ in range(2):
        other.restore(snapshot)
        assert other.step(finish).reward == 1.0


@every
def test_the_player_wins_with_care_and_seldom_without(name: str):
    environment = family(name)
    won = dict[float, int]()
    for care in (1.0, 0.7, 0.0):
        won[care] = 0
        for number in range(20):
            task = environment.task(f"train/{number}")
            messages = environment.demonstrate(task, seed=3, care=care)
            assert environment.demonstrate(task, seed=3, care=care) == messages
            environment.reset(task, 0)
            won[care] += sum(environment.step(message).reward for message in messages) == 1.0
    assert won[1.0] == 20
    assert 0 < won[0.7] < 20
    assert won[0.0] == 0


@every
def test_demonstrations_hold_slips_and_thoughts(name: str):
    environment = family(name)
    messages = [
        m for number in range(30) for m in environment.demonstrate(environment.task(f"train/{number}"), 0)
    ]
    assert all(message.startswith("<think>") for message in messages)
    environment.reset(environment.task("train/0"), 0)
    answers = [environment.step(message).observation.text for message in messages if "_slip" not in message]
    assert any('"unknown_tool"' in answer for answer in answers)


@every
def test_a_thought_is_answered_and_changes_nothing(name: str):
    environment = family(name)
    environment.reset(environment.task("0"), 0)
    before = environment.copied(environment.state)
    result = environment.step("Think: I could call finish with the answer.")
    assert (result.observation.text, result.reward, result.terminated) == ('"OK."', 0.0, False)
    assert environment.state == before


@every
def test_the_valid_actions_are_the_tools(name: str):
    environment = family(name)
    environment.reset(environment.task("0"), 0)
    answer = environment.step(called("check_valid_actions"))
    assert json.loads(answer.observation.text) == list(environment.toolset)
