from itertools import pairwise
from math import log

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.attention import varlen
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.packing import packed
from agentevol.learn.network import attention
from agentevol.learn.network.attention import PACKED_ATTENTION, PackedSequences, has_kernel, packed_attention
from agentevol.learn.network.log_probabilities import model_inputs, predictions, score, token_logp
from agentevol.learn.network.model_checks import check_packing

SHAPE = {
    "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": False,
}  # fmt: skip


def qwen2() -> PreTrainedModel:
    return Qwen2ForCausalLM(Qwen2Config(**SHAPE))


def llama() -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**SHAPE))


def sliding() -> PreTrainedModel:
    return MistralForCausalLM(MistralConfig(**SHAPE, sliding_window=5, head_dim=4))


def built(make: object, attention: str = PACKED_ATTENTION) -> PreTrainedModel:
    torch.manual_seed(0)
    model: PreTrainedModel = make()
    for parameter in model.parameters():  # large weights: attention matters
        torch.nn.init.normal_(parameter, std=0.3)
    model.set_attn_implementation(attention)
    return model.eval()


def sequences(lengths: tuple[int, ...] = (9, 4, 13)) -> list[TrainingSequence]:
    random = np.random.default_rng(0)
    made = []
    for length in lengths:
        mask = random.random(length) < 0.5
        mask[0], mask[-1] = False, True
        token_ids = random.integers(0, 40, length).astype(np.int32)
        made.append(TrainingSequence(token_ids, mask, np.full(length, np.nan, np.float32), 1.0, "e"))
    return made


def test_a_token_is_scored_by_the_logits_before_it():
    positions, labels = predictions(torch.tensor([7, 8]), torch.tensor([False, True]))
    assert positions.tolist() == [0]
    assert labels.tolist() == [8]


def test_two_tokens_by_hand():
    # Head: the identity, so hidden states are logits. Position 0 gives softmax([0, ln 3]) = [1/4, 3/4].
    head = torch.nn.Linear(2, 2, bias=False)
    head.weight = torch.nn.Parameter(torch.eye(2))
    hidden = torch.tensor([[0.0, log(3)], [99.0, -99.0]])
    positions, labels = predictions(torch.tensor([0, 1]), torch.tensor([False, True]))
    scores = token_logp(hidden[positions], head, labels)
    assert scores.logp_N.tolist() == pytest.approx([log(0.75)], abs=1e-6)
    assert scores.correct_N.tolist() == [True]
    other = token_logp(hidden[positions], head, torch.tensor([0]))
    assert other.logp_N.tolist() == pytest.approx([log(0.25)], abs=1e-6)
    assert other.correct_N.tolist() == [False]
    warmer = token_logp(hidden[positions], head, labels, temperature=2.0)  # softmax([0, ln sqrt 3])
    assert warmer.logp_N.tolist() == pytest.approx([log(3**0.5 / (1 + 3**0.5))], abs=1e-6)


def test_uniform_logits_cost_the_logarithm_of_the_vocabulary():
    head = torch.nn.Linear(3, 50)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    scores = token_logp(torch.randn(4, 3), head, torch.tensor([0, 7, 49, 3]))
    assert scores.logp_N.tolist() == pytest.approx([-log(50)] * 4, abs=1e-6)


def test_entropies_are_those_of_the_tempered_distribution():
    head = torch.nn.Linear(2, 2, bias=False)
    head.weight = torch.nn.Parameter(torch.eye(2))
    hidden, labels = torch.tensor([[0.0, log(9)], [1.0, 1.0]]), torch.tensor([0, 1])
    # temperature 2: softmax([0, ln 3]) = [1/4, 3/4] and [1/2, 1/2]
    scores = token_logp(hidden, head, labels, temperature=2.0, entropy=True)
    expected = [0.25 * log(4) + 0.75 * log(4 / 3), log(2)]
    assert scores.entropy_N.tolist() == pytest.approx(expected, abs=1e-6)
    chunked = token_logp(hidden, head, labels, temperature=2.0, entropy=True, chunk_logits=2)
    assert chunked.entropy_N.tolist() == pytest.approx(expected, abs=1e-6)
    assert token_logp(hidden, head, labels).entropy_N is None


