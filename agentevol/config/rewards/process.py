"""Alternatives of the section `process`: sources of the values of states, by which turns are rewarded.

                              none: the environment's rewards of turns
process.continuations = 4     the success of continuations from a state
process.pooled = true         the explored episodes that passed through a state
process.model = "judge"       a process reward model, which stays as it is
process.opinions.relevance=1  opinions of turns alone; may also stand beside each of the others

Turns are rewarded by value differences, which add up to outcome - V(start): algorithms that compare whole
episodes (grpo, rloo) see little of them, those that give credit to turns (ppo, reinforce_pp, gigpo) do. By
opinions they are rewarded with the quality of the turn less the mean of its group.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from agentevol.config.sections.alternatives import value_of
from agentevol.config.sections.section import Section
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.registry import objective

Rule = Literal["invalid_actions", "format", "repetitions"]
"""Rules that a turn may violate, checked without a model."""

ALWAYS = ("outcome", "success", "efficiency", "safety")
"""Objectives of every episode with a return."""

_COSTS = {"turns", "tokens", "invalid_actions"}
"""Objectives that are no numbers from 0 to 1."""


class ProcessSection(Section):
    """Properties of every source."""

    @property
    def on(self) -> bool:
        """True if turns have their own rewards."""
        return False

    @property
    def initial_model(self) -> str | None:
        """Folder of the process reward model that the run begins with."""
        return None

    @property
    def model_heads(self) -> dict[str, float]:
        """Heads with a weight above 0, in a fixed order; none without a model."""
        return {}


class EnvironmentTurnReward(ProcessSection):
    """The environment's rewards of turns."""


class ModelProcess(ProcessSection):
    """Values of a process reward model."""

    opinions: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict[str, float])
    """Heads that tell the quality of a turn, with their weights: names of dimensions that sources gave to
    turns, or `score`.
    """
    rules: dict[Rule, Annotated[float, Field(gt=0)]] = Field(default_factory=dict[Rule, float])
    """Cost of a turn whose action the environment could not carry out, whose text was in no mode's format, or
    that repeated an earlier action in the same state.
    """
    alpha: float = Field(default=1.0, ge=0)
    """Weight of the episode's return, at its last turn."""
    beta: float = Field(default=0.5, gt=0)
    """Weight of the rewards of turns."""

    @property
    def on(self) -> bool:
        """True if turns have their own rewards."""
        return True

    @property
    def value_heads(self) -> dict[str, float]:
        """Heads of the model for values of states, with weights above 0, in a fixed order."""
        return {}

    @property
    def opinion_heads(self) -> dict[str, float]:
        """Heads of the model for opinions of turns, in a fixed order."""
        return dict(sorted(self.opinions.items()))

    @property
    def model_heads(self) -> dict[str, float]:
        """Heads of the model: those for values, then those for opinions."""
        return {**self.value_heads, **self.opinion_heads}

    @model_validator(mode="after")
    def _heads_have_one_meaning(self) -> "ModelProcess":
        for name in self.opinions:
            if name in self.value_heads or name in ALWAYS or name in _COSTS:
                raise ValueError(f"opinions: {name!r} is a value of states; opinions have other names")
        if not self.model_heads:
            raise ValueError("heads needs one with a weight above 0, or set opinions")
        return self


class ValueProcess(ModelProcess):
    """Values of states by the objectives of their episodes."""

    heads: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=lambda: {"outcome": 1.0})
    """Heads of the model with their weights: names of `agentevol.data.rewards.objectives` from 0 to 1. A
    weight of 0 leaves a head out; `outcome` has weight 1 unless given.
    """
    discount: float = Field(default=1.0, gt=0, le=1)
    """Discount of the value after a turn against the one before it; that of the algorithm (`gamma`), if it
    has one.
    """

    @property
    def value_heads(self) -> dict[str, float]:
        """Heads with a weight above 0, in a fixed order."""
        return {name: weight for name, weight in sorted(self.heads.items()) if weight}

    @field_validator("heads", mode="before")
    @classmethod
    def _with_outcome(cls, value: Any) -> Any:
        return {"outcome": 1.0, **value} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _heads_are_values(self) -> "ValueProcess":
        costs = sorted(self.value_heads.keys() & _COSTS)
        if costs:
            raise ValueError(
                f"heads lie in [0, 1], unlike {costs[0]}: take efficiency, safety or process.rules"
            )
        if not self.value_heads and isinstance(self, TrainedProcess):
            raise ValueError("heads needs one with a weight above 0; opinions alone need no values of states")
        return self


class FrozenProcess(ValueProcess):
    """Values of an earlier process reward model, which stays as it is."""

    model: str
    """Folder of a process reward model with these heads: a checkpoint of `agentevol train TABLE
    algorithm=process_reward` on the run's own base, or of another run's `process/`.
    """

    @property
    def initial_model(self) -> str | None:
        """Folder of the process reward model that the run begins with."""
        return self.model


class TrainedProcess(ModelProcess):
    """Values of a process reward model that is trained on the policy's episodes in every iteration."""

    model: str | None = None
    """Folder of an earlier process reward model with these heads, to begin with; None begins with a model
    that says 0.5 for everything.
    """
    learning_rate: float = Field(default=3e-4, gt=0)
    """Its learning rate."""
    epochs: int = Field(default=2, ge=1)
    """Epochs of its training; all other settings are those of `learn`."""
    options: dict[str, Option] = Field(default_factory=dict[str, Option])
    """Options of the algorithm `process_reward`."""

    @property
    def initial_model(self) -> str | None:
        """Folder of the process reward model that the run begins with."""
        return self.model

    @field_validator("options")
    @classmethod
    def _are_options(cls, value: Mapping[str, Option]) -> Mapping[str, Option]:
        objective("process_reward", value)
        return value


class OpinionProcess(TrainedProcess):
    """Qualities of turns by `feedback.sources` alone."""


class ContinuationProcess(ValueProcess, TrainedProcess):
    """Values of states by the success of continuations from them."""

    continuations: int = Field(ge=1)
    """Continuations from every state with a value: K."""
    share: float = Field(default=0.25, gt=0, le=1)
    """Share of the explored episodes with valued states."""
    states: int = Field(default=2, ge=1)
    """Maximum number of valued states of such an episode."""


class PooledProcess(ValueProcess, TrainedProcess):
    """Values of states by the explored episodes of the task that passed through them, at least 3: for
    environments that cannot be replayed, and whose observations identify their states.
    """

    pooled: Literal[True]
    """Estimate values of states by the explored episodes."""


def _tag(given: Any) -> str:
    """Tag of a given source of values."""
    named = (kind for kind in ("continuations", "pooled", "model", "opinions") if value_of(given, kind))
    return next(named, "environment")


ProcessConfig = Annotated[
    Annotated[EnvironmentTurnReward, Tag("environment")]
    | Annotated[ContinuationProcess, Tag("continuations")]
    | Annotated[PooledProcess, Tag("pooled")]
    | Annotated[FrozenProcess, Tag("model")]
    | Annotated[OpinionProcess, Tag("opinions")],
    Discriminator(_tag),
]
"""The source of the values of states."""
