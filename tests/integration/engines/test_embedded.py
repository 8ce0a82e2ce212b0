"""The embedded engine against transformers itself: same tokens and log-probabilities, less computed."""

import asyncio
import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.core.protocols import Checkpoint, ContextFull, Conversation, Message, Sampling
from agentevol.engines.embedded import engine as embedded
from agentevol.engines.embedded import slot_cache
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.embedded.forward import StepModel
from agentevol.engines.embedded.slot_cache import Run, SlotCache, Step
from agentgym_envs.core import Observation
from agentgym_store.records import Sample

VOCABULARY = 61
END, AGENT = 59, 60
TEMPLATE = (
    "{% for message in messages %}{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% else %}<|agent|>{% endif %}{% endfor %}"
)
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
    "initializer_range": 0.4,  # wide, so that the most likely token is no matter of rounding
    "bos_token_id": None,
    "eos_token_id": END,
    "pad_token_id": None,
}
CONFIGS: dict[str, PreTrainedConfig] = {
    "qwen2, grouped queries": Qwen2Config(**SHAPE, num_key_value_heads=2),
    "llama": LlamaConfig(**SHAPE, num_key_value_heads=4),
    "mistral, sliding window": MistralConfig(**SHAPE, num_key_value_heads=1, sliding_window=9),
}
QWEN2 = CONFIGS["qwen2, grouped queries"]
GREEDY = Sampling(temperature=0.0, max_new_tokens=5)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def write_checkpoint(folder: Path, config: PreTrainedConfig = QWEN2, seed: int = 0) -> Path:
    """A random model with one token for each word w0 to w58."""
    core = Tokenizer(models.WordLevel({f"w{index}": index for index in range(END)}, unk_token="w0"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken("<|agent|>", special=True)])
    PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="w0", eos_token="<|end|>", chat_template=TEMPLATE
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("qwen2"))


@pytest.fixture
def serve(folder):
    """Engines that are closed after the test."""
    engines: list[EmbeddedEngine] = []

    def start(path: Path = folder, **options) -> EmbeddedEngine:
        engines.append(EmbeddedEngine(Checkpoint(path, 3), **{"slots": 4, "threads": 1, **options}))
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


def words(seed: int, count: int) -> str:
    return " ".join(f"w{(seed * 31 + place * (seed + 7)) % END}" for place in range(count))


def begin(name: str, length: int = 12) -> Conversation:
    return Conversation(name, [Message("user", words(sum(map(ord, name)), length))])


async def play(policy, conversation: Conversation, turns: int = 3, seed: int = 0) -> list[Sample]:
    """Turns whose observations are 6 words; released in the end."""
    for turn in range(turns):
        conversation.say(await policy.act(conversation, seed + turn))
        conversation.hear(Observation(text=words(turn + len(conversation.id), 6)))
    policy.release(conversation.id)
    return conversation.samples


def reference(path: Path):
    return AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager").eval()


def full_logprobs(model, sample: Sample, temperature: float = 1.0) -> list[float]:
    """Log-probabilities of the sampled tokens by one pass over the whole sequence, without a cache."""
    ids = [*sample.prompt_ids, *sample.token_ids]
    with torch.no_grad():
        logp = (model(torch.tensor([ids])).logits[0] / temperature).log_softmax(-1)
    first = len(sample.prompt_ids)
    return [logp[place - 1, ids[place]].item() for place in range(first, len(ids))]


@pytest.mark.parametrize("kind", list(CONFIGS))
async def test_greedy_turns_are_those_of_generate_token_for_token(kind, serve, tmp_path):
    path = write_checkpoint(tmp_path, CONFIGS[kind])
    policy = serve(path).serve(GREEDY)
    many = await asyncio.gather(
        *(play(policy, begin(name, 5 + 9 * index)) for index, name in enumerate("abcd"))
    )
    model = reference(path)
    for sample in [sample for samples in many for sample in samples]:
        expected = model.generate(
            torch.tensor([sample.prompt_ids]), do_sample=False, max_new_tokens=5, pad_token_id=END
        )
        assert sample.token_ids == tuple(expected[0, len(sample.prompt_ids) :].tolist())
        assert sample.logprobs == pytest.approx(full_logprobs(model, sample), abs=1e-4)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
