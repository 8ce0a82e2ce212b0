"""An export whose process is killed for good."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.exports import contents, table_of, varied_episodes

from agentgym_store import store as table_module
from agentgym_store.exports import Plan, export, export_format
from agentgym_store.store import Store

PROGRAM = """
import os, signal, sys
from pathlib import Path
from agentgym_store import store
from agentgym_store.exports import Plan, export, export_format
from agentgym_store.exports.writing import export as module
store._READ_EPISODES, module.CHECKPOINT_S = 7, 0.0
def told(rows):
    if rows >= 40:
        os.kill(os.getpid(), signal.SIGKILL)
plan = Plan(valid=0.3, shards=2, distinct=True)
export(store.Store.open(sys.argv[1]), export_format(sys.argv[2]), Path(sys.argv[3]), plan=plan, progress=told)
"""


@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_an_export_that_is_killed_continues_and_ends_with_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "_READ_EPISODES", 7)
    table: Store = table_of(tmp_path / "table", varied_episodes(96), each=29)
    plan = Plan(valid=0.3, shards=2, distinct=True)
    export(table, export_format(name), tmp_path / "undisturbed" / "out", plan=plan)
    out = tmp_path / "killed" / "out"
    command = [sys.executable, "-c", PROGRAM, table.place.name, name, str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not out.exists()
    report = export(table, export_format(name), out, plan=plan)
    assert report.continued
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")
