"""The vLLM engine against the embedded one and transformers: same tokens, same log-probabilities.

Starting vLLM takes long, so tests share engines, and the last ones break theirs.
"""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Generator
from itertools import chain
from pathlib import Path

import pytest
import torch
from support.tiny_models import END, words, write_checkpoint
from transformers import AutoModelForCausalLM

from agentevol.core.errors import ConfigError, PolicyFault, RunStopped
from agentevol.core.protocols import Checkpoint, ContextFull, Conversation, Message, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.embedded.sampling import _nucleus
from agentevol.engines.vllm import engine as engine_module
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.engines.vllm.engine import VllmEngine
from agentgym_envs.core import Observation
from agentgym_store.records import Sample

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

GREEDY = Sampling(temperature=0.0, max_new_tokens=5)
ROUNDING = 1e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("untied") / "model")


@pytest.fixture(scope="module")
def shared(folder: Path) -> Generator[VllmEngine]:
    engine = VllmEngine(Checkpoint(folder, 3), slots=8)
    yield engine
    engine.close()


@pytest.fixture
def engine(shared: VllmEngine, folder: Path) -> VllmEngine:
    """The shared engine with the weights that it began with."""
    if shared.serve(GREEDY).name != folder.name or shared.serve(GREEDY).version != 3:
        shared.update(Checkpoint(folder, 3))
    return shared


def begin(name: str, length: int = 12) -> Conversation:
    return Conversation(name, [Message("user", words(sum(map(ord, name)), length))])


async def until_acting(engine: VllmEngine, name: str) -> None:
    """Until the engine samples for a conversation."""
    for _ in range(5000):
        if name in engine._acting:
            return
        await asyncio.sleep(0.001)
    pytest.fail(f"{name} does not act")


async def play(policy, conversation: Conversation, turns: int = 3, seed: int = 0) -> list[Sample]:
    """Turns whose observations are 6 words; released in the end."""
    for turn in range(turns):
        conversation.say(await policy.act(conversation, seed + turn))
        conversation.hear(Observation(text=words(turn + len(conversation.id), 6)))
    policy.release(conversation.id)
    return conversation.samples


def logprobs_in(path: Path, sample: Sample, sampling: Sampling) -> list[float]:
    """Log-probabilities of the sampled tokens by one pass of transformers over the whole sequence."""
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager").eval()
    ids = [*sample.prompt_ids, *sample.token_ids]
    with torch.no_grad():
        logp_TV = (model(torch.tensor([ids])).logits[0] / (sampling.temperature or 1)).log_softmax(-1)
    logp_TV = _nucleus(logp_TV, torch.full((len(ids),), sampling.top_p))
    first = len(sample.prompt_ids)
    return [logp_TV[place - 1, ids[place]].item() for place in range(first, len(ids))]


async def test_greedy_turns_are_those_of_the_embedded_engine_token_for_token(engine, folder):
    embedded = EmbeddedEngine(Checkpoint(folder, 3), slots=4, threads=1)
    expected, actual = [
        await asyncio.gather(*(play(policy, begin(name, 5 + 9 * k)) for k, name in enumerate("abcd")))
        for policy in (embedded.serve(GREEDY), engine.serve(GREEDY))
    ]
    embedded.close()
    pairs = [
        (a, b) for one, other in zip(expected, actual, strict=True) for a, b in zip(one, other, strict=True)
    ]
    assert len(pairs) == 12
    for wanted, got in pairs:
        assert got.prompt_ids == wanted.prompt_ids
        assert got.token_ids == wanted.token_ids
        assert (got.text, got.finish_reason) == (wanted.text, wanted.finish_reason)
        assert got.logprobs == pytest.approx(wanted.logprobs, abs=ROUNDING)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0, max_new_tokens=8),
        Sampling(temperature=0.7, max_new_tokens=8),
        Sampling(temperature=1.3, top_p=0.6, max_new_tokens=8),
    ],
)
async def test_log_probabilities_are_those_of_the_distribution_drawn_from(engine, folder, sampling):
    greedy = play(engine.serve(GREEDY), begin("g"))  # other samplings in the batch change nothing
    many = await asyncio.gather(
        greedy, *(play(engine.serve(sampling), begin(name), seed=17) for name in "abcd")
    )
    samples = [sample for samples in many[1:] for sample in samples]
    assert len(samples) == 12
    for sample in samples:
        assert sample.logprobs == pytest.approx(logprobs_in(folder, sample, sampling), abs=ROUNDING)
    other = Sampling(temperature=sampling.temperature + 0.1, top_p=sampling.top_p)
    assert samples[0].logprobs != pytest.approx(logprobs_in(folder, samples[0], other), abs=ROUNDING)


