"""Recipe of a starter policy: demonstrations of a careless player, then supervised learning from scratch.

The player sees only texts and ignores most of what a task asks for (`Environment.demonstrate`), so that the
starter knows how to act, and has still to learn which actions are rewarded. The content of its thoughts at
full care, and the decision whether to take an item it has just read of, may be drilled in addition
(`agentevol.runs.starter.sequences`): the content, not the fact that it thinks. Its tasks are of the
`train` split alone. Equal recipes give equal weights on the same machine with the same number of threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentevol.config.sections.learner import LearnConfig
from agentevol.models.word_tokenizer import LONGEST_NUMBER

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
    """Size of the model, a Llama with untied embeddings."""

    hidden: int = 192
    layers: int = 4
    heads: int = 6
    intermediate: int = 512
    context: int = 4096
    rotary_base: float = 10_000.0
    """Base of the rotary embedding: a larger one lets attention find a token by content farther away."""
    copies: bool = False
    """True to start from weights that can copy (`agentevol.runs.starter.initial_weights`)."""
    twins: bool = False
    """True to copy words also where one is read after a space and the other not, as in JSON strings."""


@dataclass(frozen=True)
class StarterRecipe:
    """Settings that determine a starter policy."""

    environment: str
    demonstrations: dict[str, int]
    """Difficulty -> episodes; the difficulty "" is that of an environment without levels."""
    care: float
    """Probability with which the player considers each part of a task."""
    careful: float = 0.0
    """Share of the demonstrations whose player has care `CAREFUL` instead."""
    studies: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1; of successful ones the thoughts are learnt and everything
    after the last thought.
    """
    excerpts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which only single turns are learnt: the first one in
    other words, and thoughts about texts that are read for the first time.
    """
    drills: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which only thoughts about short pages are learnt, and
    the end of successful ones.
    """
    finds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, of which only two turns are learnt: one that takes an item it has just
    read of, and one that leaves it.
    """
    renamed: float = 0.0
    """Share of the demonstrations in which names are replaced (`agentevol.runs.starter.renaming`): words that
    only one of the splits of demonstrations and `vocabulary_splits` has.
    """
    renames_nouns: bool = False
    """True to replace also words that are never capitalised, for splits that differ in nouns and wordings."""
    learns_repeats: bool = False
    """True to learn, in the observations of `demonstrations`, too, the names that an episode has read before:
    practice in copying where few words of the text are the player's.
    """
    action_format: str = "plain"
    """Action format of the messages that are learnt."""
    worlds: tuple[Mapping[str, Any], ...] = ({},)
    """Options of the environment. Where there are several, demonstrations alternate between them."""
    split: str = "train"
    """The split of the tasks that are demonstrated."""
    held_out: tuple[str, ...] = ()
    """Parts of the split that are not demonstrated (`agentevol.core.splits.held_out`)."""
    held_out_share: float = 0.1
    """Share of the split that each of these parts holds out."""
    first_task: int = 0
    """Number of the first task of each difficulty. Where the split is short its tasks recur, played
    differently.
    """
    by_task: bool = False
    """True to learn all demonstrations of a task in one step, as the sequences of one episode are."""
    max_turns: int | None = None
    """Most actions of the player; None is the environment's own limit."""
    vocabulary_episodes: int = 1_500
    """Episodes of each difficulty whose words form the vocabulary."""
    vocabulary_splits: tuple[str, ...] = ()
    """Other splits whose texts (not actions) are read for words: where names of each split are its own, their
    words are tokens, too, of which nothing is learnt.
    """
    vocabulary_most: int | None = None
    """Number of the most frequent words of these texts that are tokens (None: all); others are spelled in
    bytes.
    """
    digits: int = LONGEST_NUMBER
    """Most digits of a number that is one token. With 1, amounts that no demonstration has are read like all
    others.
    """
    spelled: bool = False
    """True where words of the environment are in bytes on purpose: runs accept the starter as a base."""
    vocabulary_texts: tuple[str, ...] = ()
    """Texts whose words are tokens in any case."""
    folded: bool = False
    """True for a tokenizer that reads all text in lower case."""
    tagged: bool = False
    """True for a tokenizer that reads the tags and headers of thinking modes as one word each."""
    shape: Shape = Shape()
    learn: LearnConfig = LEARN
    seed: int = 0
    parts: tuple["StarterRecipe", ...] = ()
    """Recipes of the environments of a starter for several, whose demonstrations are learnt together. Each
    has its own words of the vocabulary; how texts are split, shape and training are of the whole.
    """

    @property
    def by_environment(self) -> tuple["StarterRecipe", ...]:
        """The recipe of each environment."""
        return self.parts or (self,)


def scaled(recipe: StarterRecipe, scale: float) -> StarterRecipe:
    """The recipe with this share of each kind of demonstrations, at least one of each level."""

    def share(counts: Mapping[str, int]) -> dict[str, int]:
        return {level: max(1, round(count * scale)) for level, count in counts.items()}

    return replace(
        recipe,
        demonstrations=share(recipe.demonstrations),
        studies=share(recipe.studies),
        excerpts=share(recipe.excerpts),
        drills=share(recipe.drills),
        finds=share(recipe.finds),
        parts=tuple(scaled(part, scale) for part in recipe.parts),
    )
