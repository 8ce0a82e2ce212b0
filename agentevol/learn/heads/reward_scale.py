"""Objectives of a reward model's heads, and the scale of each: `reward.json` beside the weights.

{"objectives": ["outcome", "turns"], "members": 2, "count": 150, "mean": [0.1, 0.3, -2, -1], "squares": [...]}

Bradley-Terry scores have a free offset, and each head a scale of its own. They are standardised over a
reference set, the episodes that the model was trained on.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from agentevol.core.algorithms.contract import Floats
from agentevol.core.errors import ConfigError
from agentevol.learn.rewards.ensemble import Standard, spread

FILE = "reward.json"

PREFERENCE = "preference"
"""Objective of a model that was trained on the chosen side of pairs alone."""


@dataclass(frozen=True)
class RewardScale:
    """D objectives with K members each; H = D * K heads, those of one objective adjacent."""

    objectives: tuple[str, ...]
    members: int
    standard: Standard
    """Mean and spread of the (H,) scores."""
    spread: float = 0.0
    """Disagreement of the members about the episodes that the model was trained on: the mean standard
    deviation of the standardised scores. About other episodes they disagree more.
    """

    @staticmethod
    def measured(scores: Collection[Floats], objectives: Sequence[str], members: int) -> "RewardScale":
        """Scale on which these episodes' (H,) scores have mean 0 and standard deviation 1."""
        all_JH = np.stack([*scores])
        scale = RewardScale(tuple(objectives) or (PREFERENCE,), members, Standard.of(all_JH))
        return replace(scale, spread=float(spread(scale.standardised(all_JH)).mean()))

    def standardised(self, scores_H: Floats) -> Floats:
        """(..., D, K) standardised scores of (..., H) raw ones."""
        shape = (*scores_H.shape[:-1], len(self.objectives), self.members)
        return self.standard.standardised(scores_H).reshape(shape)

    def weights(self, named: Mapping[str, float]) -> list[float]:
        """Weight of each objective, 1 for all where none is named; unnamed ones have 0 beside named ones.

        Raises `ConfigError` for a name that the model does not have.
        """
        unknown = sorted(named.keys() - set(self.objectives))
        if unknown:
            known = ", ".join(self.objectives)
            raise ConfigError(f"the reward model has no objective {unknown[0]!r}; it has: {known}")
        return [named.get(name, 0.0) if named else 1.0 for name in self.objectives]

    def to_bytes(self) -> bytes:
        """Content of `reward.json`."""
        told = {
            "objectives": self.objectives,
            "members": self.members,
            "count": self.standard.count,
            "mean": self.standard.mean.tolist(),
            "squares": self.standard.squares.tolist(),
            "spread": self.spread,
        }
        return (json.dumps(told, indent=1) + "\n").encode()


def load_scale(folder: Path) -> RewardScale:
    """Load the scale of a checkpoint; raises `ConfigError` where it is no reward model, or the file is
    corrupt.
    """
    file = folder / FILE
    if not file.is_file():
        raise ConfigError(
            f"{folder} is no reward model, it has no {FILE}: make one with"
            " `agentevol train TABLE algorithm=bradley_terry`"
        )
    try:
        told = json.loads(file.read_bytes())
        mean, squares = (np.asarray(told[name], dtype=np.float64) for name in ("mean", "squares"))
        heads = (len(told["objectives"]) * told["members"],)
        if mean.shape != heads or squares.shape != heads:
            raise ValueError(f"{mean.shape} scales for {heads} heads")
        standard = Standard(int(told["count"]), mean, squares)
        disagreement = float(told.get("spread", 0.0))
        return RewardScale(tuple(told["objectives"]), int(told["members"]), standard, disagreement)
    except (ValueError, KeyError, TypeError) as cause:
        raise ConfigError(f"{file} is corrupt: {cause}") from cause
