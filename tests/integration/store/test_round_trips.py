"""Ten thousand episodes, to a data set and back."""

from pathlib import Path

import pytest
from support.exports import table_of, varied_episodes

from agentgym_store.exports import Plan, export, export_format
from agentgym_store.imports import import_files
from agentgym_store.store import Store

pytestmark = pytest.mark.slow

COUNT = 10_000


@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_every_episode_comes_back_equal(name: str, tmp_path: Path) -> None:
    episodes = varied_episodes(COUNT)
    table = table_of(tmp_path / "table", episodes, each=1_000)
    report = export(table, export_format(name), tmp_path / "out", plan=Plan(shards=3))
    assert report.rows == {"train": COUNT}
    files = [tmp_path / "out" / file.name for file in report.files]
    back = import_files(files, tmp_path / "back")
    assert (back.read, back.imported, back.dropped) == (COUNT, COUNT, {})
    assert list(Store.open(tmp_path / "back").trajectories()) == episodes
