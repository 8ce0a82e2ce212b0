"""Tasks and options of the environment `sotopia`: what is listed, what is refused, and in which words."""

from pathlib import Path
from typing import Any

import pytest
from support.sotopia_profiles import CUPS_TASK, LAMP, LAMP_2_TASK, LAMP_TASK, PARTY_TASK, TALK_TASK

from agentgym_envs.core import TaskNotFound, TaskUnplayable
from agentgym_envs.sotopia.environment import Sotopia


def test_without_imported_data_there_are_generated_tasks() -> None:
    world = Sotopia()
    assert world.splits == ("train", "valid", "test")
    assert world.data_version == "generated:1"
    assert [len(world.tasks(split)) for split in world.splits] == [1_800_000, 18_000, 36_000]
    assert len(Sotopia(families="price").tasks("valid", "2")) == 1_000
    assert len(world.tasks("train", "hard")) == 0
    with pytest.raises(TaskNotFound, match=r"no split 'hard'.*come by: agentevol data import sotopia DIR"):
        world.tasks("hard")
    with pytest.raises(TaskNotFound, match="no task 'sotopia/0'; the published ones"):
        world.task("sotopia/0")
    with pytest.raises(ValueError, match="no family 'chess'"):
        Sotopia(families="chess")


def test_published_tasks_are_listed_by_what_can_score_them(home: Path) -> None:
    world, judged = Sotopia(home=home), Sotopia(home=home, judge="none")
    assert world.splits == ("train", "valid", "test", "verifiable")
    assert judged.splits == ("train", "valid", "test", "verifiable", "judged")
    assert world.data_version.startswith("generated:1+imported:")
    ids = {split: [task.id for task in judged.tasks(split)] for split in judged.splits[3:]}
    assert ids == {"verifiable": [LAMP_TASK, CUPS_TASK, LAMP_2_TASK, PARTY_TASK], "judged": [TALK_TASK]}
    assert [task.id for task in judged.tasks("all")] == [f"sotopia/{position}" for position in range(5)]
    assert [task.id for task in judged.tasks("hard")] == [LAMP_TASK, LAMP_2_TASK]
    assert [task.id for task in world.tasks("hard")] == [LAMP_TASK, LAMP_2_TASK]  # both can be checked
    assert [task.id for task in judged.tasks("normbank")] == [TALK_TASK]
    assert [task.id for task in judged.tasks("all", "standard")] == [TALK_TASK, CUPS_TASK, PARTY_TASK]
    task = world.task(LAMP_TASK)
    assert (task.kind, task.difficulty, task.split) == ("craigslist_bargains", "hard", "verifiable")
    assert task.instruction == LAMP["agent_goals"][0]
    assert Sotopia(home=home, seat=1).task(LAMP_TASK).instruction == LAMP["agent_goals"][1]
    assert world.task("c0") == task  # the key of the combination
    with pytest.raises(TaskUnplayable, match=r"the split 'all': .* 1 of its 5 tasks; give judge_model=NAME"):
        world.tasks("all")


def test_what_the_options_do_not_suffice_for_names_the_option(home: Path) -> None:
    world = Sotopia(home=home)
    with pytest.raises(
        TaskUnplayable, match="no program can check the goals of 'sotopia/1'; give judge_model"
    ):
        world.reset(world.task(TALK_TASK), 0)
    with pytest.raises(TaskUnplayable, match=r"goals of 'sotopia/1' are open, .* give partner_model=NAME"):
        Sotopia(home=home, judge="none").reset(world.task(TALK_TASK), 0)
    assert list(Sotopia(home=home, judge="none").reset_seats(world.task(TALK_TASK), 0)) == ["first"]
    with pytest.raises(TaskUnplayable, match="view='omniscient' would show hidden parameters"):
        Sotopia(view="omniscient").reset(world.task("train/price/1/0"), 0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"colour": 1}, "sotopia has no option 'colour'; there are: view, actions,"),
        ({"view": "all"}, "sotopia: view='all': Input should be 'package', 'relationship'"),
        ({"order": "free"}, "sotopia: order='free': Input should be 'round-robin'"),
        ({"seat": 2}, "sotopia: seat=2: Input should be 0 or 1"),
        ({"max_turns": 0}, "sotopia: max_turns=0: Input should be greater than or equal to 1"),
        ({"dimensions": "goal,charm"}, "sotopia: dimensions: no 'charm'; there are: sotopia, believability"),
        ({"partner": "openai"}, "sotopia: partner=openai needs partner_model=NAME and partner_url=URL"),
        ({"partner_model": "m"}, "sotopia: partner_model='m' needs partner_url, such as http://127.0.0.1"),
        ({"judge_url": "http://a"}, "sotopia: judge_model and judge_url go with judge=openai, not with"),
        ({"partner_model": "m", "partner_url": "a"}, "sotopia: PartnerModel: base_url: String should match"),
        ({"judge_model": "{}", "judge_url": "http://a"}, "sotopia: JudgeModel: model: Field required"),
        ({"judge_model": "1", "judge_url": "ftp://a"}, "sotopia: JudgeModel: base_url: String should match"),
        ({"partner": "replay"}, "sotopia: partner=replay needs replay=FILE"),
        ({"replay": "/no/such.json"}, "sotopia: replay='/no/such.json': No such file or directory"),
        ({"observation": "prompt", "actions": "text"}, "sotopia: observation=prompt asks for actions=json"),
        ({"reward": "overall"}, "sotopia: reward=overall needs all seven dimensions: judge=openai"),
        (
            {"judge_model": "m", "judge_url": "http://a", "dimensions": "secret"},
            "sotopia: dimensions='secret' has no goal, from which",
        ),
    ],
)  # fmt: skip
def test_a_wrong_option_is_told_in_one_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the text is compared below
        Sotopia(**options)
    assert str(raised.value).startswith(told)
    assert "\n" not in str(raised.value)