def test_chunks_change_neither_values_nor_gradients():
    torch.manual_seed(0)
    hidden, labels = torch.randn(11, 5), torch.randint(0, 20, (11,))
    head = torch.nn.Linear(5, 20)
    results = []
    for chunk_logits in (1 << 20, 60, 1):  # all at once; 3 positions at once; one at a time
        states = hidden.clone().requires_grad_()
        head.zero_grad()
        logp = token_logp(states, head, labels, chunk_logits=chunk_logits).logp_N
        (logp * torch.arange(11)).sum().backward()
        results.append((logp.detach(), states.grad, head.weight.grad.clone()))
    for result in results[1:]:
        for value, expected in zip(result, results[0], strict=True):
            torch.testing.assert_close(value, expected, atol=1e-5, rtol=1e-5)


def test_the_largest_tensor_of_a_chunked_pass_is_one_chunk():
    head = torch.nn.Linear(4, 1000, bias=False)
    sizes: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
        token_logp(
            torch.randn(64, 4, requires_grad=True), head, torch.zeros(64, dtype=torch.long), chunk_logits=4000
        )
    assert max(sizes) <= 4000
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
        token_logp(torch.randn(64, 4, requires_grad=True), head, torch.zeros(64, dtype=torch.long))
    assert max(sizes) == 64000  # the hook does see logits


@pytest.mark.parametrize("make", [qwen2, llama, sliding])
def test_packed_sequences_score_like_the_models_own_pass_over_each_sequence(make: object):
    model, own, data = built(make), built(make, "eager"), sequences()
    together = score(model, packed(data, [1, 2, 0])).logp_N
    alone = torch.cat([reference(own, data[index]) for index in (1, 2, 0)])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def reference(model: PreTrainedModel, sequence: TrainingSequence) -> torch.Tensor:
    token_ids, mask = torch.from_numpy(sequence.token_ids).long(), torch.from_numpy(sequence.mask)
    logp = model(token_ids.unsqueeze(0)).logits[0].log_softmax(-1)
    return logp[:-1].gather(1, token_ids[1:, None])[:, 0][mask[1:]]


def test_the_comparison_notices_sequences_that_see_each_other():
    model = built(qwen2)
    first, second = sequences((9, 13))
    apart = score(model, packed([first, second], [0, 1])).logp_N
    joint = TrainingSequence(
        np.concatenate([first.token_ids, second.token_ids]),
        np.concatenate([first.mask, second.mask]),
        np.concatenate([first.rollout_logp, second.rollout_logp]),
        1.0,
        "e",
    )
    merged = score(model, packed([joint], [0])).logp_N
    assert (apart - merged).abs().max() > 0.1


def test_packed_gradients_are_the_sum_of_the_sequences_gradients():
    model, data = built(qwen2), sequences()
    score(model, packed(data, [0, 1, 2])).logp_N.sum().backward()
    together = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    for index in range(3):
        score(model, packed(data, [index])).logp_N.sum().backward()
    for gradient, parameter in zip(together, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("make", [qwen2, llama, sliding])
def test_models_with_the_packed_attention_pass_the_check(make: object):
    check_packing(built(make))


def blind_to_sequences(
    _: object, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *__: object, **___: object
):
    key, value = key.repeat_interleave(2, 1), value.repeat_interleave(2, 1)
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2), None


def looking_ahead(
    _: object,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *__: object,
    sequences: object,
    **___: object,
):
    key, value = key.repeat_interleave(2, 1), value.repeat_interleave(2, 1)
    lengths = list(sequences.lengths)
    parts = zip(query.split(lengths, 2), key.split(lengths, 2), value.split(lengths, 2), strict=True)
    return torch.cat([functional.scaled_dot_product_attention(*part) for part in parts], 2).transpose(
        1, 2
    ), None


@pytest.mark.parametrize("attention", [blind_to_sequences, looking_ahead])
def test_a_model_whose_sequences_see_what_they_must_not_is_refused(attention: object):
    ALL_ATTENTION_FUNCTIONS.register("agentevol_test", attention)
    with pytest.raises(ConfigError, match="are not independent"):
        check_packing(built(qwen2, "agentevol_test"))


def test_a_model_that_scales_its_logits_is_refused():
    model = built(qwen2)
    plain = model.forward

    def capped(**inputs: object) -> object:
        output = plain(**inputs)
        output.logits = 2 * torch.tanh(output.logits / 2)
        return output

    model.forward = capped
    with pytest.raises(ConfigError, match="more to its logits"):
        check_packing(model)


