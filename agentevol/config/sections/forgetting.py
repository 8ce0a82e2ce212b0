"""Settings against catastrophic forgetting: replay, EWC, interpolation, a perplexity probe and protected
tasks.

retained.data = "runs/first"      earlier episodes, for replay and for the Fisher information
select.merge = "replay"           a share of the training data is old: `replay.*`
learn.ewc.strength = 0.1          weights that mattered before are regularised (`EwcConfig`)
interpolate.shares = [0.5]        validation chooses the share of an update that stays
probe.data = "chats.jsonl"        its perplexity is reported in every iteration
protect.easy.difficulty = "easy"  tasks on which an update must not regress, or it is rejected
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentevol.config.sections.section import Level, Section


class EwcConfig(Section):
    """Elastic weight consolidation (`agentevol.learn.continual.ewc`)."""

    strength: float = Field(default=0.1, gt=0)
    """lambda; the Fisher information is scaled to mean 1, so that values are comparable between models.
    Search 0.01 to 10.
    """
    fisher: Literal["sampled", "labels"] = "sampled"
    """Gradients of tokens that the anchor samples in the places of the actions, or of the actions."""
    sequences: int = Field(default=200, ge=1, le=100_000)
    """Maximum number of training sequences for its estimate."""
    online: bool = False
    """Anchor to the latest policy instead of the first, with the accumulated information of every earlier
    stage: in a run each accepted update is a stage. It is written beside the weights (`ewc.st`) for the next
    stage.
    """
    decay: float = Field(default=0.9, gt=0, le=1)
    """gamma of `online`: factor of the previous stages' information when a new stage is added."""

    @model_validator(mode="after")
    def _decay_has_an_effect(self) -> "EwcConfig":
        if self.decay != EwcConfig.model_fields["decay"].default and not self.online:
            raise ValueError("decay has no effect without online = true: there is one stage")
        return self


class RetainedConfig(Section):
    """Episodes of earlier training."""

    data: str
    """A run's folder, a table, or an export of one; its episodes are filtered by `select.*`. A run copies
    them into its own table once, but for those in the splits of its environment that it holds out.
    """
    episodes: int = Field(default=1000, ge=1)
    """Maximum number of episodes."""
    sampling: Literal["stratified", "reservoir"] = "stratified"
    """Sampling where there are more: as evenly as possible over environments, won and lost, or each with the
    same probability.
    """


class ReplayConfig(Section):
    """Share of old training data, for `select.merge = "replay"`."""

    fraction: float = Field(default=0.2, gt=0, lt=1)
    """Share of all trained tokens."""
    floor: float = Field(default=0.01, ge=0, lt=1)
    """Minimum share of all trained tokens for each old environment."""

    @model_validator(mode="after")
    def _floor_fits(self) -> "ReplayConfig":
        if self.floor > self.fraction:
            raise ValueError(f"floor {self.floor} lies above fraction {self.fraction}: nothing can reach it")
        return self


class InterpolateConfig(Section):
    """Share of an update that stays, chosen by validation (`agentevol.loop.stages.interpolation_search`)."""

    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    """Shares of the update's weights, the rest being the anchor's, that are tried in every iteration besides
    the whole update; empty tries only the whole update.
    """

    @model_validator(mode="after")
    def _shares_differ(self) -> "InterpolateConfig":
        if len(set(self.shares)) != len(self.shares):
            raise ValueError(f"shares are tried once each, unlike {list(self.shares)}")
        return self


class ProbeConfig(Section):
    """Perplexity on data that no iteration trains on, to detect regressions of every policy."""

    data: str
    """Chats in the format of `agentevol train`, or episodes: a run, a table or an export, filtered by
    `select.*`. A run copies their training sequences once.
    """
    sequences: int = Field(default=200, ge=1)
    """Maximum number of training sequences."""


class ProtectedTasks(Section):
    """Tasks on which every update has to stay as good as the run began, or it is rejected."""

    environment: str | None = None
    """None is the run's own; another one is served in addition."""
    split: str | None = None
    """None is the run's validation split, or `valid` of another environment."""
    difficulty: Level | None = None
    """Only tasks of this level; None uses all."""
    episodes: int = Field(default=100, ge=2)
    """Number of tasks, evenly over the split, played as in evaluation."""
    points: float = Field(default=0.02, ge=0, le=1)
    """The fall of the success rate that is always allowed."""
    standard_errors: float = Field(default=2.0, ge=0)
    """The fall that is attributed to chance, in standard errors of the difference; the larger of the two
    counts.
    """
