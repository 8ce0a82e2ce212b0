"""A real vLLM server by its URL: the same tokens as the embedded engine, new weights, restarts, and a run."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import torch
from support.tiny_models import GUESS_RUN, write_guess_model

from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint, Conversation, Message, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.engines.vllm.servers.engine import VllmServerEngine
from agentevol.models.causal_lm import load_model
from agentgym_envs.core import Observation
from agentgym_store.records import Sample
from agentgym_store.store import Store, Where

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
    pytest.mark.usefixtures("clean_environment"),
]
SAMPLING = Sampling(temperature=1.3, max_new_tokens=8)
GREEDY = Sampling(temperature=0.0, max_new_tokens=5)
ROUNDING = 1e-4
START_S = 300.0


class Server:
    """vLLM's own server in a process group of its own, at a port that it keeps."""

    def __init__(self, folder: Path, log: Path, *arguments: str, dev: bool) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        fixed = ("--dtype", "float32", "--enforce-eager", "--max-num-seqs", "64", "--block-size", "32")
        memory = ("--kv-cache-memory-bytes", str(64 * 2**20))
        place = ("--model", str(folder), "--host", "127.0.0.1", "--port", str(self.port))
        module = (sys.executable, "-m", "vllm.entrypoints.openai.api_server")
        self.command = [*module, *place, *fixed, *memory, *arguments]
        settings = {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
        self.environment = {**os.environ, **settings, "VLLM_SERVER_DEV_MODE": str(int(dev))}
        self.log = log
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )

    def wait(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if httpx.get(f"{self.url}/health").is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.5)
        raise AssertionError(self.log.read_text()[-3000:])

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(folder: Path, log: Path, *arguments: str, dev: bool = True) -> Generator[Server]:
    server = Server(folder, log, *arguments, dev=dev)
    try:
        server.wait()
        yield server
    finally:
        server.kill()


