"""What every export format keeps, over the registry of all of them."""

import inspect
import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from support.exports import contents, rows, table_of, varied_episodes

from agentevol.cli.trajectories.export import Format
from agentevol.data.exports.registry import ALL_FORMATS
from agentgym_store.arrow import parquet
from agentgym_store.errors import StoreError
from agentgym_store.exports import Plan, Tally, export, export_format
from agentgym_store.exports.registry import FORMATS, format_class
from agentgym_store.store import Store

EPISODES = varied_episodes(60)
WRITTEN = sorted(set(ALL_FORMATS) - {"sotopia"})
"""Formats that have rows of these episodes; the conversations of `sotopia` have a test of their own."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return table_of(tmp_path_factory.mktemp("table") / "trajectories", EPISODES)


def test_the_command_offers_every_format() -> None:
    assert set(get_args(Format)) == set(ALL_FORMATS)
    assert set(FORMATS) < set(ALL_FORMATS)


@pytest.mark.parametrize("name", sorted(ALL_FORMATS))
def test_a_format_says_what_it_is_and_what_it_loses(name: str) -> None:
    kind = format_class(name, ALL_FORMATS)
    assert kind.name == name
    assert kind.suffix == {"lines": ".jsonl", "array": ".json", "parquet": ".parquet"}[kind.layout]
    assert kind.summary.endswith(".")
    assert (kind.loses == ()) == (name in ("jsonl", "parquet"))
    assert set(export_format(name, {}, ALL_FORMATS).options) == set(inspect.signature(kind).parameters)
    assert all(one.kind == one.KEYWORD_ONLY for one in inspect.signature(kind).parameters.values())


@pytest.mark.parametrize("name", sorted(ALL_FORMATS))
def test_an_option_without_effect_is_refused(name: str) -> None:
    with pytest.raises(StoreError, match=f"speed has no effect on format {name}"):
        export_format(name, {"speed": 1}, ALL_FORMATS)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(StoreError, match="no export format is named 'sharegtp'; there are: agenttraj, "):
        export_format("sharegtp", {}, ALL_FORMATS)


def columns_of(folder: Path) -> list[set[str]]:
    found: list[set[str]] = []
    for file in sorted((folder / "data").iterdir()):
        if file.suffix == ".parquet":
            found += [set(row) for row in parquet.read_table(file).to_pylist()]
        elif file.suffix == ".json":
            found += [set(row) for row in json.loads(file.read_text("utf-8"))]
        else:
            found += [set(json.loads(line)) for line in file.read_text("utf-8").split("\n") if line]
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_rows_have_the_columns_that_the_card_tells(name: str, table: Store, tmp_path: Path) -> None:
    export(table, export_format(name, {}, ALL_FORMATS), tmp_path / "out", plan=Plan(valid=0.3, shards=2))
    header = yaml.safe_load((tmp_path / "out" / "README.md").read_text("utf-8").split("---\n")[1])
    features = header["dataset_info"].get("features")
    columns = columns_of(tmp_path / "out")
    assert columns
    if features is not None:
        assert {frozenset(one) for one in columns} == {frozenset(one["name"] for one in features)}
    counted = {one["name"]: one["num_examples"] for one in header["dataset_info"]["splits"]}
    assert set(counted) == ({"train"} if name == "preference" else {"train", "valid"})
    assert sum(counted.values()) == len(columns)


@pytest.mark.parametrize("name", WRITTEN)
def test_rows_of_a_part_of_the_tasks_are_those_of_all(name: str) -> None:
    """Rows depend on the episodes of their task alone, so that an export may go through them in parts."""
    parts = [[t for t in EPISODES if int(t.task_id.split("-")[1]) % 2 == rest] for rest in (0, 1)]
    apart, together = [Tally(), Tally()], Tally()
    found = [row for part, tally in zip(parts, apart, strict=True) for row in unnumbered(name, part, tally)]
    whole = unnumbered(name, EPISODES, together)
    assert sorted(map(repr, found)) == sorted(map(repr, whole))
    assert +(apart[0].left_out + apart[1].left_out) == +together.left_out


def unnumbered(name: str, episodes: Any, tally: Tally) -> list[Any]:
    found = rows(name, episodes, tally)
    return [
        {key: value for key, value in row.items() if key != "item_id"} if isinstance(row, dict) else row
        for row in found
    ]


@pytest.mark.parametrize("name", WRITTEN)
def test_equal_exports_have_equal_bytes_and_cards(name: str, table: Store, tmp_path: Path) -> None:
    for place in ("a", "b"):
        export(table, export_format(name, {}, ALL_FORMATS), tmp_path / place / "out", plan=Plan(shards=3))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("name", WRITTEN)
def test_a_single_file_has_the_same_rows_as_a_folder(name: str, table: Store, tmp_path: Path) -> None:
    chosen = export_format(name, {}, ALL_FORMATS)
    export(table, chosen, tmp_path / "out")
    file = tmp_path / f"one{chosen.suffix}"
    report = export(table, chosen, file)
    (folder_file,) = (tmp_path / "out" / "data").iterdir()
    assert file.read_bytes() == folder_file.read_bytes()
    assert report.card == tmp_path / f"one{chosen.suffix}.README.md"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["out", file.name, report.card.name])
