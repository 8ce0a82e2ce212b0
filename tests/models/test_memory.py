"""The estimate of memory beside what a learner really allocates: tensors on a CPU, byte for byte."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, Qwen2Config

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, Conversation, Message, Sampling, TrainingSequence
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.learn.batches.packing import packed
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.model_checks import precision
from agentevol.learn.network.network import Network, Reader
from agentevol.learn.optimisers import optimisers
from agentevol.models.causal_lm import load_model
from agentevol.models.lora import adapted
from agentevol.models.lora_config import LoraConfig
from agentevol.runs.memory_estimates import (
    ModelShape,
    cache_bytes,
    layer_bytes,
    shape_of,
    training_state,
    working_memory,
)

LORA = LoraConfig(rank=4)


def row(length: int) -> TrainingSequence:
    mask = np.zeros(length, np.bool_)
    mask[-3:] = True
    return TrainingSequence(
        token_ids=np.arange(length, dtype=np.int32) % 50,
        mask=mask,
        rollout_logp=np.full(length, np.nan, np.float32),
        weight=1.0,
        trajectory_id="t",
    )


def network_of(folder: Path, config: LearnConfig) -> Network:
    """As `agentevol.learn.training_state.prepare` makes it."""
    frozen = config.lora is not None and config.dtype == "bf16"
    model = load_model(folder, PACKED_ATTENTION, precision("bf16" if frozen else "float32")).train()
    adapters = None if config.lora is None else adapted(model, config.lora)
    if config.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    half = config.dtype == "bf16"
    return Network(Reader(model), "policy", torch.device("cpu"), half, 1.0, adapters)


def size(tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.parametrize("name", ["qwen3", "llama3", "tied"])
@pytest.mark.parametrize(
    "config",
    [
        LearnConfig(),
        LearnConfig(dtype="bf16"),
        LearnConfig(optimiser="muon"),
        LearnConfig(lora=LORA),
        LearnConfig(lora=LORA, dtype="bf16"),
    ],
    ids=["float32", "bf16", "muon", "lora", "lora, bf16"],
)
def test_weights_gradients_and_moments_are_exact(
    families: Any, checkpoints: Any, tmp_path: Path, name: str, config: LearnConfig
):
    folder = checkpoints.get(name) or families["qwen2.5"].write(tmp_path / "tied", tied=True)
    network = network_of(folder, config)
    used = optimisers(network, config)
    network.read(packed([row(20)], [0])).columns["logp"].sum().backward()
    for optimiser in used:
        optimiser.step()
    state = [value for one in used for values in one.state.values() for value in values.values()]
    assert training_state(shape_of(folder, config.lora), config) == {
        "weights": size(network.model.parameters()),
        "gradients": size(p.grad for p in network.parameters() if p.grad is not None),
        "optimiser": size(value for value in state if value.ndim),
    }


def test_learners_share_the_state():
    shape = ModelShape(1000, 200, 700, 2, 8, 2, 1, 4, 16, 25, 64)
    assert training_state(shape, LearnConfig()) == {"weights": 4000, "gradients": 4000, "optimiser": 8000}
    shared = training_state(shape, LearnConfig(shards=3))
    assert shared == {"weights": 1334, "gradients": 1334, "optimiser": 2667}
    assert training_state(shape, LearnConfig(ewc={"strength": 1.0}))["ewc"] == 8000


@pytest.mark.parametrize("dtype", ["float32", "bf16"])
@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("lora", [None, LORA])
def test_activations_are_about_what_the_pass_keeps(
    families: Any, tmp_path: Path, dtype: Any, checkpointing: bool, lora: LoraConfig | None
):
    folder = families["qwen2.5"].write(
        tmp_path / "m", hidden_size=128, num_attention_heads=4, num_key_value_heads=2, intermediate_size=384,
        num_hidden_layers=4,
    )  # fmt: skip
    tokens = 512
    config = LearnConfig(
        dtype=dtype, micro_batch_tokens=tokens, gradient_checkpointing=checkpointing, lora=lora
    )
    network = network_of(folder, config)
    weights = {p.untyped_storage().data_ptr() for p in network.model.parameters()}
    seen: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tensor.ndim > 1:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        columns = network.read(packed([row(tokens)], [0])).columns
    shape = shape_of(folder, lora)
    parts = working_memory(shape, config)
    expected = parts["activations"] + parts.get("copies in bf16", 0)
    if checkpointing:  # the hooks see what is kept between layers, before one of them is computed again
        half = dtype == "bf16"
        stream = 2 if half and lora else 4
        expected = parts["activations"] - tokens * layer_bytes(shape, 2 if half else 4, stream)
    assert columns["logp"].requires_grad
    assert 0.8 < sum(seen.values()) / expected < 1.2


def test_keys_and_values_are_exact(checkpoints: Any):
    folder, slots, context = checkpoints["qwen3"], 3, 64
    engine = EmbeddedEngine(Checkpoint(folder, 0), slots=slots, context=context)
    policy = engine.serve(Sampling(max_new_tokens=2))
    asyncio.run(policy.act(Conversation("c", [Message("user", "Hm?")]), 0))
    cached = size(tensor for layer in engine._model.cache.tensors.values() for tensor in layer)
    engine.close()
    assert cached == slots * cache_bytes(shape_of(folder), "float32", context)
    assert cache_bytes(shape_of(folder), "bfloat16", context) == 2 * 2 * 1 * 32 * 2 * context


def test_a_model_whose_configuration_names_no_inner_width_has_four_times_its_own(tmp_path: Path):
    GPT2Config(vocab_size=50, n_embd=8, n_layer=2, n_head=2, n_positions=32).save_pretrained(tmp_path)
    shape = shape_of(tmp_path)
    assert (shape.intermediate, shape.kv_heads, shape.head_dim, shape.window) == (32, 2, 4, 32)


def test_what_is_no_model_is_one_line(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(ConfigError, match="cannot build a model from"):
        shape_of(tmp_path)


def test_a_published_size_is_counted_without_its_weights(tmp_path: Path):
    # the configuration of Qwen2.5-1.5B, which has 1.54 billion parameters, embeddings counted once
    Qwen2Config(
        vocab_size=151936, hidden_size=1536, num_hidden_layers=28, num_attention_heads=12,
        num_key_value_heads=2, intermediate_size=8960, tie_word_embeddings=True,
    ).save_pretrained(tmp_path)  # fmt: skip
    config = LearnConfig(dtype="bf16", gradient_checkpointing=True, micro_batch_tokens=16384)
    plain = shape_of(tmp_path)
    needed = training_state(plain, config) | working_memory(plain, config)
    assert [f"{name} {size / 2**30:.1f}" for name, size in needed.items()] == [
        *("weights 5.8", "gradients 5.8", "optimiser 11.5", "activations 4.5", "copies in bf16 2.9"),
        "logits 0.2",
    ]
    shape = shape_of(tmp_path, LoraConfig(rank=16))
    assert (shape.parameters, shape.ends) == (1_543_714_304, 151936 * 1536)
    assert shape.adapters == 28 * 16 * (3 * (1536 + 8960) + 2 * (1536 + 1536) + 2 * (1536 + 256))
