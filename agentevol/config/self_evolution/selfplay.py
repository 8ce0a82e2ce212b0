"""Settings of leagues: the run's own policy beside its earlier checkpoints and scripts (`selfplay.partner =
"league"`).

selfplay.latest = 0.5            half of the tasks are played by the latest policy in all seats
selfplay.kept = 8                the others beside one of the eight checkpoints before it, by (1 - w)^2
selfplay.scripted.random = 0.25  or beside a script, whose weight is fixed
"""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from agentevol.config.rewards.process import ProcessSection
from agentevol.config.rewards.reward import RewardSection
from agentevol.config.rewards.shaping import ShapingConfig
from agentevol.config.sections.engine import EmbeddedConfig, EngineSection
from agentevol.config.sections.environment import SCRIPTED_PARTNERS, EnvironmentConfig
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.rollout import RolloutSection
from agentevol.config.sections.section import Section
from agentevol.config.sections.selection import RETURN, SelectConfig
from agentevol.core.algorithms.registry import objective

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SelfPlayConfig(Section):
    """Partners of explored episodes in worlds with several seats."""

    partner: Literal["environment", "league"] = "environment"
    """`environment`: that of `environment.partner`. `league`: drawn for each task; `environment.partner` is
    the partner of evaluations alone.
    """
    latest: float = Field(default=0.5, ge=0, le=1)
    """Probability that the latest policy plays all seats; it does in any case where no other is there yet."""
    kept: int = Field(default=8, ge=1)
    """Number of checkpoints before the latest one that may be partners, drawn by (1 - w)^2, where w is the
    policy's win rate against them.
    """
    scripted: dict[str, Weight] = Field(default_factory=dict[str, Weight])
    """Scripts that may be partners (`random`, `idle`, `spray`), by their weight beside the (1 - w)^2 of
    checkpoints: 0.25 is that of an equal one.
    """

    @property
    def on(self) -> bool:
        """Return whether partners are drawn."""
        return self.partner == "league"

    @field_validator("scripted")
    @classmethod
    def _are_scripts(cls, value: dict[str, float]) -> dict[str, float]:
        for name in value:
            if name not in SCRIPTED_PARTNERS:
                known = ", ".join(SCRIPTED_PARTNERS)
                raise ValueError(f"no scripted partner named {name!r}; there are: {known}")
        return value


def check_league(
    own: SelfPlayConfig,
    environment: EnvironmentConfig,
    engine: EngineSection,
    rollout: RolloutSection,
    iterations: int,
    checkpoints: str | None,
) -> None:
    """Raise `ValueError` for a league without another partner than the latest policy, one that cannot be
    played, and settings without a league.
    """
    if not own.on:
        _check_defaults(own)
        return
    if environment.seats == 1:
        raise ValueError(
            "selfplay.partner = 'league' has no effect with environment.seats = 1: play all seats of a world"
            " that has several"
        )
    if not isinstance(engine, EmbeddedConfig):
        raise ValueError(
            "selfplay.partner = 'league': earlier checkpoints are partners with weights of their own, which"
            " needs engine = 'embedded'"
        )
    if checkpoints is not None:
        raise ValueError(
            "selfplay.partner = 'league' reads earlier checkpoints from the run's folder: leave out"
            " checkpoints"
        )
    if own.latest == 1:
        raise ValueError(
            "selfplay.latest = 1 leaves no task for another partner: selfplay.partner = 'environment' with"
            " environment.partner = 'policy' is plain self-play"
        )
    if not own.scripted and latest_version(iterations, rollout.rounds_ahead) < 1:
        raise ValueError(
            "selfplay.partner = 'league' has no effect: no iteration explores beside an earlier checkpoint;"
            " set more iterations, or selfplay.scripted"
        )


def _check_defaults(own: SelfPlayConfig) -> None:
    default = SelfPlayConfig()
    for name in ("latest", "kept", "scripted"):
        if getattr(own, name) != getattr(default, name):
            raise ValueError(f"selfplay.{name} has no effect without selfplay.partner = 'league'")


def latest_version(iteration: int, rounds_ahead: int) -> int:
    """Version of the policy that begins an iteration's exploration, up to `rounds_ahead` rounds before the
    policy of the previous iteration is there.

    It is also the number of rounds whose episodes are known by then.
    """
    return max(0, iteration - 1 - rounds_ahead)


def check_baseline(
    learn: LearnConfig,
    reward: RewardSection,
    process: ProcessSection,
    shaping: ShapingConfig,
    select: SelectConfig,
) -> None:
    """Raise `ValueError` where other scores replace the returns that `learn.options.baseline` averages."""
    if objective(learn.algorithm, learn.options).options.get("baseline") != "seat":
        return
    others = {
        "reward.*": reward.on,
        "process.*": process.on,
        "shaping.reward": shaping.reward is not None,
        f"select.score = {select.score!r}": select.score != RETURN,
    }
    for name in (name for name, is_set in others.items() if is_set):
        raise ValueError(
            f"learn.options.baseline = 'seat' is a mean of the environment's returns, which {name} replaces:"
            " leave out one of them"
        )
