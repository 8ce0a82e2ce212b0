"""`agentevol.run` and `resume`: what they prepare, and what they hand to the launch."""

import shutil
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import agentevol
from agentevol.cli import main
from agentevol.cluster.cluster import Cluster
from agentevol.core.errors import RunStopped
from agentevol.core.summaries import RunSummary
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder, read_summary
from agentevol.models.resolution import resolve

GUESS = ["environment.name=guess", "explore.difficulty=null", "evaluate.difficulty=null", "name=small"]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that would have been run."""
    folders: list[Path] = []

    def launch(folder: RunFolder, progress: Progress) -> RunSummary:
        progress.say("launched")
        folders.append(folder.path)
        return folder.summaries.run()

    monkeypatch.setattr("agentevol.runs.lifecycle.launch", launch)
    return folders


def test_a_run_begins_in_a_new_folder_with_its_settled_configuration(
    launched: list[Path], tmp_path: Path
) -> None:
    config = agentevol.load_config(overrides=[*GUESS, "iterations=1"])
    told = StringIO()
    summary = agentevol.run(config, out=tmp_path / "run", console=Console(file=told, width=300))
    assert launched == [tmp_path / "run"]
    kept = agentevol.load_config(tmp_path / "run" / "config.toml")
    assert config.demonstrations.clone is None
    assert kept.demonstrations.clone is False  # settled: the starter has learnt to act
    assert (summary.run, summary.environment, summary.iterations) == ("small", "guess", ())
    assert (tmp_path / "run" / "checkpoints" / "0000" / "config.json").is_file()
    path = tmp_path / "run"
    assert told.getvalue() == (
        f"run small in {path}; watch it with: agentevol ui {path};"
        f" resume it with: agentevol run --resume {path}\nlaunched\n"
    )


def test_a_run_is_resumed_by_its_own_configuration(launched: list[Path], tmp_path: Path) -> None:
    first = agentevol.run(agentevol.load_config(overrides=GUESS), out=str(tmp_path / "run"))
    assert agentevol.resume(str(tmp_path / "run")) == first
    assert launched == [tmp_path / "run"] * 2


def test_a_run_of_an_earlier_version_is_resumed_and_says_which_settings_are_left_out(
    launched: list[Path], tmp_path: Path
) -> None:
    path, told = tmp_path / "run", StringIO()
    agentevol.run(agentevol.load_config(overrides=GUESS), out=path)
    shutil.copy(Path(__file__).parents[2] / "support" / "earlier_config.toml", path / "config.toml")
    agentevol.resume(path, console=Console(file=told, width=300))
    lines = told.getvalue().splitlines()
    assert launched == [path] * 2
    assert lines[2] == (
        "config.toml: rollout.max_staleness, rollout.in_flight: left out, no setting of rollout"
        " 'one_step_off'"
    )
    assert (len(lines), lines[-1]) == (9, "launched")


def test_a_finished_run_lets_its_folder_go_while_something_still_refers_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[RunFolder] = []  # as a thread or a cycle of references would keep it after the launch

    def launch(folder: RunFolder, _: Progress) -> RunSummary:
        folders.append(folder)
        with pytest.raises(agentevol.ConfigError, match="another process is running"):
            agentevol.resume(folder.path)
        if len(folders) == 1:
            raise RunStopped("the launch fails")
        return folder.summaries.run()

    monkeypatch.setattr("agentevol.runs.lifecycle.launch", launch)
    with pytest.raises(RunStopped):
        agentevol.run(agentevol.load_config(overrides=GUESS), out=tmp_path / "run")
    for _ in range(2):
        agentevol.resume(tmp_path / "run")
    assert len(folders) == 3


def test_a_folder_that_holds_a_run_is_not_overwritten(launched: list[Path], tmp_path: Path) -> None:
    config = agentevol.load_config(overrides=GUESS)
    agentevol.run(config, out=tmp_path / "run")
    with pytest.raises(agentevol.ConfigError, match="a run never overwrites a run"):
        agentevol.run(config, out=tmp_path / "run")
    assert len(launched) == 1


def test_what_no_run_can_begin_with_leaves_no_folder(launched: list[Path], tmp_path: Path) -> None:
    config = agentevol.load_config(overrides=["environment.name=gues"])
    with pytest.raises(agentevol.ConfigError, match="no environment named 'gues'"):
        agentevol.run(config, out=tmp_path / "run")
    with pytest.raises(agentevol.ConfigError, match="is not a run"):
        agentevol.resume(tmp_path)
    assert launched == []
    assert not (tmp_path / "run").exists()


def test_a_model_that_is_taken_for_a_run_and_the_reverse_are_told(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    with pytest.raises(agentevol.ConfigError, match=r"is not a run.*; a model is measured by agentevol eval"):
        read_summary(tmp_path / "model")
    with pytest.raises(agentevol.ConfigError, match=r"has no config\.toml$"):
        read_summary(tmp_path)
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    with pytest.raises(agentevol.ConfigError, match=r"neither a model .*/run/checkpoints/NUMBER$"):
        resolve(str(tmp_path / "run"))
    with pytest.raises(agentevol.ConfigError, match=r"best\.json\)$"):
        resolve(str(tmp_path))


def test_a_ray_that_does_not_start_stops_the_run_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(RunStopped, match=r"Ray did not start.*The current node timed out"):
        Cluster(agentevol.load_config(overrides=GUESS)).__enter__()


def test_the_default_folder_has_the_name_of_the_run(
    launched: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agentevol.run(agentevol.load_config(overrides=GUESS))
    assert [folder.parent for folder in launched] == [tmp_path / "runs"]
    assert launched[0].name.startswith("small-20")


def test_the_command_runs_the_same_and_prints_on_standard_output(
    launched: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    with pytest.raises(SystemExit) as ended:
        main(["run", "--out", str(path), *GUESS])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    lines = printed.out.splitlines()
    assert lines[:2] == [
        f"run small in {path}; watch it with: agentevol ui {path};"
        f" resume it with: agentevol run --resume {path}",
        "launched",
    ]
    assert lines[-1] == f"report: {path / 'report.html'}  plot: {path / 'success.png'}"
    with pytest.raises(SystemExit) as ended:
        main(["run", "--resume", str(path)])
    assert ended.value.code == 0
    assert launched == [path, path]


def test_progress_is_written_to_standard_error_by_default(
    launched: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agentevol.run(agentevol.load_config(overrides=GUESS), out=tmp_path / "run")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("launched\n")
    assert len(launched) == 1