PROCESSED = ("--logprobs-mode", "processed_logprobs")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of models."""
    folder = tmp_path_factory.mktemp("models")
    for name, tied in (("base", False), ("tied", True)):
        write_guess_model(folder / name, tied=tied, spread=0.2)
        write_guess_model(folder / f"{name}-2", seed=1, tied=tied, spread=0.2)
    return folder


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(models / "base", tmp_path_factory.mktemp("log") / "vllm.log", *PROCESSED) as running:
        yield running


async def play(policy, name: str, seed: int = 0) -> list[Sample]:
    """Three turns."""
    conversation = Conversation(name, [Message("user", "Make a guess. Go higher than 4.")])
    for turn in range(3):
        conversation.say(await policy.act(conversation, seed + turn))
        conversation.hear(Observation(text=f"Go lower than {turn + 4}."))
    policy.release(name)
    return conversation.samples


def logprobs_in(path: Path, sample: Sample, temperature: float) -> list[float]:
    """Log-probabilities of the sampled tokens by one pass of transformers over the whole sequence."""
    ids, first = [*sample.prompt_ids, *sample.token_ids], len(sample.prompt_ids)
    with torch.no_grad():
        logits_TV = load_model(path, "eager")(torch.tensor([ids])).logits[0]
    logp_TV = (logits_TV / temperature).log_softmax(-1)
    return [logp_TV[place - 1, ids[place]].item() for place in range(first, len(ids))]


async def check(engine: VllmServerEngine, folder: Path, version: int) -> None:
    many = await asyncio.gather(*(play(engine.serve(SAMPLING), name, seed=7) for name in "abcd"))
    for sample in (sample for samples in many for sample in samples):
        assert sample.policy_version == version
        assert sample.logprobs == pytest.approx(logprobs_in(folder, sample, 1.3), abs=ROUNDING)


async def test_a_server_samples_as_the_embedded_engine_and_takes_new_weights(server, models):
    base, other = models / "base", models / "base-2"
    engine = VllmServerEngine(Checkpoint(base, 3), [server.url], updates=True)
    embedded = EmbeddedEngine(Checkpoint(base, 3), slots=4, threads=1)
    try:
        expected, actual = [await play(each.serve(GREEDY), "a") for each in (embedded, engine)]
        assert [sample.token_ids for sample in actual] == [sample.token_ids for sample in expected]
        assert [sample.prompt_ids for sample in actual] == [sample.prompt_ids for sample in expected]
        for got, wanted in zip(actual, expected, strict=True):
            assert got.logprobs == pytest.approx(wanted.logprobs, abs=ROUNDING)
        await check(engine, base, 3)
        again = [await play(engine.serve(SAMPLING), "s", seed=5) for _ in range(2)]
        assert again[0] == again[1]  # equal seeds
        await asyncio.to_thread(engine.update, Checkpoint(other, 4))
        await check(engine, other, 4)
        for version, name in ((5, "tied"), (6, "tied-2")):  # in a server whose embeddings are two
            with pytest.raises(ConfigError, match="of another architecture"):
                engine.update(Checkpoint(models / name, version))
    finally:
        engine.close()
        embedded.close()


async def test_tied_checkpoints_are_taken_by_a_server_whose_embeddings_are_two(server, models):
    engine = VllmServerEngine(Checkpoint(models / "tied", 0), [server.url], updates=True)
    try:
        await check(engine, models / "tied", 0)
        await asyncio.to_thread(engine.update, Checkpoint(models / "tied-2", 1))
        await check(engine, models / "tied-2", 1)
    finally:
        engine.close()
    assert not list(models.glob(".*"))


async def test_a_server_that_died_and_came_back_samples_with_the_weights_of_the_run(server, models):
    other = models / "base-2"
    engine = VllmServerEngine(Checkpoint(other, 3), [server.url], updates=True, patience_s=START_S)
    try:
        policy = engine.serve(SAMPLING)
        expected = await play(policy, "a", seed=5)
        server.kill()
        act = asyncio.create_task(play(policy, "a", seed=5))
        await asyncio.sleep(0.5)
        assert not act.done()
        server.start()  # with the base, as it was first started
        assert [sample.token_ids for sample in await act] == [sample.token_ids for sample in expected]
        await check(engine, other, 3)
        assert not engine.lost
    finally:
        engine.close()


def test_a_run_with_a_server_learns_from_its_own_episodes(server, models, tmp_path):
    out = tmp_path / "run"
    base = f"base={models / 'base'}"
    command = [sys.executable, "-m", "agentevol", "run", "--iters", "2", "--out", str(out), base, *GUESS_RUN]
    command += ["engine=vllm", f"engine.url={server.url}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    episodes = list(Store(out / "trajectories").trajectories(Where(purpose="explore")))
    assert len(episodes) == 2 * 4 * 40
    assert {episode.ending.kind for episode in episodes} <= {"terminated", "truncated"}
    for episode in episodes:
        samples = [turn.sample for turn in episode.turns]
        assert {sample.policy_version for sample in samples if sample} == {episode.iteration - 1}
    summaries = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    gaps = [line["learn"]["logp_gap"] for line in summaries if "logp_gap" in line["learn"]]
    assert len(gaps) == 2
    assert max(gaps) < 1e-4


def test_an_evaluation_needs_a_key_and_the_flag_but_no_development_mode(models, tmp_path):
    base, key = models / "base", "sk-very-secret"
    with serving(base, tmp_path / "log", "--api-key", key, dev=False) as server:
        for given, message in ((None, "401 it refuses the key"), (key, "processed_logprobs")):
            with pytest.raises(ConfigError, match=message):
                VllmServerEngine(Checkpoint(base, 0), [server.url], updates=False, key=given)
        with pytest.raises(ConfigError, match="VLLM_SERVER_DEV_MODE=1"):
            VllmServerEngine(Checkpoint(base, 0), [server.url], updates=True, key=key)
    with serving(base, tmp_path / "log", "--api-key", key, *PROCESSED, dev=False) as server:
        command = [
            sys.executable,
            "-m",
            "agentevol",
            "eval",
            "--model",
            str(base),
            "--env",
            "guess",
            "--json",
        ]
        command += ["--max-new-tokens", "3", "engine=vllm", f"engine.url={server.url}"]
        command += ["engine.api_key_env=SERVER_KEY"]
        environment = {**os.environ, "SERVER_KEY": key}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["n"] == sum(told["endings"].values()) > 0
        assert told["mean_tokens"] > 0
        assert key not in done.stdout + done.stderr


def test_an_evaluation_may_start_vllm_itself(models):
    command = [sys.executable, "-m", "agentevol", "eval", "--model", f"vllm:{models / 'base'}"]
    command += ["--env", "guess", "--json", "--max-new-tokens", "3", "engine.slots=4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["n"] == sum(told["endings"].values()) > 0


async def test_a_server_on_a_cpu_that_keeps_tied_embeddings_is_noticed(models, tmp_path):
    with serving(models / "tied", tmp_path / "log", *PROCESSED) as server:
        engine = VllmServerEngine(Checkpoint(models / "tied", 0), [server.url], updates=True)
        try:
            with pytest.raises(RunStopped, match="start it with an untied copy, see docs"):
                await asyncio.to_thread(engine.update, Checkpoint(models / "tied-2", 1))
        finally:
            engine.close()
