"""The vLLM engine with adapters apart, against the embedded one and transformers on the merged checkpoints.

All tests share one engine, which starts from a checkpoint with adapters and tied embeddings; the last one
breaks it.
"""

import asyncio
import threading
from collections.abc import Generator
from itertools import chain
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.tiny_models import words, write_checkpoint

from agentevol.core.errors import ConfigError, PolicyFault, RunStopped
from agentevol.core.protocols import Checkpoint, Conversation, Message, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.vllm import lora_engine as vllm_lora
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.engines.vllm.lora_engine import VllmLoraEngine
from agentevol.engines.vllm.weights import verification
from agentevol.engines.vllm.weights.lora_adapters import write_peft
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import copy_tokenizer
from agentevol.models.lora import FILE, adapted_from, to_bytes, trained
from agentevol.models.lora_config import LoraConfig
from agentgym_envs.core import Observation
from agentgym_store.records import Sample

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

LORA = LoraConfig(rank=4, alpha=8, keep=True)
GREEDY = Sampling(temperature=0.0, max_new_tokens=5)
SAMPLED = Sampling(temperature=1.0, max_new_tokens=8)
ROUNDING = 2e-4


def learnt(start: Path, folder: Path, seed: int) -> Path:
    """A checkpoint as the learner writes it, whose adapters went on from those of `start`, if any."""
    model = load_model(start, "eager")
    adapters = adapted_from(model, LORA, start)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in trained(model).values():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    stored = to_bytes(model)
    adapters.merge_and_unload()  # in place
    model.save_pretrained(folder)
    copy_tokenizer(start, folder)
    (folder / FILE).write_bytes(stored)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Checkpoints 0 to 2 of a run; the first has no adapters."""
    base = write_checkpoint(tmp_path_factory.mktemp("run") / "0", tied=True, window=512)
    first = learnt(base, base.parent / "1", seed=1)
    return [base, first, learnt(first, base.parent / "2", seed=2)]


@pytest.fixture(scope="module")
def shared(run: list[Path]) -> Generator[VllmLoraEngine]:
    engine = VllmLoraEngine(Checkpoint(run[1], 1), lora=LORA, slots=8)
    yield engine
    engine.close()


@pytest.fixture
def engine(shared: VllmLoraEngine, run: list[Path]) -> VllmLoraEngine:
    """The shared engine with the adapters that it began with."""
    if shared.serve(GREEDY).name != run[1].name:
        shared.update(Checkpoint(run[1], 1))
    return shared


def begin(name: str, length: int = 12) -> Conversation:
    return Conversation(name, [Message("user", words(sum(map(ord, name)), length))])


async def play(policy, conversation: Conversation, turns: int = 3) -> list[Sample]:
    for turn in range(turns):
        conversation.say(await policy.act(conversation, turn))
        conversation.hear(Observation(text=words(turn, 6)))
    policy.release(conversation.id)
    return conversation.samples


def logprobs_in(path: Path, sample: Sample) -> list[float]:
    """Log-probabilities of the sampled tokens at temperature 1 by one pass of transformers."""
    ids = torch.tensor([[*sample.prompt_ids, *sample.token_ids]])
    with torch.inference_mode():
        logp_TV = load_model(path, "eager")(ids).logits[0].log_softmax(-1)
    first = len(sample.prompt_ids)
    return [logp_TV[place - 1, ids[0, place]].item() for place in range(first, ids.shape[1])]


async def test_greedy_turns_are_those_of_the_merged_checkpoint_token_for_token(engine, run):
    embedded = EmbeddedEngine(Checkpoint(run[1], 1), slots=4, threads=1)
    expected, actual = [
        await asyncio.gather(*(play(policy, begin(name, 5 + 9 * k)) for k, name in enumerate("abcd")))
        for policy in (embedded.serve(GREEDY), engine.serve(GREEDY))
    ]
    embedded.close()
    for wanted, got in zip(chain(*expected), chain(*actual), strict=True):
        assert (got.prompt_ids, got.token_ids) == (wanted.prompt_ids, wanted.token_ids)
        assert got.logprobs == pytest.approx(wanted.logprobs, abs=ROUNDING)


async def test_an_update_adds_adapters_and_reads_nothing_from_the_cache_of_others(engine, run):
    conversation = begin("read before", 130)
    samples = [await engine.serve(SAMPLED).act(conversation, 3)]
    cached = [engine.counts.cached]
    for version in (2, 0, 1):
        await asyncio.to_thread(engine.update, Checkpoint(run[version], version))
        samples.append(await engine.serve(SAMPLED).act(conversation, 3))
        cached.append(engine.counts.cached)
    assert len(set(cached)) == 1  # of 130 tokens nothing was found again, four times
    await engine.serve(SAMPLED).act(conversation, 3)
    assert engine.counts.cached - cached[-1] >= 96  # with the same adapters it is
    for sample, version in zip(samples, (1, 2, 0, 1), strict=True):
        assert sample.policy_version == version
        assert sample.logprobs == pytest.approx(logprobs_in(run[version], sample), abs=ROUNDING)
        assert sample.logprobs != pytest.approx(logprobs_in(run[(version + 1) % 3], sample), abs=ROUNDING)
    assert samples[3].token_ids == samples[0].token_ids != samples[1].token_ids


async def test_acts_wait_for_no_update_and_end_with_the_adapters_that_they_began_with(
    engine, run, monkeypatch
):
    looked, gap = threading.Event(), verification.gap

    def late_gap(*given) -> float:
        looked.wait(60)
        return gap(*given)

    monkeypatch.setattr(verification, "gap", late_gap)
    policy = engine.serve(Sampling(temperature=1.0, max_new_tokens=400))
    update = asyncio.create_task(asyncio.to_thread(engine.update, Checkpoint(run[2], 2)))
    await asyncio.sleep(0.5)
    assert (await engine.serve(SAMPLED).act(begin("meanwhile"), 0)).policy_version == 1
    assert not update.done()
    acts = [asyncio.create_task(policy.act(begin(f"c{seed}"), seed)) for seed in range(40)]
    await asyncio.sleep(0.05)  # eight of them are sampled for, the others wait in vLLM
    looked.set()
    await update
    assert not all(act.done() for act in acts)
    fresh = await engine.serve(SAMPLED).act(begin("fresh"), 1)
    old = await asyncio.gather(*acts)
    assert {sample.policy_version for sample in old} == {1}
    longest = max(old, key=lambda sample: len(sample.token_ids))
    assert longest.logprobs == pytest.approx(logprobs_in(run[1], longest), abs=ROUNDING)
    assert fresh.logprobs == pytest.approx(logprobs_in(run[2], fresh), abs=ROUNDING)
    with pytest.raises(PolicyFault, match="replaced by version 2"):
        await policy.act(begin("late"), 0)
    await asyncio.to_thread(engine.update, Checkpoint(run[0], 0))  # once the first ones were removed
    for _ in range(100):
        if len(engine._requests) == 1:
            break
        await asyncio.sleep(0.02)
    left = asyncio.run_coroutine_threadsafe(engine._process.llm.list_loras(), engine._loop).result()
    assert set(left) == {request.lora_int_id for request in engine._requests.values()}
    assert len(left) == 1


async def test_a_checkpoint_on_other_weights_or_with_scaled_adapters_is_refused(engine, run, tmp_path):
    elsewhere = learnt(
        write_checkpoint(tmp_path / "base", seed=7, tied=True, window=512), tmp_path / "elsewhere", seed=1
    )
    with pytest.raises(ConfigError, match="their base weights differ from those in vLLM"):
        engine.update(Checkpoint(elsewhere, 2))
    scaled = learnt(run[1], tmp_path / "scaled", seed=2)
    stored = load_file(scaled / FILE)
    save_file({name: 1.01 * tensor for name, tensor in stored.items()}, scaled / FILE)
    with pytest.raises(ConfigError, match="is not that in"):
        engine.update(Checkpoint(scaled, 2))
    sample = await engine.serve(SAMPLED).act(begin("a"), 0)  # the old ones stay
    assert sample.logprobs == pytest.approx(logprobs_in(run[1], sample), abs=ROUNDING)


async def test_adapters_that_vllm_reads_otherwise_stop_the_run(engine, run, monkeypatch):
    def scaled(adapters, lora, out):
        write_peft({name: 1.1 * tensor for name, tensor in adapters.items()}, lora, out)

    monkeypatch.setattr(vllm_lora, "write_peft", scaled)
    with pytest.raises(RunStopped, match=r"does not sample with the weights of 2 \(version 2\)"):
        await asyncio.to_thread(engine.update, Checkpoint(run[2], 2))
    with pytest.raises(PolicyFault, match="does not sample with the weights"):
        await engine.serve(GREEDY).act(begin("a"), 0)
