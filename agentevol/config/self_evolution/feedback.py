"""Settings of learning from feedback.

feedback = "human"                all people: the short form of feedback.sources = ["human"]
feedback.sources = ["human:Anna"] one of them
feedback.only = false             also what the episodes' own outcomes teach
feedback.aggregate = "weighted"   with feedback.weights = {"human:Anna" = 2, judge = 0.5}
"""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Literal

from pydantic import Field, field_validator, model_validator

from agentevol.config.rewards.process import ProcessSection, TrainedProcess
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.section import Names, Section
from agentevol.config.sections.selection import PairsConfig, SelectConfig
from agentevol.core.algorithms.registry import algorithm

LEARNING = ("episodes", "pairs", "labels", "steps")
"""Kinds of training data that opinions become."""
LEARNS_SCORES = ("weighted_bc",)
"""Algorithms that imitate rated episodes by their scores."""
OPINION = "feedback"
"""Name of opinions among the scores of `select.score`."""
FLAG = "flag"
"""Name of the cost of flagged episodes, for `constraints`."""
SOURCE_KINDS = ("human", "judge", "environment", "self")


OPTIONS = ("only", "aggregate", "conflict", "high", "low")
"""Settings that need `feedback.sources`."""


class FeedbackConfig(Section):
    """Opinions about the episodes, which lie in the table beside them."""

    sources: Names = ()
    """Whose opinions are learnt from: kinds of sources (`human`, `judge`, `environment`, `self`), or single
    ones (`human:Anna`). Corrections become pairs, or actions to imitate; comparisons become pairs, scores of
    whole episodes labels, weights or returns, those of turns labels; flagged episodes are left out.
    """
    only: bool = True
    """True to learn from opinions alone; False to add what the episodes' own outcomes teach."""
    aggregate: Literal["mean", "weighted", "pessimistic", "reliability"] = "mean"
    """Rule by which several opinions on one thing become one: their mean; weighted by `weights`; the mean
    less `kappa` standard deviations; or by the reliability of sources, which is learnt from all opinions.
    """
    weights: dict[str, float] = Field(default_factory=dict[str, float])
    """For `weighted`: weights of sources (`human:Anna`), or of kinds of sources (`judge`); others have 1."""
    kappa: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """For `pessimistic`: number of standard deviations that are subtracted."""
    conflict: Literal["keep", "drop"] = "keep"
    """Scores and comparisons of whole episodes that contradict the recorded outcome: learnt from and counted,
    or left out.
    """
    high: float = Field(default=0.7, ge=0, le=1)
    """For labels: mean score from which an episode is desirable, on a scale from 0 (worst) to 1."""
    low: float = Field(default=0.3, ge=0, le=1)
    """For labels: mean score up to which an episode is undesirable. Those between have no label."""

    @field_validator("sources")
    @classmethod
    def _are_sources(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        _check_sources(value)
        return tuple(dict.fromkeys(value))

    @field_validator("weights")
    @classmethod
    def _are_weights(cls, value: dict[str, float]) -> dict[str, float]:
        _check_sources(value)
        for name, weight in value.items():
            if not (isfinite(weight) and weight >= 0):
                raise ValueError(f"the weight of {name!r} is at least 0, not {weight:g}")
        return value

    @model_validator(mode="after")
    def _aggregation_has_an_effect(self) -> "FeedbackConfig":
        if self.weights and self.aggregate != "weighted":
            raise ValueError("weights has no effect without feedback.aggregate = 'weighted'")
        if self.aggregate == "weighted" and not self.weights:
            raise ValueError("aggregate = 'weighted' needs feedback.weights, such as {human = 2, judge = 1}")
        if self.kappa != type(self).model_fields["kappa"].default and self.aggregate != "pessimistic":
            raise ValueError("kappa has no effect without feedback.aggregate = 'pessimistic'")
        for name in self.weights:
            if not any(_overlap(name, source) for source in self.sources):
                raise ValueError(f"weights: nothing is learnt from {name!r}; feedback.sources has it not")
        chosen = [self.weights.get(name, self.weights.get(_kind(name), 1.0)) for name in self.sources]
        if self.weights and not any([*chosen, *self.weights.values()]):
            raise ValueError("weights are all 0: no opinion would count")
        return self

    @model_validator(mode="after")
    def _options_have_an_effect(self) -> "FeedbackConfig":
        if self.low >= self.high:
            raise ValueError(f"low is less than high, unlike {self.low} and {self.high}")
        fields = type(self).model_fields
        changed = [name for name in OPTIONS if getattr(self, name) != fields[name].default]
        if changed and not self.sources:
            raise ValueError(f"{changed[0]} has no effect without feedback.sources")
        return self


class RunFeedbackConfig(FeedbackConfig):
    """Opinions about the run's own episodes, and about those of `retained.data`."""

    only: bool = False
    """True to learn from opinions alone, beside demonstrations and retained episodes; False to learn from
    them beside what the selected episodes teach.
    """


def in_short(value: object) -> object:
    """The section of its short form, `human` or `[human, judge]`; other values unchanged."""
    return {"sources": value} if isinstance(value, str | list | tuple) else value


def _check_sources(names: Iterable[str]) -> None:
    for name in names:
        kind, colon, rest = name.partition(":")
        if kind not in SOURCE_KINDS or (colon and not rest):
            known = ", ".join(SOURCE_KINDS)
            raise ValueError(f"{name!r} is no source of feedback; there are {known}, and human:NAME")


def _kind(name: str) -> str:
    return name.partition(":")[0]


def _overlap(one: str, other: str) -> bool:
    """True if a source, or a kind of sources, is or has the other."""
    return one == other or _kind(one) == other or one == _kind(other)


Choice = tuple[SelectConfig, PairsConfig]
"""Settings by which episodes' outcomes become training data."""


def check_algorithm(
    feedback: FeedbackConfig,
    learn: LearnConfig,
    select: SelectConfig,
    constraints: Mapping[str, object] | None = None,
    process: ProcessSection | None = None,
) -> None:
    """Raise `ValueError` where the algorithm learns from no opinion, or from no score."""
    scored, flagged = select.score == OPINION, FLAG in (constraints or {})
    labelled = learns_opinions(process)
    if not feedback.sources:
        _check_no_source_is_needed(flagged=flagged, labelled=labelled)
        return
    name = learn.algorithm
    data = algorithm(name).data
    if data not in LEARNING and not (scored or flagged or labelled):
        raise ValueError(
            f"feedback.* has no effect: learn.algorithm {name!r} learns from {data}; dpo learns"
            " from corrections and comparisons, kto from scores, sft from corrections, any from scores in"
            " place of returns with select.score = 'feedback', and with process.opinions a process reward"
            " model from opinions of turns"
        )
    if data not in LEARNING and feedback.only:
        raise ValueError(
            f"feedback.only = true leaves nothing: learn.algorithm {name!r} learns from episodes; set it to"
            " false"
        )
    of_turns = labelled or data == "steps"
    aggregated = scored or of_turns or data in ("pairs", "labels") or name in LEARNS_SCORES
    if feedback.aggregate != "mean" and not aggregated:
        raise ValueError(
            f"feedback.aggregate has no effect: learn.algorithm {name!r} learns from corrections and flags,"
            " which are not aggregated"
        )
    if feedback.conflict != "keep" and (not aggregated or (of_turns and not scored)):
        raise ValueError(
            f"feedback.conflict has no effect: learn.algorithm {name!r} learns from no score or comparison of"
            " whole episodes"
        )
    default = FeedbackConfig(sources=feedback.sources)
    if data != "labels" and (feedback.high, feedback.low) != (default.high, default.low):
        raise ValueError(
            f"feedback.high and feedback.low have no effect: learn.algorithm {name!r} learns from"
            f" {data}, not labels"
        )


def _check_no_source_is_needed(*, flagged: bool, labelled: bool) -> None:
    if flagged:
        raise ValueError(f"constraints.{FLAG} has no effect without feedback.sources, whose flags it counts")
    if labelled:
        raise ValueError("process.opinions needs feedback.sources: whose opinions of turns are learnt")


def learns_opinions(process: ProcessSection | None) -> bool:
    """Return whether a process reward model learns from opinions of turns in the run."""
    return isinstance(process, TrainedProcess) and bool(process.opinions)


def check_choice(feedback: FeedbackConfig, choice: Choice, usual: Choice) -> None:
    """Raise `ValueError` where a setting has no effect beside opinions alone. `usual` is what the algorithm
    has without settings.
    """
    if not feedback.sources or not feedback.only:
        return
    select, pairs = choice
    if pairs != usual[1]:
        raise ValueError("pairs.* has no effect with feedback.only = true: set it to false")
    if select.model_copy(update={"sequences": usual[0].sequences, "merge": usual[0].merge}) != usual[0]:
        raise ValueError("select.* chooses among episodes' outcomes: it needs feedback.only = false")