async def test_equal_seeds_give_equal_samples_whatever_else_is_sampled(engine):
    policy = engine.serve(Sampling(max_new_tokens=8))
    alone = await policy.act(begin("a"), 5)
    again, *_ = await asyncio.gather(policy.act(begin("a"), 5), *(policy.act(begin(x), 6) for x in "bcdef"))
    assert again.token_ids == alone.token_ids
    others = [await policy.act(begin("a"), seed) for seed in (6, 7, -1, 2**64)]
    assert len({sample.token_ids for sample in [alone, *others]}) > 1


async def test_an_action_ends_with_its_end_token_or_its_length(engine):
    policy = engine.serve(Sampling(temperature=1.0, max_new_tokens=40))
    samples = await asyncio.gather(*(policy.act(begin(f"c{index}"), index) for index in range(40)))
    reasons = {sample.finish_reason for sample in samples}
    assert reasons == {"stop", "length"}
    for sample in samples:
        assert (sample.token_ids[-1] == END) == (sample.finish_reason == "stop")
        assert END not in sample.token_ids[:-1]
        assert len(sample.logprobs) == len(sample.token_ids) <= 40
        assert "<|end|>" not in sample.text


async def test_hundreds_of_episodes_in_few_slots_all_complete(engine):
    policy = engine.serve(Sampling(max_new_tokens=3))
    many = await asyncio.gather(*(play(policy, begin(f"c{k}"), turns=2, seed=k) for k in range(300)))
    assert [len(samples) for samples in many] == [2] * 300
    assert {sample.policy_version for samples in many for sample in samples} == {3}


async def test_what_was_read_before_comes_from_the_prefix_cache(engine):
    read, cached = engine.counts.read, engine.counts.cached
    samples = await play(engine.serve(GREEDY), begin("a much longer conversation", 100), turns=3)
    assert engine.counts.read - read == sum(len(sample.prompt_ids) for sample in samples)
    # a block has 32 tokens: the second and third turn find the first's 101 in three whole blocks, at least
    assert engine.counts.cached - cached >= 2 * 96


async def test_a_conversation_that_does_not_fit_is_refused(engine):
    policy = engine.serve(Sampling(max_new_tokens=100))
    with pytest.raises(ContextFull, match="exceed the context of 256"):
        await policy.act(begin("long", 200), 0)


async def test_updated_weights_answer_under_their_version(engine, folder, tmp_path):
    sampling = Sampling(temperature=1.0, max_new_tokens=8)
    before = engine.serve(sampling)
    other = write_checkpoint(tmp_path / "other", seed=1)
    await asyncio.to_thread(engine.update, Checkpoint(other, 4))
    samples = await play(engine.serve(sampling), begin("a", 60))
    assert {sample.policy_version for sample in samples} == {4}
    for sample in samples:
        assert sample.logprobs == pytest.approx(logprobs_in(other, sample, sampling), abs=ROUNDING)
        assert sample.logprobs != pytest.approx(logprobs_in(folder, sample, sampling), abs=ROUNDING)
    with pytest.raises(PolicyFault, match="replaced by version 4"):
        await before.act(begin("b"), 0)


async def test_an_update_waits_for_acts_under_way_and_refuses_those_after(engine, tmp_path):
    policy = engine.serve(Sampling(temperature=1.0, max_new_tokens=200))
    acts = [asyncio.create_task(policy.act(begin(f"c{k}"), k)) for k in range(4)]
    await asyncio.sleep(0.05)
    other = write_checkpoint(tmp_path / "other", seed=2)
    updated = asyncio.create_task(asyncio.to_thread(engine.update, Checkpoint(other, 5)))
    samples = await asyncio.gather(*acts)
    await updated
    assert {sample.policy_version for sample in samples} == {3}
    with pytest.raises(PolicyFault, match="replaced by version 5"):
        await policy.act(begin("late"), 0)


async def test_another_architecture_is_refused_and_the_weights_stay(engine, tmp_path):
    wider = write_checkpoint(tmp_path / "wider", hidden=128)
    with pytest.raises(ConfigError, match="of another architecture than model"):
        engine.update(Checkpoint(wider, 4))
    with pytest.raises(ConfigError, match="no checkpoint at"):
        engine.update(Checkpoint(tmp_path / "nothing", 4))
    assert (await engine.serve(GREEDY).act(begin("a"), 0)).policy_version == 3


async def test_a_cancelled_act_is_aborted_and_the_others_go_on(engine):
    policy = engine.serve(Sampling(temperature=1.0, max_new_tokens=200))
    kept, dropped = (asyncio.create_task(policy.act(begin(name), 1)) for name in ("kept", "dropped"))
    await until_acting(engine, "dropped")
    dropped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dropped
    assert len((await kept).token_ids) > 0
    for _ in range(50):
        if not engine._process.llm.get_num_unfinished_requests():
            break
        await asyncio.sleep(0.1)
    assert engine._process.llm.get_num_unfinished_requests() == 0
    assert len((await policy.act(begin("dropped"), 1)).token_ids) > 0  # the conversation may act again


