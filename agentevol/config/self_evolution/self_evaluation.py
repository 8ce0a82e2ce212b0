"""Settings of self-evaluation: the policy scores its own explored episodes by a rubric (`select.score =
"self"`).

self.judge = "base"         the model that the run begins with, which does not change with what it judges
self.judge = "latest"       the policy that explored
self.judge = "runs/first"   a checkpoint, named as `base`
"""

from typing import Literal

from pydantic import Field, model_validator

from agentevol.config.sections.section import Section

BASE, LATEST = "base", "latest"
ENDPOINT = "openai:"
"""Beginning of the name of a model behind an OpenAI-compatible endpoint."""
SAMPLES = 20
"""Samples of a score, as in arXiv:2303.16634, where an endpoint hides probabilities."""


class SelfConfig(Section):
    """Self-evaluation of explored episodes, and the rule by which its scores are not used."""

    judge: str = BASE
    """Judging weights: `base` (the run's own), `latest` (those that explored, which drift with what they
    judge, arXiv:2401.10020), a model as `base` names one, with the same tokenizer, or `openai:NAME`.
    """
    samples: int | None = Field(default=None, ge=1, le=1000)
    """With `openai:NAME`: samples of each score; None is 20. Weights have exact probabilities instead."""
    shows_end: bool = False
    """True to show the last observation too, which in many environments tells the outcome: a judge that reads
    the outcome repeats it.
    """
    min_auc: float = Field(default=0.5, ge=0, lt=1)
    """Scores are not used where the lower bound of their AUC is not above this one, with at least 10 won and
    10 lost episodes.
    """
    distrust: Literal["environment", "stop"] = "environment"
    """Consequence: selection by the environment's return, or a stop of the run."""

    @property
    def endpoint(self) -> str | None:
        """Name of a model behind an endpoint; None for weights."""
        return self.judge.removeprefix(ENDPOINT) if self.judge.startswith(ENDPOINT) else None

    @property
    def checkpoint(self) -> str | None:
        """Name of a model besides those of the run; None for these and for an endpoint."""
        return None if self.judge in (BASE, LATEST) or self.endpoint is not None else self.judge

    @model_validator(mode="after")
    def _options_have_an_effect(self) -> "SelfConfig":
        if self.judge in ("", ENDPOINT):
            raise ValueError(f"judge is base, latest, a model or {ENDPOINT}NAME, not {self.judge!r}")
        if self.samples is not None and self.endpoint is None:
            raise ValueError(
                f"samples has no effect without judge = '{ENDPOINT}NAME': weights give exact probabilities"
            )
        return self
