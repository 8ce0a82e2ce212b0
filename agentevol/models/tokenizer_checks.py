"""Checks that a tokenizer matches the model, or the episodes that the model is trained on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import NEW_TOKENS
from agentevol.models.rendering import ChatRenderer
from agentgym_store.records import Sample, Trajectory

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

MOST_UNKNOWN = 0.1
"""Maximum share of unknown words, in the texts of an environment's players, for a base model."""
SPELLED = "spelled_environments"
"""Setting of a tokenizer: environments whose words its model was trained to read and write in bytes."""
COMPARED = 64
"""Number of samples that are compared with the tokenizer."""


def check_vocabulary(path: Path, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Raise `ConfigError` where the tokenizer of a checkpoint's folder gives ids that its model cannot read.

    Added tokens may lie beyond: published models have some that are never used.
    """
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except ValueError as cause:
        raise ConfigError(f"{path / 'config.json'} is no JSON: {cause}") from cause
    known = config.get("vocab_size") if isinstance(config, dict) else None
    if isinstance(known, int) and tokenizer.vocab_size > known:
        raise ConfigError(
            f"the tokenizer in {path} gives {tokenizer.vocab_size} ids, its model reads {known}: take both"
            " from one checkpoint"
        )


def unknown_share(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> float:
    """Share of the words of `texts` that the tokenizer has no token for, 0 to 1; 0 of no texts.

    A vocabulary without merges, as those of the starter policies, has whole words: any other word is split
    into bytes on which its model was never trained. In other vocabularies it is the share of unknown tokens.
    """
    state = json.loads(_backend(tokenizer).to_str())["model"]
    if state.get("type") == "BPE" and not state.get("merges"):
        words = [word for text in texts for word in _words(tokenizer, text)]
        return sum(word not in state["vocab"] for word in words) / len(words) if words else 0.0
    ids = [number for text in texts for number in tokenizer.encode(text, add_special_tokens=False)]
    return sum(number == tokenizer.unk_token_id for number in ids) / len(ids) if ids else 0.0


def _words(tokenizer: "PreTrainedTokenizerBase", text: str) -> list[str]:
    backend = _backend(tokenizer)
    normal = backend.normalizer.normalize_str(text) if backend.normalizer else text
    return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]


def _backend(tokenizer: Any) -> "Tokenizer":
    return tokenizer.backend_tokenizer


def check_words(
    name: str, tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], environment: str
) -> None:
    """Raise `ConfigError` where the vocabulary of the base `name` lacks the words of the environment's
    players, unless its model was trained to spell them.
    """
    share = unknown_share(tokenizer, texts)
    if share > MOST_UNKNOWN and environment not in tokenizer.init_kwargs.get(SPELLED, ()):
        raise ConfigError(
            f"base {name} does not fit {environment}: {share:.0%} of the words of its players are not"
            " in the base's vocabulary; give another base, or build one with `agentevol starter build`"
        )


def action_tokens(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> int:
    """Maximum tokens of an action like `texts`: twice the tokens of the longest one, at least
    `NEW_TOKENS`.
    """
    lengths = [1 + len(tokenizer.encode(text, add_special_tokens=False)) for text in texts]
    return max(NEW_TOKENS, 2 * max(lengths, default=0))


def check_tokenizer(trajectories: Sequence[Trajectory], renderer: ChatRenderer) -> None:
    """Raise `ConfigError` where the tokenizer decodes the tokens to other texts than the recorded actions.

    Where another model with a vocabulary of the same size has sampled, no other check would detect it.
    Engines differ in the characters that they strip, so a few texts may differ; most of the first ones may
    not.
    """
    samples = [turn.sample for t in trajectories for turn in t.turns if turn.sample and turn.sample.token_ids]
    compared = [(_read(sample, renderer), sample.text.strip()) for sample in samples[:COMPARED]]
    unlike = [(read, said) for read, said in compared if read != said]
    if 2 * len(unlike) > len(compared):
        read, said = unlike[0]
        raise ConfigError(
            f"the tokenizer of the base reads {read[:40]!r} where {said[:40]!r} was sampled: take a base with"
            " the tokenizer of the policy that played these episodes"
        )


def _read(sample: Sample, renderer: ChatRenderer) -> str:
    known = len(renderer.tokenizer)
    return renderer.text([number for number in sample.token_ids if 0 <= number < known]).strip()