async def test_a_release_while_it_acts_ends_the_act(engine):
    policy = engine.serve(Sampling(temperature=1.0, max_new_tokens=200))
    act = asyncio.create_task(policy.act(begin("released"), 3))
    await until_acting(engine, "released")
    policy.release("released")
    policy.release("unknown")
    with pytest.raises(PolicyFault, match="released while it acted"):
        await act


async def test_a_conversation_acts_once_at_a_time(engine):
    policy = engine.serve(Sampling(max_new_tokens=50))
    first = asyncio.create_task(policy.act(begin("a"), 0))
    await until_acting(engine, "a")
    with pytest.raises(PolicyFault, match="has two calls at once"):
        await policy.act(begin("a"), 0)
    await first


async def test_two_processes_that_share_the_weights_sample_like_one_and_both_take_new_ones(
    engine, folder, tmp_path
):
    sampling = Sampling(temperature=1.0, max_new_tokens=8)
    two = VllmEngine(Checkpoint(folder, 3), slots=4, tensor_parallel=2)
    try:
        assert len(await asyncio.to_thread(two._call, two._process.llm.collective_rpc("check_health"))) == 2
        alone, shared = [
            await asyncio.gather(*(play(one.serve(GREEDY), begin(name)) for name in "abc"))
            for one in (engine, two)
        ]
        for wanted, got in zip(chain(*alone), chain(*shared), strict=True):
            assert (got.prompt_ids, got.token_ids) == (wanted.prompt_ids, wanted.token_ids)
            assert got.logprobs == pytest.approx(wanted.logprobs, abs=ROUNDING)
        other = write_checkpoint(tmp_path / "other", seed=1)
        await asyncio.to_thread(two.update, Checkpoint(other, 4))
        for sample in await play(two.serve(sampling), begin("a", 60)):
            assert sample.policy_version == 4
            assert sample.logprobs == pytest.approx(logprobs_in(other, sample, sampling), abs=ROUNDING)
            assert sample.logprobs != pytest.approx(logprobs_in(folder, sample, sampling), abs=ROUNDING)
    finally:
        two.close()


async def test_keys_and_values_of_old_weights_stop_the_run(engine, tmp_path, monkeypatch):
    async def forgetful() -> bool:
        return True

    monkeypatch.setattr(engine._process.llm, "reset_prefix_cache", forgetful)
    other = write_checkpoint(tmp_path / "other", seed=6)
    with pytest.raises(RunStopped, match=r"does not sample with the weights of other \(version 9\)"):
        await asyncio.to_thread(engine.update, Checkpoint(other, 9))
    with pytest.raises(PolicyFault, match="does not sample with the weights"):
        await engine.serve(GREEDY).act(begin("a"), 0)  # it is over: the test above this one is the last


async def test_tied_embeddings_are_updated_whole_and_a_dead_process_is_told(tmp_path):
    first = write_checkpoint(tmp_path / "first", tied=True)
    second = write_checkpoint(tmp_path / "second", seed=1, tied=True)
    others = set(multiprocessing.active_children())
    engine = VllmEngine(Checkpoint(first, 0), slots=4)
    try:
        sampling = Sampling(temperature=1.0, max_new_tokens=8)
        for path, version in ((first, 0), (second, 1)):
            if version:
                await asyncio.to_thread(engine.update, Checkpoint(path, version))
            sample = await engine.serve(sampling).act(begin("a"), 3)
            assert sample.policy_version == version
            assert sample.logprobs == pytest.approx(logprobs_in(path, sample, sampling), abs=ROUNDING)
        assert not engine.lost
        (core,) = set(multiprocessing.active_children()) - others
        assert core.pid is not None
        os.kill(core.pid, signal.SIGKILL)
        with pytest.raises(PolicyFault, match="vLLM's process died"):
            await engine.serve(sampling).act(begin("a"), 0)
        assert engine.lost
    finally:
        engine.close()


async def test_an_output_layer_that_an_update_leaves_behind_stops_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "untied", lambda path, _model, _copy: path)
    first = write_checkpoint(tmp_path / "first", tied=True)
    second = write_checkpoint(tmp_path / "second", seed=1, tied=True)
    engine = VllmEngine(Checkpoint(first, 0), slots=4)
    try:
        with pytest.raises(RunStopped, match="does not sample with the weights of second"):
            await asyncio.to_thread(engine.update, Checkpoint(second, 1))
    finally:
        engine.close()
