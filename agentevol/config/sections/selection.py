"""Configuration of what is learnt from episodes: their selection, and preference pairs among them."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from agentevol.config.sections.section import Section
from agentevol.core.extensions import Extensions
from agentevol.core.protocols import SequenceKind

RETURN = "return"
"""Name of the environment's return among the scores of `select.score`."""
Score = Literal["return", "reward", "judge", "self", "feedback"]
"""Scores by name; `agentevol.loop.scores.sources` has the source of each."""
SELECTIONS = Extensions(
    "selection",
    "agentevol.selections",
    {
        "succeeded": "agentevol.data.selection.rules:succeeded",
        "threshold": "agentevol.data.selection.rules:threshold",
        "top_k_ratio": "agentevol.data.selection.rules:top_k_ratio",
        "best_of": "agentevol.data.selection.rules:best_of",
        "rejection": "agentevol.data.selection.rules:rejection",
        "all": "agentevol.data.selection.rules:everything",
    },
)
"""Selection rules by name. They are imported only where episodes are selected."""


class SelectConfig(Section):
    """Selection of explored episodes for training."""

    rule: str = "succeeded"
    """`succeeded`, `threshold`, `top_k_ratio`, `best_of`, `rejection`, `all`; a rule of another distribution,
    or `module:attribute` (`agentevol.data.selection.rules.Rule`).
    """
    score: Score = RETURN
    """Score of an explored episode, which stands for its return in selection and in what is learnt: `return`,
    `reward` (of `reward.function`, `reward.model` or `reward.consistency`), `judge` (`reward.judge`),
    `self` (the policy's own opinion, `self.*`) or `feedback` (opinions of `feedback.sources`). Episodes of
    `retained.data` have their return.
    """
    threshold: float = 0.999
    """For `threshold`: the minimum return."""
    thresholds: dict[str, float] = Field(default_factory=dict[str, float])
    """Thresholds of environments by name, in place of `threshold` and of the algorithm's
    `learn.options.threshold`: returns of different environments are of different scales. One below success
    keeps failures.
    """
    ratio: float = Field(default=0.25, gt=0, le=1)
    """For `top_k_ratio`: the share with the highest returns."""
    k: int = Field(default=1, ge=1)
    """For `best_of`: number of episodes of each task."""
    scale: float = Field(default=1.0, gt=0)
    """For `rejection`: an episode is accepted with probability return / scale."""
    per_task: int | None = Field(default=4, ge=1)
    """Maximum episodes of one task: among equal returns shorter ones first, then those with fewer actions
    that the environment could not carry out.
    """
    distinct: bool = True
    """Drop episodes that repeat the actions of an already selected one of the same task."""
    min_turns: int | None = Field(default=None, ge=1)
    """Minimum turns of a selected episode."""
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    turns: Literal["all", "valid", "fresh"] = "fresh"
    """Turns of a selected episode that are trained on: all, those that the environment could carry out, or
    only those of the latter that did not repeat an earlier turn (same action, same answer). The others stay
    in the context.
    """
    sequences: SequenceKind = "fork"
    """Conversion of turns into training sequences. `fork`: a turn whose prompt extends all previous prompts
    and samples continues the sequence, any other begins a new one. `append_only`: such another one is an
    error. `per_step`: a sequence for every turn. An episode counts once, whatever its number of sequences,
    and turns that did not extend the previous ones are counted as `drift_events`.
    """
    merge: Literal["expert", "cumulative", "replay", "none"] = "cumulative"
    """Data trained on together with this iteration's episodes: demonstrations, all earlier selections too, a
    share of these and of retained episodes (`replay.*`), nothing.
    """
    max_lag: int | None = Field(default=None, ge=0)
    """Maximum number of updates between the weights that sampled an episode and those that explored last in
    its run: staler episodes are left out. Episodes that no policy sampled (demonstrations, imported texts)
    have no age, and neither have retained episodes of another run.

    None keeps all: imitation, as AgentEvol, trains on all its rounds on purpose. Where `agentevol train`
    trains on a table with an algorithm that reads rewards (the policy gradients), it is 4 unless given; in a
    run these train on samples of the latest weights, with no stale ones to leave out.
    """

    @field_validator("rule")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return SELECTIONS.checked(value)

    @model_validator(mode="after")
    def _some_length_is_selected(self) -> "SelectConfig":
        if self.min_turns is not None and self.max_turns is not None and self.min_turns > self.max_turns:
            raise ValueError(
                f"min_turns {self.min_turns} is above max_turns {self.max_turns}: nothing is both"
            )
        return self


class PairsConfig(Section):
    """Preference pairs among the episodes of a task, for algorithms that learn from preferences."""

    strategy: Literal["best_worst", "adjacent", "all_capped", "same_prefix"] = "best_worst"
    """One pair of a task; every episode with the next worse; any, at most `per_task`; of these only those
    with a common prefix, after which training begins.
    """
    per_task: int = Field(default=8, ge=1)
    """For `all_capped`, `same_prefix` and `demonstrations`."""
    demonstrations: Literal["lost", "any"] | None = None
    """In a run, pairs in which the expert's episode of `demonstrations.tasks` is chosen: above own episodes
    of its task that are lost, beside the pairs of own ones (ETO, arXiv:2403.02502), or above any own one, in
    place of them, with the latest policy as the reference model (SPIN, arXiv:2401.01335).
    """
    memory: int = Field(default=0, ge=0)
    """In a run, the number of earlier iterations whose lost episodes may be rejected sides, too, where their
    task is explored again.
    """
    outcome_gap: float = Field(default=0.1, ge=0)
    """Returns that differ by less are equal."""
    tie_breaks: bool = False
    """True if, among episodes with equal success and return, the one with fewer invalid actions, turns or
    tokens is better. Among lost ones this rewards losing quickly.
    """
    truncated_is_loss: bool = False
    """True if an episode that a limit ended may be rejected, or labelled undesirable, for that reason."""
