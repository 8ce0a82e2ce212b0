"""An environment and an algorithm of one's own, from an empty folder to a report by the page's commands."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.distributions import install

from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.run_folder import RunFolder
from agentgym_store import Store

ONE_WORKER = ("engine.workers=1",)  # each takes seconds to import torch and transformers
PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]


def commands() -> list[list[str]]:
    """The commands of the page's first section, split at spaces."""
    section = PAGE.read_text(encoding="utf-8").partition("## From an empty folder")[2].partition("\n## ")[0]
    return [line.split() for line in re.findall(r"^ {4}(\S.*)$", section, re.M)]


def here(command: list[str], site: Path) -> list[str]:
    """A command with this interpreter; packages are built and installed into a folder of the test's own."""
    program, *arguments = command
    if program == "pip":
        packages = [f"./{word}" for word in arguments if word not in ("install", "-e")]
        install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site)]
        return [sys.executable, "-m", "pip", *install, *packages]
    return [sys.executable, "-m", program, *arguments]


def test_an_environment_and_an_algorithm_of_ones_own_train_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    work, site, started = tmp_path / "work", tmp_path / "site", time.monotonic()
    work.mkdir()
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    for command in commands():
        done = subprocess.run(
            here(command, site), cwd=work, env=environment, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    monkeypatch.syspath_prepend(site)  # the run's configuration names the algorithm
    summary = RunFolder.resume(work / "runs" / "mirror").summaries.run()
    first, last = summary.iterations[0].evaluation, summary.iterations[-1].evaluation
    assert len(summary.iterations) == 3
    assert first is not None
    assert last is not None
    assert last.mean_reward >= first.mean_reward
    assert (work / "runs" / "mirror" / "report.html").is_file()
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "mirror", "rule"]
    assert subprocess.run(tests, cwd=work, env=environment, timeout=300).returncode == 0
    with capsys.disabled():
        sys.stdout.write(f"\nfrom an empty folder to a report: {time.monotonic() - started:.0f} s\n")


def code_of(section: str) -> str:
    """The Python code of a section of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    return code


def test_functions_in_the_working_folder_reward_shape_and_select(tmp_path: Path):
    (tmp_path / "rewards.py").write_text(code_of("A reward function"))
    (tmp_path / "shapings.py").write_text(code_of("Shaping"))
    (tmp_path / "rules.py").write_text(code_of("A selection rule"))
    run = [sys.executable, "-m", "agentevol", "run", "env=guess", "--iters", "1", "--out", "run"]
    settings = ["reward.function=rewards:short", "reward.options.turns=2", *ONE_WORKER]
    settings += ["shaping.potential=shapings:narrowed", "algorithm=reinforce_pp", "explore.tasks=8"]
    sizes = ["evaluate.episodes=4", "evaluate.validation_episodes=4"]
    misspelt = subprocess.run(
        [*run, "select.rule=short_wins"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert misspelt.returncode == 2
    assert "no selection named 'short_wins'; there are: all, best_of," in misspelt.stderr
    done = subprocess.run(
        [*run, *settings, *sizes, "select.rule=rules:short_wins"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    folder = RunFolder.resume(tmp_path / "run")
    (iteration,) = [one for one in folder.summaries.run().iterations if one.iteration]
    assert 0 < iteration.learn["reward_score"] < 1
    assert "reward" in read_manifests(folder.path, 1)
    explored = [one for one in folder.store.trajectories() if one.purpose == "explore"]
    assert iteration.selected == sum(one.succeeded() for one in explored) < len(explored)


def succeed(work: Path, site: Path, *command: str) -> None:
    """Run a command of agentevol in `work`, where the distributions in `site` are installed."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "agentevol", *command],
        cwd=work,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_with_an_engine_and_a_judge_of_another_distribution(tmp_path: Path):
    site = tmp_path / "site"
    install(site, "plain", code_of("An inference engine"), {"agentevol.engines": {"plain": "PlainEngine"}})
    install(site, "judges", code_of("A judge"), {"agentevol.judges": {"courtesy": "Courtesy"}})
    judge = ['reward.options.word="4"']
    sizes = [
        *ONE_WORKER,
        "explore.tasks=4",
        "explore.samples=4",
        "evaluate.episodes=2",
        "evaluate.validation_episodes=2",
    ]
    settings = ["algorithm=grpo", "engine=plain", "reward.judge=courtesy", *judge, *sizes]
    succeed(tmp_path, site, "check", "judge", "courtesy", "reward.options.word=look")
    succeed(tmp_path, site, "run", "env=guess", "--iters", "1", "--out", "run", *settings)
    episodes = {one.id: one for one in Store.open(tmp_path / "run" / "trajectories").trajectories()}
    explored = [one for one in episodes.values() if one.purpose == "explore"]
    kept = json.loads((tmp_path / "run" / "judgements" / "0001.json").read_text())
    assert kept["judge"] == {"name": "courtesy", "version": "1-4", "options": {"word": "4"}}
    assert len(explored) == 16
    assert kept["verdicts"].keys() == {one.id for one in explored}
    for name, verdict in kept["verdicts"].items():
        said = ["4" in turn.sample.text for turn in episodes[name].turns if turn.sample is not None]
        assert verdict["score"] == sum(said) / len(said)
    assert (tmp_path / "run" / "judgements" / "0001-valid.json").is_file()


def test_a_policy_learns_an_action_format_of_another_distribution(tmp_path: Path):
    code = code_of("An action format")
    site = tmp_path / "site"
    install(site, "formats", code, {"agentevol.action_formats": {"mine": "JsonAction"}})
    clone = [f"demonstrations.{setting}" for setting in ("tasks=8", "clone=true", "epochs=120")]
    settings = ["environment.format=mine", *clone, "demonstrations.learning_rate=4e-3"]
    sizes = [*ONE_WORKER, "evaluate.episodes=2", "evaluate.validation_episodes=2"]
    succeed(tmp_path, site, "check", "format", "mine")
    succeed(tmp_path, site, "run", "env=guess", "--iters", "1", "--out", "run", *settings, *sizes)
    episodes = list(Store.open(tmp_path / "run" / "trajectories").trajectories())
    shown = [turn for one in episodes if one.purpose == "demonstrate" for turn in one.turns]
    assert shown
    assert all(turn.sample is None and turn.action.isdigit() for turn in shown)
    first = [one.turns[0] for one in episodes if one.purpose == "explore"]
    assert {one.ending.kind for one in episodes} <= {"terminated", "truncated"}
    # the base knew nothing of JSON: it has learnt the demonstrations' messages
    written = [turn for turn in first if turn.sample and turn.sample.text == f'{{"action": "{turn.action}"}}']
    assert 2 * len(written) > len(first)
