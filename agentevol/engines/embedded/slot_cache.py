"""Slot cache: keys and values of many conversations, one slot for each as long as its episode lives.

`SlotCache` is a transformers `Cache`: one tensor of shape (slots, kv heads, positions, head dim) per layer
for keys and one for values, as long as the longest conversation so far needs. A `Step` describes which tokens
of which slots go through the model; the model calls `SlotCache.update`, which writes them in place, and then
`attend`, which reads views of the same tensors: nothing is concatenated, repeated or gathered on a CPU.

Shapes: B rows (slots of the step), Q tokens of the longest row, N tokens of the step, H heads, D head
dimension.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface, Cache

ATTENTION = "agentevol_slots"
"""The name under which `attend` is registered: load a model with `attn_implementation=ATTENTION`."""

CALL_COST_BYTES = 150_000
"""Cost of an attention call in bytes: neighbouring runs share a call where that reads fewer extra bytes."""


FIRST_POSITIONS = 256
"""Initial number of positions of a cache; it doubles as conversations grow, up to its context."""


@dataclass(frozen=True)
class Chunk:
    """Tokens to append to a slot."""

    slot: int
    start: int
    """Position of the first token: the number of tokens that the slot already holds."""
    token_ids: Sequence[int]

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + len(self.token_ids)


@dataclass(frozen=True)
class Run:
    """Neighbouring rows in neighbouring slots that share one attention call."""

    rows: slice
    slots: slice | torch.Tensor
    length: int
    """Number of keys to attend to: the longest row's."""


