"""Alternatives of the section `reward`: sources of an explored episode's reward.

                                             the environment's own return
reward.function = "success"                  a function of episodes
reward.model = "judge"                       a reward model, which stays as it is
reward.refresh = true                        a reward model that the run trains in every iteration
reward.preference_rounds = 1                 a reward model that the run trains before the policy
reward.judge = "rubric"                      a judge of episodes
reward.consistency = true                    1 for the final answer of most samples of a task
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from agentevol.config.rewards.registries import JUDGES, REWARDS
from agentevol.config.sections.alternatives import value_of
from agentevol.config.sections.section import Section
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.registry import objective


class CautionConfig(Section):
    """Combination of a reward model's heads into one score, after each was standardised
    (arXiv:2310.02743).
    """

    combination: Literal["mean", "min", "lcb", "uwo", "independent"] = "lcb"
    """Combination of an ensemble's members, each of which first weights its objectives: their mean; the
    lowest; the mean less `kappa` standard deviations; the mean less `penalty` variances. `independent` is
    `lcb` with the deviations of the objectives added up as if their errors were independent.
    """
    kappa: float = Field(default=1.0, ge=0)
    penalty: float = Field(default=0.1, ge=0)
    weights: dict[str, float] = Field(default_factory=dict[str, float])
    """Weights of objectives by name, scaled to add up to 1 in absolute value; empty weights all alike."""

    @model_validator(mode="after")
    def _caution_has_an_effect(self) -> "CautionConfig":
        for name, used in (("kappa", ("lcb", "independent")), ("penalty", ("uwo",))):
            default = CautionConfig.model_fields[name].default
            if getattr(self, name) != default and self.combination not in used:
                raise ValueError(f"{name} has no effect without combination {used[0]!r}")
        if self.weights and not any(self.weights.values()):
            raise ValueError("weights that are all 0 weigh nothing: leave out weights, or give one")
        return self


class RewardSection(Section):
    """Properties of every source. Evaluations use the environment's own rewards, whatever the source."""

    @property
    def on(self) -> bool:
        """True if episodes have scores besides the environment's return."""
        return False

    @property
    def initial_model(self) -> str | None:
        """Folder of the reward model that the run begins with."""
        return None

    @property
    def exploited_after(self) -> int | None:
        """Number of evaluations in a row with a rising score and a falling return that stop the run."""
        return None


class EnvironmentReward(RewardSection):
    """The environment's own return."""


class ScoredReward(RewardSection):
    """Scores of episodes, in place of the environment's return or in addition to it."""

    alpha: float = Field(default=0.0, ge=0)
    """Weight of an episode's return, at its last turn."""
    beta: float = Field(default=1.0, gt=0)
    """Weight of the score, at the last turn too."""

    @property
    def on(self) -> bool:
        """True if episodes have scores besides the environment's return."""
        return True


class _WatchedReward(ScoredReward):
    """Scores that can be compared between iterations."""

    patience: int | None = Field(default=2, ge=1)
    """Stop when for this number of evaluations in a row the score of the validation episodes rose and their
    return fell: the score is exploited. None continues.
    """

    @property
    def exploited_after(self) -> int | None:
        """Number of evaluations in a row with a rising score and a falling return that stop the run."""
        return self.patience


class FunctionReward(_WatchedReward):
    """Scores of a function."""

    function: str
    """Reward function: `success`, `discounted_return`, `good_accuracy`; one of another distribution, or
    `module:attribute` (`agentevol.data.rewards.reward_functions.RewardFunction`).
    """
    options: dict[str, Option] = Field(default_factory=dict[str, Option])
    """Options of the function."""

    @field_validator("function")
    @classmethod
    def _is_a_function(cls, value: str) -> str:
        return REWARDS.checked(value)


class ModelReward(_WatchedReward):
    """Scores of a reward model.

    It is a checkpoint of `agentevol train TABLE algorithm=bradley_terry` on the run's own base: it reads the
    same tokens.
    """

    model: str
    """Folder of a reward model."""
    caution: CautionConfig = CautionConfig()

    @property
    def initial_model(self) -> str | None:
        """Folder of the reward model that the run begins with."""
        return self.model


