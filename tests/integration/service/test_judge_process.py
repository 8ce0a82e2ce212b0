"""`agentevol judge` as a process, with an endpoint in another: faults, kills, sums, and what is kept."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.judging import conversation, endpoint, judge_service, log_of, transcript
from support.sotopia_profiles import write_lines, write_profiles

pytestmark = pytest.mark.slow  # each starts two processes
ITEMS = [conversation(f"Hello {number}.", name=str(number)).model_dump(mode="json") for number in range(24)]
KEY = "sk-never-shown"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "agentevol", "judge", *arguments]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False, timeout=600)


@contextmanager
def served(*arguments: str) -> Generator[tuple["subprocess.Popen[str]", httpx.Client]]:
    """A service and a client of it."""
    with (
        judge_service(*arguments) as (address, process),
        httpx.Client(base_url=address, timeout=600, trust_env=False) as client,
    ):
        yield process, client


def outcomes(file: Path) -> dict[str, str]:
    """Status, or kind of failure, by id; a failure has no scores."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        assert ("scores" in one) == (one["status"] == "ok")
        found[one["id"]] = "ok" if one["status"] == "ok" else one["kind"]
    return found


def reached(url: str, **expected: int) -> bool:
    """Whether the endpoint comes to have so many requests open, and to have had so many."""
    for _ in range(3000):
        if httpx.get(url.removesuffix("v1"), trust_env=False, timeout=60).json() == expected:
            return True
        time.sleep(0.02)
    return False


def batch(tmp_path: Path, url: str, model: str, *more: str) -> tuple[int, dict[str, Any], str, Path]:
    """Exit code, figures and stderr of a batch by this model."""
    file, out = tmp_path / "items.jsonl", tmp_path / f"{model}.jsonl"
    write_lines(file, ITEMS)
    done = run(str(file), "--judge", f"openai:{model}", "--url", url, "--out", str(out), "--json", *more)
    assert KEY not in done.stdout + done.stderr + out.read_text(encoding="utf-8")
    figures = json.loads(done.stdout)
    assert figures["items"] == sum(figures["outcomes"].values()) == len(ITEMS)
    return done.returncode, figures, done.stderr, out


def test_faults_of_an_endpoint_are_typed_and_add_up(tmp_path: Path) -> None:
    with endpoint() as (url, _):
        for model, expected in (
            ("ok", {"ok": 24}),
            ("flaky", {"ok": 24}),  # the first request for each fails, and is made again
            ("nonsense", {"ok": 0, "failed(judge)": 24}),
            ("garbage", {"ok": 0, "failed(judge)": 24}),
        ):
            code, figures, _, out = batch(tmp_path, url, model)
            assert (code, figures["outcomes"]) == (0 if expected["ok"] == 24 else 1, expected)
            assert list(outcomes(out)) == [str(number) for number in range(24)]
        code, figures, _, _ = batch(tmp_path, url, "slow", "--item-timeout-s", "1", "--concurrency", "24")
        assert (code, figures["outcomes"]) == (1, {"ok": 0, "failed(timeout)": 24})


def test_half_of_the_items_fail_and_only_they_are_judged_again(tmp_path: Path) -> None:
    with endpoint() as (url, _):
        code, figures, _, out = batch(tmp_path, url, "half")
        failed = {name for name, outcome in outcomes(out).items() if outcome == "judge"}
        assert (code, figures["outcomes"]) == (1, {"ok": 24 - len(failed), "failed(judge)": len(failed)})
        assert 0 < len(failed) < 24
        again = batch(tmp_path, url, "half", "--resume")
        assert again[1]["outcomes"] == figures["outcomes"]
        counts = httpx.get(url.removesuffix("v1"), trust_env=False).json()
    # One request for each item that is ok, and three for each other one, in both runs.
    assert counts["came"] == (24 - len(failed)) + 2 * 3 * len(failed)


def test_an_endpoint_that_is_killed_fails_what_it_had_not_judged(tmp_path: Path) -> None:
    with endpoint() as (url, process):
        code, figures, _, out = batch(tmp_path, url, "dying", "--concurrency", "4", "--retries", "1")
        assert process.wait(120) == -signal.SIGKILL
    found = list(outcomes(out).values())
    assert (code, set(found)) == (1, {"ok", "judge"})
    assert 6 <= found.count("ok") <= 9  # it dies at the tenth request, of which four may be under way
    assert figures["outcomes"] == {"ok": found.count("ok"), "failed(judge)": found.count("judge")}
    with endpoint() as (url, _):  # repaired: another endpoint is another judge, and loses nothing
        file, judge = str(tmp_path / "items.jsonl"), f"openai:dying@{url}"
        done = run(file, "--judge", judge, "--out", str(out), "--resume")
    assert done.returncode == 2
    assert "is of other judges, settings or content" in done.stderr