def test_a_model_whose_own_logits_are_no_numbers_is_refused():
    model = built(qwen2)
    plain = model.forward

    def broken(**inputs: object) -> object:
        output = plain(**inputs)
        output.logits = output.logits * torch.nan
        return output

    model.forward = broken
    with pytest.raises(ConfigError, match="its logits are not numbers"):
        check_packing(model)


def test_attention_without_sequences_is_an_error_and_not_a_guess():
    model = built(qwen2)
    inputs = model_inputs(packed(sequences(), [0]))
    del inputs["sequences"]
    with pytest.raises(ConfigError, match="sequence positions"):
        model(**inputs)


def test_autocast_hands_attention_to_the_kernel_of_half_precision(monkeypatch: pytest.MonkeyPatch):
    seen: list[set[torch.dtype]] = []

    def kernel(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: object) -> torch.Tensor:
        seen.append({query.dtype, key.dtype, value.dtype})
        return query.transpose(1, 2)

    # as on CUDA, where queries that were rotated in float32 would miss it
    monkeypatch.setattr(attention, "has_kernel", lambda _device, *rest: has_kernel("cuda", *rest))
    monkeypatch.setattr(attention, "_varlen", kernel)
    model, batch = built(qwen2), packed(sequences(), range(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        score(model, batch)
    assert seen == [{torch.bfloat16}] * 2  # of two layers
    score(model, batch)
    assert len(seen) == 2  # float32 has no such kernel


def test_the_kernel_is_for_half_precision_on_cuda_without_dropout():
    assert has_kernel("cuda", torch.bfloat16, 0.0)
    assert has_kernel("cuda", torch.float16, 0.0)
    assert not has_kernel("cpu", torch.bfloat16, 0.0)
    assert not has_kernel("cuda", torch.float32, 0.0)
    assert not has_kernel("cuda", torch.bfloat16, 0.1)


def kernel_of_torch_2_11(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, cu_seq_q: torch.Tensor, *_: object,
    scale: float | None = None, window_size: tuple[int, int] = (-1, -1),
) -> torch.Tensor:  # fmt: skip
    """The kernel's contract by torch's own attention, with as many key heads as query heads."""
    assert query.shape == key.shape == value.shape
    parts: list[torch.Tensor] = []
    for first, end in pairwise(cu_seq_q.tolist()):
        heads = [tensor[first:end].transpose(0, 1) for tensor in (query, key, value)]
        distance = torch.arange(end - first)[:, None] - torch.arange(end - first)
        seen = (distance >= 0) & ((distance <= window_size[0]) | (window_size[0] < 0))
        parts.append(functional.scaled_dot_product_attention(*heads, attn_mask=seen, scale=scale))
    return torch.cat([part.transpose(0, 1) for part in parts])


@pytest.mark.parametrize("window", [None, 3])
def test_a_kernel_without_shared_heads_gets_them_repeated(
    monkeypatch: pytest.MonkeyPatch, window: int | None
):
    lengths = (5, 2, 9)
    query, key, value = (torch.randn(1, heads, sum(lengths), 4) for heads in (6, 2, 2))
    bounds = PackedSequences(lengths, torch.tensor([0, 5, 7, 16], dtype=torch.int32))
    module = torch.nn.Module().eval()
    monkeypatch.setattr(varlen, "varlen_attn", kernel_of_torch_2_11)
    attention._kernel.cache_clear()
    plain, _ = packed_attention(
        module, query, key, value, None, scaling=0.5, sliding_window=window, sequences=bounds
    )
    monkeypatch.setattr(attention, "has_kernel", lambda *_: True)
    by_kernel, _ = packed_attention(
        module, query, key, value, None, scaling=0.5, sliding_window=window, sequences=bounds
    )
    attention._kernel.cache_clear()
    torch.testing.assert_close(by_kernel, plain)


def test_a_torch_without_the_kernel_attends_sequence_by_sequence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(varlen, "varlen_attn")  # as before torch 2.10
    attention._kernel.cache_clear()
    assert not has_kernel("cuda", torch.bfloat16, 0.0)
    attention._kernel.cache_clear()
    monkeypatch.undo()
    assert has_kernel("cuda", torch.bfloat16, 0.0)


def test_attention_under_autocast_is_that_of_numbers_rounded_before():
    model, batch = built(qwen2), packed(sequences(), range(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = score(model, batch).logp_N
    full = score(model, batch).logp_N
    assert 0 < (half - full).abs().max().item() < 0.3  # bf16 has 8 bits, and the weights are large
