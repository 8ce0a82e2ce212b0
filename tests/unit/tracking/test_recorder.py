"""The recorder of metrics: sinks that raise, hang, have no disk, or are killed."""

import errno
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from agentevol.config.run import load
from agentevol.config.sections.metrics import SINKS
from agentevol.config.sections.section import listed
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking import jsonl
from agentevol.loop.tracking.jsonl import JsonLines
from agentevol.loop.tracking.recorder import PACKAGES, STATE, Recorder, check_sinks
from agentevol.loop.tracking.sinks import TrackedRun

SAID: list[str] = []


def summary(number: int) -> IterationSummary:
    return IterationSummary(iteration=number, checkpoint=f"{number:04d}", table_version=number)


class Listed:
    """Sink that keeps what it got, by run; `broken` iterations raise once."""

    got: ClassVar[dict[str, list[int]]] = {}
    broken: ClassVar[set[int]] = set()
    closed: ClassVar[list[str]] = []
    arrived = threading.Event()

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self.got.setdefault(run.id, [])

    def log(self, summary: IterationSummary) -> None:
        self.arrived.set()
        if summary.iteration in self.broken:
            self.broken.discard(summary.iteration)
            raise ConnectionError("no route")
        self.got[self._run.id].append(summary.iteration)

    def close(self) -> None:
        self.closed.append(self._run.id)


class Hanging(Listed):
    """Sink that does not return."""

    release = threading.Event()

    def log(self, summary: IterationSummary) -> None:
        self.arrived.set()
        self.release.wait()


class Unopened:
    """Sink that cannot be opened, and tries to end the process."""

    def __init__(self, run: TrackedRun) -> None:
        raise SystemExit(f"{run.name} has no key")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("got", "broken", "closed"):
        monkeypatch.setattr(Listed, name, type(getattr(Listed, name))())
    Listed.arrived.clear()
    SAID.clear()
    yield
    Hanging.release.set()


def recorder(folder: Path, *sinks: str) -> Recorder:
    named = [sink if sink in SINKS.own else f"{__name__}:{sink}" for sink in sinks]
    return Recorder(named, "evolve", folder, {"seed": "0"}, SAID.append)


@pytest.fixture(autouse=True)
def _named_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sinks of this file are found by its name."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