@dataclass
class Step:
    """One pass through the model. Chunks are in the order of their slots, at most one for each."""

    chunks: Sequence[Chunk]
    device: torch.device
    row_bytes: int
    """Bytes of one position in one layer, keys and values."""
    input_ids_BQ: torch.Tensor = field(init=False)
    positions_BQ: torch.Tensor = field(init=False)
    """A padded place repeats its row's last position; the result there is never read."""
    last_B: torch.Tensor = field(init=False)
    """Column of each row's last token."""
    runs: list[Run] = field(init=False)
    end: int = field(init=False)
    """Position after the last token of any chunk."""
    _masks: dict[tuple[int, int | None], torch.Tensor | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        width = max(len(chunk.token_ids) for chunk in self.chunks)
        lengths = [len(chunk.token_ids) for chunk in self.chunks]
        padded = [[*chunk.token_ids, *[0] * (width - len(chunk.token_ids))] for chunk in self.chunks]
        starts_B1 = torch.tensor([[chunk.start] for chunk in self.chunks])
        lasts_B1 = torch.tensor(lengths)[:, None] - 1
        columns_Q = torch.arange(width)
        self.input_ids_BQ = torch.tensor(padded).to(self.device)
        self.positions_BQ = (starts_B1 + torch.minimum(columns_Q, lasts_B1)).to(self.device)
        self.last_B = lasts_B1[:, 0].to(self.device)
        row_N, column_N = (columns_Q <= lasts_B1).nonzero(as_tuple=True)
        self._slot_N = torch.tensor([chunk.slot for chunk in self.chunks])[row_N].to(self.device)
        self._row_N, self._column_N = row_N.to(self.device), column_N.to(self.device)
        self._position_N = self.positions_BQ[self._row_N, self._column_N]
        self.end = max(chunk.end for chunk in self.chunks)
        self.runs = self._plan()

    def write(self, cache_SHCD: torch.Tensor, new_BHQD: torch.Tensor) -> None:
        """Write the step's keys (or values) into the cache; padding is skipped."""
        cache_SHCD[self._slot_N, :, self._position_N] = new_BHQD[self._row_N, :, self._column_N]

    def mask(self, index: int, window: int | None, dtype: torch.dtype) -> torch.Tensor | None:
        """Attention mask of run `index`, shape (rows, 1, Q, keys), added to the scores; None: no
        restriction.
        """
        if (index, window) not in self._masks:
            self._masks[index, window] = self._make_mask(self.runs[index], window, dtype)
        return self._masks[index, window]

    def _make_mask(self, run: Run, window: int | None, dtype: torch.dtype) -> torch.Tensor | None:
        positions_RQ1 = self.positions_BQ[run.rows, :, None]
        windowed = window is not None and window < run.length
        exact = all(chunk.end == run.length for chunk in self.chunks[run.rows])
        if exact and positions_RQ1.shape[1] == 1 and not windowed:
            return None
        keys_K = torch.arange(run.length, device=self.device)
        hidden_RQK = keys_K > positions_RQ1
        if window is not None:
            hidden_RQK |= keys_K <= positions_RQ1 - window
        mask_RQK = torch.zeros(hidden_RQK.shape, dtype=dtype, device=self.device)
        return mask_RQK.masked_fill_(hidden_RQK, torch.finfo(dtype).min)[:, None]

    def _plan(self) -> list[Run]:
        """Runs that read the fewest bytes; one gathered run where a launch costs more than a copy, as on a
        GPU.
        """
        if self.device.type != "cpu":
            slots = torch.tensor([chunk.slot for chunk in self.chunks], device=self.device)
            return [Run(slice(0, len(self.chunks)), slots, self.end)]
        return plan_runs(self.chunks, CALL_COST_BYTES // self.row_bytes)


def plan_runs(chunks: Sequence[Chunk], call_cost: int) -> list[Run]:
    """Runs of rows in neighbouring slots; rows join while that reads at most `call_cost` more keys."""
    bounds: list[tuple[int, int, int]] = []  # first row, row after the last, length
    for row, chunk in enumerate(chunks):
        first, _, length = bounds[-1] if bounds else (row, row, chunk.end)
        longest = max(length, chunk.end)
        extra = (row + 1 - first) * longest - (row - first) * length - chunk.end
        if bounds and chunks[row - 1].slot + 1 == chunk.slot and extra <= call_cost:
            bounds[-1] = (first, row + 1, longest)
        else:
            bounds.append((row, row + 1, chunk.end))
    return [
        Run(slice(first, last), slice(chunks[first].slot, chunks[last - 1].slot + 1), length)
        for first, last, length in bounds
    ]


_STEP: ContextVar[Step | None] = ContextVar("agentevol_step", default=None)


@contextmanager
def running(step: Step) -> Generator[None, None, None]:
    """Make `step` the current step of cache and attention within the block."""
    token = _STEP.set(step)
    try:
        yield
    finally:
        _STEP.reset(token)


def current_step() -> Step:
    """The step of the enclosing `running` block."""
    step = _STEP.get()
    if step is None:
        raise RuntimeError("slots are used outside of a step")
    return step


class SlotCache(Cache):
    """Keys and values of `slots` conversations of at most `context` tokens."""

    def __init__(self, slots: int, context: int) -> None:
        super().__init__(layers=[])
        self.slots, self.context = slots, context
        self.tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_args: Any,
        **_kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the current step's keys and values and return the tensors of the whole layer."""
        step = current_step()
        keys, values = self.tensors.get(layer_idx, (None, None))
        keys, values = self._fit(keys, key_states, step.end), self._fit(values, value_states, step.end)
        self.tensors[layer_idx] = (keys, values)
        step.write(keys, key_states)
        step.write(values, value_states)
        return keys, values

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: slots differ, so the engine passes every position itself."""
        return 0

    def get_mask_sizes(self, query_length: Any, layer_idx: int = 0) -> tuple[int, int]:
        """Unused, since `attend` makes its own masks."""
        return self.context, 0

    def row_bytes(self) -> int:
        """Bytes of one position in the largest layer, keys and values; 1 before the first step."""
        sizes = [
            tensor.element_size() * tensor.shape[1] * tensor.shape[3]
            for pair in self.tensors.values()
            for tensor in pair
        ]
        return 2 * max(sizes, default=0) or 1

    def _fit(self, cache_SHCD: torch.Tensor | None, new_BHQD: torch.Tensor, end: int) -> torch.Tensor:
        """Return the tensor, or a longer copy where it does not reach to position `end`.

        The copy is filled with zeros, as a NaN in uninitialised memory would get through a mask.
        """
        held = 0 if cache_SHCD is None else cache_SHCD.shape[2]
        if cache_SHCD is not None and held >= end:
            return cache_SHCD
        _, heads, _, size = new_BHQD.shape
        length = min(self.context, max(end, 2 * held, FIRST_POSITIONS))
        grown_SHCD = new_BHQD.new_zeros((self.slots, heads, length, size))
        if cache_SHCD is not None:
            grown_SHCD[:, :, :held] = cache_SHCD
        return grown_SHCD


def attend(
    module: torch.nn.Module,  # noqa: ARG001 - the signature is transformers'
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,  # noqa: ARG001 - a step has its own masks
    scaling: float | None = None,
    sliding_window: int | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of a step's rows to their slots; (B, H, Q, D) gives (B, Q, H, D). Registered with
    transformers.

    Grouped queries are laid out as more queries of one key head, so that keys are never repeated.
    """
    if any(options.get(name) is not None for name in ("softcap", "s_aux", "position_bias")):
        raise NotImplementedError("attention with soft capping, sinks or a position bias")
    step = current_step()
    B, H, Q, _ = query.shape
    kv_heads = key.shape[1]
    groups = H // kv_heads
    grouped = query.reshape(B, kv_heads, groups * Q, query.shape[3])
    pieces: list[torch.Tensor] = []
    for index, run in enumerate(step.runs):
        mask = step.mask(index, sliding_window, query.dtype)
        if mask is not None and groups > 1:
            mask = mask.repeat(1, 1, groups, 1)
        keys, values = key[run.slots, :, : run.length], value[run.slots, :, : run.length]
        pieces.append(_sdpa(grouped[run.rows], keys, values, mask, scaling))
    attended = pieces[0] if len(pieces) == 1 else torch.cat(pieces)
    return attended.view(B, H, Q, value.shape[3]).transpose(1, 2).contiguous(), None


def _sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float | None,
) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


AttentionInterface.register(ATTENTION, attend)
