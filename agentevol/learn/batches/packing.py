"""Training sequences from episodes, and packed batches of them without padding.

A trajectory of two turns whose second prompt extends the first becomes one training sequence; `mask` marks
the sampled tokens:

    prompt 1      said 1   answer        said 2
    [5, 6, 7,     8, 9,    3, 4,         8, 2]
    [F, F, F,     T, T,    F, F,         T, T]

Torch is not imported here: a run's driver builds training sequences, and has no tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agentevol.core.action_formats.registry import opening_messages
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Message, SequenceKind, TrainingSequence
from agentgym_envs.formats import PLAIN, ActionFormat
from agentgym_store.records import MESSAGE, Sample, Trajectory, Turn, may_be_learnt

if TYPE_CHECKING:
    import torch

UNKNOWN = float("nan")
"""Log-probability of a token that no engine sampled. Never 0, which would be probability one."""


NO_TURN = -1
"""Turn number of a token that was read, not sampled."""


class Renderer(Protocol):
    """Subset of a chat renderer that demonstrations need; every method returns token ids."""

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids that an engine reads before its first turn."""
        ...

    def extend(self, previous_ids: Sequence[int], observation: str) -> list[int]:
        """Return the ids between `previous_ids`, which end with an action, and the next action."""
        ...

    def action_ids(self, text: str) -> list[int]:
        """Return the ids of an action as a policy would sample it, with the end token."""
        ...


@dataclass(frozen=True)
class PackedBatch:
    """R training sequences laid end to end, T tokens in all, without padding or attention across
    sequences.
    """

    token_ids: "torch.Tensor"
    """(T,) int64."""
    position_ids: "torch.Tensor"
    """(T,) int64, from 0 in every sequence."""
    cu_seqlens: "torch.Tensor"
    """(R + 1,) int32: sequence r is [cu_seqlens[r], cu_seqlens[r + 1])."""
    mask: "torch.Tensor"
    """(T,) bool: the tokens that are learnt; never the first of a sequence."""
    sequences: tuple[int, ...]
    """Index of each sequence in the list that it was packed from."""
    lengths: tuple[int, ...]
    """Tokens of each sequence: the differences of `cu_seqlens`, available without a device transfer."""
    replayed: "torch.Tensor"
    """(N,) bool: True for learnt tokens of replayed training sequences."""
    temperature: "torch.Tensor | None" = None
    """(N,) float32: sampling temperature of each learnt token, NaN where its episode has none of its own;
    None where no episode has.
    """

    def to(self, device: "torch.device") -> "PackedBatch":
        """Return the same batch with its tensors on `device`."""
        import torch

        moved = {
            name: value.to(device) for name, value in vars(self).items() if isinstance(value, torch.Tensor)
        }
        return replace(self, **moved)


def episode_sequences(
    trajectory: Trajectory, weight: float, learnt: Sequence[bool] | None = None, kind: SequenceKind = "fork"
) -> list[TrainingSequence]:
    """Training sequences of an episode that a language model played; one, unless its template rewrote earlier
    turns.

    A turn whose prompt extends everything read and sampled so far continues the sequence, any other begins a
    new one; with the `kind` "per_step" every turn does. Nothing is re-encoded. `learnt` has a flag for each
    turn: its sampled tokens are learnt (None: of all turns), as far as its `loss_mask` allows; other turns
    are context, and a sequence of context alone is omitted. An episode without a turn has no sequences.
    Raises `ConfigError` for scripted turns, for failed or cancelled episodes, for turns sampled from an empty
    prompt, and with "append_only" for a prompt that does not extend the previous tokens.
    """
    if trajectory.ending.kind in ("failed", "cancelled"):
        raise ConfigError(
            f"episode {trajectory.id} {trajectory.ending.kind}: it has no return and is not learnt from"
        )
    builders: list[SequenceBuilder] = []
    drift_events = 0
    for number, turn in enumerate(trajectory.turns):
        sample = _sampled(trajectory, turn, number)
        drifted = bool(builders) and not builders[-1].continues(sample.prompt_ids)
        drift_events += drifted
        if drifted and kind == "append_only":
            raise ConfigError(
                f"episode {trajectory.id}: the prompt of turn {number} does not extend what was read and said"
                " before, which select.sequences = 'append_only' rules out: take 'fork' or 'per_step'"
            )
        if not builders or drifted or kind == "per_step":
            builders.append(SequenceBuilder())
        builders[-1].add(sample, number, learnt=learnt is None or learnt[number])
    facts: dict[str, Any] = {"environment": trajectory.env, "drift_events": drift_events}
    facts["temperature"] = trajectory.temperature
    return [replace(one.sequence(trajectory.id, weight), **facts) for one in builders if one.is_wanted]


