"""What a run takes from its environment before it begins: tasks, words, room for actions."""

import pytest

from agentevol.config.run import load
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.models.rendering import load_tokenizer
from agentevol.models.resolution import starter_folder
from agentevol.models.tokenizer_checks import action_tokens, check_words, unknown_share
from agentevol.models.word_tokenizer import word_tokenizer
from agentevol.rollout.environments import (
    demonstration,
    opened,
    player_episodes,
    task_counts,
    usual_action_tokens,
)
from agentevol.runs.lifecycle import prepared
from agentgym_envs.guess import Guess, GuessTask


class Mute(Guess):
    """Neither player nor expert."""

    def demonstrate(self, task: GuessTask, seed: int, care: float = 1.0) -> list[str]:
        raise NotImplementedError

    def expert(self, task: GuessTask) -> None:
        return None


class Broken(Guess):
    def demonstrate(self, task: GuessTask, seed: int, care: float = 1.0) -> list[str]:
        raise ZeroDivisionError("no\nway")


class Expert(Mute):
    def expert(self, task: GuessTask) -> list[str]:
        return [str(task.secret)]


def test_words_without_a_token_are_unknown_to_a_vocabulary_of_words():
    tokenizer = word_tokenizer(["go to table 1", "look"])
    assert unknown_share(tokenizer, ["go to table 1"]) == 0.0
    assert unknown_share(tokenizer, ["go to fridge 1"]) == 0.25
    assert unknown_share(tokenizer, []) == 0.0
    with pytest.raises(ConfigError, match="base small does not fit alfworld: 25% of the words"):
        check_words("small", tokenizer, ["go to fridge 1"], "alfworld")


def test_an_action_has_room_for_twice_the_longest_one():
    tokenizer = word_tokenizer(["go to table go"])
    assert action_tokens(tokenizer, ["go"]) == action_tokens(tokenizer, []) == 16
    assert action_tokens(tokenizer, [" ".join(["go to table"] * 4)]) == 2 * (12 + 1)


def test_what_an_environments_player_says_is_read_where_it_has_one():
    assert player_episodes(Guess(), "train", None)[0].told == ["4", "2", "1"]
    assert [one.told for one in player_episodes(Expert(), "train", None)] == [["1"], ["2"], ["5"], ["7"]]
    assert player_episodes(Mute(), "train", None) == []
    with pytest.raises(ConfigError, match="guess has neither a demonstrating player nor an expert"):
        demonstration(Mute(), Mute().task("guess-1"), 0)
    with pytest.raises(ConfigError, match="guess: its player failed: no way"):
        player_episodes(Broken(), "train", None)


def test_tasks_are_counted_and_a_split_without_data_is_one_line():
    with opened(EnvironmentConfig(name="alfworld")) as world:
        counts = task_counts(world)
        assert counts.size("valid", "medium") == 100
        assert counts.difficulties == ("small", "medium", "large")
        with pytest.raises(ConfigError, match="alfworld, split 'official_train'"):
            counts.size("official_train", None)
    with (
        pytest.raises(ConfigError, match=r"environment\.options: guess: "),
        opened(EnvironmentConfig(name="guess", options={"size": 9})),
    ):
        pass


def test_a_run_is_prepared_for_its_environment():
    found = prepared(load(None, ["env=guess"]))
    assert (found.base, found.explore.tasks, found.evaluate.episodes) == ("starter:guess", 4, 2)
    assert found.explore.max_new_tokens == 16
    assert prepared(load(None, ["env=deliberate"])).explore.max_new_tokens == 46
    assert prepared(load(None, [])).explore.max_new_tokens == 16
    assert (
        usual_action_tokens(EnvironmentConfig(name="webshop"), load_tokenizer(starter_folder("webshop")))
        == 112
    )


@pytest.mark.parametrize("base", ["starter:alfworld", "starter:deliberate"])
def test_a_base_that_cannot_speak_to_the_environment_is_refused(base: str):
    with pytest.raises(ConfigError, match=rf"base {base} does not fit webshop: \d\d%"):
        prepared(load(None, ["env=webshop", f"base={base}"]))
