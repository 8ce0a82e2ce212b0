"""Arms of the comparison: the preset of each, and what it changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentevol.config.run import RunConfig, load

GENERATED: Final = "questions"
"""The environment by default: generated problems, of which those with one operation are played."""


@dataclass(frozen=True)
class Arm:
    """One row of the table."""

    preset: str
    settings: tuple[str, ...] = ()
    """Settings over the preset."""
    trains: bool = True
    """False: the clone is measured as it is."""


PUSHED: Final = (
    "kl=null",
    "learn.options.kl_coef=1e-6",  # as good as none, and measured
    "learn.learning_rate=5e-4",
)
"""Settings against the reward model: no penalty, large steps."""

ARMS: Final[Mapping[str, Arm]] = {
    "sft": Arm("rlhf-grpo", trains=False),
    "rlhf": Arm("rlhf"),
    "grpo": Arm("rlhf-grpo"),
    "dpo": Arm("rlhf-dpo"),
    "adpo": Arm("rlhf-adpo"),
    "pushed": Arm("rlhf", (*PUSHED, "reward.patience=null")),
    "stopped": Arm("rlhf", PUSHED),
}
"""Arms by name: the clone; PPO on a reward model near the clone; on outcomes GRPO, DPO and ADPO; PPO pushed
against its reward model, and the same with the stop of `reward.patience`.
"""
QUICK: Final = ("sft", "rlhf", "grpo")
"""Arms by default."""
PAIRS: Final = (
    *(("rlhf", "sft"), ("grpo", "sft"), ("dpo", "sft"), ("adpo", "sft")),
    *(("rlhf", "grpo"), ("dpo", "grpo"), ("adpo", "grpo"), ("pushed", "rlhf"), ("pushed", "stopped")),
)
"""Differences below the table."""
IDLE: Final = ("iterations=1", "explore.tasks=1", "explore.samples=1", "learn.learning_rate=0")
"""A run that clones, and then changes nothing."""
EASY: Final = ("explore.difficulty=1", "evaluate.difficulty=1")


@dataclass(frozen=True)
class Trial:
    """An arm with a seed."""

    arm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.arm}, seed {self.seed}"

    def config(self, env: str, rounds: int, tasks: int, given: tuple[str, ...]) -> RunConfig:
        """Configuration of the arm's run, whose evaluations have `tasks` questions; `given` settings go over
        the preset, and those of the arm over them.
        """
        arm = ARMS[self.arm]
        settings = [
            f"env={env}",
            f"seed={self.seed}",
            f"iterations={rounds}",
            f"evaluate.episodes={tasks}",
            f"evaluate.validation_episodes={tasks}",
            *(EASY if env == GENERATED else ()),
            *((f"reward.preference_rounds={rounds // 2}",) if arm.preset == "rlhf" else ()),
            *given,
            *arm.settings,
            *(() if arm.trains else IDLE),
        ]
        return load(None, settings, preset=arm.preset)
