"""Turns as rows: columns, filters, what is read."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trajectories import trajectory

from agentgym_store.arrow import parquet
from agentgym_store.errors import StoreError
from agentgym_store.records import Sample, Trajectory, Truncated, Turn
from agentgym_store.store import Store, Where
from agentgym_store.table.turns import TURN_COLUMNS, TURN_PART

SAID = Sample(text="<look>", prompt_ids=(1, 2, 3), token_ids=(4, 5), logprobs=(-1.0, -0.5), policy_version=2)
NEXT = Sample(text="go", prompt_ids=(1, 2, 3, 4, 5, 6), token_ids=(7,), logprobs=(-2.0,), policy_version=3)
FIRST = Turn(
    action="look",
    observation="a",
    reward=0.5,
    sample=SAID,
    info={"mode": 2, "x": {"mode": 3}},
    costs={"h": 1},
    policy_s=0.25,
    environment_s=0.0,
)
SECOND = Turn(action="go", observation="b", reward=0.25, sample=NEXT, info={"mode": "fast"})
SCRIPTED = Turn(action="wait", observation="c", reward=0.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.open(tmp_path / "table")
    made.append(
        [
            trajectory(id="none"),
            trajectory(id="two", turns=(FIRST, SECOND), given_turns=1, seat=1),
            trajectory(id="none again"),
            trajectory(id="one", iteration=2, turns=(SCRIPTED,), ending=Truncated(limit="max_turns")),
        ],
        commit={"a": "1"},
    )
    return made


def rows(store: Store, *columns: str, where: Where | None = None) -> list[tuple[Any, ...]]:
    return [row for frame in store.turns(columns, where or Where()) for row in frame.rows()]


def test_every_column_of_a_turn(store: Store):
    found = [row for frame in store.turns(TURN_PART) for row in frame.rows(named=True)]
    assert found == [
        {
            "turn": 1,
            "given": True,
            "action": "look",
            "observation": "a",
            "reward": 0.5,
            "info": '{"mode":2,"x":{"mode":3}}',
            "costs": '{"h": 1.0}',
            "policy_s": 0.25,
            "environment_s": 0.0,
            "mode": 2,
            "text": "<look>",
            "prompt_tokens": 3,
            "sampled_tokens": 2,
            "logprob": -1.5,
            "token_ids": [4, 5],
            "logprobs": [-1.0, -0.5],
            "policy_version": 2,
            "finish_reason": "stop",
        },
        {
            "turn": 2,
            "given": False,
            "action": "go",
            "observation": "b",
            "reward": 0.25,
            "info": '{"mode":"fast"}',
            "costs": None,
            "policy_s": None,
            "environment_s": None,
            "mode": None,
            "text": "go",
            "prompt_tokens": 6,
            "sampled_tokens": 1,
            "logprob": -2.0,
            "token_ids": [7],
            "logprobs": [-2.0],
            "policy_version": 3,
            "finish_reason": "stop",
        },
        {
            **dict.fromkeys(TURN_PART),
            "turn": 1,
            "given": False,
            "action": "wait",
            "observation": "c",
            "reward": 0.0,
        },
    ]


def test_a_turn_has_the_columns_of_its_episode(store: Store):
    assert rows(store, "id", "turn_count", "total_reward", "seat") == [
        ("two", 2, 0.75, 1),
        ("two", 2, 0.75, 1),
        ("one", 1, 0.0, 0),
    ]
    assert rows(store, "ending") == [("terminated",), ("terminated",), ("truncated",)]
    assert rows(store, "turn") == [(1,), (2,), (1,)]


@pytest.mark.parametrize(
    ("where", "actions"),
    [
        (Where(), ["look", "go", "wait"]),
        (Where(iteration=2), ["wait"]),
        (Where(iteration=1, min_reward=0.5), ["look", "go"]),
        (Where(ids=["one"], ending="truncated"), ["wait"]),
        (Where(iteration=1, max_reward=0.5), []),
        (Where(iteration=3), []),
    ],
    ids=str,
)
def test_a_filter_chooses_episodes(store: Store, where: Where, actions: list[str]):
    assert rows(store, "action", where=where) == [(action,) for action in actions]


def test_every_column_has_the_type_that_its_description_says(store: Store):
    frame = pl.concat(store.turns(TURN_COLUMNS))
    assert {name: frame.schema[name] for name in TURN_PART} == {
        name: column.kind for name, column in TURN_PART.items()
    }


def test_columns_that_were_not_asked_for_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []
    iter_batches = parquet.ParquetFile.iter_batches

    def noted(self: Any, size: int, columns: list[str], **others: Any) -> Any:
        asked.append(columns)
        return iter_batches(self, size, columns=columns, **others)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noted)
    rows(store, "action")
    rows(store, "id", "mode", "sampled_tokens", where=Where(iteration=1))
    rows(store, "turn", "given")
    assert asked == [
        ["turns.list.element.action"],
        ["id", "turns.list.element.info", "turns.list.element.sample.token_ids"],
        ["given_turns", "turns.list.element.reward"],
    ]


def test_turns_of_a_file_that_is_gone_are_one_line(store: Store):
    for file in Path(store.place.name).glob("*.parquet"):
        file.unlink()
    with pytest.raises(StoreError, match="cannot read the table of trajectories") as error:
        rows(store, "action")
    assert "\n" not in str(error.value)


turns = st.builds(
    Turn,
    action=st.text(max_size=3),
    observation=st.text(max_size=3),
    reward=st.floats(-1, 1),
    sample=st.none() | st.just(SAID) | st.just(NEXT),
    info=st.just({}) | st.just({"mode": 1}),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(turns, max_size=4).map(tuple), max_size=5))
def test_turns_are_those_of_the_episodes(tmp_path_factory: pytest.TempPathFactory, played: list[Any]):
    episodes: list[Trajectory] = [trajectory(id=str(number), turns=one) for number, one in enumerate(played)]
    store = Store.open(tmp_path_factory.mktemp("table"))
    store.append(episodes, commit={"a": "1"})
    expected = [
        (
            *(episode.id, number, turn.action, turn.reward, turn.info.get("mode")),
            None if turn.sample is None else len(turn.sample.prompt_ids),
            None if turn.sample is None else list(turn.sample.token_ids),
        )
        for episode in episodes
        for number, turn in enumerate(episode.turns, start=1)
    ]
    assert rows(store, "id", "turn", "action", "reward", "mode", "prompt_tokens", "token_ids") == expected
