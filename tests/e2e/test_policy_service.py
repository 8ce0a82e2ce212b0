"""`agentevol serve` as a process: its page, agents that are learnt from, and what a kill leaves behind."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.readiness import ready_address

from agentevol.core.errors import ConfigError
from agentevol.engines.vllm.capabilities import check_installed
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "policy-service.md"
PORT = "8000"
MARK = "== the next block =="
try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
pytestmark = pytest.mark.slow  # each starts a process that loads torch
ASK = {"role": "user", "content": "Make a guess."}


@contextmanager
def served(model: Path | str, *options: str) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A service and a client of it; what is left of the process is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agentevol", "serve", str(model), "--port=0", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = ready_address(process)
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()


def begun(client: httpx.Client, **body: object) -> tuple[str, str]:
    """A session, and where its agent calls."""
    session = client.post("/sessions", json={"task_id": "t", **body}).json()
    return session["session_id"], session["base_url"]


def said(client: httpx.Client, base_url: str, *messages: object, **more: object) -> dict[str, Any]:
    reply = client.post(f"{base_url}/chat/completions", json={"messages": messages or [ASK], **more})
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]["message"]


def ended(client: httpx.Client, session: str, **body: object) -> dict[str, Any]:
    reply = client.post(f"/sessions/{session}/end", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def stored(table: Path) -> dict[str, Trajectory]:
    return {t.id.removeprefix("serve/"): t for t in Store.open(table, create=False).trajectories()}


def test_what_was_answered_is_in_the_table_when_the_process_is_killed(tiny_model, tmp_path):
    with served(tiny_model, f"--out={tmp_path / 'table'}", "--max-new-tokens=3") as (process, client):
        (done, base_url), (left, other) = begun(client), begun(client)
        first = said(client, base_url)
        said(client, base_url, ASK, first, ASK)
        said(client, other)
        assert ended(client, done, outcome="terminated", success=True)["samples"] == 1
        process.kill()
    episodes = stored(tmp_path / "table")
    assert set(episodes) == {done}
    assert [len(turn.sample.token_ids) > 0 for turn in episodes[done].turns if turn.sample] == [True, True]
    assert left not in episodes


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "stdin"])
def test_what_is_open_when_the_process_is_stopped_has_failed(tiny_model, tmp_path, how):
    table = tmp_path / "table"
    options = ["--exit-with-stdin"] if how == "stdin" else []
    with served(tiny_model, f"--out={table}", "--max-new-tokens=3", *options) as (process, client):
        (done, _), (left, base_url) = begun(client), begun(client)
        said(client, base_url)
        client.post(f"/sessions/{left}/reward", json={"reward": 1})
        if how == "stdin":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, how))
        if how == "SIGTERM":  # sessions that are open may end
            until(lambda: client.get("/health").json()["status"] == "draining")
            assert client.post("/sessions", json={"task_id": "t"}).status_code == 503
            ended(client, done, outcome="cancelled")
            process.send_signal(signal.SIGTERM)
        client.close()
        assert process.wait(30) == 0
    episode = stored(table)[left]
    assert (episode.ending.model_dump()["failure"], episode.total_reward) == ("service-stopped", None)
    assert len(episode.turns) == 1
    assert stored(table)[done].ending.kind == ("cancelled" if how == "SIGTERM" else "failed")


def until(holds: Any) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_client_that_hangs_up_has_heard_nothing(tiny_model, tmp_path):
    with served(tiny_model, f"--out={tmp_path / 'table'}", "--max-new-tokens=400") as (_, client):
        session, base_url = begun(client, seed=3)
        body = json.dumps({"messages": [ASK]}).encode()
        host, port = client.base_url.host, client.base_url.port
        with socket.create_connection((host, port)) as caller:
            path = base_url.partition(str(port))[2]
            head = f"POST {path}/chat/completions HTTP/1.1\r\nHost: {host}:{port}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            caller.sendall(head.encode() + body)
            until(lambda: client.get("/health").json()["calls_in_flight"] == 1)

        def trace() -> list[dict[str, Any]]:
            lines = client.get(f"/sessions/{session}/trace").text.splitlines()
            return [json.loads(line) for line in lines]

        until(trace)
        assert [(one["finish_reason"], one["turns"]) for one in trace()] == [("client_disconnect", [])]


def test_an_agent_that_calls_over_http_is_trained_and_gets_better(tiny_model, tmp_path):
    """The judge likes replies whose first token is an even number: one in two of a random policy."""
    table, better = tmp_path / "table", tmp_path / "better"

    def rounds(client: httpx.Client, name: str) -> float:
        """Share of two-call episodes that were won."""
        won = 0
        for seed in range(64):
            session, base_url = begun(client, env="parity", seed=seed, group=f"{name}-{seed % 4}")
            first = said(client, base_url)
            said(client, base_url, ASK, first, {"role": "user", "content": "Go higher than 4."})
            for call, line in enumerate(client.get(f"/sessions/{session}/trace").text.splitlines(), 1):
                even = json.loads(line)["token_ids"][0] % 2 == 0
                client.post(f"/sessions/{session}/reward", json={"reward": even / 2, "call": call})
            won += ended(client, session, outcome="terminated")["success"]
        return won / 64

    with served(tiny_model, f"--out={table}", "--max-new-tokens=2") as (_, client):
        before = rounds(client, "before")
        settings = (
            "learn.learning_rate=1e-2",
            "learn.epochs=10",
            "learn.batch_tokens=512",
            "learn.threads=1",
        )
        settings += ("learn.options.surrogate=reinforce",)  # many steps on little data, on purpose
        command = [sys.executable, "-m", "agentevol", "train", str(table), "algorithm=grpo"]
        done = subprocess.run(
            [*command, f"base={tiny_model}", *settings, "--out", str(better), "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        figures = json.loads(done.stdout[done.stdout.index("{") :])["metrics"]  # progress comes first
        assert (
            figures["sequences"] == 64
        )  # two calls each, in one sequence: the second went on from the first
        assert figures["drift_events"] == 0
        assert figures["groups_of_16"] == 4
        assert figures["logp_gap"] < 1e-4  # the learner reads the very tokens that the engine sampled
        update = client.post("/update", json={"model": str(better)})
        assert update.json() == {"model": "better", "policy_version": 1}
        after = rounds(client, "after")
    assert before < 0.5
    assert after > 0.8
    versions = {t.turns[0].sample.policy_version for t in stored(table).values() if t.turns[0].sample}
    assert versions == {0, 1}


def blocks() -> Iterator[tuple[str, str]]:
    """Commands of the page, and what they print ("" where the page does not say)."""
    text = PAGE.read_text(encoding="utf-8")
    yield from re.findall(r"^```sh\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", text, re.M | re.S)


@pytest.mark.vllm
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_vllm_serves_and_stops_as_the_embedded_engine_does(tmp_path):
    table = tmp_path / "table"
    options = ("--engine=vllm", "--slots=2", "--context=256", "--max-new-tokens=4", f"--out={table}")
    with served("starter", *options) as (process, client):  # nothing is printed before `ready`
        (done, base_url), (left, _) = begun(client), begun(client)
        first = said(client, base_url)
        said(client, base_url, ASK, first, ASK)
        assert ended(client, done, outcome="terminated", success=True)["samples"] == 1
        process.send_signal(signal.SIGINT)
        client.close()
        assert process.wait(60) == 0
    assert [(t.ending.kind, len(t.turns)) for t in stored(table).values()] == [
        ("terminated", 2),
        ("failed", 0),
    ]
    assert set(stored(table)) == {done, left}


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="the page needs both")
def test_every_block_of_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (server, _), *rest = blocks()
    program, command, model, *options = shlex.split(server)
    assert (program, command, options[-2:]) == ("agentevol", "serve", ["--port", PORT])
    with served(model, *options[:-2]) as (_, client):
        script = f"echo '{MARK}'\n".join(commands for commands, _ in rest)
        script = script.replace(f":{PORT}", f":{client.base_url.port}")
        done = subprocess.run(
            [
                "bash",
                "-euo",
                "pipefail",
                "-c",
                f'agentevol() {{ {sys.executable} -m agentevol "$@"; }}\n{script}',
            ],
            env={**os.environ, "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert (done.returncode, done.stdout.count(MARK)) == (0, len(rest) - 1), done.stderr
    for (commands, output), printed in zip(rest, done.stdout.split(f"{MARK}\n"), strict=True):
        assert not output or matches(output, printed), f"{commands}\n{printed}"


def matches(pattern: str, text: str) -> bool:
    """Whether text is what the page shows, `...` being anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text, re.DOTALL) is not None
