"""Defaults of a run that follow its environment."""

from dataclasses import replace

import pytest

from agentevol.config.fitting import TaskCounts, fitted
from agentevol.config.run import RunConfig, load
from agentevol.core.errors import ConfigError


def counts(sizes: dict[str, int], difficulties: tuple[str, ...] = ()) -> TaskCounts:
    """An environment with so many tasks in each split, a third of them of each difficulty."""
    return TaskCounts(
        "chess", tuple(sizes), difficulties, lambda split, level: sizes[split] // (3 if level else 1)
    )


def config(*settings: str) -> RunConfig:
    return load(None, ["env=chess", *settings])


def test_a_large_environment_with_three_splits_keeps_every_default():
    found = fitted(config(), counts({"train": 10_000, "valid": 500, "test": 500}))
    assert found == config()
    assert (found.explore_split, found.validate_split, found.evaluate_split) == ("train", "valid", "test")
    assert (found.explore.difficulty, found.evaluate.difficulty) == (None, None)
    assert found.base == "starter:chess"


def test_no_more_tasks_are_asked_for_than_there_are():
    found = fitted(config("demonstrations.tasks=50"), counts({"train": 3, "valid": 2, "test": 1}))
    assert (found.explore.tasks, found.demonstrations.tasks) == (3, 3)
    assert (found.evaluate.validation_episodes, found.evaluate.episodes) == (2, 1)


def test_missing_splits_are_parts_of_the_explored_one():
    found = fitted(config(), counts({"train": 100, "test": 40}))
    assert (found.validate_split, found.evaluate_split) == ("train:valid", "test")
    assert (found.explore.tasks, found.evaluate.validation_episodes, found.evaluate.episodes) == (90, 10, 40)
    found = fitted(config("evaluate.held_out=0.2"), counts({"train": 100}))
    assert found.held_out_parts == ["train:test", "train:valid"]
    assert (found.explore.tasks, found.evaluate.validation_episodes, found.evaluate.episodes) == (60, 20, 20)


def test_three_tasks_are_enough_and_two_are_not():
    found = fitted(config(), counts({"train": 3}))
    assert (found.explore.tasks, found.evaluate.validation_episodes, found.evaluate.episodes) == (1, 1, 1)
    line = "chess has 2 tasks in split 'train', and a run needs 3 of them: .* no split 'valid' or 'test'"
    with pytest.raises(ConfigError, match=line):
        fitted(config(), counts({"train": 2}))


def test_another_split_is_explored_where_there_is_no_train():
    found = fitted(config(), counts({"test": 5, "games": 7}))
    assert (found.explore_split, found.validate_split, found.evaluate_split) == (
        "games",
        "games:valid",
        "test",
    )
    with pytest.raises(ConfigError, match=r"no split 'train': name the one .* there are: valid, test"):
        fitted(config(), counts({"valid": 5, "test": 7}))


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["explore.split=trian"], "chess has no split 'trian'; there are: train, valid, test"),
        (["explore.difficulty=easy"], "explore.difficulty: chess has no difficulty 'easy'; there are: hard"),
        (["evaluate.difficulty=easy"], "evaluate.difficulty: chess has no difficulty 'easy'"),
        (["evaluate.split=test:valid"], "'test:valid' is no part of the explored split 'train'"),
        (
            ["evaluate.validation_split=train:valid", "explore.difficulty=hard"],
            "explore.difficulty and evaluate.difficulty have to be equal",
        ),
    ],
)
def test_what_the_environment_does_not_have_is_refused(settings: list[str], line: str):
    with pytest.raises(ConfigError, match=line):
        fitted(config(*settings), counts({"train": 9, "valid": 9, "test": 9}, ("hard",)))


def test_a_plan_may_name_splits_whose_data_are_elsewhere():
    named = config("explore.split=imported", "explore.tasks=500")
    assert fitted(named, counts({"valid": 9, "test": 9}), strict=False).explore.tasks == 500


def test_official_data_have_splits_of_their_own_and_no_difficulties():
    official = load(None, ["environment.data=official"])
    assert (official.explore_split, official.evaluate_split) == ("official_train", "valid_unseen")
    assert (official.explore.difficulty, official.evaluate.difficulty) == (None, None)
    with pytest.raises(ConfigError, match=r"environment.data = 'official' has no effect for 'guess'"):
        load(None, ["env=guess", "environment.data=official"])
    with pytest.raises(ConfigError, match="no split 'official_train': import it with `agentevol data import"):
        fitted(official, counts({"train": 9, "valid": 9, "test": 9}))


def seated(*settings: str) -> RunConfig:
    there = replace(counts({"train": 100, "valid": 5, "test": 5}), seats=("buyer", "seller"))
    return fitted(config(*settings), there)


def test_all_seats_of_an_environment_are_played_unless_one_is_asked_for():
    assert (seated().environment.seats, seated("environment.seats=1").environment.seats) == (2, 1)
    assert (seated().episodes_per_worker, seated("environment.seats=1").episodes_per_worker) == (24, 48)
    assert seated("engine.slots=1").episodes_per_worker == 1
    assert seated("selfplay.partner=league").environment.seats == 2


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["environment.seats=3"], r"environment.seats: chess has 2: buyer, seller; play all of them or 1"),
        (["environment.partner=random", "environment.seats=1"], "environment.partner has no effect"),
        (["environment.partner=expert"], "'expert' is no partner"),
        (["environment.partner=other", "engine=vllm"], "a partner with weights needs engine = 'embedded'"),
        (["selfplay.partner=league", "environment.seats=1"], "has no effect with environment.seats = 1"),
        (["process.continuations=4", "algorithm=ppo"], r"process.continuations need .* environment.seats=1"),
    ],
)
def test_seats_and_partners_that_cannot_be_are_refused(settings: list[str], line: str):
    with pytest.raises(ConfigError, match=line):
        seated(*settings)


def test_one_agent_has_no_partner_to_choose():
    with pytest.raises(ConfigError, match=r"environment.partner has no effect: one seat of chess"):
        fitted(config("environment.partner=idle"), counts({"train": 100, "valid": 5, "test": 5}))
