"""Suites by the command line: played, interrupted, continued, rated and reported."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.server.threaded import served
from typer.testing import CliRunner, Result

from agentevol.cli import app
from agentevol.core.errors import ConfigError
from agentgym_envs.guess import Guess
from agentgym_envs.registry import UnknownEnvironment
from agentgym_server import create_app
from agentgym_store.store import Store


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(create_app({"guess": Guess})) as address:
        yield address


def told(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def suite(folder: Path, url: str, *lines: str) -> Path:
    file = folder / "small.toml"
    environment = f'[[environments]]\nenv = "guess"\nurl = "{url}"\n'
    file.write_text("\n".join(['models = ["expert", "idle"]', "trials = 2", *lines, environment]))
    return file


@pytest.fixture(scope="module")
def played(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished suite: tasks 3 and 6, twice each; the expert wins all, and idle none."""
    folder = tmp_path_factory.mktemp("suite")
    done = told("eval", "--suite", suite(folder, url, "sample = 4"), "--out", folder / "small")
    assert done.exit_code == 0, done.output
    return folder / "small"


def report(folder: Path) -> str:
    return (folder / "report.json").read_text()


def test_a_suite_is_played_and_reported(played: Path) -> None:
    assert sorted(one.name for one in played.glob("report.*")) == ["report.html", "report.json", "report.md"]
    found = json.loads(report(played))
    parts = {model: one["performance"] for model, one in found["parts"]["guess"].items()}
    assert {model: (one["episodes"], one["success"]["mean"]) for model, one in parts.items()} == {
        "expert": (4, 1.0),
        "idle": (4, 0.0),
    }
    assert found["parts"]["guess"]["idle"]["losses"]["invalid actions"]["episodes"] == 4
    assert found["comparison"]["pairs"]["success"][0]["p_holm"] == 0.5  # two tasks to one side
    store = Store.open(played / "trajectories", create=False)
    assert store.count() == 8
    assert {one.id for one in store.trajectories()} >= {
        "small/guess/idle/0/guess-3",
        "small/guess/idle/1/guess-6/1",
    }


def test_a_plan_is_printed_and_nothing_is_written(url: str, tmp_path: Path) -> None:
    file = suite(tmp_path, url)
    found = told("eval", "--suite", file, "episodes=1", "--out", tmp_path / "out", "--dry-run")
    assert (found.exit_code, found.output.count("guess")) == (0, 2)
    assert "4 episodes, into" in found.output
    assert list(tmp_path.iterdir()) == [file]
    plan = json.loads(told("eval", "--suite", file, "--out", tmp_path / "out", "--dry-run", "--json").output)
    assert [(one["model"], one["episodes"]) for one in plan["parts"]] == [("expert", 4), ("idle", 4)]