def _sampled(trajectory: Trajectory, turn: Turn, number: int) -> Sample:
    if turn.sample is None:
        raise ConfigError(
            f"episode {trajectory.id} has no sample in turn {number}: encode it as a demonstration"
        )
    if not turn.sample.prompt_ids:
        raise ConfigError(f"episode {trajectory.id} sampled turn {number} from an empty prompt")
    return turn.sample


def demonstration(
    trajectory: Trajectory, renderer: Renderer, weight: float, form: ActionFormat = PLAIN
) -> TrainingSequence:
    """Training sequence of a scripted episode: `renderer` encodes its texts, and the messages of its actions
    in the format `form` are learnt, but for those of given turns and those that are marked (`LEARNT`). A
    message that was recorded whole is encoded as it is.

    Raises `ConfigError` for an episode without a turn, for a failed or cancelled one, and for a recorded
    message that is not in this format.
    """
    if trajectory.ending.kind in ("failed", "cancelled") or not trajectory.turns:
        raise ConfigError(f"episode {trajectory.id} ({trajectory.ending.kind}) demonstrates nothing")
    builder = SequenceBuilder()
    builder.read(renderer.prompt(opening_messages(form, trajectory.env, trajectory.initial_observation)))
    for number, turn in enumerate(trajectory.turns):
        if number > 0:
            builder.read(renderer.extend(builder.token_ids, trajectory.turns[number - 1].observation))
        action_ids = renderer.action_ids(_message(trajectory, turn, number, form))
        if number < trajectory.given_turns or not may_be_learnt(turn):
            builder.read(action_ids)
        else:
            builder.imitate(action_ids, number)
    return replace(builder.sequence(trajectory.id, weight), environment=trajectory.env)


def _message(trajectory: Trajectory, turn: Turn, number: int, form: ActionFormat) -> str:
    """The recorded message of a scripted turn, or its action in the format `form`."""
    action = turn.action.strip()
    told = turn.info.get(MESSAGE)
    if not isinstance(told, str):
        return form.render(action)
    if form.parse(told) != action:
        raise ConfigError(
            f"episode {trajectory.id}: the recorded message of turn {number} is not in the action format"
            f" {form.name!r}, which finds another action in it: set the format that it was written in"
        )
    return told


class SequenceBuilder:
    """Builder of one training sequence."""

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.mask: list[bool] = []
        self.logp: list[float] = []
        self.turn: list[int] = []
        self.versions: set[int] = set()
        self.is_wanted = False
        """True if one of its turns is to be learnt, even if the turn's `loss_mask` leaves no token."""

    def continues(self, prompt_ids: Sequence[int]) -> bool:
        """True where `prompt_ids` begin with all tokens so far."""
        return list(prompt_ids[: len(self.token_ids)]) == self.token_ids

    def read(self, token_ids: Sequence[int]) -> None:
        """Append tokens that are not learnt."""
        self.token_ids.extend(token_ids)
        self.mask.extend([False] * len(token_ids))
        self.logp.extend([UNKNOWN] * len(token_ids))
        self.turn.extend([NO_TURN] * len(token_ids))

    def say(self, token_ids: Sequence[int], logp: Sequence[float], turn: int) -> None:
        """Append learnt tokens, sampled in the turn of this number."""
        self.token_ids.extend(token_ids)
        self.mask.extend([True] * len(token_ids))
        self.logp.extend(logp)
        self.turn.extend([turn] * len(token_ids))

    def imitate(self, token_ids: Sequence[int], turn: int) -> None:
        """Append learnt tokens that no engine sampled."""
        self.say(token_ids, [UNKNOWN] * len(token_ids), turn)

    def add(self, sample: Sample, turn: int, *, learnt: bool) -> None:
        """Append the new part of the prompt of `sample`, then its sampled tokens."""
        self.read(sample.prompt_ids[len(self.token_ids) :])
        self.versions.add(sample.policy_version)
        if not learnt:
            self.read(sample.token_ids)
            return
        self.is_wanted = True
        self.say(sample.token_ids, sample.logprobs, turn)
        if sample.loss_mask is not None:
            self._unlearn(
                [place for place, bit in enumerate(sample.loss_mask, -len(sample.loss_mask)) if not bit]
            )

    def _unlearn(self, places: Sequence[int]) -> None:
        """Mark the tokens at these positions, counted from the end, as not learnt."""
        for place in places:
            self.mask[place], self.logp[place], self.turn[place] = False, UNKNOWN, NO_TURN

    def sequence(self, trajectory_id: str, weight: float) -> TrainingSequence:
        """Return the training sequence. Raises `ConfigError` for token ids above 32 bits."""
        try:
            token_ids = np.asarray(self.token_ids, dtype=np.int32)
        except OverflowError as cause:
            raise ConfigError(
                f"episode {trajectory_id} has token ids above 32 bits, which no tokenizer has: leave it out"
            ) from cause
        return TrainingSequence(
            token_ids=token_ids,
            mask=np.asarray(self.mask, dtype=np.bool_),
            rollout_logp=np.asarray(self.logp, dtype=np.float32),
            weight=weight,
            trajectory_id=trajectory_id,
            policy_version=next(iter(self.versions)) if len(self.versions) == 1 else None,
            turn=np.asarray(self.turn, dtype=np.int32),
        )


