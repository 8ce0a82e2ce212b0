"""Models for tests of engines: random, tiny, and such as vLLM serves on a CPU."""

from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config

WORDS = 59
"""w0 to w58, a token each."""
END = WORDS
"""The token that ends an action; one that begins it follows."""
TEMPLATE = (
    "{% for message in messages %}{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% else %}<|agent|>{% endif %}{% endfor %}"
)


def write_checkpoint(
    folder: Path, *, seed: int = 0, tied: bool = False, hidden: int = 64, words: int = WORDS
) -> Path:
    """A Qwen2 of two layers as a Hugging Face folder; its heads are 32 wide, as vLLM asks on a CPU.

    `tied`: input and output embeddings are one tensor.
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
        max_position_embeddings=256,
        initializer_range=0.3,  # wide, so that the most likely token is no matter of rounding
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=words,
        pad_token_id=None,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def words(seed: int, count: int) -> str:
    """A text of so many words."""
    return " ".join(f"w{(seed * 31 + place * (seed + 7)) % WORDS}" for place in range(count))
