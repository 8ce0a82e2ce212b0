"""Episode records: `Sample` < `Turn` < `Trajectory`, and the single `Ending` of every episode.

A trajectory is token-exact: `Sample` holds the ids that the engine read and sampled. Text is for people.
"""

from collections.abc import Iterable
from math import nan
from typing import Annotated, Literal, cast

from pydantic import Field, model_validator

from agentgym_envs.core import Costs, Record
from agentgym_store.purposes import Purpose


class Sample(Record):
    """Output of a model in one turn, exactly as the engine produced it."""

    text: str
    """Decoded `token_ids` without the end token; the action is parsed from it. Never encoded again."""
    prompt_ids: tuple[int, ...]
    """All token ids of the prompt, which precede the first sampled one."""
    token_ids: tuple[int, ...]
    """Sampled ids, the end-of-turn token included when it was sampled."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each sampled id under the distribution that it was drawn from."""
    policy_version: int
    finish_reason: Literal["stop", "length", "abort"] = "stop"
    loss_mask: tuple[Literal[0, 1], ...] | None = None
    """Per sampled id, 1 if it may be trained on and 0 if it was forced, not drawn; None is all 1."""

    @model_validator(mode="after")
    def _one_entry_per_token(self) -> "Sample":
        if len(self.token_ids) != len(self.logprobs):
            raise ValueError(f"{len(self.token_ids)} token ids but {len(self.logprobs)} logprobs")
        if self.loss_mask is not None and len(self.token_ids) != len(self.loss_mask):
            raise ValueError(f"{len(self.token_ids)} token ids but a loss_mask of {len(self.loss_mask)}")
        return self


SUCCESS = 0.999
"""Return from which an episode has succeeded: the maximum of 1, within rounding."""
STATE = "state"
TOOLS = "tools"
MESSAGE = "agent_message"
LEARNT = "learnt"


Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Turn(Record):
    """One action and its consequences."""

    action: str
    """Action that was sent to the environment."""
    observation: str
    """Observation after the action, as the agent reads it: followed by the tools, where they changed (see
    `agentgym_envs.tools`).
    """
    reward: float
    """Reward of this action."""
    sample: Sample | None = None
    """Output of the model; None for scripted agents."""
    info: dict[str, object] = Field(default_factory=dict[str, object])
    """Further members of the environment's reply; under `STATE` the text of the state in which the turn was
    taken, if it was recorded, and under `TOOLS` the tools after the action, if they changed. A turn without a
    sample may have under `MESSAGE` the agent's whole message, where it is more than the action, and under
    `LEARNT` False if it is not to be learnt.
    """
    costs: Costs = Field(default_factory=Costs)
    """Costs of this action by name, as the environment reported them; None is a cost that was not judged."""
    policy_s: Seconds | None = None
    """Seconds until the policy's message was there, waits for the engine included; None if not recorded."""
    environment_s: Seconds | None = None
    """Seconds of the step as its client saw them, with the network and, where others act first, their turns;
    None if not recorded.
    """


def message_of(turn: Turn) -> str:
    """The agent's message: its text as sampled or recorded, else its action."""
    if turn.sample is not None:
        return turn.sample.text
    told = turn.info.get(MESSAGE)
    return told if isinstance(told, str) else turn.action


def may_be_learnt(turn: Turn) -> bool:
    """True if any token of the agent's message may be trained on."""
    if turn.sample is None:
        return turn.info.get(LEARNT) is not False
    return turn.sample.loss_mask is None or 1 in turn.sample.loss_mask


def total_costs(turns: Iterable[Turn]) -> dict[str, float]:
    """Sums of the turns' costs by name; NaN where a cost was not judged once.

    Episodes recorded before turns had `costs` hold them in `info["costs"]`.
    """
    found: dict[str, float] = {}
    for turn in turns:
        for name, cost in (turn.costs or _costs_in_info(turn)).items():
            found[name] = found.get(name, 0.0) + (nan if cost is None else float(cost))
    return found


def _costs_in_info(turn: Turn) -> Costs:
    told = turn.info.get("costs")
    members = cast("dict[str, object]", told).items() if isinstance(told, dict) else ()
    return {name: cost for name, cost in members if cost is None or isinstance(cost, int | float)}


class Terminated(Record):
    """The environment reached its end."""

    kind: Literal["terminated"] = "terminated"


class Truncated(Record):
    """An outside limit cut the episode; its rewards so far count."""

    kind: Literal["truncated"] = "truncated"
    limit: str
    """`max_turns`, `context` (the model's window is full) or the environment's own `truncation_reason`."""


class Cancelled(Record):
    """The episode was stopped on purpose; it has no return."""

    kind: Literal["cancelled"] = "cancelled"


class Failed(Record):
    """Infrastructure failed. Never a reward, never trained on."""

    kind: Literal["failed"] = "failed"
    failure: str
    """Kind of failure: `worker-lost`, `step-timeout`, `transport`, `policy`, `internal`, ..."""
    detail: str = ""


Ending = Annotated[Terminated | Truncated | Cancelled | Failed, Field(discriminator="kind")]


class Trajectory(Record):
    """One episode, or one seat of an episode with several, with any ending."""

    id: str
    """Unique; a function of run, iteration, task and attempt, so that a replayed episode keeps its id."""
    run: str
    iteration: int
    """0 for demonstrations and evaluation of the start, then 1, 2, ..."""
    purpose: Purpose
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
    """Index of the sample of this task in this iteration, from 0. Equal iteration and task form a group."""
    policy: str
    """Name of the policy: a checkpoint's name, `expert`, `random`, ..."""
    initial_observation: str
    """First observation, as the agent reads it: followed by the tools, if there are any."""
    turns: tuple[Turn, ...]
    ending: Ending
    started_at: str
    """RFC 3339, UTC."""
    wall_s: float
    parent: str | None = None
    """Id of the episode that this one continues or answers; None without one."""
    given_turns: Annotated[int, Field(ge=0)] = 0
    """Number of first turns that were replayed, not chosen by the policy: context, never learnt from."""
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Sampling temperature of this episode; None is the run's own."""
    episode_id: str | None = None
    """Id shared by the trajectories of all seats of an episode; None in an episode of one seat."""
    seat: Annotated[int, Field(ge=0)] = 0
    """Seat of the agent in the episode: its index in the environment's `seats`, from 0."""

    @model_validator(mode="after")
    def _given_turns_are_turns(self) -> "Trajectory":
        if self.given_turns > len(self.turns):
            raise ValueError(f"{self.given_turns} given turns but {len(self.turns)} turns")
        return self

    @property
    def episode(self) -> str:
        """Id of the episode, which the trajectories of all its seats share."""
        return self.episode_id or self.id

    @property
    def total_reward(self) -> float | None:
        """The return of the episode: sum of its rewards; None unless it terminated or was truncated."""
        if self.ending.kind in ("failed", "cancelled"):
            return None
        return sum(turn.reward for turn in self.turns)

    def succeeded(self, threshold: float = SUCCESS) -> bool:
        """True if the return reaches the maximum of 1 (within rounding)."""
        return (self.total_reward or 0.0) >= threshold