def last_tokens(sequence: TrainingSequence) -> list[tuple[int, int]]:
    """(turn, position of its last learnt token) of every turn in the training sequence, in order."""
    if sequence.turn is None:
        raise ConfigError(f"episode {sequence.trajectory_id} has tokens without a turn number")
    positions = sequence.mask.nonzero()[0]
    turns = sequence.turn[positions]
    last = np.append(np.diff(turns) != 0, True)[: len(turns)]
    return list(zip(turns[last].tolist(), positions[last].tolist(), strict=True))


def first_fit(lengths: NDArray[np.int64], order: NDArray[np.int64], max_tokens: int) -> list[list[int]]:
    """Indices into `lengths`, taken in `order`, in bins whose lengths sum to at most `max_tokens`."""
    bins: list[list[int]] = []
    room = np.zeros(len(lengths), dtype=np.int64)
    for index in order.tolist():
        length = int(lengths[index])
        if length > max_tokens:
            raise ConfigError(f"a sequence of {length} tokens does not fit into a batch of {max_tokens}")
        fitting = np.flatnonzero(room[: len(bins)] >= length)
        if len(fitting):
            chosen = int(fitting[0])
        else:
            chosen = len(bins)
            bins.append([])
            room[chosen] = max_tokens
        bins[chosen].append(index)
        room[chosen] -= length
    return bins


def packed(sequences: Sequence[TrainingSequence], indices: Sequence[int]) -> PackedBatch:
    """Pack the training sequences of these `indices`, in this order, into one batch."""
    import torch

    chosen = [sequences[index] for index in indices]
    lengths = [len(sequence.token_ids) for sequence in chosen]
    return PackedBatch(
        token_ids=torch.from_numpy(
            np.concatenate([sequence.token_ids for sequence in chosen]).astype(np.int64)
        ),
        position_ids=torch.from_numpy(
            np.concatenate([np.arange(length, dtype=np.int64) for length in lengths])
        ),
        cu_seqlens=torch.from_numpy(np.cumsum([0, *lengths], dtype=np.int32)),
        mask=torch.from_numpy(np.concatenate([sequence.mask for sequence in chosen])),
        sequences=tuple(indices),
        lengths=tuple(lengths),
        replayed=torch.from_numpy(np.concatenate([np.full(int(r.mask.sum()), r.replayed) for r in chosen])),
        temperature=_temperatures(chosen),
    )


def _temperatures(chosen: Sequence[TrainingSequence]) -> "torch.Tensor | None":
    """(N,) temperatures of the learnt tokens, NaN where unknown; None where none is known."""
    import torch

    if all(sequence.temperature is None for sequence in chosen):
        return None
    own = [
        np.full(int(r.mask.sum()), np.nan if r.temperature is None else r.temperature, np.float32)
        for r in chosen
    ]
    return torch.from_numpy(np.concatenate(own))
