"""Counts and means of the table."""

import json
from pathlib import Path

import polars as pl
import pytest
from support.trajectories import trajectory

from agentgym_store.errors import StoreError
from agentgym_store.records import Cancelled, Failed, Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.statistics import statistics
from agentgym_store.store import Store, Where

SAMPLE = Sample(text="look", prompt_ids=(1,), token_ids=(2, 3), logprobs=(-1.0, -1.0), policy_version=0)


def episode(name, ending, rewards, iteration=1, kind="look", difficulty="small") -> Trajectory:
    return trajectory(
        id=name,
        run="a",
        iteration=iteration,
        env="alfworld",
        task_id=name,
        kind=kind,
        difficulty=difficulty,
        turns=tuple(Turn(action="a", observation="o", reward=r, sample=SAMPLE) for r in rewards),
        ending=ending,
        started_at="2025-01-01T00:00:00Z",
        wall_s=1.0,
    )


@pytest.fixture
def store(tmp_path) -> Store:
    made = Store.open(tmp_path / "table")
    episodes = [
        episode("won", Terminated(), [0.0, 1.0]),
        episode("half", Truncated(limit="max_turns"), [0.5, 0.0, 0.0, 0.0], kind="heat"),
        episode("lost", Terminated(), [0.0], iteration=10, difficulty="large"),
        episode("broken", Failed(failure="worker-lost"), [1.0], iteration=2),
        episode("stopped", Cancelled(), [], iteration=2),
    ]
    made.append(episodes, commit={"run": "a"})
    return made


def test_rates_are_over_the_episodes_that_have_a_return(store):
    total = statistics(store.scan()).total
    assert total.endings == {"cancelled": 1, "failed": 1, "terminated": 2, "truncated": 1}
    assert (total.episodes, total.scored, total.successes) == (5, 3, 1)
    assert total.success_rate == pytest.approx(1 / 3)
    assert total.mean_reward == pytest.approx(0.5)  # (1 + 0.5 + 0) / 3; the lost worker's reward is none
    assert total.mean_turns == pytest.approx(1.6)  # (2 + 4 + 1 + 1 + 0) / 5
    assert (total.sampled_tokens, total.mean_sampled_tokens) == (16, pytest.approx(3.2))


def test_every_breakdown_adds_up(store):
    found = statistics(store.scan())
    columns = {"ending", "purpose", "iteration", "env", "kind", "difficulty"}
    assert set(found.by) == {*columns, "reward", "turns", "tokens"}
    for groups in found.by.values():
        assert sum(group.episodes for group in groups.values()) == 5
        assert sum(group.successes for group in groups.values()) == 1
    assert list(found.by["iteration"]) == ["1", "2", "10"]
    assert found.by["kind"]["heat"].mean_reward == 0.5


def test_a_group_without_a_return_has_no_rate_instead_of_zero(store):
    broken = statistics(store.scan()).by["iteration"]["2"]
    assert (broken.success_rate, broken.mean_reward, broken.scored) == (None, None, 0)


def test_a_filtered_scan_gives_the_figures_of_what_is_left(store):
    assert statistics(store.scan(Where(iteration=1))).total.success_rate == 0.5
    assert statistics(store.scan(Where(iteration=1)).collect()).total.episodes == 2


def test_an_empty_table_has_empty_figures(tmp_path):
    found = statistics(Store.open(tmp_path / "empty").scan())
    assert (found.total.episodes, found.total.endings, found.total.mean_turns) == (0, {}, None)
    assert found.by["kind"] == {}


def test_figures_are_plain_json(store):
    found = statistics(store.scan())
    assert json.loads(found.model_dump_json())["by"]["difficulty"]["large"]["successes"] == 0


def test_a_table_that_cannot_be_read_is_one_line(store):
    for file in Path(store.place.name).glob("*.parquet"):
        file.unlink()
    with pytest.raises(StoreError, match="cannot read the table") as error:
        statistics(store.scan())
    assert "\n" not in str(error.value)
    with pytest.raises(StoreError):
        statistics(pl.DataFrame({"id": ["a"]}))
