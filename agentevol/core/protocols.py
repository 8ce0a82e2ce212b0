"""Protocols of the trainer (`Policy`, `RolloutEngine`, `Learner`), and the records that they exchange."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.core import Observation
from agentgym_envs.tools import with_tools
from agentgym_store.records import Sample

NEW_TOKENS = 16
"""Maximum tokens of an action, where the environment gives no other number."""


@dataclass(frozen=True)
class Checkpoint:
    """A Hugging Face model folder (safetensors, tokenizer, chat template) and its place in the run."""

    path: Path
    version: int
    """0 for the start, increased by one with every update."""


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters. Training needs `top_p` = 1, so that log-probabilities are those of the model."""

    temperature: float = 1.0
    """0 is greedy."""
    top_p: float = 1.0
    max_new_tokens: int = 32


@dataclass
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass
class Conversation:
    """One episode as its policy sees it. `messages` ends with a user message whenever the policy is to act.

    `samples[k]` is the exact record behind the k-th assistant message.
    """

    id: str
    messages: list[Message]
    samples: list[Sample] = field(default_factory=list)
    observation: Observation | None = None
    """The latest observation in full: scripted policies read its admissible actions."""
    task_id: str = ""
    """For scripted policies (the expert looks its actions up); language models never see it."""
    beginning: str = ""
    """Text that every message of the policy begins with: forced, not sampled."""

    def say(self, sample: Sample) -> None:
        """Append the policy's sample."""
        self.messages.append(Message("assistant", sample.text))
        self.samples.append(sample)

    def hear(self, observation: Observation) -> None:
        """Append the environment's observation, with its tools where they differ from those before."""
        before = None if self.observation is None else self.observation.tools
        self.messages.append(Message("user", with_tools(observation, before)))
        self.observation = observation


class ContextFull(Exception):
    """The conversation no longer fits the model's window: the episode is truncated with limit `context`."""


class GivenUp(Exception):
    """The player has stopped on purpose: the episode is cancelled."""


class Policy(Protocol):
    """One frozen set of weights (or a script) that acts. Many conversations may be acted upon
    concurrently.
    """

    name: str
    version: int

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next action; equal conversation and seed give equal samples. Raises `ContextFull`,
        `GivenUp`, `PolicyFault`.

        The text begins with `conversation.beginning`; its tokens have a `loss_mask` of 0.
        """
        ...

    def release(self, conversation_id: str) -> None:
        """Discard the cache of a conversation; called once when its episode is over, in any case."""
        ...


class RolloutEngine(Protocol):
    """Holder of weights that serves policies."""

    lost: bool
    """True if it has failed, or a process that it needs has died: it serves no more requests, and another one
    can be started.
    """

    def serve(self, sampling: Sampling) -> Policy:
        """Return a policy over the current weights."""
        ...

    def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights; policies served later carry the checkpoint's version."""
        ...

    def close(self) -> None:
        """Stop threads and free memory."""
        ...


SequenceKind = Literal["fork", "append_only", "per_step"]
"""Conversion of an episode's turns into training sequences: see `select.sequences` of the configuration."""

Overflow = Literal["truncate", "drop_oldest"]
"""Handling of a conversation that no longer fits: see `engine.overflow` of the configuration."""

Transfer = Literal["disk", "nccl", "ipc", "gloo"]
"""Weight synchronisation of a vLLM engine: see `engine.transfer` of the configuration."""

InFlightRule = Literal["continue", "finish", "abort"]
"""Handling of episodes under way during a weight update: see `rollout.in_flight` of the configuration."""


@dataclass(frozen=True)
class EpisodeFacts:
    """Facts of an episode for algorithms, besides its tokens; tuples have an entry for each turn."""

    group: str
    """Equal for the samples of one task in one round of exploration: the unit of every group baseline."""
    rewards: tuple[float, ...]
    anchors: tuple[str, ...]
    """The state in which the agent acted, without counters of steps or time."""
    modes: tuple[int, ...]
    """Thinking mode 1, 2, ...; -1 for a format error, 0 where the environment has no modes."""
    invalid: tuple[bool, ...]
    """True where the environment could not carry the action out."""
    truncated: bool
    """True if an outside limit ended the episode."""
    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    environment: str = ""
    """Name of the environment; "" if unknown."""
    repeated: float = 0.0
    """Share of the 4-grams of words in all the agent's texts that occurred there before."""
    answer_tokens: tuple[int, ...] = ()
    """Tokens of the answer within each reply; 0 where all of it is the answer. Empty: not counted."""
    baseline: float | None = None
    """Mean of earlier returns in this world and seat; NaN without any, None where it is not needed."""