def test_a_batch_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    file, out, cache = tmp_path / "items.jsonl", tmp_path / "out.jsonl", tmp_path / "answers"
    write_lines(file, ITEMS)
    with endpoint() as (url, _):
        arguments = (
            str(file),
            "--judge",
            "openai:flaky",
            "--url",
            url,
            "--out",
            str(out),
            "--cache",
            str(cache),
        )
        process = subprocess.Popen(command(*arguments, "--concurrency", "1"))
        while not out.exists() or out.read_bytes().count(b"\n") < 3:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        kept = out.read_bytes().count(b"\n")
        done = run(*arguments, "--resume")
    assert done.returncode == 0, done.stderr
    assert list(outcomes(out).values()) == ["ok"] * 24
    assert kept < 24
    assert len(list(cache.rglob("*.json"))) == 24


def test_a_budget_stops_a_batch_cleanly(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"ok": {"prompt": 2, "completion": 10}}', encoding="utf-8")
    with endpoint() as (url, _):
        more = ("--budget", "0.002usd", "--prices", str(prices), "--concurrency", "1")
        code, figures, _, out = batch(tmp_path, url, "ok", *more)
        # A call costs (100 * 2 + 20 * 10) / 1e6 = 0.0004 dollars.
        assert (code, figures["outcomes"]) == (1, {"ok": 5, "failed(budget)": 19})
        assert figures["usage"]["cost"] == pytest.approx(0.002)
        assert batch(tmp_path, url, "ok", "--resume")[:2][0] == 0
    assert set(outcomes(out).values()) == {"ok"}


def test_recorded_episodes_are_compared_with_their_own_scores(tmp_path: Path) -> None:
    file, profiles = tmp_path / "log.jsonl", write_profiles(tmp_path / "profiles")
    write_lines(file, [log_of("one", "I offer $24.", "Deal!"), log_of("two", "$24?", "Hm.")])
    done = run(str(file), "--profiles", str(profiles))
    assert (done.returncode, done.stderr) == (1, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["ok", "1"] in rows
    assert ["failed(undecided)", "1"] in rows
    # The record has 10 for both, the rules 4 and 4.8: differences 6 and 5.2, squares 63.04; around the mean
    # of all, 7.2, squares 31.68, times 4 / 3. alpha = 1 - 63.04 / 42.24.
    assert ["goal", "recorded", "and", "rule", "2", "5.60", "0.00", "-", "-0.49"] in rows
    assert "two: failed(undecided): nobody explicitly accepts" in done.stdout
    assert outcomes(tmp_path / "log.judgements.jsonl") == {"one": "ok", "two": "undecided"}


def test_a_service_judges_while_its_endpoint_fails_and_stops_on_a_signal() -> None:
    with endpoint() as (url, process):
        judges = [f"--judge=openai:{model}" for model in ("ok", "half", "dying")]
        with served(*judges, "--url", url, "--retries", "0") as (service, client):
            batch = {"items": ITEMS, "judges": ["openai:half"]}
            half = client.post("/judgements", json=batch).json()
            failed = [one for one in half["judgements"] if one["status"] == "failed"]
            assert [one["id"] for one in half["judgements"]] == [one["id"] for one in ITEMS]
            assert 0 < len(failed) < 24
            assert {one["kind"] for one in failed} == {"judge"}
            dying = client.post("/judgements", json={**batch, "judges": ["openai:dying"]}).json()
            assert process.wait(120) == -signal.SIGKILL
            assert sum(dying["summary"]["outcomes"].values()) == 24
            assert dying["summary"]["outcomes"]["failed(judge)"] >= 15
            dead = client.post("/judgements", json={**batch, "judges": ["openai:ok"]}).json()
            assert dead["summary"]["outcomes"] == {"ok": 0, "failed(judge)": 24}
            assert dead["summary"]["scores"] == []
            assert client.get("/health").json()["status"] == "healthy"
            assert KEY not in json.dumps([half, dying, dead]) + client.get("/metrics").text
            service.send_signal(signal.SIGTERM)
            assert service.wait(120) == 0
            assert service.stderr is not None
            assert KEY not in service.stderr.read()


def test_a_caller_who_leaves_ends_the_calls_of_the_endpoint() -> None:
    with endpoint() as (url, _), served("--judge=openai:slow", "--url", url) as (_, client):
        caller = HTTPConnection(client.base_url.host, client.base_url.port or 80)
        body, headers = json.dumps({"items": ITEMS[:3]}), {"content-type": "application/json"}
        caller.request("POST", "/judgements", body, headers)
        assert reached(url, open=3, came=3)
        caller.close()
        assert reached(url, open=0, came=3)


def test_a_run_may_use_the_service() -> None:
    with endpoint() as (url, _), served("--judge=openai:ok", "--url", url) as (_, client):
        address = str(client.base_url).rstrip("/")
        done = subprocess.run(
            [sys.executable, "-m", "agentevol", "check", "judge", "service", f"reward.options.url={address}"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "AGENTEVOL_TOKEN": ""},
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "service: keeps the contract" in done.stdout
        item = transcript().model_dump(mode="json")
        assert client.post("/judgements", json={"items": [item]}).json()["judgements"][0]["overall"] == [10.0]
