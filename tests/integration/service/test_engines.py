"""The policy service over engines that hold weights: what is recorded is what they read, sampled and kept."""

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from support.policy_service import byte_tokenizer, running
from transformers import AutoModelForCausalLM, Qwen2Config

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.interfaces import TokenEngine
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.service.settings import ServiceSettings

ASK = {"role": "user", "content": "Make a guess."}
HIGHER = {"role": "user", "content": "Higher."}
try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)


def write_checkpoint(folder: Path, seed: int = 0) -> Path:
    """A random model of bytes; its heads are 32 wide, as vLLM asks on a CPU."""
    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=48,
        max_position_embeddings=512,
        initializer_range=0.3,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("models") / "first")


def start(kind: str, folder: Path) -> Any:
    if kind == "embedded":
        return EmbeddedEngine(Checkpoint(folder, 0), slots=4, threads=1)
    from agentevol.engines.vllm.engine import VllmEngine

    return VllmEngine(Checkpoint(folder, 0), slots=4)


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param(
            "vllm",
            marks=[pytest.mark.vllm, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)],
        ),
    ],
)
def engine(request: pytest.FixtureRequest, folder: Path) -> Generator[TokenEngine]:
    started = start(request.param, folder)
    yield started
    started.close()


@pytest.fixture
async def client(engine: TokenEngine, tmp_path: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with running(engine, tmp_path / "table", ServiceSettings(max_new_tokens=8)) as (_, http):
        yield http


async def said(client: httpx.AsyncClient, session: str, *messages: object) -> dict[str, Any]:
    path = f"/sessions/{session}/v1/chat/completions"
    reply = await client.post(path, json={"messages": messages})
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]["message"]


async def begun(client: httpx.AsyncClient, seed: int = 1) -> str:
    return (await client.post("/sessions", json={"task_id": "t", "seed": seed})).json()["session_id"]


async def trace(client: httpx.AsyncClient, session: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (await client.get(f"/sessions/{session}/trace")).text.splitlines()]


def logprobs(folder: Path, record: dict[str, Any]) -> list[float]:
    """Those of the sampled ids, by one pass of transformers over prompt and reply."""
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    ids = [*record["prompt_token_ids"], *record["token_ids"]]
    with torch.no_grad():
        logp = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    first = len(record["prompt_token_ids"])
    return [logp[place - 1, ids[place]].item() for place in range(first, len(ids))]


async def test_recorded_log_probabilities_are_those_of_the_recorded_ids(client, folder):
    session = await begun(client)
    first = await said(client, session, ASK)
    await said(client, session, ASK, first, HIGHER)
    one, two = await trace(client, session)
    assert two["extends"] == 1
    for record in (one, two):
        assert record["logprobs"] == pytest.approx(logprobs(folder, record), abs=1e-4)  # float32
    assert two["logprobs"] != pytest.approx(
        logprobs(folder, {**two, "prompt_token_ids": two["prompt_token_ids"][1:]}), abs=1e-4
    )


async def test_equal_seeds_give_equal_episodes(client):
    records: list[Any] = []
    for seed in (5, 5, 6):
        session = await begun(client, seed)
        await said(client, session, ASK)
        records.append((await trace(client, session))[0]["token_ids"])
        await client.post(f"/sessions/{session}/end", json={"outcome": "cancelled"})
    assert records[0] == records[1] != records[2]


async def test_a_session_reads_only_what_is_new(client, engine):
    read_before = read(engine)
    session = await begun(client)
    first = await said(client, session, ASK)
    await said(client, session, ASK, first, HIGHER)
    one, two = await trace(client, session)
    new = len(two["prompt_token_ids"]) - len(one["token_ids"])
    assert read(engine) - read_before <= new + 32  # vLLM keeps whole blocks of 32
    assert read(engine) - read_before < len(one["prompt_token_ids"]) + len(two["prompt_token_ids"]) - 20
    await client.post(f"/sessions/{session}/end", json={"outcome": "cancelled"})
    if isinstance(engine, EmbeddedEngine):
        assert [slot.conversation_id for slot in engine._scheduler.slots] == [None] * 4


def read(engine: Any) -> int:
    """Tokens of prompts that the engine has computed so far."""
    counts = engine.counts
    return counts.prefilled if isinstance(engine, EmbeddedEngine) else counts.read - counts.cached


async def test_new_weights_answer_after_an_update(client, engine, tmp_path, folder):
    session = await begun(client)
    first = await said(client, session, ASK)
    better = write_checkpoint(tmp_path / "better", seed=1)
    done = await client.post("/update", json={"model": str(better)})
    assert (done.status_code, done.json()["policy_version"]) == (200, 1)
    await said(client, session, ASK, first, HIGHER)
    one, two = await trace(client, session)
    assert (one["policy_version"], two["policy_version"], two["extends"]) == (0, 1, 1)
    assert two["logprobs"] == pytest.approx(logprobs(better, two), abs=1e-4)
    assert two["logprobs"] != pytest.approx(logprobs(folder, two), abs=1e-2)
    engine.update(Checkpoint(folder, 0))  # for the tests after this one


async def test_weights_of_another_architecture_are_refused(client, tmp_path):
    other = write_checkpoint(tmp_path / "other")
    config = json.loads((other / "config.json").read_text(encoding="utf-8"))
    AutoModelForCausalLM.from_config(
        Qwen2Config(**{**config, "intermediate_size": 32, "layer_types": None})
    ).save_pretrained(other)
    refused = await client.post("/update", json={"model": str(other)})
    assert refused.status_code == 400
    assert "another architecture" in refused.json()["error"]["message"]
    await said(client, await begun(client), ASK)


async def test_a_service_whose_engine_failed_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: object) -> None:
        raise RuntimeError("out of memory")

    engine = EmbeddedEngine(Checkpoint(folder, 0), slots=4, threads=1)
    async with running(engine, tmp_path / "table", ServiceSettings(max_new_tokens=8)) as (_, http):
        assert (await http.get("/health")).json()["status"] == "healthy"
        monkeypatch.setattr(engine._model, "logits", fail)
        reply = await http.post("/v1/chat/completions", json={"messages": [ASK]})
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "engine_error")
        health = await http.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "failed")
    engine.close()
