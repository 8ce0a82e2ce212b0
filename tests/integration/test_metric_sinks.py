"""Sinks of other packages: what they store is read back. Nothing leaves this machine."""

import json
from pathlib import Path

import pytest

from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.loop.tracking.recorder import STATE, Recorder


def summary(number: int, successes: int) -> IterationSummary:
    evaluation = EvaluationSummary(
        split="test", n=4, successes=successes, mean_reward=successes / 4, mean_turns=3.0
    )
    return IterationSummary(iteration=number, checkpoint="", table_version=0, evaluation=evaluation)


def recorded(folder: Path, sink: str) -> str:
    """Record an iteration, and another one when the run is resumed; the id of the run."""
    said: list[str] = []
    for number in (0, 1):
        recorder = Recorder([sink], "evolve", folder, {"seed": "7"}, said.append)
        recorder.resume([summary(one, one + 1) for one in range(number)])
        recorder.log(summary(number, number + 1))
        recorder.close(timeout_s=300.0)
    assert said == []
    state = json.loads((folder / STATE).read_text())
    assert state["recorded"] == {sink: 1}
    return state["id"]


def test_tensorboard(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    recorded(tmp_path, "tensorboard")
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(one.step, one.value) for one in events.Scalars("success/test")] == [(0, 0.25), (1, 0.5)]


def test_wandb_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    identity = recorded(tmp_path, "wandb")
    files = sorted((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
    assert [file.name for file in files] == [f"run-{identity}.wandb"] * 2
    content = b"".join(file.read_bytes() for file in files)
    assert b"success/test" in content


def test_wandb_without_a_key_is_told_and_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    said: list[str] = []
    recorder = Recorder(["wandb"], "evolve", tmp_path, {}, said.append)
    recorder.log(summary(0, 1))
    recorder.close(timeout_s=300.0)
    assert len(said) == 1
    assert said[0].startswith("metrics: wandb failed, the run continues: ")
    assert "set WANDB_API_KEY, or WANDB_MODE=offline" in said[0]


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    recorded(tmp_path, "mlflow")
    client = mlflow.MlflowClient((tmp_path / "mlruns").as_uri())
    experiment = client.get_experiment_by_name("agentevol")
    (run,) = client.search_runs([experiment.experiment_id])  # the resumed run goes on with it
    assert (run.info.run_name, run.info.status, run.data.params) == ("evolve", "FINISHED", {"seed": "7"})
    history = client.get_metric_history(run.info.run_id, "success/test")
    assert [(one.step, one.value) for one in history] == [(0, 0.25), (1, 0.5)]


def test_trackio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    trackio = pytest.importorskip("trackio", reason="trackio is not installed")
    identity = recorded(tmp_path, "trackio")
    (run,) = trackio.Api().runs("agentevol")
    assert run.name == f"evolve-{identity[:8]}"
    from trackio.sqlite_storage import SQLiteStorage

    logs = SQLiteStorage.get_logs("agentevol", run.name)
    history = [(one["step"], one["success/test"]) for one in logs]
    assert history == [(0, 0.25), (1, 0.5)]
