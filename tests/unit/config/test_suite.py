"""Configuration of an evaluation suite: short forms, defaults, and one line for each mistake."""

from pathlib import Path

import pytest

from agentevol.config.suite import SuiteConfig, load_suite
from agentevol.core.errors import ConfigError

WHOLE = """
models = [
  "expert", {name = "warm", model = "starter", temperature = 1.0, engine = {name = "vllm", slots = 8}},
]
episodes = 20

[[environments]]
env = "guess"

[[environments]]
name = "hard"
env = "alfworld"
difficulty = "large"
episodes = 5
options = {admissible = true}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "small.toml"
    file.write_text(text)
    return file


def test_texts_are_short_for_models_and_environments(tmp_path: Path) -> None:
    found = load_suite(written(tmp_path, WHOLE))
    assert found.name == "small"
    assert [(one.name, one.model, one.temperature) for one in found.models] == [
        ("expert", "expert", None),
        ("warm", "starter", 1.0),
    ]
    assert found.models[1].overrides == ['engine.name="vllm"', "engine.slots=8"]
    assert [(one.name, one.env, one.split, one.episodes) for one in found.environments] == [
        ("guess", "guess", "test", None),
        ("hard", "alfworld", "test", 5),
    ]
    short = load_suite(written(tmp_path, 'models = ["idle"]\nenvironments = ["guess"]'))
    assert (short.environments[0].env, short.trials, short.sample) == ("guess", 1, 0)


def test_the_resolved_suite_is_a_valid_input(tmp_path: Path) -> None:
    found = load_suite(written(tmp_path, WHOLE))
    resolved = tmp_path / "suite.toml"
    resolved.write_text(found.to_toml())
    assert load_suite(resolved) == found


def test_settings_override_the_file(tmp_path: Path) -> None:
    found = load_suite(written(tmp_path, WHOLE), ["episodes=3", "name=other", "seed=7"])
    assert (found.episodes, found.name, found.seed) == (3, "other", 7)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("episode = 3", "unknown key 'episode'"),
        ("episodes = 0", "episodes: Input should be greater than or equal to 1"),
        ("trials = 0", "trials: Input should be greater than or equal to 1"),
        ("sample = -1", "sample: Input should be greater than or equal to 0"),
        ("temperature = nan", "temperature: Input should be a finite number"),
        ("seed = 1.5", "seed: Input should be a valid integer"),
        ('models = ["idle", "idle"]', "models: 'idle' is there twice: give each a name of its own"),
        ('environments = ["guess", "guess"]', "environments: 'guess' is there twice"),
        ("models = []", "models: Tuple should have at least 1 item"),
        ('models = [{model = "idle", temprature = 1}]', "unknown key 'models.0.temprature'"),
        ('models = [{name = "a"}]', "models.0.model: Field required"),
        ('models = [{name = "a\\nb", model = "idle"}]', "models.0.name: a name has 1 to 200 printable"),
        ('models = [{model = "idle", format = "xml"}]', "models.0.format"),
        ('environments = [{env = "guess", episodes = 0}]', "environments.0.episodes"),
        ('environments = [{env = "social", partner = "starter"}]', "a partner in a suite is self or env"),
        ('environments = [{env = "guess", url = "http://h", options = {a = 1}}]', "options have no effect"),
        ("models = ", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(tmp_path: Path, change: str, told: str) -> None:
    key = change.partition(" ")[0]
    usual = {"models": 'models = ["expert"]', "environments": 'environments = ["guess"]'}
    text = "\n".join([change, *(line for name, line in usual.items() if name != key)])
    with pytest.raises(ConfigError) as raised:
        load_suite(written(tmp_path, text))
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_setting_of_no_section_names_the_section(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="seed is not a section"):
        load_suite(written(tmp_path, "seed = 1"), ["seed.x=1"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the configuration .*none\.toml"):
        load_suite(tmp_path / "none.toml")


def test_engine_settings_are_part_of_the_suite() -> None:
    values = {"models": ["idle"], "environments": ["guess"]}
    assert SuiteConfig.model_validate(values) != SuiteConfig.model_validate({**values, "seed": 1})
