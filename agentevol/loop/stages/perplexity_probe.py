"""Perplexity probe of a run (`probe.data`): held-out training sequences, kept in the run's folder.

{"tokens": [5, 6, 7, 8], "said": [2, 3]}      the last two of four tokens are those of the policy
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agentevol.config.run import RunConfig
from agentevol.config.sections.forgetting import RetainedConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.data.chat_datasets import read_texts
from agentevol.data.replay import retained_episodes, retained_sequences
from agentevol.data.stored_episodes import episodes_in
from agentevol.learn.batches.packing import UNKNOWN
from agentevol.learn.continual.replay_sampling import reservoir
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_store.store import Where
from agentgym_store.urls import named

FILE = "probe.jsonl"


def probe_sequences(config: RunConfig, base: Checkpoint) -> list[TrainingSequence]:
    """Read at most `probe.sequences` sequences of `probe.data`: from episodes that `select.*` accepts, or
    chats.

    Raises `ConfigError` where there is nothing to read.
    """
    probe = config.probe
    if probe is None:
        return []
    data = named(probe.data)
    if episodes_in(data, Where()) is None:
        found = read_texts(Path(data), ChatRenderer(load_tokenizer(base.path), config.chat_template_kwargs))
        if found.kind != "episodes":
            raise ConfigError(f"probe.data: {data} holds {found.kind}, and chats or episodes are read")
        sequences = found.sequences
    else:
        own = RetainedConfig(data=str(data), episodes=probe.sequences)
        episodes = retained_episodes(config.model_copy(update={"retained": own}))
        sequences = [old.sequence for old in retained_sequences(episodes, objective("sft"), config, base)]
    return reservoir(
        [sequence for sequence in sequences if sequence.mask.any()], probe.sequences, config.seed
    )


def to_lines(sequences: Sequence[TrainingSequence]) -> str:
    """Text of `probe.jsonl`."""
    return "".join(
        json.dumps({"tokens": sequence.token_ids.tolist(), "said": sequence.mask.nonzero()[0].tolist()})
        + "\n"
        for sequence in sequences
    )


def from_lines(text: str) -> list[TrainingSequence]:
    """Sequences of a text of `to_lines`; they belong to no episode."""
    return [_sequence(number, **json.loads(line)) for number, line in enumerate(text.splitlines())]


def _sequence(number: int, tokens: list[int], said: list[int]) -> TrainingSequence:
    mask = np.zeros(len(tokens), np.bool_)
    mask[said] = True
    unknown = np.full(len(tokens), UNKNOWN, np.float32)
    return TrainingSequence(np.asarray(tokens, np.int32), mask, unknown, 1.0, f"probe {number}")