@dataclass(frozen=True)
class TrainingSequence:
    """Token-exact training sequence: T tokens, of which the masked ones are trained on."""

    token_ids: NDArray[np.int32]
    """Shape (T,)."""
    mask: NDArray[np.bool_]
    """Shape (T,): True where the policy sampled (or the demonstrator wrote) the token; never at position
    0.
    """
    rollout_logp: NDArray[np.float32]
    """Shape (T,): the engine's log-probability where `mask`, NaN where unknown (demonstrations) or not
    sampled.
    """
    weight: float
    """Weight of every masked token of this sequence in the loss, at least 0."""
    trajectory_id: str
    policy_version: int | None = None
    """Version of the weights that sampled the whole sequence; None for demonstrations and sequences of
    several versions.
    """
    turn: NDArray[np.int32] | None = None
    """Shape (T,): the turn in which the token was sampled, -1 where it was read; None where not needed."""
    episode: EpisodeFacts | None = None
    """For algorithms that read rewards; None for sequences that are imitated."""
    unit: str = ""
    """Comparison unit: sequences of equal unit are compared, as the two sides of a pair; "" is a unit of this
    sequence alone.
    """
    side: int = 0
    """1 chosen or desirable, -1 rejected or undesirable, 0 neither."""
    margin: float = 0.0
    """Margin by which the chosen side of this pair is better."""
    preference: float = 1.0
    """Probability that the chosen side of this pair is the better one, for losses with `soft_pairs`."""
    labels: NDArray[np.float32] | None = None
    """Shape (T, H): target of each head of a reward model after each token; NaN where unknown."""
    replayed: bool = False
    """True for replayed training data of earlier iterations or runs."""
    label_samples: NDArray[np.float32] | None = None
    """Shape (T,): number of continuations from which the labels of a token were estimated; arbitrary where
    unknown.
    """
    environment: str = ""
    """Environment of the episode; empty for texts."""
    temperature: float | None = None
    """Temperature at which its episode was sampled; None is that of the run (`learn.rollout_temperature`)."""
    drift_events: int = 0
    """Turns of the whole episode whose prompt did not extend the previous prompt and sample."""


@dataclass(frozen=True)
class Anchor:
    """Anchor of regularisation against forgetting: an earlier policy, and training sequences of its
    abilities.
    """

    checkpoint: Checkpoint
    sequences: Sequence[TrainingSequence] = ()
    """Training sequences for the Fisher information of its weights."""
    file: Path | None = None
    """File in which the estimate is kept for the next update; None does not keep it."""


@dataclass(frozen=True)
class LearnerJob:
    """Training of one checkpoint: its data, where it begins, and where the result is written."""

    start: Checkpoint
    sequences: Sequence[TrainingSequence]
    out: Path
    """Folder of the new checkpoint, which must not exist."""
    seed: int
    version: int | None = None
    """Version of the new checkpoint; None is the start's and one more."""
    table_version: int | None = None
    """Version of the table that `sequences` were read from, stored beside the weights."""
    reference: Checkpoint | None = None
    """Reference model; None is the start."""
    sampler: Checkpoint | None = None
    """Weights that sampled the newest training sequences, under which engine and learner are compared; None
    are the start's.
    """
    anchor: Anchor | None = None
    """Anchor of `learn.ewc`, `learn.distillation` and `learn.interpolation`; None is the start."""
    multipliers: Mapping[str, float] = field(default_factory=dict[str, float])
    """Prices of costs for constrained algorithms; costs without one are free."""
    objectives: Sequence[str] = ()
    """Names of a reward model's heads, stored beside the weights."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that the training writes."""
        return Checkpoint(self.out, self.start.version + 1 if self.version is None else self.version)


@dataclass(frozen=True)
class LearnReport:
    """Result of a training: the checkpoint and its metrics."""

    checkpoint: Checkpoint
    metrics: dict[str, float]


class Learner(Protocol):
    """Trainer of weights on data."""

    def learn(self, job: LearnerJob) -> LearnReport:
        """Train from `job.start` on `job.sequences`; write `job.checkpoint` as a new folder, atomically."""
        ...
