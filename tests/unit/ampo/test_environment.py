"""One reply to a dialogue: rewards by the change of the goal, by a program or by a judge."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.ampo import Ampo, judging
from agentgym_envs.ampo.importing import import_official
from agentgym_envs.ampo.judging import change_reward
from agentgym_envs.ampo.records import State
from agentgym_envs.ampo.staging import staged, value
from agentgym_envs.core import StepResult, TaskNotFound
from agentgym_envs.endpoints.records import EndpointFault
from agentgym_envs.social.families.split.shares import offer_text, shares
from agentgym_envs.sotopia.models.judge import JudgeFault, Scores
from agentgym_envs.sotopia.protocol.actions import from_text
from agentgym_envs.thinking import check, extract

JUDGE = {"base_url": "http://127.0.0.1:9/v1", "model": "m", "retries": 0}


@pytest.mark.parametrize(
    ("before", "after", "reward"),
    [
        (4, 4, 0.5),
        (0, 0, 0.5),
        (10, 10, 0.5),
        (4, 7, 0.75),
        (4, 10, 1.0),
        (4, 1, 0.125),
        (4, 0, 0.0),
        (9, 3, 1 / 6),
    ],
)
def test_the_reward_is_the_share_of_what_was_missing_or_there(
    before: float, after: float, reward: float
) -> None:
    assert change_reward(before, after) == pytest.approx(reward)


def step(world: Ampo, action: str) -> StepResult:
    return asyncio.run(world.step(action))


def played(task_id: str, action: str) -> StepResult:
    world = Ampo()
    world.reset(world.task(task_id), 0)
    return step(world, action)


def test_the_players_own_reply_keeps_the_value_of_a_state() -> None:
    world = Ampo()
    for task in world.tasks("train")[:18]:
        world.reset(task, 0)
        (reply,) = world.demonstrate_in_modes(task, 0)
        assert check(reply, strict=True).ok
        result = step(world, extract(reply) or "")
        assert result.terminated
        assert result.reward == pytest.approx(0.5)
        assert result.info["before"] == result.info["after"]


def test_a_leak_loses_what_a_state_was_worth_and_an_answer_keeps_it() -> None:
    world = Ampo()
    found = list[StepResult]()
    for task in world.tasks("train")[:90]:
        if task.kind != "secrets" or task.origin is None:
            continue
        facts = [fact for fact in task.origin.setting.facts if fact.private]
        world.reset(task, 0)
        found.append(step(world, f"It is {', '.join(fact.value for fact in facts)}."))
    assert found
    assert all(one.reward <= 0.5 for one in found)
    assert any(one.info["before"] > 0 and one.reward == 0.0 for one in found)  # all three leaked


def test_a_reply_that_is_better_than_the_players_earns_more() -> None:
    better = [
        played(task.id, offer_text(task.origin.setting.items, share)).reward
        for task in Ampo().tasks("train", "1")[:36]
        if task.kind == "split" and task.origin is not None
        for share in shares(task.origin.setting.pool)
    ]
    assert max(better) > 0.5 > min(better)


def test_a_state_is_a_function_of_its_task_and_its_text_has_the_own_turns() -> None:
    world = Ampo()
    texts = [world.reset(task, seed).text for task in world.tasks("train")[:30] for seed in (0, 1)]
    assert texts[0::2] == texts[1::2]
    spoken = 0
    for task in world.tasks("train")[:30]:
        assert task.origin is not None
        seat = staged(task.origin)
        name = task.origin.people[task.origin.seat].name
        said = world.reset(task, 0).text.partition("Conversation Starts:")[2]
        assert said.count(f": {name} said: ") == len(seat.episode.taken)
        spoken += len(seat.episode.taken)
        assert not seat.episode.ended
    assert spoken > 30


def test_values_leave_the_state_where_it_is() -> None:
    task = Ampo().task("train/split/2/5")
    assert task.origin is not None
    seat = staged(task.origin)
    before = list(seat.episode.taken)
    assert value(seat) == value(seat)
    value(seat, from_text("left the conversation"))
    assert seat.episode.taken == before


@pytest.mark.parametrize(
    "name", ["train/split/2/100000", "states/0", "states/x", "no/price/1/1", "", "train"]
)
def test_there_is_no_such_task(name: str) -> None:
    with pytest.raises(TaskNotFound, match="ampo has no task"):
        Ampo().task(name)


STATE = State(
    instruction="You are Ada.",
    dialog=('Turn 0: Ada said: "Hi."', 'Turn 1: Bo said: "Hello."'),
    turn=2,
    names=("Ada", "Bo"),
    goals=("Borrow {the} drill.", "Keep it."),
    scores=(4.0, 6.0),
)


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    raw: dict[str, Any] = {
        **STATE.model_dump(include={"instruction", "dialog", "turn"}),
        **{f"agent{n}_name": STATE.names[n - 1] for n in (1, 2)},
        **{f"agent{n}_goal": STATE.goals[n - 1] for n in (1, 2)},
        "state": {f"agent{n}": {"score": STATE.scores[n - 1]} for n in (1, 2)},
    }
    (tmp_path / "rl.json").write_text(json.dumps([raw]))
    import_official(tmp_path / "rl.json", tmp_path / "home")
    return tmp_path


@pytest.mark.usefixtures("imported")
def test_an_imported_state_is_a_task_and_a_judge_scores_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    async def judged(prompt: str, *_: object, **__: object) -> Scores:
        asked.append(prompt)
        return Scores(scores=({"goal": 7.0}, {"goal": 1.0}), spread=({}, {}), samples=(), figures={})

    monkeypatch.setattr(judging, "judged", judged)
    world = Ampo(judge=json.dumps(JUDGE))
    assert world.splits == ("train", "valid", "test", "states")
    (task,) = world.tasks("states")
    assert (task.id, world.task("states/0")) == ("states/0", task)
    assert world.reset(task, 0).text == "You are Ada."
    result = step(world, "May I?")
    assert result.reward == pytest.approx(0.75)  # 4 -> 7 of 10
    assert (result.info["before"], result.info["after"]) == (4.0, 7.0)
    assert 'Turn 2: Ada said: "May I?"' in asked[0]
    assert "Ada's goal: Borrow {the} drill." in asked[0]


@pytest.mark.usefixtures("imported")
def test_without_a_judge_a_reply_has_failed_and_no_reward() -> None:
    world = Ampo()
    world.reset(world.task("states/0"), 0)
    with pytest.raises(JudgeFault, match=r"set environment\.options\.judge"):
        step(world, "May I?")
    unreachable = Ampo(judge=JUDGE)
    unreachable.reset(unreachable.task("states/0"), 0)
    with pytest.raises(EndpointFault):
        step(unreachable, "May I?")
    with pytest.raises(NotImplementedError):
        world.demonstrate_in_modes(world.task("states/0"), 0)


def test_a_bad_judge_is_one_line() -> None:
    with pytest.raises(ValueError, match="JudgeModel: base_url: "):
        Ampo(judge={"base_url": "no", "model": "m"})