async def test_log_probabilities_are_those_of_a_full_pass(temperature, folder, serve):
    policy = serve().serve(Sampling(temperature=temperature, max_new_tokens=8))
    many = await asyncio.gather(*(play(policy, begin(name), seed=17) for name in "abcdef"))
    samples = [sample for samples in many for sample in samples]
    assert len(samples) == 18
    model = reference(folder)
    for sample in samples:
        assert sample.logprobs == pytest.approx(full_logprobs(model, sample, temperature), abs=1e-4)
        assert all(logp <= 0 for logp in sample.logprobs)
    off = full_logprobs(model, samples[0], temperature + 0.1)
    assert samples[0].logprobs != pytest.approx(off, abs=1e-4)


async def test_prompts_extend_what_was_read_and_sampled_before(serve):
    samples = await play(serve().serve(Sampling(max_new_tokens=4)), begin("a"))
    for before, after in pairwise(samples):
        known = before.prompt_ids + before.token_ids
        assert after.prompt_ids[: len(known)] == known
        glue = (
            1 + 6 + (before.finish_reason == "length")
        )  # <|agent|>, six words, <|end|> if it was not sampled
        assert len(after.prompt_ids) == len(known) + glue


async def test_a_sample_does_not_depend_on_what_else_is_in_the_batch(serve):
    engine = serve(slots=8)
    policy = engine.serve(Sampling(max_new_tokens=6))
    alone = await play(policy, begin("me", 20), seed=5)
    crowd = [play(policy, begin(name, 3 + 11 * index), seed=index) for index, name in enumerate("abcdefg")]
    *_, together = await asyncio.gather(*crowd, play(policy, begin("me", 20), seed=5))
    other_seed = await play(policy, begin("me", 20), seed=6)
    assert [sample.token_ids for sample in together] == [sample.token_ids for sample in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert [sample.token_ids for sample in other_seed] != [sample.token_ids for sample in alone]


async def test_the_cache_is_kept_across_turns(serve):
    engine = serve()
    samples = await play(engine.serve(Sampling(max_new_tokens=4)), begin("a", 30), turns=3)
    # First 30 words and <|agent|>; then per turn the last sampled token (never fed before), the end token
    # where it was not sampled, 6 words and <|agent|>.
    added = sum(8 + (sample.finish_reason == "length") for sample in samples[:-1])
    assert engine.counts.prefilled == 31 + added
    assert engine.counts.sampled == sum(len(sample.token_ids) for sample in samples)
    assert engine.counts.prefilled < sum(len(sample.prompt_ids) for sample in samples) / 2


async def test_more_conversations_than_slots_all_complete(serve):
    policy = serve(slots=3).serve(Sampling(max_new_tokens=3))
    episodes = asyncio.gather(*(play(policy, begin(f"c{index}"), seed=index) for index in range(20)))
    many = await asyncio.wait_for(episodes, 30)
    assert [len(samples) for samples in many] == [3] * 20


async def test_a_release_frees_the_slot_for_who_waits(serve):
    policy = serve(slots=1).serve(GREEDY)
    first, second = begin("first"), begin("second")
    first.say(await policy.act(first, 0))
    waiting = asyncio.create_task(policy.act(second, 0))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    policy.release("first")
    assert len((await asyncio.wait_for(waiting, 10)).token_ids) > 0


async def test_an_episode_that_is_never_released_blocks_nobody_for_long(serve, monkeypatch):
    monkeypatch.setattr(embedded, "EVICT_AFTER_S", 0.05)
    policy = serve(slots=1).serve(GREEDY)
    leaked = begin("leaked")
    leaked.say(await policy.act(leaked, 0))
    await asyncio.wait_for(play(policy, begin("other")), 10)
    leaked.hear(Observation(text="w1"))
    assert len((await asyncio.wait_for(policy.act(leaked, 0), 10)).token_ids) > 0


async def test_a_rewritten_history_is_read_anew(folder, serve):
    policy = serve().serve(GREEDY)
    conversation = begin("a", 20)
    conversation.say(await policy.act(conversation, 0))
    other = Conversation("a", [Message("user", words(ord("a"), 10) + " w3 w4")])
    sample = await policy.act(other, 0)
    expected = reference(folder).generate(
        torch.tensor([sample.prompt_ids]), do_sample=False, max_new_tokens=5, pad_token_id=END
    )
    assert sample.token_ids == tuple(expected[0, len(sample.prompt_ids) :].tolist())


async def test_an_update_changes_samples_and_version_and_ends_older_policies(serve, tmp_path):
    engine = serve()
    old = engine.serve(GREEDY)
    before = await play(old, begin("a"))
    await asyncio.to_thread(engine.update, Checkpoint(write_checkpoint(tmp_path, seed=1), 4))
    new = engine.serve(GREEDY)
    after = await play(new, begin("a"))
    assert (old.version, new.version) == (3, 4)
    assert {sample.policy_version for sample in before} == {3}
    assert {sample.policy_version for sample in after} == {4}
    assert [sample.token_ids for sample in after] != [sample.token_ids for sample in before]
    assert after[0].logprobs == pytest.approx(full_logprobs(reference(tmp_path), after[0]), abs=1e-4)
    with pytest.raises(PolicyFault, match="replaced by version 4"):
        await old.act(begin("b"), 0)


async def test_acts_under_way_finish_with_the_weights_that_began_them(folder, serve, tmp_path):
    engine = serve()
    write_checkpoint(tmp_path, seed=1)
    sampling = Sampling(max_new_tokens=60)
    acting = [asyncio.create_task(engine.serve(sampling).act(begin(name), 1)) for name in "ab"]
    await asyncio.sleep(0.01)
    engine.update(Checkpoint(tmp_path, 4))  # on the event loop's own thread: must not hang
    model = reference(folder)
    for sample in await asyncio.gather(*acting):
        assert sample.policy_version == 3
        assert sample.logprobs == pytest.approx(full_logprobs(model, sample), abs=1e-4)


def break_folder(path: Path, how: str) -> None:
    """Damage a checkpoint in one of the ways in which disks and people do."""
    weights = path / "model.safetensors"
    if how == "missing folder":
        shutil.rmtree(path)
    elif how == "missing weights":
        weights.unlink()
    elif how == "cut weights":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif how == "garbled configuration":
        (path / "config.json").write_text("{")
    elif how == "no tokenizer":
        (path / "tokenizer.json").unlink()
    elif how == "another model's weights":
        other = write_checkpoint(path / "other", Qwen2Config(**SHAPE | {"num_hidden_layers": 1}))
        shutil.copy(other / weights.name, weights)


@pytest.mark.parametrize(
    "how",
    [
        "missing folder",
        "missing weights",
        "cut weights",
        "garbled configuration",
        "no tokenizer",
        "another model's weights",
    ],
)
def test_a_broken_checkpoint_is_one_clear_line_and_the_old_weights_stay(how, serve, tmp_path):
    path = write_checkpoint(tmp_path / "broken")
    break_folder(path, how)
    with pytest.raises(ConfigError, match="broken") as error:
        EmbeddedEngine(Checkpoint(path, 0))
    assert "\n" not in str(error.value)
    engine = serve()
    with pytest.raises(ConfigError, match="broken"):
        engine.update(Checkpoint(path, 4))
    assert len(asyncio.run(play(engine.serve(GREEDY), begin("a")))) == 3


@pytest.mark.parametrize("other", ["llama", "qwen2, wider"])
def test_an_update_to_another_architecture_is_refused(other, serve, tmp_path):
    config = CONFIGS["llama"] if other == "llama" else Qwen2Config(**SHAPE | {"hidden_size": 64})
    with pytest.raises(ConfigError, match="another architecture"):
        serve().update(Checkpoint(write_checkpoint(tmp_path, config), 4))


def test_a_model_with_another_attention_is_refused_at_the_start(tmp_path):
    config = Gemma2Config(**SHAPE | {"pad_token_id": 0}, num_key_value_heads=2, head_dim=8)
    with pytest.raises(ConfigError, match=r"cannot serve models of type gemma2: .*soft capping"):
        EmbeddedEngine(Checkpoint(write_checkpoint(tmp_path, config), 0), slots=2)


@pytest.mark.parametrize(
    ("differences", "asked", "served"),
    [
        ((0.1,), 1, True),
        ((0.4, 1e-5), 2, True),
        ((0.4, 0.4), 2, False),
        ((1.5, 1e-5), 1, False),
        ((float("nan"), 1e-5), 1, False),
    ],
)
def test_what_rounding_amounts_to_is_told_from_another_attention_in_float32(
    differences, asked, served, folder, monkeypatch
):
    seen: list[torch.dtype] = []

    def difference(self: StepModel) -> float:
        seen.append(next(self.model.parameters()).dtype)
        return differences[len(seen) - 1]

    monkeypatch.setattr(StepModel, "_difference", difference)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    before = {name: tensor.data_ptr() for name, tensor in model.state_dict().items()}
    step = StepModel(model, SlotCache(2, 32))
    if served:
        step.check()
    else:
        with pytest.raises(ConfigError, match=f"differ by {differences[0]:.2g} from"):
            step.check()
    assert seen == [torch.bfloat16, torch.float32][:asked]
    assert {name: tensor.data_ptr() for name, tensor in model.state_dict().items()} == before
    assert {tensor.dtype for tensor in model.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (Sampling(temperature=-1), "temperature"),
        (Sampling(top_p=0), "top_p"),
        (Sampling(top_p=1.5), "top_p"),
        (Sampling(max_new_tokens=0), "max_new_tokens"),
    ],
)
def test_a_sampling_out_of_range_is_a_configuration_error(sampling, message, serve):
    with pytest.raises(ConfigError, match=message):
        serve().serve(sampling)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slots": 0}, "slots"),
        ({"context": 999}, "context 999"),
        ({"context": 2}, "context"),
        ({"dtype": "int3"}, "dtype"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_an_option_out_of_range_is_a_configuration_error(options, message, serve):
    with pytest.raises(ConfigError, match=message):
        serve(**options)


async def test_a_conversation_that_no_longer_fits_is_full_and_one_token_less_fits(serve):
    policy = serve(context=32).serve(Sampling(temperature=0, max_new_tokens=8))
    with pytest.raises(ContextFull, match="exceed the context of 32"):
        await policy.act(begin("a", 24), 0)  # 24 words, <|agent|> and 8 are 33
    assert len((await policy.act(begin("b", 23), 0)).prompt_ids) == 24


async def test_a_failure_of_the_worker_reaches_all_who_wait_and_all_who_come(serve, monkeypatch):
    engine = serve(slots=2)
    policy = engine.serve(GREEDY)

    def fail(_chunks):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(engine._model, "logits", fail)
    acts = asyncio.gather(*(policy.act(begin(name), 0) for name in "abcd"), return_exceptions=True)
    results = await asyncio.wait_for(acts, 10)
    assert [type(result) for result in results] == [PolicyFault] * 4
    assert "out of memory" in str(results[0])
    with pytest.raises(PolicyFault, match="out of memory"):
        await policy.act(begin("e"), 0)
    policy.release("a")
    assert engine.lost  # and is to be replaced


async def test_an_engine_that_was_closed_is_not_lost(serve):
    engine = serve()
    engine.close()
    assert not engine.lost


async def test_an_end_token_of_the_generation_config_is_sampled_and_is_no_text(serve, folder, tmp_path):
    first = (await serve().serve(GREEDY).act(begin("a"), 0)).token_ids[0]
    shutil.copytree(folder, tmp_path / "ends")
    (tmp_path / "ends" / "generation_config.json").write_text(json.dumps({"eos_token_id": [END, first]}))
    sample = await serve(tmp_path / "ends").serve(GREEDY).act(begin("a"), 0)
    assert (sample.token_ids, sample.finish_reason, sample.text) == ((first,), "stop", "")


async def test_broken_weights_are_a_fault_and_never_a_sample(serve, folder, tmp_path):
    engine = serve()
    shutil.copytree(folder, tmp_path / "nan")
    model = reference(folder)
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    model.save_pretrained(tmp_path / "nan")
    await asyncio.to_thread(engine.update, Checkpoint(tmp_path / "nan", 4))
    with pytest.raises(PolicyFault, match="not finite"):
        await asyncio.wait_for(engine.serve(GREEDY).act(begin("a"), 0), 10)


async def test_closing_ends_the_thread_and_answers_who_waits(folder, serve):
    engine = serve(slots=1)
    policy = engine.serve(GREEDY)
    await policy.act(begin("first"), 0)
    waiting = asyncio.create_task(policy.act(begin("second"), 0))
    await asyncio.sleep(0.05)
    engine.close()
    engine.close()
    assert not engine._thread.is_alive()
    with pytest.raises(PolicyFault, match="closed"):
        await asyncio.wait_for(waiting, 10)
    with pytest.raises(PolicyFault, match="closed"):
        await policy.act(begin("third"), 0)
    with pytest.raises(PolicyFault, match="closed"):
        await asyncio.to_thread(engine.update, Checkpoint(folder, 4))


async def test_a_cancelled_act_frees_its_conversation(serve):
    policy = serve(slots=1).serve(Sampling(max_new_tokens=100))
    acting = asyncio.create_task(policy.act(begin("a"), 0))
    queued = asyncio.create_task(policy.act(begin("b"), 0))
    await asyncio.sleep(0.01)
    acting.cancel()
    queued.cancel()
    await asyncio.gather(acting, queued, return_exceptions=True)
    policy.release("a")
    assert len((await asyncio.wait_for(policy.act(begin("b"), 0), 10)).token_ids) > 0


async def test_one_conversation_acting_twice_at_once_is_a_fault(serve):
    policy = serve(slots=1).serve(Sampling(max_new_tokens=50))
    long = 8  # this seed samples no end: the first call is under way when the second one comes
    first = asyncio.create_task(policy.act(begin("a"), long))
    with pytest.raises(PolicyFault, match="two calls at once"):
        await asyncio.gather(policy.act(begin("a"), long), first)
    assert len((await first).token_ids) > 0


async def test_a_cache_that_grows_keeps_what_it_holds(folder, serve, monkeypatch):
    monkeypatch.setattr(slot_cache, "FIRST_POSITIONS", 8)
    policy = serve().serve(Sampling(max_new_tokens=6))
    many = await asyncio.gather(play(policy, begin("a", 5)), play(policy, begin("b", 50)))
    model = reference(folder)
    for sample in [*many[0], *many[1]]:
        assert sample.logprobs == pytest.approx(full_logprobs(model, sample), abs=1e-4)


async def test_one_gathered_run_gives_what_many_views_give(folder, serve, monkeypatch):
    def gather(step: Step) -> list[Run]:  # the plan of a device where launches cost more than copies
        places = torch.tensor([chunk.slot for chunk in step.chunks])
        return [Run(slice(0, len(step.chunks)), places, step.end)]

    monkeypatch.setattr(Step, "_plan", gather)
    policy = serve().serve(Sampling(max_new_tokens=6))
    many = await asyncio.gather(
        *(play(policy, begin(name, 5 + 9 * index)) for index, name in enumerate("abcd"))
    )
    model = reference(folder)
    for sample in [sample for samples in many for sample in samples]:
        assert sample.logprobs == pytest.approx(full_logprobs(model, sample), abs=1e-4)
