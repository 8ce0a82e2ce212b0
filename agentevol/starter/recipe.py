"""Recipe of a starter policy: demonstrations of a careless player, then supervised learning from nothing.

The player sees only texts and forgets most of what a task asks for (`Environment.demonstrate`), so that the
starter knows how to act, and has still to find out what pays. What it thinks where it is careful, and whether
it takes what it has just read of, may be drilled besides (`agentevol.starter.rows`): what, not that it does.
Its tasks are of the `train` split alone. Equal recipes give equal weights on the same machine with the same
number of threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentevol.learn.config import LearnConfig

LEARN = LearnConfig(
    optimiser="muon",
    learning_rate=2e-3,
    betas=(0.9, 0.95),
    batch_tokens=2048,
    micro_batch_tokens=4096,
    threads=2,
    save_dtype="bf16",
)


@dataclass(frozen=True)
class Shape:
    """The model: a Llama of this size, with untied embeddings."""

    hidden: int = 192
    layers: int = 4
    heads: int = 6
    intermediate: int = 512
    context: int = 4096
    rotary_base: float = 10_000.0
    """The larger it is, the farther away a token is found by what it is."""
    copies: bool = False
    """Whether the first weights can copy (`agentevol.starter.copying`)."""


@dataclass(frozen=True)
class StarterRecipe:
    """Everything that decides what the starter becomes."""

    environment: str
    demonstrations: dict[str, int]
    """Difficulty -> episodes; the difficulty "" is that of a world without levels."""
    care: float
    """Probability with which the player thinks of each part of a task."""
    careful: float = 0.0
    """Share of the demonstrations whose player has care `CAREFUL` in place of it."""
    studies: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which, where they are won, thoughts are learnt and what
    comes after the last one.
    """
    excerpts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which only single turns are shown: the first one in
    other words, and thoughts about what is read for the first time.
    """
    drills: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which only thoughts about short pages are shown, and
    how they end where they are won.
    """
    finds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, of which only two turns are shown: one that takes what was just read
    of, and one that leaves it.
    """
    worlds: tuple[Mapping[str, Any], ...] = ({},)
    """The environment's options. Where there are several, demonstrations come from each in turn."""
    split: str = "train"
    """The split of the tasks that are demonstrated."""
    held_out: tuple[str, ...] = ()
    """Parts of the split that are not demonstrated (`agentevol.splits.held_out`)."""
    held_out_share: float = 0.1
    first_task: int = 0
    """Number of the first task of each difficulty. Where the split is short its tasks come again, played
    otherwise.
    """
    by_task: bool = False
    """Whether all demonstrations of a task are learnt in one step, as the sequences of one episode are."""
    max_turns: int | None = None
    """Actions of the player, at most; None is the environment's own limit."""
    vocabulary_episodes: int = 1_500
    """Episodes of each difficulty whose words make the vocabulary."""
    vocabulary_texts: tuple[str, ...] = ()
    """Texts whose words are tokens whether or not they occur there."""
    folded: bool = False
    """Whether the tokenizer reads all text in lower case."""
    shape: Shape = Shape()
    learn: LearnConfig = LEARN
    seed: int = 0