class LearntModelReward(ScoredReward):
    """Scores of a reward model that the run trains on pairs of explored episodes (`pairs.*`)."""

    model: str | None = None
    """Folder of the reward model to begin with; None begins from the base, where it is cloned from the clone.
    """
    caution: CautionConfig = CautionConfig()
    optimiser: Literal["adamw", "muon"] | None = None
    """Optimiser of its training; None is that of `learn`."""
    learning_rate: float = Field(default=3e-4, gt=0)
    epochs: int = Field(default=1, ge=1)
    """Epochs of its training: reward models overfit soon. All other settings are those of `learn`."""
    options: dict[str, Option] = Field(default_factory=dict[str, Option])
    """Options of the algorithm `bradley_terry`."""

    @property
    def initial_model(self) -> str | None:
        """Folder of the reward model that the run begins with."""
        return self.model

    def version(self, iteration: int) -> int:
        """Number of the reward model that scores the episodes of an iteration."""
        return iteration

    def keeps_pairs(self, iteration: int) -> bool:
        """Whether an iteration's pairs are kept for the training of the reward model in a later one."""
        return False

    def trains(self, iteration: int) -> bool:
        """Whether an iteration, from 1, trains the reward model."""
        return self.version(iteration) == iteration

    @field_validator("options")
    @classmethod
    def _are_options(cls, value: Mapping[str, Option]) -> Mapping[str, Option]:
        objective("bradley_terry", value)
        return value


class TrainedModelReward(LearntModelReward):
    """Scores of a reward model that the run trains in every iteration, before it scores the episodes. Scores
    of two iterations cannot be compared.
    """

    refresh: Literal[True]
    """Train a reward model, or continue to train `model`."""


class PreferenceModelReward(LearntModelReward, _WatchedReward):
    """Scores of a reward model that the run trains on the pairs of its first iterations, in which the policy
    stays as it is, and then keeps: the second and third stage of InstructGPT (arXiv:2203.02155), after
    cloning.
    """

    preference_rounds: int = Field(ge=0)
    """Number of first iterations whose pairs train the reward model, all together after the last of them, and
    whose episodes no policy learns from. With 0, `model` stays as it is.
    """

    def version(self, iteration: int) -> int:
        """Number of the reward model that scores the episodes of an iteration."""
        return 0 if self.keeps_pairs(iteration) else self.preference_rounds

    def keeps_pairs(self, iteration: int) -> bool:
        """Whether an iteration's pairs are kept for the training of the reward model in a later one."""
        return iteration < self.preference_rounds

    @model_validator(mode="after")
    def _has_a_model(self) -> "PreferenceModelReward":
        if not self.preference_rounds and self.model is None:
            raise ValueError("preference_rounds = 0 trains no reward model: give model")
        return self


class JudgeReward(_WatchedReward):
    """Scores of a judge, from 0 for the lowest of its scale to 1 for the highest. Episodes that it fails on
    are not trained on. With `patience` the validation episodes are judged, too.
    """

    judge: str
    """Judge: `rubric`, `service`; one of another distribution, or `module:attribute`
    (`agentevol.core.judges.Judge`).
    """
    options: dict[str, Option] = Field(default_factory=dict[str, Option])
    """Options of the judge."""
    concurrency: int = Field(default=8, ge=1, le=1024)
    """Maximum number of episodes that are judged at a time."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds after which the judge has failed on an episode."""

    @field_validator("judge")
    @classmethod
    def _is_a_judge(cls, value: str) -> str:
        return JUDGES.checked(value)


class ConsistencyReward(ScoredReward):
    """1 for an episode whose final answer is that of most samples of its task, else 0 (arXiv:2504.16084).
    Tasks whose majority is too small or too large are not trained on.
    """

    consistency: Literal[True]
    """Compare the final answers of a task's samples (arXiv:2203.11171)."""
    least: float = Field(default=0.3, ge=0, le=1)
    """Minimum share of the majority in the samples of its task: a smaller one is a guess."""
    most: float = Field(default=0.9, ge=0, le=1)
    """Maximum share: where all agree there is nothing to learn."""

    @model_validator(mode="after")
    def _some_share_is_used(self) -> "ConsistencyReward":
        if self.least > self.most:
            raise ValueError(f"least {self.least} is above most {self.most}: no share is both")
        return self


def _tag(given: Any) -> str:
    """Tag of a given source of rewards."""
    if value_of(given, "refresh"):
        return "model with reward.refresh"
    if value_of(given, "preference_rounds") is not None:
        return "model with reward.preference_rounds"
    if value_of(given, "consistency"):
        return "consistency"
    named = (kind for kind in ("function", "model", "judge") if value_of(given, kind) is not None)
    return next(named, "environment")


RewardConfig = Annotated[
    Annotated[EnvironmentReward, Tag("environment")]
    | Annotated[FunctionReward, Tag("function")]
    | Annotated[ModelReward, Tag("model")]
    | Annotated[TrainedModelReward, Tag("model with reward.refresh")]
    | Annotated[PreferenceModelReward, Tag("model with reward.preference_rounds")]
    | Annotated[JudgeReward, Tag("judge")]
    | Annotated[ConsistencyReward, Tag("consistency")],
    Discriminator(_tag),
]
"""The source of an explored episode's reward."""
