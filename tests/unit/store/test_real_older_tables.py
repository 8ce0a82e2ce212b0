"""Tables that older commits of this repository wrote, each with an export of the same code.

`1-first` is of commit 5508388, `1-loss-masks` of da725db, `2-first` of ea38383 and `2-last` of 319e87d.
"""

import tarfile
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from support.trajectories import trajectory

from agentgym_store.imports import importer
from agentgym_store.jsonl import import_jsonl
from agentgym_store.records import Trajectory
from agentgym_store.statistics import MODE_COLUMNS, statistics
from agentgym_store.store import Store, Where
from agentgym_store.table.compaction import compact
from agentgym_store.table.turns import TURN_COLUMNS

ARCHIVE = Path(__file__).parents[2] / "support" / "older_tables.tar.xz"
KEY = {"run": "old", "iteration": "1", "stage": "explore"}


@pytest.fixture(params=["1-first", "1-loss-masks", "2-first", "2-last"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / request.param


def exported(table: Path) -> list[Trajectory]:
    return list(import_jsonl(table.with_suffix(".jsonl")))


def content(table: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in table.rglob("*") if file.is_file()}


def test_its_episodes_are_those_that_its_own_code_exported_and_reading_writes_nothing(table: Path):
    before = content(table)
    store = Store.open(table, create=False)
    assert list(store.trajectories()) == exported(table)
    name = table.name
    assert [one.id.removeprefix(f"{name}/") for one in store.trajectories()] == [
        "won",
        "broken",
        "cut",
        "stopped",
    ]
    assert [one.id for one in store.trajectories(Where(iteration=1))] == [f"{name}/won", f"{name}/broken"]
    assert [one.id for one in store.trajectories(version=1)] == [f"{name}/won", f"{name}/broken"]
    assert store.scan(Where(ending="failed")).collect()["failure"].to_list() == ["worker-lost"]
    assert (store.count(), store.version(), store.committed(**KEY)) == (4, 2, 1)
    assert content(table) == before


def test_fields_that_came_later_are_read_where_they_were_written(table: Path):
    won = next(iter(Store.open(table).trajectories()))
    masks = [turn.sample.loss_mask for turn in won.turns if turn.sample is not None]
    is_first, is_second = table.name == "1-first", table.name.startswith("2-")
    assert masks == ([None] * 3 if is_first else [None, (0, 1), None])
    assert (won.parent, won.given_turns, won.seat) == (("p", 1, 1) if is_second else (None, 0, 0))
    assert won.turns[1].costs == ({"harm": 0.25, "noise": None} if is_second else {})
    assert [turn.sample.prompt_ids for turn in won.turns if turn.sample is not None] == [
        (1, 2, 3),
        (1, 2, 3, 4, 5, 6, 7),
        (1, 9),
    ]


def test_its_turns_and_statistics_are_read(table: Path):
    store = Store.open(table)
    turns = pl.concat(store.turns(TURN_COLUMNS))
    assert turns["turn"].to_list() == [1, 2, 3, 1, 1]
    assert turns["mode"].to_list() == [2, None, None, 2, None]
    assert turns["prompt_tokens"].to_list() == [3, 7, 2, 3, 7]
    is_second = table.name.startswith("2-")
    assert turns["policy_s"].to_list() == turns["environment_s"].to_list() == [None] * 5
    assert turns["given"].to_list() == [is_second, False, False, False, False]
    costs = '{"harm": 0.25, "noise": null}' if is_second else None
    assert turns["costs"].to_list() == [None, costs, None, None, costs]
    found = statistics(store.scan(), store.turns(MODE_COLUMNS))
    assert (found.total.episodes, found.total.scored, found.total.successes) == (4, 2, 2)
    assert found.modes["2"].turns == (1 if is_second else 2)


def test_it_is_appended_to_and_compacted_and_keeps_its_order(table: Path):
    old = exported(table)
    store = Store.open(table)
    assert store.append(old[:2], commit=KEY) == 1  # it is in
    timed = old[0].turns[1].model_copy(update={"policy_s": 0.5, "environment_s": 0.0021})
    new = trajectory(id="new", parent="p", seat=2, turns=(timed, old[0].turns[0]))
    store.append([new], commit={"run": "new"})
    assert DeltaTable(table).metadata().configuration["agentevol.format"] == "agentevol.trajectory/3"
    assert list(store.trajectories()) == [*old, new]
    assert pl.concat(store.turns(["policy_s", "environment_s"])).rows() == [
        *[(None, None)] * 5,
        *((0.5, 0.0021), (None, None)),
    ]
    done = compact(store.place)
    assert (done.files_before, done.files_after) == (3, 1)
    assert list(Store.open(table).trajectories()) == [*old, new]
    assert store.committed(**KEY) == 1


def test_a_table_that_is_only_compacted_gets_this_format(table: Path):
    compact(Store.open(table).place)
    assert DeltaTable(table).metadata().configuration["agentevol.format"] == "agentevol.trajectory/3"
    assert list(Store.open(table).trajectories()) == exported(table)


def test_an_export_in_parquet_from_before_turns_had_times_is_read(tmp_path: Path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    parquet = importer("parquet")
    found = [parquet.episode(record) for _, record in parquet.records(tmp_path / "2-last.parquet")]
    assert found == exported(tmp_path / "2-last")
