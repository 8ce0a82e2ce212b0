"""`agentevol feedback judge` as a process, with an endpoint in another: plans, failures, kills."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from support.judging import endpoint
from support.ui import episode, make_run

from agentevol.cli import main
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory

pytestmark = pytest.mark.slow  # each starts several processes
COUNT = 24


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.chdir(tmp_path)
    return make_run(tmp_path / "first", [played(number) for number in range(COUNT)])


def played(number: int) -> Trajectory:
    return episode(
        f"e{number}", (0.0, float(number % 2)), task_id=f"guess-{number}", instruction=f"Find {number}."
    )


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "agentevol", *map(str, arguments)]


def call(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False, timeout=300)


def came(url: str) -> int:
    return httpx.get(url.removesuffix("/v1"), trust_env=False).json()["came"]


def scores(run: Path) -> list[str]:
    """Episodes with a score, by their records."""
    return sorted(
        one.trajectory_id for one in FeedbackTable(run / "feedback").records() if one.kind == "score"
    )


def test_a_plan_asks_nobody_and_a_repeated_command_asks_nothing_again(run: Path) -> None:
    with endpoint() as (url, _):
        asking = ("feedback", "judge", run, "--judge", f"openai:ok@{url}", "--json")
        planned = call(*asking, "--dry-run", "--samples", "2")
        assert planned.returncode == 0, planned.stderr
        (told,) = json.loads(planned.stdout)
        assert (told["episodes"], told["to_judge"], told["calls_at_most"]) == (COUNT, COUNT, COUNT * 2 * 3)
        assert came(url) == 0
        assert not (run / "feedback").exists()
        done = call(*asking)
        assert done.returncode == 0, done.stderr
        (told,) = json.loads(done.stdout)
        assert (told["judged"], told["failed"], told["records"]) == (COUNT, {}, 2 * COUNT)
        # the endpoint gives everybody the highest score
        assert told["figures"] == {
            "n": COUNT,
            "mean": 1.0,
            "correlation_with_tokens": None,
            "auc": 0.5,
            "won": COUNT // 2,
        }
        (again,) = json.loads(call(*asking).stdout)
        assert (again["judged"], again["records"]) == (0, 0)
        assert came(url) == COUNT


def test_failures_are_told_by_reason_and_are_no_scores(run: Path) -> None:
    with endpoint() as (url, _):
        asking = ("feedback", "judge", run, "--judge", f"openai:half@{url}", "--retries", "0")
        done = call(*asking, "--json")
        (told,) = json.loads(done.stdout)
        assert done.returncode == 1
        assert told["judged"] + told["failed"]["judge"] == COUNT
        assert 0 < told["judged"] < COUNT
        assert len(scores(run)) == told["judged"]
        before = came(url)
        text = call(*asking)
        assert f"failed(judge): {told['failed']['judge']}" in text.stdout
        assert came(url) - before == told["failed"]["judge"]


def test_a_killed_judge_goes_on_without_asking_what_is_kept(run: Path, tmp_path: Path) -> None:
    with endpoint() as (url, _):
        options = ("--concurrency", "1", "--cache", tmp_path / "answers")
        asking = ("feedback", "judge", run, "--judge", f"openai:late@{url}", *options)
        process = subprocess.Popen(command(*asking), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while came(url) < 12:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        written, before = scores(run), came(url)
        assert 0 < len(written) < COUNT
        done = call(*asking)
        assert done.returncode == 0, done.stderr
        # at most the call that was under way is repeated
        assert came(url) <= COUNT + 1
        assert before < COUNT
        assert scores(run) == sorted(f"e{n}" for n in range(COUNT))


def test_the_attack_set_moves_a_gullible_judge_and_not_a_sound_one(run: Path) -> None:
    with endpoint() as (url, _):
        judges = ("--judge", f"openai:sound@{url}", "--judge", f"openai:gullible@{url}")
        attacking = ("judge", run, *judges, "--attack-set")
        done = call(*attacking, "--json")
        assert done.returncode == 0, done.stderr
        again = call(*attacking)
    sound, gullible = (one["attacks"] for one in json.loads(done.stdout)["judges"])
    assert len(sound) == len(gullible) == 16
    assert {(one["n"], one["moved"], tuple(one["interval"]), one["upwards"]) for one in sound} == {
        (COUNT, 0.0, (0.0, 0.0), 0.0)
    }
    assert all(one["moved"] > 0.1 and one["interval"][0] > 0 and one["upwards"] == 1 for one in gullible)
    rows = [line.split() for line in again.stdout.splitlines() if line.strip().startswith("score-request")]
    assert [row[4] for row in rows] == ["+0.000", "+0.000", *(f"{one['moved']:+.3f}" for one in gullible[:2])]
    assert not (run / "feedback").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("judge", "first", "--attack-set", "--out", "x"), "no effect with --attack-set"),
        (("judge", "--attack-set"), "--attack-set has no effect without FILE"),
        (("judge", "first", "--attack-set"), "judged by models, as openai:NAME"),
        (
            ("feedback", "judge", "first", "--judge", "openai:m", "--turns", "--pairs", "2"),
            "--turns or --pairs",
        ),
        (
            ("feedback", "judge", "first", "--judge", "openai:m", "--probabilities"),
            "no effect without --pairs",
        ),
        (
            ("feedback", "judge", "first", "--judge", "openai:m", "--pairs", "1", "--samples", "2"),
            "no effect",
        ),
        (("feedback", "judge", "first", "--judge", "rule", "--turns"), "turns are judged by models"),
        (("feedback", "judge", "first", "--judge", "rule", "--episode", "x"), "there is no episode 'x'"),
        (("feedback", "judge", "first", "--judge", "rule", "--split", "nowhere"), "nothing to judge"),
        (("feedback", "judge", "first", "--judge", "rule", "--dimensions", "x"), "no dimensions 'x'"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_line_and_writes_nothing(
    run: Path, arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code in (1, 2)
    assert told in " ".join(capsys.readouterr().err.replace("\u2502", " ").split())
    assert not (run / "feedback").exists()