def lines(folder: Path) -> list[int]:
    return [json.loads(line)["iteration"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_every_iteration_reaches_all_sinks_in_order(tmp_path: Path) -> None:
    with_two = recorder(tmp_path, "jsonl", "Listed")
    for number in range(3):
        with_two.log(summary(number))
    with_two.close()
    assert lines(tmp_path) == [0, 1, 2]
    assert list(Listed.got.values()) == [[0, 1, 2]]
    state = json.loads((tmp_path / STATE).read_text())
    assert state["recorded"] == {"jsonl": 2, f"{__name__}:Listed": 2}
    assert (Listed.closed, SAID) == ([state["id"]], [])


def test_a_line_is_the_whole_summary(tmp_path: Path) -> None:
    one = recorder(tmp_path, "jsonl")
    one.log(summary(4))
    one.close()
    text = (tmp_path / "metrics.jsonl").read_text()
    assert IterationSummary.model_validate_json(text) == summary(4)


def test_a_sink_that_raises_gets_the_iteration_again_and_is_told_once(tmp_path: Path) -> None:
    Listed.broken.update({0, 1})
    two = recorder(tmp_path, "Listed", "jsonl")
    for number in range(3):
        two.log(summary(number))
    two.close()
    assert list(Listed.got.values()) == [[0, 1, 2]]
    assert lines(tmp_path) == [0, 1, 2]
    assert [f"metrics: {__name__}:Listed failed, the run continues: no route"] == SAID


def test_a_sink_that_exits_ends_nothing(tmp_path: Path) -> None:
    two = recorder(tmp_path, "Unopened", "jsonl")
    two.log(summary(0))
    two.close()
    assert lines(tmp_path) == [0]
    assert [
        f"metrics: {__name__}:Unopened failed, the run continues: SystemExit('evolve has no key')"
    ] == SAID


def test_a_sink_that_hangs_holds_up_neither_the_run_nor_the_others_nor_the_end(tmp_path: Path) -> None:
    two = recorder(tmp_path, "Hanging", "jsonl")
    two.log(summary(0))
    assert Hanging.arrived.wait(60)
    two.log(summary(1))  # returns while the sink hangs
    two.close(timeout_s=0.0)
    assert any("Hanging" in line and "is left behind" in line for line in SAID)
    assert list(Hanging.got.values()) == [[]]
    Hanging.release.set()
    two.close(timeout_s=60.0)
    assert lines(tmp_path) == [0, 1]


def test_what_a_sink_lacks_is_given_when_the_run_is_resumed(tmp_path: Path) -> None:
    first = recorder(tmp_path, "Listed")
    first.log(summary(0))
    first.close()
    second = recorder(tmp_path, "Listed", "jsonl")  # one more than before
    second.resume(map(summary, range(3)))
    second.close()
    assert list(Listed.got.values()) == [[0, 1, 2]]  # of one run: its id is the same
    assert lines(tmp_path) == [0, 1, 2]


def test_a_line_that_a_kill_has_cut_is_written_whole(tmp_path: Path) -> None:
    whole = summary(0).model_dump_json()
    (tmp_path / "metrics.jsonl").write_text(f"{whole}\n{summary(1).model_dump_json()[:20]}")
    one = recorder(tmp_path, "jsonl")
    one.resume(map(summary, range(3)))
    one.close()
    assert lines(tmp_path) == [0, 1, 2]


def test_a_full_disk_leaves_whole_lines_and_the_rest_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = JsonLines(TrackedRun("evolve", tmp_path, "id", {}))
    sink.log(summary(0))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(jsonl.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            sink.log(summary(1))
        assert lines(tmp_path) == [0]
    sink.log(summary(1))
    assert lines(tmp_path) == [0, 1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_disk_that_is_full_all_along_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    two = recorder(tmp_path, "jsonl", "Listed")
    two.log(summary(0))
    two.close()
    assert list(Listed.got.values()) == [[0]]
    assert len(SAID) == 1
    assert "jsonl failed, the run continues: " in SAID[0]


KILLED = """
import os, signal, sys, time
from pathlib import Path
from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.recorder import Recorder

folder = Path(sys.argv[1])
recorder = Recorder(["jsonl"], "evolve", folder, {})
for number in range(3):
    recorder.log(IterationSummary(iteration=number, checkpoint="", table_version=0))
while not (folder / "tracking.json").is_file() or '"jsonl": 2' not in (folder / "tracking.json").read_text():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_recorded_survives_a_kill(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert lines(tmp_path) == [0, 1, 2]  # though nothing was closed


def test_without_sinks_nothing_is_recorded(tmp_path: Path) -> None:
    none = recorder(tmp_path)
    none.log(summary(0))
    none.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_is_named_before_the_run_begins(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=rf"metrics: '{package}' needs the package {package}.*\[{package}\]"
    ):
        check_sinks(["jsonl", package])


def test_the_setting_takes_names_without_quotes_and_refuses_unknown_ones() -> None:
    assert load().metrics == ("jsonl", "tensorboard")
    assert load(overrides=["metrics=[trackio,wandb]"]).metrics == ("trackio", "wandb")
    assert load(overrides=["metrics=mlflow"]).metrics == ("mlflow",)
    assert load(overrides=['metrics=["jsonl", "jsonl"]']).metrics == ("jsonl",)
    assert load(overrides=["metrics=[]"]).metrics == ()
    with pytest.raises(ConfigError, match="no metric sink named 'wanb'; there are: jsonl, mlflow"):
        load(overrides=["metrics=wanb"])
    assert listed(["a,b"]) == ["a,b"]
