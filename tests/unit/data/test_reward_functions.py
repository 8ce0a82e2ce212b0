"""Reward functions by name: their numbers, TRL's convention, and what is refused."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from agentevol.config.run import load
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.data.rewards.reward_functions import episode_scores, reward_function, score_figures
from agentevol.data.rewards.testing import example_episodes
from agentevol.rollout.environments import reward_columns
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Turn

HERE = __name__


def episode(name: str, *said: str, reward: float = 0.0, **changes: Any) -> Trajectory:
    turns = [
        Turn(
            action=text,
            observation="seen",
            reward=0.0,
            sample=Sample(text=text, prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=0),
        )
        for text in said
    ]
    turns[-1] = turns[-1].model_copy(update={"reward": reward})
    plain = Trajectory(
        id=name, run="run", iteration=1, purpose="explore", env="guess", env_version="1", data_version="1",
        task_id="t", split="train", instruction="Guess.", seed=3, attempt=0, policy="p",
        initial_observation="start", turns=tuple(turns), ending=Terminated(),
        started_at="2026-01-01T00:00:00Z", wall_s=0.0,
    )  # fmt: skip
    return plain.model_copy(update=changes)


WON = episode("b", "4", "6", "5", reward=1.0)
LOST = episode("a", "a b c d a b c d")
FAILED = episode("c", "4", ending=Failed(failure="worker-lost"))


def scores(name: str, episodes: Sequence[Trajectory], **options: Any) -> dict[str, float]:
    return episode_scores(name, reward_function(name, options), episodes)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("success", {}, {"a": 0.0, "b": 1.0}),
        ("discounted_return", {"discount": 0.5}, {"a": 0.0, "b": 0.25}),  # two turns after the first
        ("good_accuracy", {}, {"a": -0.01, "b": 1.0}),  # 4 distinct of 5 word 4-grams
        ("good_accuracy", {"n": 1}, {"a": -0.025, "b": 1.0}),  # 4 distinct of 8 words
    ],
)
def test_the_numbers_of_own_functions(name: str, options: dict[str, Any], expected: dict[str, float]):
    assert scores(name, [WON, LOST, FAILED], **options) == pytest.approx(expected)


def brief(completions: list[str], task_id: list[str], **kwargs: Any) -> list[float]:
    assert kwargs["prompts"] == ["Guess.\nstart"] * len(completions)
    assert "split" in kwargs
    return [-len(text) - len(task) for text, task in zip(completions, task_id, strict=True)]


def answered(completions: list[str], answer: list[str]) -> list[float]:
    return [float(text == right) for text, right in zip(completions, answer, strict=True)]


def weighed(completions: list[str], *, weight: float = 1.0) -> list[float]:
    return [weight * len(text) for text in completions]


def test_a_function_in_trls_convention_gets_columns():
    # "4\n6\n5" has 5 characters, the task's name 1
    assert scores(f"{HERE}:brief", [WON, LOST]) == {"a": -16.0, "b": -6.0}
    assert scores(f"{HERE}:weighed", [WON], weight=2.0) == {"b": 10.0}
    with pytest.raises(ConfigError, match="needs the column 'answer'; there are: prompts, completions"):
        reward_function(f"{HERE}:answered")


def raising(episodes: Sequence[Trajectory]) -> list[float]:
    raise KeyError(episodes[0].id)


def one_short(episodes: Sequence[Trajectory]) -> list[float]:
    return [0.0] * (len(episodes) - 1)


def nan_for_one(episodes: Sequence[Trajectory]) -> list[float]:
    return [float("nan") if one.id == "b" else 0.0 for one in episodes]


def words(episodes: Sequence[Trajectory]) -> list[str]:
    return ["1" for _ in episodes]


def none(episodes: Sequence[Trajectory]) -> None:  # noqa: ARG001
    return None


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("raising", "raised KeyError: 'a'"),
        ("one_short", "gave 1 numbers for 2 episodes"),
        ("nan_for_one", "gave nan for b, not a finite number"),
        ("words", "gave '1' for a, not a finite number"),
        ("none", "raised TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_what_a_function_must_not_give_stops_the_run_in_one_line(name: str, complaint: str):
    with pytest.raises(RunStopped) as stopped:
        scores(f"{HERE}:{name}", [WON, LOST])
    assert complaint in str(stopped.value)
    assert str(stopped.value).startswith(f"reward function '{HERE}:{name}'")
    assert "\n" not in str(stopped.value)


NUMBER = 3


def two(first: object, second: object) -> list[float]:  # noqa: ARG001
    return []


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        (
            "sucess",
            {},
            "no reward function named 'sucess'; there are: discounted_return, good_acc",
        ),
        (f"{HERE}:missing", {}, "cannot be imported: module"),
        (f"{HERE}:NUMBER", {}, "is int, not a function of (episodes)"),
        (f"{HERE}:two", {}, "is no function of (episodes): missing a required argument: 'second'"),
        ("success", {"discount": 1.0}, "success has no option 'discount'; there are: none"),
        ("good_accuracy", {"n": 0}, "option 'n' of good_accuracy cannot be 0"),
        ("discounted_return", {"discount": 2.0}, "option 'discount' of discounted_return cannot be 2.0"),
    ],
)
def test_what_is_no_function_of_episodes_is_refused_before_it_is_called(
    name: str, options: dict[str, Any], complaint: str
):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        reward_function(name, options)


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["reward.function=sucess", "algorithm=grpo"], "reward.function: no reward function named 'sucess'"),
        (["reward.function=success", "algorithm=dpo"], "'dpo' learns from pairs, not rewards"),
        (
            ["reward.function=success", "algorithm=grpo", "reward.model=rm"],
            "it belongs to: model, model with",
        ),
        (
            ["reward.function=success", "algorithm=grpo", "reward.caution.kappa=2"],
            "it belongs to: model, model with reward.refresh",
        ),
        (
            ["reward.function=success", "algorithm=grpo", "reward.epochs=2"],
            "it belongs to: model with reward.refresh",
        ),
        (["reward.function=success", "algorithm=grpo", "explore.resample=1"], "leave it at 0"),
    ],
)
def test_a_setting_of_a_reward_function_without_effect_is_refused(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, overrides)
    given = ["algorithm=grpo", "reward.function=discounted_return", "reward.options.discount=0.5"]
    assert load(None, given).reward.on


def test_figures_of_scores_compare_them_with_returns():
    episodes = example_episodes()
    own = {one.id: one.total_reward or 0.0 for one in episodes}
    assert score_figures(episodes, own)["reward_return_correlation"] == pytest.approx(1.0)
    opposite = {name: -value for name, value in own.items()}
    assert score_figures(episodes, opposite)["reward_return_correlation"] == pytest.approx(-1.0)
    assert score_figures(episodes, {}) == {}


def test_a_function_in_trls_convention_gets_columns_of_the_environment():
    more = {"answer": lambda episode: "4\n6\n5" if episode.id == "b" else "5"}
    function = reward_function(f"{HERE}:answered", {}, more)
    assert episode_scores("answered", function, [WON, LOST]) == {"a": 0.0, "b": 1.0}


def test_answers_of_questions_are_columns_of_runs_that_start_the_environment():
    asked = EnvironmentConfig(name="questions")
    columns = reward_columns([asked])
    reply = episode("q", "16", env="questions", task_id="test/2/3")
    assert {name: read(reply) for name, read in columns.items()} == {
        "answer": "16",
        "solution": "6 * 4 = 24. 40 - 24 = 20 - 4 = 16. The answer is 16.",
    }
    assert reward_columns([asked.model_copy(update={"url": "http://h:1"})]) == {}
    assert reward_columns([EnvironmentConfig(name="guess")]) == {}
