"""Arms of the comparison: the preset of each, and whether it trains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentevol.config.run import RunConfig, load
from agentgym_envs.thinking import HEADERS


@dataclass(frozen=True)
class Arm:
    """One row of the table."""

    preset: str
    trains: bool = True
    """False: the cloned policy is played as it is."""


ARMS: Final[Mapping[str, Arm]] = {
    "bc": Arm("aml", trains=False),
    **{f"bc, mode {mode}": Arm(f"aml-mode-{mode}", trains=False) for mode in HEADERS},
    "sft": Arm("aml-sft"),
    "grpo": Arm("aml-grpo"),
    "ampo": Arm("aml"),
    **{f"mode {mode}": Arm(f"aml-mode-{mode}") for mode in HEADERS},
}
"""Arms by name: behaviour cloning, also in one forced mode; cloning of own best episodes; GRPO; AMPO; GRPO in
one forced mode.
"""
QUICK: Final = ("bc", "grpo", "ampo")
"""Arms by default."""
PAIRS: Final = (("ampo", "grpo"), ("ampo", "bc"), ("grpo", "bc"), ("sft", "bc"))
"""Differences below the table."""
PARTNER, SELF, MODEL = "partner", "self", "model"
PLAYS: Final = {
    PARTNER: "beside the partner",
    SELF: "self-play, both seats",
    MODEL: "beside the partner model, in each seat",
}
"""Ways of playing with their titles: beside the environment's partner, one policy in all seats, and beside
another model, once in each seat.
"""
SELF_PLAY: Final[Mapping[str, Mapping[str, str]]] = {
    "social": {"families": "price,split,friends,schedule"},
}
"""Options of an environment where a policy plays each seat: in the social worlds' other families the seats
have different roles, of which the demonstrations show one.
"""
EXAMPLES: Final = ("evaluate.episodes=1", "evaluate.validation_episodes=1", "evaluate.temperature=0.7")
"""A run's own evaluations are kept short: the table has its own."""


@dataclass(frozen=True)
class Trial:
    """An arm with a seed."""

    arm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.arm}, seed {self.seed}"

    def config(self, env: str, rounds: int, settings: tuple[str, ...]) -> RunConfig:
        """Configuration of the arm's run."""
        given = [f"env={env}", f"seed={self.seed}", f"iterations={rounds}", *EXAMPLES, *settings]
        return load(None, given, preset=ARMS[self.arm].preset)
