"""Settings against forgetting: what is kept of what was learnt before, and how.

retained.data = "runs/first"      episodes of before, for replay and for the Fisher information
select.merge = "replay"           a share of what is learnt is old: `replay.*`
learn.ewc.strength = 0.1          weights that mattered before are held (`EwcConfig`)
interpolate.shares = [0.5]        how much of an update stays is chosen by validation
probe.data = "chats.jsonl"        its perplexity is told in every iteration
protect.easy.difficulty = "easy"  what has to stay as good as it was, or an update is rejected
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentevol.config.sections import Section


class EwcConfig(Section):
    """Elastic weight consolidation (`agentevol.learn.ewc`)."""

    strength: float = Field(default=0.1, gt=0)
    """lambda; the Fisher information is scaled to mean 1, so that it means the same everywhere. Search 0.01
    to 10.
    """
    fisher: Literal["sampled", "labels"] = "sampled"
    """Gradients of tokens that the anchor draws in the places of the actions, or of the actions."""
    sequences: int = Field(default=200, ge=1, le=100_000)
    """How many rows it is estimated on, at most."""
    online: bool = False
    """Hold on to the latest policy instead of the first, and to what every stage before it needed: in a run
    each accepted update is a stage. Written beside the weights (`ewc.st`), for the next one to go on with.
    """
    decay: float = Field(default=0.9, gt=0, le=1)
    """gamma of `online`: what the information of a stage counts when the next is added."""

    @model_validator(mode="after")
    def _decay_has_an_effect(self) -> "EwcConfig":
        if self.decay != EwcConfig.model_fields["decay"].default and not self.online:
            raise ValueError("decay has no effect without online = true: there is one stage")
        return self


class RetainedConfig(Section):
    """Episodes of what was learnt before."""

    data: str | None = None
    """A run's folder, a table, or an export of one; chosen from it is as `select.*` says. A run copies them
    into its own table once.
    """
    episodes: int = Field(default=1000, ge=1)
    """At most so many of them."""
    sampling: Literal["stratified", "reservoir"] = "stratified"
    """Where there are more: as evenly from every environment, won and lost, as there are, or each with the
    same probability.
    """


class ReplayConfig(Section):
    """How much of what is learnt is old, for `select.merge = "replay"`."""

    fraction: float = Field(default=0.2, gt=0, lt=1)
    """Of all learnt tokens."""
    floor: float = Field(default=0.01, ge=0, lt=1)
    """The least share of all learnt tokens that each environment of the old ones has."""

    @model_validator(mode="after")
    def _floor_fits(self) -> "ReplayConfig":
        if self.floor > self.fraction:
            raise ValueError(f"floor {self.floor} lies above fraction {self.fraction}: nothing can reach it")
        return self


class InterpolateConfig(Section):
    """Which share of an update stays, by validation (`agentevol.loop.shares`)."""

    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    """Tried in every iteration besides the whole update, which is all there is where none is given: weights
    of the update, the others being those that learning holds on to.
    """

    @model_validator(mode="after")
    def _shares_differ(self) -> "InterpolateConfig":
        if len(set(self.shares)) != len(self.shares):
            raise ValueError(f"shares are tried once each, unlike {list(self.shares)}")
        return self


class ProbeConfig(Section):
    """What no iteration learns from, and every policy is to say as well as before: a perplexity."""

    data: str | None = None
    """Chats as `agentevol train` takes them, or episodes: a run, a table or an export, of which `select.*`
    takes some. A run copies their rows once. None measures nothing.
    """
    rows: int = Field(default=200, ge=1)
    """At most so many of them."""


class ProtectedTasks(Section):
    """Tasks at which every update has to stay as good as the run began, or it is rejected."""

    environment: str | None = None
    """None is the run's own; another one is served beside it."""
    split: str | None = None
    """None is the run's validation split, or `valid` of another environment."""
    difficulty: str | None = None
    """Only tasks of this level; None takes all."""
    episodes: int = Field(default=100, ge=2)
    """So many tasks, evenly over the split, played as evaluation plays."""
    points: float = Field(default=0.02, ge=0, le=1)
    """The fall of the success rate that is always allowed."""
    standard_errors: float = Field(default=2.0, ge=0)
    """The fall that chance explains, in standard errors of the difference; the larger of the two counts."""
