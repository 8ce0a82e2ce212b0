"""Whether a tokenizer is the one that a model, or the episodes that it learns from, was made with."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentevol.errors import ConfigError
from agentevol.rendering import ChatRenderer
from agentgym_store.records import Sample, Trajectory

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

COMPARED = 64
"""How many samples are read to see whether the tokenizer is theirs."""


def check_vocabulary(path: Path, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Raise `ConfigError` where the tokenizer of a checkpoint's folder gives ids that its model cannot read.

    Added tokens may lie beyond: models are published with some that nobody uses.
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


def check_tokenizer(trajectories: Sequence[Trajectory], renderer: ChatRenderer) -> None:
    """Raise `ConfigError` where the tokenizer reads something else in the tokens than was said with them.

    Where another model of the same vocabulary's size has sampled, nothing else would tell. Engines differ in
    what they strip, so a few texts may differ; most of the first ones may not.
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
