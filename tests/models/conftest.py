"""Tiny models in the formats of families that people train: Qwen2.5, Qwen3, Llama 3.

Nothing of theirs is here. The templates beside this file are ours and write the same format; tokenizers are
byte-level BPE with the families' special tokens, trained on a few words; weights are random.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

TEMPLATES = Path(__file__).parent / "templates"
CORPUS = [
    "You are in the kitchen.\n\nOn the table 1, you see a mug 1 and a plate 12. user assistant system",
    "go to table 1\n\nopen the fridge, I think. take the mug 1 from the table 1.",
]
WORDS = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
SHAPE: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,  # heads of 32, which vLLM takes on a CPU
    "num_key_value_heads": 1,
    "head_dim": 32,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
    "initializer_range": 0.3,  # wide, so that the most likely token is no matter of rounding
    "pad_token_id": None,
}


@dataclass(frozen=True)
class Family:
    """One way to speak to one kind of model."""

    template: str
    end: str
    eos: str
    special: tuple[str, ...]
    """Added tokens that are control tokens."""
    config: type
    plain: tuple[str, ...] = ()
    """Added tokens that are text."""
    bos: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    def tokenizer(self) -> PreTrainedTokenizerFast:
        core = Tokenizer(models.BPE())
        if self.bos is None:
            core.normalizer = normalizers.NFC()
        core.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(WORDS), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        core.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        core.train_from_iterator(
            CORPUS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
        )
        added = [AddedToken(token, special=True, normalized=False) for token in self.special]
        core.add_tokens(added + [AddedToken(token, special=False, normalized=False) for token in self.plain])
        if self.bos is not None:  # what encodes a text by itself puts it first, as Llama 3's tokenizer does
            number = core.token_to_id(self.bos)
            core.post_processor = TemplateProcessing(
                single=f"{self.bos} $A", special_tokens=[(self.bos, number)]
            )
        return PreTrainedTokenizerFast(
            tokenizer_object=core,
            chat_template=(TEMPLATES / self.template).read_text(),
            bos_token=self.bos,
            eos_token=self.eos,
        )

    def write(self, folder: Path, seed: int = 0, *, tied: bool = False, **shape: Any) -> Path:
        """A checkpoint with random weights."""
        tokenizer = self.tokenizer()
        tokenizer.save_pretrained(folder)
        torch.manual_seed(seed)
        config = self.config(
            **{**SHAPE, **shape},
            vocab_size=len(tokenizer),
            tie_word_embeddings=tied,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        return folder


QWEN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
LLAMA = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
QWEN3 = ("qwen3.jinja", "<|im_end|>", "<|im_end|>", QWEN, Qwen3Config, ("<think>", "</think>"))
FAMILIES = {
    "qwen2.5": Family("qwen2.5.jinja", "<|im_end|>", "<|im_end|>", QWEN, Qwen2Config),
    "qwen3": Family(*QWEN3),
    "qwen3, no thinking": Family(*QWEN3, arguments={"enable_thinking": False}),
    "llama3": Family("llama3.jinja", "<|eot_id|>", "<|end_of_text|>", LLAMA, LlamaConfig, bos=LLAMA[0]),
}


@pytest.fixture(scope="session")
def families() -> dict[str, Family]:
    return FAMILIES


@pytest.fixture(scope="session", params=list(FAMILIES))
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of every family, by its name; those of one template are equal."""
    root = tmp_path_factory.mktemp("families")
    return {name: family.write(root / str(number)) for number, (name, family) in enumerate(FAMILIES.items())}
