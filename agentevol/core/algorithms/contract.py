"""Contract of algorithms: a loss over learnt tokens, the columns that it reads, and conditions of its
options.

Two tokens of one episode and one of another, as a loss sees them (a batch holds learnt tokens only, so
prompts, observations and padding cannot reach a loss):

    logp      [-0.1, -2.0, -0.7]     (N,)
    sequence  [   0,    0,    1]     (N,) into the J = 2 sequences
    reward    [ 1.0,  0.0]           (J,)

Torch is not imported here: the configuration imports the algorithms and has to load fast.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

MOST_TIED = 16
"""Most episodes that may be tied with `average`: n of them take 2^n sums."""

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Option = bool | int | float | str
Switch = str | tuple[str, *tuple[Option, ...]]
"""Name of an option and those of its values that meet the condition; without any, every value that is on."""

Column = Literal[
    "old_logp",
    "ref_logp",
    "rollout_logp",
    "entropy",
    "value",
    "head",
]
"""Columns of a `Batch` that cost a forward pass or a head, present only where an algorithm needs them."""

ABSENT: Any = None
"""Value of a column that the algorithm did not request."""


@dataclass(frozen=True)
class Totals:
    """Denominators over a whole optimiser batch: its gradient is the sum of its micro-batches' gradients."""

    tokens: int
    """Learnt tokens."""
    weight: float
    """Sum over the learnt tokens of the weight of their sequence."""
    sequences: int
    groups: int
    units: int
    replayed: int = 0
    """Learnt tokens of replayed training sequences."""
    labels: tuple[int, ...] = ()
    """Learnt tokens with a known label, of each of the H heads; empty where nothing has labels."""
    training_sequence_weight: float = 0.0
    """Sum over the training sequences of the weight of their sequence."""
    sequence_weight: float = 0.0
    """Sum of the weights of the sequences."""


@dataclass(frozen=True)
class Batch:
    """The N learnt tokens of J sequences, laid end to end: an optimiser batch, or a micro-batch of one.

    A sequence is an episode (possibly of several training sequences, where the template rewrote
    earlier turns), or one side of a pair. Everything but `logp`, `entropy`, `value` and `head` is without
    gradient.
    """

    logp: "Tensor"
    """(N,) log-probability of each token under the weights being learnt."""
    sequence: "Tensor"
    """(N,) int64: the token's sequence, in 0 .. J - 1; every sequence has a token."""
    totals: Totals
    weight: "Tensor"
    """(J,) weight of the sequence, at least 0."""
    reward: "Tensor"
    """(J,) the return of the episode."""
    group: "Tensor"
    """(J,) int64: equal for samples of one task in one round. Not necessarily 0, 1, ..."""
    group_tokens: "Tensor"
    """(J,) learnt tokens of the sequence's group in the whole optimiser batch."""
    unit: "Tensor"
    """(J,) int64 in 0 .. units of this batch: sequences that the loss compares, a pair or a group."""
    side: "Tensor"
    """(J,) int64: 1 chosen or desirable, -1 rejected or undesirable, 0 neither."""
    margin: "Tensor"
    """(J,) margin of the chosen side over the rejected; 0 where none is given."""
    preference: "Tensor"
    """(J,) probability that the chosen side is the better one; 1 where none is given."""
    training_sequence: "Tensor" = ABSENT
    """(N,) int64: the token's training sequence, which is whole in one micro-batch."""
    advantage: "Tensor" = ABSENT
    """(N,) advantage, of algorithms with an `advantage`."""
    target: "Tensor" = ABSENT
    """(N,) the return that a value function should predict, of algorithms whose `advantage` gives it."""
    label: "Tensor" = ABSENT
    """(N, H) labels of the heads; NaN where unknown."""
    label_samples: "Tensor" = ABSENT
    """(N,) number of continuations of the episode that the token's labels were counted over."""
    old_logp: "Tensor" = ABSENT
    """(N,) log-probability under the weights at the start of the update, computed by the learner."""
    ref_logp: "Tensor" = ABSENT
    """(N,) log-probability under the reference model."""
    rollout_logp: "Tensor" = ABSENT
    """(N,) log-probability under the engine that sampled; NaN for tokens that no engine sampled."""
    entropy: "Tensor" = ABSENT
    """(N,) entropy in nats of the distribution that the token was drawn from, with gradient."""
    value: "Tensor" = ABSENT
    """(N,) value of the state before the token, with gradient."""
    old_value: "Tensor" = ABSENT
    """(N,) `value` under the weights at the start of the update; present with `value`."""
    divergence: "Tensor" = ABSENT
    """(N,) divergence of the earlier policy from the one being learnt, in nats, with gradient; 0 where a
    token is new. Present with `learn.distillation_form = "full"`.
    """
    head: "Tensor" = ABSENT
    """(N, H) output of a reward model's heads after the token, with gradient."""

    def sums(self, values_N: "Tensor") -> "Tensor":
        """(J,) sum of `values_N` over the tokens of each sequence."""
        return values_N.new_zeros(len(self.weight)).index_add(0, self.sequence, values_N)

    @cached_property
    def lengths(self) -> "Tensor":
        """(J,) learnt tokens of each sequence, in the type of `logp`."""
        return self.sums(self.logp.detach().new_ones(len(self.sequence)))


@dataclass(frozen=True)
class Loss:
    """A micro-batch's part of its optimiser batch's loss."""

    value: "Tensor"
    """Scalar. Values add up over micro-batches."""
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """Sums over micro-batches too (divide by `totals`), except for names that end in `_max`."""


