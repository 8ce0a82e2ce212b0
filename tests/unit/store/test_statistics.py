"""Counts and means of the table."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
from support.trajectories import trajectory

from agentgym_store.errors import StoreError
from agentgym_store.records import Cancelled, Failed, Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.statistics import MODE_COLUMNS, ModeGroup, statistics
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


def test_ranges_of_numbers_ascend(store):
    by = statistics(store.scan()).by
    assert {name: group.episodes for name, group in by["reward"].items()} == {
        "none": 2,
        "0": 1,
        "0.5 to 0.75": 1,
        "1": 1,
    }
    assert list(by["reward"]) == ["none", "0", "0.5 to 0.75", "1"]
    assert {name: group.episodes for name, group in by["turns"].items()} == {
        "0": 1,
        "1": 2,
        "2": 1,
        "3 to 4": 1,
    }
    assert (by["turns"]["3 to 4"].mean_reward, by["reward"]["none"].endings) == (
        0.5,
        {"cancelled": 1, "failed": 1},
    )
    assert {name: group.episodes for name, group in by["tokens"].items()} == {"0": 1, "1 to 64": 4}


@pytest.mark.parametrize(
    ("breakdown", "column", "value", "label"),
    [
        ("reward", "total_reward", -0.5, "below 0"),
        ("reward", "total_reward", -0.0, "0"),
        ("reward", "total_reward", 0.1, "0 to 0.25"),
        ("reward", "total_reward", 0.25, "0.25 to 0.5"),
        ("reward", "total_reward", 0.99, "0.75 to 1"),
        ("reward", "total_reward", 0.9995, "1"),
        ("reward", "total_reward", 1.5, "above 1"),
        ("reward", "total_reward", math.nan, "not a number"),
        ("reward", "total_reward", math.inf, "above 1"),
        ("turns", "turn_count", 5, "5 to 8"),
        ("turns", "turn_count", 8, "5 to 8"),
        ("turns", "turn_count", 1024, "513 to 1,024"),
        ("turns", "turn_count", 1025, "over 1,024"),
        ("tokens", "sampled_tokens", 64, "1 to 64"),
        ("tokens", "sampled_tokens", 65, "65 to 256"),
        ("tokens", "sampled_tokens", 10**9, "over 262,144"),
    ],
)
def test_a_number_is_in_one_range(store, breakdown, column, value, label):
    frame = store.scan(Where(ids=["won"])).collect().with_columns(pl.lit(value).alias(column))
    assert list(statistics(frame).by[breakdown]) == [label]


def test_a_return_that_is_not_finite_leaves_no_mean(store):
    frame = store.scan().collect().with_columns(total_reward=pl.lit(math.nan))
    assert statistics(frame).total.mean_reward is None


def in_mode(*modes: int | None) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            action="a",
            observation="o",
            reward=1.0,
            sample=SAMPLE,
            info={} if mode is None else {"mode": mode},
        )
        for mode in modes
    )


def test_turns_are_counted_by_thinking_mode(tmp_path):
    store = Store.open(tmp_path / "table")
    lost = Turn(action="a", observation="o", reward=0.0, info={"mode": 3})
    episodes = [
        trajectory(id="a", turns=in_mode(1, 3, 3, None)),
        trajectory(id="b", turns=(*in_mode(-1, 1), lost), given_turns=2),
        trajectory(id="c", turns=(lost,), ending=Failed(failure="worker-lost")),
        trajectory(id="d", turns=(lost,), iteration=2),
    ]
    store.append(episodes, commit={"a": "1"})
    where = Where(iteration=1)
    modes = statistics(store.scan(where), store.turns(MODE_COLUMNS, where)).modes
    assert list(modes) == ["1", "3"]  # the malformed reply was given
    assert modes["1"] == ModeGroup(
        turns=1,
        share=0.2,
        mean_sampled_tokens=2.0,
        episodes=1,
        scored=1,
        success_rate=1.0,
        mean_reward=4.0,
    )
    assert modes["3"] == ModeGroup(
        turns=4,
        share=0.8,
        mean_sampled_tokens=2.0,
        episodes=3,
        scored=2,
        success_rate=1.0,
        mean_reward=3.0,
    )
    assert statistics(store.scan(where)).modes == {}


def test_chunks_add_up_to_the_whole(store, monkeypatch):
    whole = statistics(store.scan(), store.turns(MODE_COLUMNS))
    monkeypatch.setattr("agentgym_store.statistics.episodes._CHUNK", 1)
    monkeypatch.setattr("agentgym_store.table.turns._READ_EPISODES", 1)
    assert statistics(store.scan(), store.turns(MODE_COLUMNS)) == whole


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
