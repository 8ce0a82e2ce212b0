"""The first weights of a starter that copies do so before anything is learnt, by the two heads laid out."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentevol.runs.starter.initial_weights import lay_out, twins

TOKENS = 1_000


def model(layers: int = 2, pairs: Sequence[tuple[int, int]] = ()) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=TOKENS,
        hidden_size=192,
        num_hidden_layers=layers,
        num_attention_heads=6,
        num_key_value_heads=6,
        intermediate_size=64,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        rope_parameters={"rope_theta": 1e6, "rope_type": "default"},
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = LlamaForCausalLM(config)
        lay_out(made, pairs)
    return made


@torch.no_grad()
def copied(model: Any, length: int) -> float:
    """Share of the likeliest tokens that are right, where different random tokens come a second time."""
    drawn = [torch.randperm(TOKENS, generator=torch.Generator().manual_seed(n))[:length] for n in range(8)]
    said = model(torch.stack(drawn).repeat(1, 2)).logits[:, length:-1].argmax(-1)
    return float((said == torch.stack(drawn)[:, 1:]).float().mean())


@pytest.mark.parametrize(("length", "share"), [(20, 0.6), (50, 0.5), (200, 0.15)])
def test_what_was_read_is_said_again(length: int, share: float):
    assert copied(model(), length) > share


def quoted(model: Any, length: int = 50) -> tuple[float, float]:
    """Where words of the first half of the vocabulary were read: how often, after a twin of one of them, the
    word after it or its twin follows; and how often, after the word before, it and its twin are likeliest.
    """
    half, after, before = TOKENS // 2, list[bool](), list[bool]()
    for seed in range(40):
        read = torch.randperm(half, generator=torch.Generator().manual_seed(seed))[:length]
        place = seed % (length - 2) + 1
        said = model(torch.cat([read, read[place : place + 1] + half])[None]).logits[0, -1]
        after.append(int(said.argmax()) % half == int(read[place + 1]))
        known = model(torch.cat([read, read[place - 1 : place]])[None]).logits[0, -1].topk(2).indices
        before.append({int(one) for one in known} == {int(read[place]), int(read[place]) + half})
    return sum(after) / len(after), sum(before) / len(before)


@torch.no_grad()
def test_a_word_is_copied_where_its_twin_is_said():
    pairs = [(number, number + TOKENS // 2) for number in range(TOKENS // 2)]
    assert min(quoted(model(pairs=pairs))) > 0.4
    assert max(quoted(model())) < 0.1


def test_twins_are_words_with_and_without_a_space():
    assert twins({"a": 0, "Ġa": 1, "Ġb": 2, "c": 3, "Ġ": 4}) == [(1, 0)]


def test_layers_above_do_not_disturb_it():
    assert copied(model(layers=4), 50) > 0.4


@pytest.mark.parametrize(
    "head",
    ["layers.0.self_attn.q_proj", "layers.0.self_attn.v_proj", "layers.1.self_attn.k_proj"],
)
def test_without_one_of_the_heads_there_is_no_copy(head: str):
    broken = model()
    with torch.no_grad():
        broken.get_parameter(f"model.{head}.weight").zero_()
    assert copied(broken, 50) < 0.1


def test_plain_first_weights_copy_nothing():
    torch.manual_seed(0)
    assert copied(LlamaForCausalLM(model().config), 50) < 0.02


def test_equal_generators_lay_out_equal_weights():
    first, second = model().state_dict(), model().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
