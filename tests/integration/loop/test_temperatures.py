"""Temperatures of explored episodes, drawn from a range by their seed."""

from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console
from support.trajectories import trajectory

from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.data.rewards.state_values import State
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.continuations import continuations
from agentevol.rollout.tasks import EnvTask
from agentgym_store.records import Turn


def requests(place: Path, *overrides: str, purpose: Any = "explore") -> list[float | None]:
    (place / "base").mkdir(parents=True)
    config = load(None, ["name=now", "environment.name=guess", *overrides])
    with RunFolder.create(place / "run", config, Checkpoint(place / "base", 0)) as folder:
        context = RunContext.of(
            folder, cast(Any, None), "", folder.checkpoints.base(), Progress(Console(quiet=True))
        )
        task = EnvTask(task_id="t", split="train", kind="", difficulty="", instruction="")
        return [context.episodes.request(purpose, 1, task, attempt).temperature for attempt in range(200)]


def test_a_range_gives_each_explored_episode_a_temperature_by_its_seed(tmp_path: Path):
    override = "explore.temperature=[0.5,1.0]"
    found = [one for one in requests(tmp_path / "a", override) if one is not None]
    assert len(set(found)) == 200
    assert 0.5 <= min(found) < 0.51 < 0.99 < max(found) < 1.0
    assert sum(found) / 200 == pytest.approx(0.75, abs=0.03)
    assert found == requests(tmp_path / "b", override)
    assert found != requests(tmp_path / "c", override, "seed=1")
    assert set(requests(tmp_path / "d", override, purpose="evaluate")) == {None}


def test_one_temperature_is_the_runs_own(tmp_path: Path):
    assert set(requests(tmp_path, "explore.temperature=0.7")) == {None}


def test_a_continuation_has_the_temperature_of_its_episode():
    turns = (Turn(action="a", observation="o", reward=0.0),)
    for own in (0.75, None):
        (one,) = continuations(State(trajectory(id="e", turns=turns, temperature=own), 0), 1, 0, None)
        assert one.temperature == own


@pytest.mark.parametrize(
    "given", ["[1.0,0.5]", "[0.5,0.5]", "[0,1]", "0", "-1", "nan", "[0.5,inf]", "[]", "hot"]
)
def test_no_temperature_is_below_0_or_in_a_range_that_falls(given: str):
    with pytest.raises(
        ConfigError, match=r"^explore\.temperature: a (finite )?number.*as in \[0.5,1.0\]"
    ) as caught:
        load(None, [f"explore.temperature={given}"])
    assert "\n" not in str(caught.value)


def test_one_temperature_of_the_learner_has_no_effect_beside_a_range():
    load(None, ["explore.temperature=0.7", "learn.rollout_temperature=0.9"])
    with pytest.raises(ConfigError, match=r"learn\.rollout_temperature has no effect with a range"):
        load(None, ["explore.temperature=[0.5,1]", "learn.rollout_temperature=0.9"])


def test_a_configuration_with_a_range_is_read_as_it_was_written(tmp_path: Path):
    config = load(None, ["explore.temperature=[0.5,1.0]"])
    (tmp_path / "config.toml").write_text(config.to_toml())
    again = load(tmp_path / "config.toml")
    assert again == config
    assert again.explore.temperature == (0.5, 1.0)
