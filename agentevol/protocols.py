"""The seams of the trainer: what acts (`Policy`, `RolloutEngine`) and what learns (`Learner`), and what they
exchange.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.core import Observation
from agentgym_store.records import Sample


@dataclass(frozen=True)
class Checkpoint:
    """A Hugging Face model folder (safetensors, tokenizer, chat template) and its place in the run."""

    path: Path
    version: int
    """0 for the start, then one more with every update."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. Training needs `top_p` = 1, so that log-probabilities are those of the model."""

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

    def say(self, sample: Sample) -> None:
        """Append what the policy said."""
        self.messages.append(Message("assistant", sample.text))
        self.samples.append(sample)

    def hear(self, observation: Observation) -> None:
        """Append what the environment answered."""
        self.messages.append(Message("user", observation.text))
        self.observation = observation


class ContextFull(Exception):
    """The conversation no longer fits the model's window: the episode is truncated with limit `context`."""


class Policy(Protocol):
    """One frozen set of weights (or a script) that acts. Many conversations may be acted upon
    concurrently.
    """

    name: str
    version: int

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """What to say next; equal conversation and seed give equal samples. Raises `ContextFull`,
        `PolicyFault`.
        """
        ...

    def release(self, conversation_id: str) -> None:
        """Forget what is cached for a conversation; called once when its episode is over, whatever became of
        it.
        """
        ...


class RolloutEngine(Protocol):
    """Holds weights and serves policies."""

    lost: bool
    """Whether it has failed, or a process that it needs has died: it serves nothing any more, another one can
    be started.
    """

    def serve(self, sampling: Sampling) -> Policy:
        """A policy over the current weights."""
        ...

    def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights; policies served later carry the checkpoint's version."""
        ...

    def close(self) -> None:
        """Stop threads and free memory."""
        ...


RowKind = Literal["fork", "append_only", "per_step"]
"""What becomes of an episode's turns: see `select.rows` of the configuration."""

Overflow = Literal["truncate", "drop_oldest"]
"""What becomes of a conversation that no longer fits: see `engine.overflow` of the configuration."""

Transfer = Literal["disk", "nccl", "ipc", "gloo"]
"""How a vLLM engine is given new weights: see `engine.transfer` of the configuration."""

InFlightRule = Literal["continue", "finish", "abort"]
"""What new weights mean to episodes under way: see `rollout.in_flight` of the configuration."""


@dataclass(frozen=True)
class EpisodeFacts:
    """What algorithms read of an episode besides its tokens; tuples have an entry for each turn."""

    group: str
    """Equal for the samples of one task in one round of exploration: the unit of every group baseline."""
    rewards: tuple[float, ...]
    anchors: tuple[str, ...]
    """The state in which the agent acted, without counters of steps or time."""
    modes: tuple[int, ...]
    """Thinking mode 1, 2, ...; -1 for a format error, 0 where the world has no modes."""
    invalid: tuple[bool, ...]
    """The world could not carry the action out."""
    truncated: bool
    """An outside limit ended the episode."""
    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    environment: str = ""
    """The world's name; "" where nobody said."""
    repeated: float = 0.0
    """Share of the 4-grams of words in all that the agent said that it had said before."""
    answer_tokens: tuple[int, ...] = ()
    """Tokens of the answer within each reply; 0 where all of it is the answer. Empty: nobody counted."""


@dataclass(frozen=True)
class TrainingSequence:
    """One row of token-exact training data: T tokens, of which the masked ones are learnt."""

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
    """Weight of every masked token of this row in the loss, at least 0."""
    trajectory_id: str
    policy_version: int | None = None
    """Version of the weights that sampled all of the row; None for demonstrations and rows of several
    versions.
    """
    turn: NDArray[np.int32] | None = None
    """Shape (T,): the turn in which the token was sampled, -1 where it was read; None where nobody asks."""
    episode: EpisodeFacts | None = None
    """For algorithms that read rewards; None for rows that are imitated."""
    unit: str = ""
    """Rows of equal unit are compared with each other, as the two sides of a pair; "" is the row's own."""
    side: int = 0
    """1 chosen or desirable, -1 rejected or undesirable, 0 neither."""
    margin: float = 0.0
    """How much better the chosen side of this pair is."""
    labels: NDArray[np.float32] | None = None
    """Shape (T, H): what a reward model's heads should say after each token; NaN where unknown."""
    replayed: bool = False
    """Of what was learnt before, beside what is new."""
    label_samples: NDArray[np.float32] | None = None
    """Shape (T,): how many continuations the labels of a token were counted over; anything where unknown."""
    environment: str = ""
    """Of the episode; empty for texts."""
    drift_events: int = 0
    """Turns of the whole episode whose prompt did not extend what had been read and said before."""


@dataclass(frozen=True)
class Anchor:
    """What learning must not forget: an earlier policy, and rows of what it can do."""

    checkpoint: Checkpoint
    rows: Sequence[TrainingSequence] = ()
    """What the Fisher information of its weights is estimated on."""
    file: Path | None = None
    """Where the estimate is kept for the next update; None keeps it nowhere."""


@dataclass(frozen=True)
class LearnReport:
    """What a learner did: the checkpoint and its figures."""

    checkpoint: Checkpoint
    metrics: dict[str, float]


class Learner(Protocol):
    """Turns data into better weights."""

    def learn(self, start: Checkpoint, data: Sequence[TrainingSequence], out: Path, seed: int) -> LearnReport:
        """Train from `start` on `data`; write version `start.version + 1`... as a new folder `out`,
        atomically.
        """
        ...
