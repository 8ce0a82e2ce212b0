"""Test models for engines: random, tiny, and of a shape that vLLM serves on a CPU."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from agentevol.core.protocols import Checkpoint
from agentevol.models import word_tokenizer as starter

WORDS = 59
"""Number of words w0 to w58, one token each."""
END = WORDS
"""Id of the token that ends an action; the token that begins one follows."""
TEMPLATE = (
    "{% for message in messages %}{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% else %}<|agent|>{% endif %}{% endfor %}"
)


def write_checkpoint(
    folder: Path,
    *,
    seed: int = 0,
    tied: bool = False,
    hidden: int = 64,
    words: int = WORDS,
    window: int = 256,
) -> Path:
    """Write a Qwen2 of two layers as a Hugging Face folder; its heads are 32 wide, as vLLM requires on a CPU.

    `tied`: input and output embeddings are one tensor. `window`: the model's maximum sequence length in
    tokens.
    """
    core = Tokenizer(models.WordLevel({f"w{index}": index for index in range(words)}, unk_token="w0"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken("<|agent|>", special=True)])
    PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="w0", eos_token="<|end|>", chat_template=TEMPLATE
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=words + 2,
        hidden_size=hidden,
        num_hidden_layers=2,
        num_attention_heads=hidden // 32,
        num_key_value_heads=1,
        intermediate_size=48,
        max_position_embeddings=window,
        initializer_range=0.3,  # wide, so that the most likely token does not depend on rounding
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=words,
        pad_token_id=None,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def qwen2(
    vocabulary: int,
    *,
    seed: int = 0,
    layers: int = 1,
    hidden: int = 16,
    intermediate: int = 32,
    window: int = 64,
    **more: Any,
) -> Qwen2ForCausalLM:
    """Return a random model without a tokenizer that learns in milliseconds; `more` is of `Qwen2Config`."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=window,
        **more,
    )
    return Qwen2ForCausalLM(config)


def write_model(folder: Path, model: PreTrainedModel, *, version: int = 0) -> Checkpoint:
    """Write a model for learners, which copy the tokenizer's file and do not read it."""
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return Checkpoint(folder, version)


def words(seed: int, count: int) -> str:
    """Return a text of `count` words."""
    return " ".join(f"w{(seed * 31 + place * (seed + 7)) % WORDS}" for place in range(count))


GUESS = (
    "Find the number between 1 and 8. Answer with a number. Make a guess. That is not a number.",
    "Go higher than 4. Go lower than 4. Right.",
    *(f" {n} {n}." for n in range(1, 9)),
    *(str(n) for n in range(1, 9)),
)
"""Vocabulary of the guess environment."""
GUESS_RUN = (
    "environment.name=guess",
    "explore.difficulty=null",
    "evaluate.difficulty=null",
    "explore.tasks=4",
    "explore.samples=40",
    "explore.max_new_tokens=3",
    "learn.learning_rate=3e-3",
    "learn.batch_tokens=512",
    "learn.micro_batch_tokens=512",
    "learn.threads=1",
)
"""Overrides of a run in which a random model of that environment learns."""


def write_guess_model(
    folder: Path, *, seed: int = 0, tied: bool = False, spread: float = 0.02, hidden: int = 64
) -> Path:
    """Write a Llama of one layer with the words of the guess environment; its heads are 32 wide, as vLLM
    requires on a CPU, but for another `hidden`.

    `spread` is the standard deviation of its weights: where it is wide, the most likely token does not depend
    on rounding.
    """
    tokenizer = starter.word_tokenizer(GUESS)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        initializer_range=spread,
        tie_word_embeddings=tied,
        eos_token_id=tokenizer.get_vocab()[starter.END],
        pad_token_id=tokenizer.get_vocab()[starter.PAD],
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
