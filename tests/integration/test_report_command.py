"""Reports by the command line: of an evaluation, of two, of a run and of two."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.server.threaded import served
from support.trajectories import trajectory
from typer.testing import CliRunner, Result

from agentevol.cli import app
from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import IterationSummary
from agentevol.engines.scripted import said
from agentevol.loop.state.summaries import IterationSummaries
from agentevol.rollout.metrics import summarise
from agentgym_envs.guess import Guess
from agentgym_server import create_app
from agentgym_store.records import Terminated, Trajectory, Truncated, Turn
from agentgym_store.store import Store


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(create_app({"guess": Guess})) as address:
        yield address


def told(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def evaluated(url: str, model: str, folder: Path, *more: object) -> Path:
    """File of records of a model on the two tasks of the test split, 3 and 6, twice each."""
    records = folder / f"{model}.jsonl"
    done = told(
        *("eval", "--model", model, "--env", "guess", "--url", url, "--repeats", 2, "--records", records),
        *more,
    )
    assert done.exit_code == 0, done.output
    return records


def test_an_evaluation_is_reported_in_all_formats(url: str, tmp_path: Path) -> None:
    files = [tmp_path / f"r{suffix}" for suffix in (".md", ".html", ".json")]
    # idle says the same in all four turns, which is no number
    options = [part for file in files for part in ("--report", file)]
    records = evaluated(url, "idle", tmp_path, *options)
    found = json.loads(files[2].read_text())
    whole = found["performance"]
    assert (whole["tasks"], whole["episodes"], whole["success"]["mean"]) == (2, 4, 0.0)
    assert (whole["turns"]["mean"], whole["tokens"]["mean"]) == (4.0, None)
    assert whole["invalid_actions"]["mean"] == 1.0
    assert {name: one["mean"] for name, one in found["pass_rates"].items()} == {
        **{"pass^1": 0.0, "pass^2": 0.0},
        **{"pass@1": 0.0, "pass@2": 0.0},
    }
    assert [(one["reason"], one["episodes"], one["example"]) for one in found["reasons"]] == [
        ("truncated(max_turns)", 4, "guess-3")
    ]
    page = files[0].read_text()
    assert "Success is 0.0 %" in page
    assert "| truncated(max_turns) | 4 | 100.0 % | guess-3 |  |" in page
    assert "<h2>Repeated episodes</h2>" in files[1].read_text()
    again = told("report", records)  # from the records alone
    assert (again.exit_code, again.stdout) == (0, page)
    assert json.loads(told("report", records, "--json").stdout) == found


def test_what_exists_is_not_overwritten_and_nothing_is_played_for_it(url: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("{}")
    done = told("eval", "--model", "idle", "--env", "guess", "--url", url, "--report", mine)
    assert isinstance(done.exception, FileExistsError)
    assert (done.stdout, mine.read_text()) == ("", "{}")


def test_without_a_return_there_is_no_mean(url: str) -> None:
    done = told("eval", "--model", "random", "--env", "guess", "--url", url, "--json")
    found = json.loads(done.stdout)  # random needs a list of actions, which guess has not
    assert (done.exit_code, found["n"], found["endings"]) == (1, 0, {"failed(policy)": 2})
    assert {name: found[name] for name in found if name.startswith("mean_")} == {
        **{"mean_reward": None, "mean_turns": None, "mean_tokens": None}
    }


def test_two_evaluations_are_compared_in_a_report(url: str, tmp_path: Path) -> None:
    idle, expert = (evaluated(url, model, tmp_path) for model in ("idle", "expert"))
    done = told("compare", idle, expert, "--report", tmp_path / "c.json", "--report", tmp_path / "c.html")
    assert done.exit_code == 0, done.output
    assert "success" in done.stdout
    found = json.loads((tmp_path / "c.json").read_text())["against_first"][str(expert)]["scores"]
    success = found["success"]
    assert (success["first"], success["second"], success["difference"]["n"]) == (0.0, 1.0, 2)
    assert found["turns"]["difference"]["mean"] == -3.0  # the expert needs one
    assert "+100.0 points" in (tmp_path / "c.html").read_text()


def run_folder(path: Path, seed: int, won_at_last: str) -> Path:
    """Folder of a run that won no task at its start, and these of four after its first iteration."""
    config = load(overrides=["env=guess", f"seed={seed}", "iterations=1"])
    path.mkdir()
    (path / "config.toml").write_text(config.to_toml())
    store, summaries = Store.open(path / "trajectories", create=True), IterationSummaries(path, config)
    for number, won in enumerate(("0000", won_at_last)):
        episodes = [_episode(number, task, letter == "1") for task, letter in enumerate(won)]
        store.append(episodes, commit={"iteration": f"{number}"})
        summaries.finish(
            IterationSummary(
                iteration=number,
                checkpoint=f"{number:04d}",
                table_version=number,
                evaluation=summarise(episodes, "test"),
                system={"explore_sampled_tokens_per_s": 123.0} if number else {},
            )
        )
    return path


def _episode(iteration: int, task: int, won: bool) -> Trajectory:
    turn = Turn(action="a", observation="o", reward=float(won), sample=said("a"))
    refused = turn.model_copy(update={"reward": 0.0, "info": {"invalid_action": True}})
    fields: dict[str, Any] = {"run": "evolve", "purpose": "evaluate", "env": "guess", "split": "test"}
    return trajectory(
        id=f"{iteration}/{task}",
        iteration=iteration,
        task_id=f"{task}",
        kind="odd" if task % 2 else "even",
        turns=(turn,) if won else (refused, turn),
        ending=Terminated() if won else Truncated(limit="max_turns"),
        **fields,
    )


def test_a_run_and_one_of_its_evaluations_are_reported(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "a", 0, "1100")
    whole = told("report", run)
    assert whole.exit_code == 0, whole.output
    assert "from 0.0 % (iteration 0) to 50.0 % (iteration 1)" in whole.stdout
    assert "| explore sampled tokens per s | 123 |" in whole.stdout
    found = json.loads(told("report", run, "--json").stdout)
    assert (found["best"], found["iterations"][1]["evaluation"]["invalid_actions"]) == (1, 2 / 6)
    best = json.loads(told("report", run, "--best", "--json").stdout)
    assert best["settings"]["model"] == ["evolve/p"]
    assert (best["performance"]["success"]["mean"], best["performance"]["turns"]["mean"]) == (0.5, 1.5)
    assert best["performance"]["invalid_actions"]["mean"] == pytest.approx(2 / 6)
    assert list(best["by"]["kind"]) == ["even", "odd"]
    first = json.loads(told("report", run, "--iteration", 0, "--json").stdout)
    assert first["performance"]["success"]["mean"] == 0.0
    missing = told("report", run, "--iteration", 7)
    assert isinstance(missing.exception, ConfigError)
    assert "no evaluation of iteration 7; there are: 0, 1" in str(missing.exception)


def test_two_runs_are_compared_in_a_report(tmp_path: Path) -> None:
    first, second = run_folder(tmp_path / "a", 0, "1000"), run_folder(tmp_path / "b", 1, "1110")
    plain = told("compare", first, second)
    done = told("compare", first, second, "--report", tmp_path / "c.json", "--report", tmp_path / "c.md")
    assert (done.exit_code, done.stdout) == (0, plain.stdout)
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["mean_gain"]["gain"] == 0.5  # 0.25 and 0.75: they differ in the seed alone
    scores = found["details"][f"best of {second}"]["scores"]
    assert (scores["success"]["first"], scores["success"]["second"]) == (0.25, 0.75)
    assert scores["turns"]["difference"]["mean"] == -0.5
    page = (tmp_path / "c.md").read_text()
    assert "mean gain over 2 seeds: +50.0" in page
    assert "| success | 0.250 | 0.750 | +0.500 |" in page
