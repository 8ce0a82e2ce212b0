"""Configuration of runs in several environments."""

from pathlib import Path

import pytest

from agentevol.config.commands import evaluation_commands
from agentevol.config.mixture import shares, with_fitted
from agentevol.config.run import RunConfig, load, load_earlier
from agentevol.config.sections.environment import names_in
from agentevol.core.errors import ConfigError

BOTH = "env=alfworld,textcraft"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("alfworld", ("alfworld",)),
        ("alfworld,textcraft", ("alfworld", "textcraft")),
        (" tau-mock , wordle", ("tau-mock", "wordle")),
        ("questions:sums.jsonl,wordle", ("questions:sums.jsonl", "wordle")),
        # a comma in the argument of one environment
        ("questions:of May,June.jsonl", ("questions:of May,June.jsonl",)),
    ],
)
def test_names_stand_between_commas(given: str, names: tuple[str, ...]):
    assert names_in(given) == names


@pytest.mark.parametrize(
    ("total", "weights", "found"),
    [
        (10, [1, 1, 2], [3, 2, 5]),  # 2.5, 2.5 and 5
        (100, [1, 1, 1], [34, 33, 33]),
        (3, [0.5, 0, 1], [1, 0, 2]),
        (0, [1, 2], [0, 0]),
    ],
)
def test_shares_are_whole_and_add_up(total: int, weights: list[float], found: list[int]):
    assert shares(total, weights) == found


def test_each_environment_has_its_own_defaults_and_its_share_of_the_tasks():
    config = load(
        None,
        [
            "env=alfworld,textcraft,webshop",
            *("explore.tasks=8", "demonstrations.tasks=4", "evaluate.episodes=30"),
            *("mixture.textcraft.weight=2", "mixture.textcraft.evaluate.episodes=7"),
        ],
    )
    assert config.base == "starter:many"
    found = config.by_environment
    assert {name: own.explore.tasks for name, own in found.items()} == {
        "alfworld": 2, "textcraft": 4, "webshop": 2
    }  # fmt: skip
    assert [own.demonstrations.tasks for own in found.values()] == [1, 2, 1]
    assert [own.explore.difficulty for own in found.values()] == ["medium", None, "small"]
    assert [own.environment.max_turns for own in found.values()] == [None, None, 20]
    assert [own.evaluate.episodes for own in found.values()] == [30, 7, 30]
    assert all(own.environment.name == name for name, own in found.items())


@pytest.mark.parametrize(
    ("settings", "tasks", "start", "rate"),
    [
        ([BOTH], [100, 100], "base", 1e-4),
        ([BOTH, "algorithm=grpo"], [50, 50], "latest", 3e-4),
        ([BOTH, "explore.tasks=30", "start=latest"], [15, 15], "latest", 1e-4),
        (["env=textcraft"], [100], "latest", 3e-4),
    ],
)
def test_the_default_number_of_tasks_is_that_of_each_environment(
    settings: list[str], tasks: list[int], start: str, rate: float
):
    config = load(None, settings)
    assert [own.explore.tasks for own in config.by_environment.values()] == tasks
    assert (config.start, config.learn.learning_rate) == (start, rate)


def test_one_environment_is_the_run_itself():
    config = load(None, ["env=textcraft"])
    assert config.by_environment == {"textcraft": config}
    assert config.base == "starter:textcraft"
    assert not config.mixture


def test_an_argument_is_an_option_of_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").touch()
    config = load(None, ["env=questions:sums.jsonl,wordle"])
    assert config.environment.name == "questions,wordle"
    assert config.by_environment["questions"].environment.options == {"file": str(tmp_path / "sums.jsonl")}


def test_the_resolved_file_is_the_configuration(tmp_path: Path):
    config = load(None, [BOTH, "mixture.textcraft.explore.difficulty=2", "base=/somewhere"])
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load_earlier(tmp_path / "config.toml") == (config, [])
    assert config.base == "/somewhere"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["env=alfworld,alfworld"], "environment.name has 'alfworld' twice"),
        (["env=alfworld:x,wordle"], "no environment named 'alfworld:x'"),
        (["env=alfworld", "mixture.wordle.weight=1"], "mixture.wordle has no effect"),
        ([BOTH, "mixture.wordle.weight=1"], "mixture.wordle has no effect"),
        ([BOTH, "mixture.textcraft.weight=-1"], "mixture.textcraft.weight"),
        ([BOTH, "mixture.alfworld.weight=0", "mixture.textcraft.weight=0"], "nothing is explored"),
        ([BOTH, "explore.difficulty=hard"], "set mixture.NAME.explore.difficulty"),
        ([BOTH, "evaluate.split=valid"], "set mixture.NAME.evaluate.split"),
        ([BOTH, "environment.options.dialect=ours"], "set mixture.NAME.environment.options"),
        ([BOTH, "environment.partner=random"], "plays one seat of each"),
        ([BOTH, "environment.data=official"], "is of one environment"),
        ([BOTH, "protect.easy.episodes=10"], "set protect.easy.environment"),
        ([BOTH, "mixture.textcraft.tasks=3"], "unknown key 'mixture.textcraft.tasks'"),
    ],
)
def test_what_cannot_be_is_told(given: list[str], reason: str):
    with pytest.raises(ConfigError, match=reason):
        load(None, given)


def test_splits_that_stages_cannot_tell_apart_and_several_seats_are_refused():
    config = load(None, [BOTH])

    def fitted_with(**sections: object) -> RunConfig:
        alone = config.by_environment
        alone["textcraft"] = alone["textcraft"].model_copy(update=sections)
        return with_fitted(config, alone)

    assert fitted_with().mixture["textcraft"].evaluate.episodes == 200
    own = config.by_environment["textcraft"]
    with pytest.raises(ConfigError, match="'test' is evaluated in one environment and validates in another"):
        fitted_with(evaluate=own.evaluate.model_copy(update={"split": "x", "validation_split": "test"}))
    with pytest.raises(ConfigError, match=r"set mixture\.textcraft\.environment\.seats=1"):
        fitted_with(environment=own.environment.model_copy(update={"seats": 2}))


def test_a_model_is_evaluated_by_a_command_for_each_environment():
    settings = load(None, ["env=wordle,webshop", "evaluate.episodes=50"]).model_dump(mode="json")
    assert evaluation_commands(settings, "better", "after.jsonl") == [
        "agentevol eval --model better --env wordle --episodes 50 --records after-wordle.jsonl",
        "agentevol eval --model better --env webshop --difficulty small --episodes 50 --max-turns 20"
        " --records after-webshop.jsonl",
    ]
    alone = load(None, ["env=guess"]).model_dump(mode="json")
    assert evaluation_commands(alone, "better", "after.jsonl") == [
        "agentevol eval --model better --env guess --episodes 200 --records after.jsonl"
    ]
