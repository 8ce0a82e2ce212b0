"""`env=NAME:ARGUMENT`, and environments whose rewards say nothing."""

import json
from pathlib import Path

import pytest

from agentevol.cli.envs.options import served_of
from agentevol.config.run import RunConfig, load
from agentevol.core.errors import ConfigError
from agentevol.rollout.environments import opened
from agentevol.runs.launch import check_scored

LINE = {"id": "1", "split": "train", "prompt": "Why?", "answer": "7"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(LINE) + "\n")
    return path


def test_a_file_after_a_colon_is_an_option_with_its_absolute_path(file: Path):
    config = load(None, ["env=questions:own.jsonl", "environment.options.verifier=exact"])
    assert config.environment.name == "questions"
    assert config.environment.options == {"file": str(file), "verifier": "exact"}
    assert config.base == "starter:questions"
    with opened(config.environment) as environment:
        assert environment.splits == ("train",)


def test_the_resolved_configuration_is_read_again(file: Path, tmp_path: Path):
    config = load(None, [f"env=questions:{file}"])
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config


def test_a_name_that_is_no_file_stays_as_it_is():
    assert load(None, ["env=questions:imported"]).environment.options == {"file": "imported"}


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["env=guess:x"], "no environment named 'guess:x'; those with an argument are: questions:FILE"),
        (["env=questions:own.jsonl", "environment.options.file=a"], "options.file is given twice"),
    ],
)
def test_an_argument_without_an_effect_is_refused(overrides: list[str], reason: str):
    with pytest.raises(ConfigError, match=reason):
        load(None, overrides)


def test_a_file_that_is_not_there_is_told_in_one_line():
    config = load(None, ["env=questions:missing.jsonl"])
    with (
        pytest.raises(ConfigError, match=r"environment\.options: questions: .*missing\.jsonl"),
        opened(config.environment),
    ):
        pass


def test_a_run_without_any_reward_is_refused():
    with pytest.raises(ConfigError, match="questions gives no rewards with these options: name a source"):
        check_scored(load(None, ["env=questions"]), scored=False)
    judged = load(None, ["env=questions", "algorithm=grpo", "reward.judge=rubric"])
    check_scored(judged, scored=False)
    check_scored(RunConfig(), scored=True)


@pytest.mark.parametrize(
    ("preset", "settings", "complaint"),
    [
        ("rlhf", (), "questions gives no rewards with these options, and reward.preference_rounds pairs"),
        ("rlhf", ("reward.preference_rounds=0", "reward.model=judge"), None),
        ("rlhf-grpo", (), "questions gives no rewards with these options: name a source of them"),
        ("rlhf-dpo", (), "questions gives no rewards with these options: name a source of them"),
        ("rlhf-adpo", (), "and the function good_accuracy reads them: name another source"),
        ("rlhf-adpo", ("reward.function=rewards:close",), None),
    ],
)
def test_presets_that_learn_from_outcomes_need_an_environment_that_has_them(
    preset: str, settings: tuple[str, ...], complaint: str | None
):
    config = load(None, list(settings), preset=preset)
    check_scored(config, scored=True)
    if complaint is None:
        check_scored(config, scored=False)
        return
    with pytest.raises(ConfigError, match=complaint):
        check_scored(config, scored=False)


@pytest.mark.usefixtures("file")
def test_a_server_takes_the_file_as_an_option():
    assert served_of(["guess", "questions:own.jsonl"], ["guess.a=1"]) == (
        ["guess", "questions"],
        ["guess.a=1", 'questions.file="own.jsonl"'],
    )
