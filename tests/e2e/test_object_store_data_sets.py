"""Exports from a table in an object store, and imports into one."""

from pathlib import Path

import pytest
from support.exports import contents, table_of, varied_episodes

from agentevol.data.exports.registry import ALL_FORMATS
from agentgym_store.exports import export, export_format
from agentgym_store.imports import import_files
from agentgym_store.store import Store

EPISODES = varied_episodes(24)


@pytest.mark.parametrize("name", ["parquet", "preference"])
def test_a_table_under_a_url_is_exported_like_any(name: str, bucket: str, tmp_path: Path):
    remote, local = Store.open(f"{bucket}/table"), table_of(tmp_path / "table", EPISODES, each=10)
    for start in range(0, len(EPISODES), 10):
        remote.append(EPISODES[start : start + 10], commit={"part": str(start)})
    chosen = export_format(name, {}, ALL_FORMATS)
    export(remote, chosen, tmp_path / "remote" / "out")
    export(local, chosen, tmp_path / "local" / "out")
    found = {place: contents(tmp_path / place / "out" / "data") for place in ("remote", "local")}
    assert found["remote"] == found["local"]


def test_episodes_are_imported_into_a_table_under_a_url(bucket: str, tmp_path: Path):
    export(table_of(tmp_path / "table", EPISODES), export_format("jsonl"), tmp_path / "all.jsonl")
    first = import_files([tmp_path / "all.jsonl"], f"{bucket}/new")
    again = import_files([tmp_path / "all.jsonl"], f"{bucket}/new")
    assert (first.imported, first.already, again.already) == (24, 0, 24)
    assert list(Store.open(f"{bucket}/new", create=False).trajectories()) == EPISODES
