"""What happened: `Sample` < `Turn` < `Trajectory`, and the one `Ending` that every episode has.

A trajectory is token-exact: `Sample` holds the ids that the engine read and sampled. Text is for people.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentgym_envs.core import Record


class Sample(Record):
    """What a model said in one turn, exactly as the engine produced it."""

    text: str
    """The decoded `token_ids` without the end token; the action is parsed from it. Never encoded again."""
    prompt_ids: tuple[int, ...]
    """Every token id that the engine read before the first sampled one."""
    token_ids: tuple[int, ...]
    """Sampled ids, the end-of-turn token included when it was sampled."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each sampled id under the distribution that it was drawn from."""
    policy_version: int
    finish_reason: Literal["stop", "length", "abort"] = "stop"
    loss_mask: tuple[Literal[0, 1], ...] | None = None
    """Of each sampled id, 1 where it may be learnt and 0 where it was forced, not drawn; None is all 1."""

    @model_validator(mode="after")
    def _one_entry_per_token(self) -> "Sample":
        if len(self.token_ids) != len(self.logprobs):
            raise ValueError(f"{len(self.token_ids)} token ids but {len(self.logprobs)} logprobs")
        if self.loss_mask is not None and len(self.token_ids) != len(self.loss_mask):
            raise ValueError(f"{len(self.token_ids)} token ids but a loss_mask of {len(self.loss_mask)}")
        return self


STATE = "state"


class Turn(Record):
    """One action and what it led to."""

    action: str
    """What was sent to the environment."""
    observation: str
    """What the environment answered."""
    reward: float
    """Reward of this action."""
    sample: Sample | None = None
    """What the model said; None for scripted agents."""
    info: dict[str, object] = Field(default_factory=dict[str, object])
    """What the environment told besides; under `STATE` the text of the state in which the turn was taken,
    where it was noted.
    """


class Terminated(Record):
    """The world reached its end."""

    kind: Literal["terminated"] = "terminated"


class Truncated(Record):
    """An outside limit cut the episode; its rewards so far count."""

    kind: Literal["truncated"] = "truncated"
    limit: str
    """`max_turns`, `context` (the model's window is full) or the environment's own `truncation_reason`."""


class Cancelled(Record):
    """Somebody stopped the episode on purpose; it has no return."""

    kind: Literal["cancelled"] = "cancelled"


class Failed(Record):
    """Infrastructure broke. Never a reward, never trained on."""

    kind: Literal["failed"] = "failed"
    failure: str
    """What broke: `worker-lost`, `step-timeout`, `transport`, `policy`, `internal`, ..."""
    detail: str = ""


Ending = Annotated[Terminated | Truncated | Cancelled | Failed, Field(discriminator="kind")]


class Trajectory(Record):
    """One episode, whatever became of it."""

    id: str
    """Unique; a function of run, iteration, task and attempt, so that a replayed episode keeps its id."""
    run: str
    iteration: int
    """0 for demonstrations and evaluation of the start, then 1, 2, ..."""
    purpose: Literal["explore", "evaluate", "demonstrate", "value", "retain", "protect"]
    env: str
    env_version: str
    data_version: str
    task_id: str
    split: str
    kind: str = ""
    difficulty: str = ""
    instruction: str
    seed: int
    attempt: int
    """Which of the samples of this task in this iteration, from 0. Equal iteration and task form a group."""
    policy: str
    """Name of what acted: a checkpoint's name, `expert`, `random`, ..."""
    initial_observation: str
    turns: tuple[Turn, ...]
    ending: Ending
    started_at: str
    """RFC 3339, UTC."""
    wall_s: float

    @property
    def total_reward(self) -> float | None:
        """The return of the episode: sum of its rewards; None unless it terminated or was truncated."""
        if self.ending.kind in ("failed", "cancelled"):
            return None
        return sum(turn.reward for turn in self.turns)

    def succeeded(self, threshold: float = 0.999) -> bool:
        """Whether the return reaches the maximum of 1 (within rounding)."""
        return (self.total_reward or 0.0) >= threshold