def test_an_interrupted_suite_is_continued_to_the_same_report(
    played: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentevol.runs.suites import folder as suites

    keep, calls = suites.SuiteFolder.keep, []

    def killed(self: suites.SuiteFolder, part: object, records: object, trajectories: object) -> None:
        if len(calls) == 6:  # two episodes of the second part
            raise KeyboardInterrupt
        calls.append(part)
        keep(self, part, records, trajectories)  # type: ignore[arg-type]

    monkeypatch.setattr(suites.SuiteFolder, "keep", killed)
    file, out = suite(tmp_path, url, "sample = 4"), tmp_path / "small"
    assert told("eval", "--suite", file, "--out", out).exit_code != 0
    journal = out / "records" / "00-01.part"
    assert len(journal.read_text().splitlines()) == 2
    with journal.open("a") as cut:
        cut.write('{"records":[{"id":"small/gu')  # a line that the kill cut
    assert not (out / "report.json").exists()
    refused = told("report", out)
    assert isinstance(refused.exception, ConfigError)
    assert "is not finished: 1 of 2 parts are missing, the first guess/idle" in str(refused.exception)

    monkeypatch.setattr(suites.SuiteFolder, "keep", lambda *given: calls.append(given[1]) or keep(*given))
    done = told("eval", "--suite", file, "--out", out)
    assert done.exit_code == 0, done.output
    assert len(calls) == 8  # six before, two after
    assert not journal.exists()
    assert json.loads(report(out))["parts"] == json.loads(report(played))["parts"]
    assert json.loads(report(out))["sample"] == json.loads(report(played))["sample"]
    assert Store.open(out / "trajectories", create=False).count() == 8


def test_a_kill_between_table_and_records_repeats_nothing(played: Path, tmp_path: Path, url: str) -> None:
    out = tmp_path / "small"
    shutil.copytree(played, out)
    finished = out / "records" / "00-01.jsonl"
    records = [json.loads(line) for line in finished.read_text().splitlines()]
    episodes = {one.id: one for one in Store.open(out / "trajectories").trajectories()}
    lines = [
        json.dumps({"records": [one], "trajectories": [episodes[one["id"]].model_dump(mode="json")]})
        for one in records
    ]
    finished.with_suffix(".part").write_text("\n".join(lines) + "\n")
    finished.unlink()
    assert told("eval", "--suite", suite(tmp_path, url, "sample = 4"), "--out", out).exit_code == 0
    assert Store.open(out / "trajectories", create=False).count() == 8
    assert report(out) == report(played)


def test_a_finished_suite_is_not_played_again(played: Path, tmp_path: Path) -> None:
    nowhere = suite(tmp_path, "http://127.0.0.1:9", "sample = 4")
    done = told("eval", "--suite", nowhere, "--out", played)
    assert "another suite, with other environments" in str(done.exception)


def test_people_rate_the_sample_and_the_report_tells_how_far_they_agree(played: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    shutil.copytree(played, folder)
    listed = told("trajectories", "list", folder / "sample", "--json").output.splitlines()
    chosen = [json.loads(line)["id"] for line in listed]
    assert sorted("expert" in one for one in chosen) == [False, False, True, True]
    for name in chosen:
        rating = 5 if "expert" in name else 1
        added = told("feedback", "add", folder / "sample", name, "--as", "human:Anna", "--score", rating)
        assert added.exit_code == 0, added.output
    done = told("report", folder, "--json")
    ratings = json.loads(done.output)["ratings"]
    assert [(one["rater"], one["kappa"]["n"], one["kappa"]["kappa"]) for one in ratings] == [("Anna", 4, 1.0)]


def test_another_size_of_a_sample_is_refused(played: Path, url: str, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    shutil.copytree(played, folder)
    done = told("eval", "--suite", suite(tmp_path, url, "sample = 2"), "--out", folder)
    assert "has a sample of 4 episodes already" in str(done.exception)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("environments.0=1",), "not a section"),
        (('models=["gone"]',), "no model 'gone'"),
        (("--model", "idle"), "--model has no effect with --suite"),
        (("--repeats", 2), "--repeats has no effect with --suite"),
        (("--format", "react"), "--format has no effect with --suite"),
        (("episodes=0",), "episodes: Input should be greater"),
        (('models=["idle","idle"]',), "'idle' is there twice"),
        (("trial=2",), "unknown key 'trial'"),
        (('models=[{model="idle",max_new_tokens=5}]',), "max-new-tokens has no effect"),
    ],
)
def test_a_mistake_writes_nothing(url: str, tmp_path: Path, options: tuple[object, ...], error: str) -> None:
    file, out = suite(tmp_path, url), tmp_path / "out"
    done = told("eval", "--suite", file, "--out", out, *options)
    assert isinstance(done.exception, ConfigError), done.output
    assert error in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not out.exists()


def test_an_unknown_environment_or_split_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    for environment, kind, error in (
        ('"gues"', UnknownEnvironment, "no environment named 'gues'"),
        ('{env = "guess", split = "tset"}', ConfigError, "guess, split 'tset'"),
        (
            '{env = "guess", difficulty = "vast"}',
            ConfigError,
            "guess has no difficulty levels, so not 'vast'",
        ),
        ('{env = "guess", options = {size = 3}}', ConfigError, "guess"),
        ('"social"', ConfigError, "has 2 seats, of which 'expert' plays one"),
    ):
        file.write_text(f'models = ["idle", "expert"]\nenvironments = [{environment}]\n')
        done = told("eval", "--suite", file, "--out", tmp_path / "out")
        assert isinstance(done.exception, kind), done.output
        assert error in str(done.exception)
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_of_something_else_is_left_alone(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    done = told("eval", "--suite", suite(tmp_path, url), "--out", out)
    assert "is not empty, and no suite" in str(done.exception)
    assert [one.name for one in out.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("option", [("--out", "x"), ("--dry-run",)])
def test_options_of_suites_need_one(option: tuple[str, ...]) -> None:
    done = told("eval", "--model", "idle", "--env", "guess", *option)
    assert f"{option[0]} has no effect without --suite" in str(done.exception)


def test_best_has_no_effect_on_a_suite(played: Path) -> None:
    assert "no effect on a suite" in str(told("report", played, "--best").exception)
