"""Corrected turns: the recorded prompt, then the better action, and nothing after it.

The world would have answered otherwise, so that later turns of the episode are left out. Token-exact: the
prompt is the one that the engine read, and only the better action is encoded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentevol.core.action_formats.registry import CheckedFormat
from agentevol.core.errors import ConfigError, FormatFault
from agentevol.core.protocols import SequenceKind, TrainingSequence
from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import Pair
from agentevol.learn.batches.packing import UNKNOWN, episode_sequences
from agentevol.models.rendering import ChatRenderer
from agentgym_store.records import Sample, Trajectory, Turn


@dataclass(frozen=True)
class CorrectedTurn:
    """A turn with a better action; both episodes end with it, and are what the policy chose (`own_part`)."""

    better: Trajectory
    original: Trajectory

    @property
    def pair(self) -> Pair | None:
        """The better action over the original one; None where they are the same."""
        if self.better.turns[-1].action == self.original.turns[-1].action:
            return None
        return Pair(self.better, self.original, 0.0, len(self.original.turns) - 1)

    def row(self, kind: SequenceKind) -> list[TrainingSequence]:
        """Training sequence in which the better action alone is learnt."""
        learnt = [False] * (len(self.better.turns) - 1) + [True]
        return episode_sequences(self.better, 1.0, learnt, kind)


def corrected_turn(
    episode: Trajectory, turn: int, action: str, renderer: ChatRenderer, form: CheckedFormat
) -> CorrectedTurn | None:
    """The turn with this index and its correction; None where no message of the format, or of the tokenizer's
    words, has the action.

    Raises `ConfigError` where the recorded message is in another format.
    """
    found = episode.turns[turn]
    if found.sample is None:
        raise ConfigError(f"episode {episode.id}: no model sampled turn {turn + 1}")
    if form.parse(found.sample.text) != found.action:
        raise ConfigError(
            f"episode {episode.id}: the message of turn {turn + 1} is not in the action format"
            f" {form.name!r}, which finds another action in it: set action_format to the run's"
        )
    sample = _sample(found.sample, action, renderer, form)
    if sample is None:
        return None
    better = Turn(action=action, observation="", reward=0.0, sample=sample)
    own, place = own_part(episode), turn - episode.given_turns
    before = own.turns[:place]
    return CorrectedTurn(
        own.model_copy(update={"turns": (*before, better)}),
        own.model_copy(update={"turns": own.turns[: place + 1]}),
    )


def _sample(old: Sample, action: str, renderer: ChatRenderer, form: CheckedFormat) -> Sample | None:
    try:
        text = form.render(action)
    except FormatFault:
        return None
    ids = renderer.action_ids(text)
    if form.parse(renderer.text(ids)) != action:
        return None  # a vocabulary of whole words lacks one of them
    forced = len(renderer.beginning_ids(form.beginning)) if form.beginning else 0
    return Sample(
        text=text,
        prompt_ids=old.prompt_ids,
        token_ids=tuple(ids),
        logprobs=(UNKNOWN,) * len(ids),
        policy_version=old.policy_version,
        loss_mask=(0,) * forced + (1,) * (len(ids) - forced) if forced else None,
    )


def unsampled(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """The sequences; those with a learnt token that no engine sampled without a policy version, so that they
    are not compared with the engine.
    """
    return [
        replace(one, policy_version=None) if np.isnan(one.rollout_logp[one.mask]).any() else one
        for one in sequences
    ]