@dataclass(frozen=True)
class Steps:
    """The S turns of all sequences, in order; one sampled action each."""

    sequence: Integers
    """(S,) sequence of the turn, in 0 .. J - 1."""
    turn: Integers
    """(S,) number of the turn in its episode, from 0."""
    reward: Floats
    """(S,) reward of the turn's action."""
    anchor: Sequence[str]
    """(S,) the state in which the agent acted, as text without counters of steps or time."""
    mode: Integers
    """(S,) thinking mode 1, 2, ...; -1 for a format error, 0 where the environment has no modes."""
    tokens: Integers
    """(S,) number of tokens sampled in the turn."""
    invalid: NDArray[np.bool_]
    """(S,) True where the environment could not execute the action."""
    answer_tokens: Integers | None = None
    """(S,) number of `tokens` of the answer, without thoughts; None where not counted: all."""


@dataclass(frozen=True)
class Rollouts:
    """The explored episodes of one update, before the division into optimiser batches. N, J as in `Batch`."""

    sequence: Integers
    """(N,) sequence of the token, in 0 .. J - 1."""
    step: Integers
    """(N,) the token's turn, into `steps`."""
    reward: Floats
    """(N,) a turn's reward, at its last token; 0 elsewhere."""
    group: Sequence[str]
    """(J,) name of the group."""
    truncated: NDArray[np.bool_]
    """(J,) True where an outside limit ended the episode, not the environment."""
    costs: Mapping[str, Floats]
    """(J,) by name: total cost of the episode, at least 0."""
    steps: Steps
    old_logp: Floats = ABSENT
    """(N,) as in `Batch`."""
    ref_logp: Floats = ABSENT
    """(N,) as in `Batch`, where needed."""
    rollout_logp: Floats = ABSENT
    """(N,) under the engine that sampled, NaN for tokens that no engine sampled; where needed."""
    value: Floats = ABSENT
    """(N,) value of the state before the token, where needed."""
    environment: Sequence[str] = ()
    """(J,) name of the environment, "" where unknown; empty where unknown for all."""
    repeated: Floats = ABSENT
    """(J,) share of repeated 4-grams in the agent's text (`learn.rewards.repetition`)."""
    baseline: Floats = ABSENT
    """(J,) mean of earlier returns in the world and seat of the episode; NaN without any, or not needed."""
    multipliers: Mapping[str, float] = field(default_factory=dict[str, float])
    """Price of one unit of each cost, at least 0, as updated by `agentevol.learn.constraints`."""
    final_value: Floats = ABSENT
    """(J,) value of the state after the last token of a truncated episode; present with `value`."""

    @property
    def returns(self) -> Floats:
        """(J,) sum of each sequence's rewards."""
        sums = np.bincount(self.sequence, weights=self.reward, minlength=len(self.group))
        return sums.astype(np.float64)


@dataclass(frozen=True)
class Advantages:
    """Result of an advantage function."""

    advantage: Floats
    """(N,) advantage of the token."""
    target: Floats | None = None
    """(N,) regression target of the value function."""
    kept: NDArray[np.bool_] | None = None
    """(J,) True for sequences that the loss should see; None: all. The others have advantage 0."""
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Algorithm:
    """Registry entry: pure functions and their requirements. Their keyword arguments are the algorithm's
    options.

    An option that several functions take is passed to each of them.
    """

    loss: Callable[..., Loss]
    """(batch, *, options)."""
    data: Literal["episodes", "pairs", "labels", "groups", "steps"]
    """Form of the training data: selected and weighted episodes to imitate; pairs of a better and a worse
    one; episodes with a label; groups with rewards; turns with labels of their own.
    """
    together: Literal["sequence", "unit", "batch"] = "sequence"
    """Unit that the loss has to see at once; a micro-batch never separates one."""
    soft_pairs: bool | Switch = False
    """True if the loss of pairs reads `Batch.preference`, or the option with which it does."""
    whole_batch_with: Switch | None = None
    """Option with which the loss has to see a whole batch at once, whatever `together` says."""
    model: Literal["policy", "critic", "reward"] = "policy"
    """Trained model: a language model, one with a value head, or heads only (`head`, without `logp`)."""
    needs: Mapping[Column, str | None] = field(default_factory=dict["Column", "str | None"])
    """Columns that the functions read: always (None), or where the option of this name is on."""
    stops_gradient: bool = False
    """True if the gradient deliberately differs from that of the value: finite differences do not apply."""
    advantage: Callable[..., Advantages] | None = None
    """(rollouts, *, options)."""
    weigh: Callable[..., Floats] | None = None
    """(returns, groups, *, options) returns the weight of each episode; None weighs every one 1."""
    only_with: Mapping[str, Switch | Sequence[Switch]] = field(
        default_factory=dict["str", "Switch | Sequence[Switch]"]
    )
    """Options that have no effect unless another is on, or has one of certain values; of a list of
    conditions, one suffices.
    """
    turn_discount: float | str | None = None
    """Discount of rewards from turn to turn, a number or the name of its option, of an algorithm that learns
    from the rewards that follow a turn (`shaping.potential`). None: it compares whole returns, or the turns
    of equal states, where a potential cancels out.
    """


@dataclass(frozen=True)
class Objective:
    """Algorithm with bound options."""

    name: str
    algorithm: Algorithm
    options: Mapping[str, Option]
    """All options, defaults included."""
    loss: Callable[[Batch], Loss]
    advantage: Callable[[Rollouts], Advantages] | None
    weigh: Callable[[Sequence[float], Sequence[str]], Floats] | None
    needs: frozenset[Column]


def conditions(switch: "Switch | Sequence[Switch] | None") -> list["Switch"]:
    """Conditions of an option, of which one suffices; none for an option that always has an effect."""
    if switch is None:
        return []
    return switch if isinstance(switch, list) else [cast("Switch", switch)]


def is_on(value: Option) -> bool:
    """True for an option value that switches something on: not 0, not False, not `none`."""
    return bool(value) and value != "none"
