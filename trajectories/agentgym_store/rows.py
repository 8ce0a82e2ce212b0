"""Lossless conversion of trajectories to Arrow rows and back.

Prompts of an episode mostly extend each other, so a turn's row holds the length of the common prefix of its
prompt and the previous context (prompt and sampled ids of the previous sample), and then only the new ids:

    prompt [1, 2], sampled [3]    ->  prompt_shared 0, prompt_new [1, 2]
    prompt [1, 2, 3, 7, 8]        ->  prompt_shared 3, prompt_new [7, 8]
    prompt [1, 9]                 ->  prompt_shared 1, prompt_new [9]      (a template that rewrites history)

Columns are built and read in bulk: 10,000 episodes are 120,000 turns and millions of numbers.
"""

import gc
import json
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain, pairwise, repeat
from typing import Any, Literal, TypeVar

from agentgym_envs.core import Record
from agentgym_store.arrow import SAMPLE, SCHEMA, TURN, pa
from agentgym_store.errors import StoreError, one_line
from agentgym_store.records import (
    SUCCESS,
    Cancelled,
    Ending,
    Failed,
    Sample,
    Terminated,
    Trajectory,
    Truncated,
    Turn,
)

Ids = tuple[int, ...]
RecordT = TypeVar("RecordT", bound=Record)

_PLAIN = (
    *("id", "run", "iteration", "purpose", "env", "env_version", "data_version", "task_id", "split", "kind"),
    *(
        "difficulty",
        "instruction",
        "seed",
        "attempt",
        "policy",
        "initial_observation",
        "started_at",
        "wall_s",
    ),
    *("parent", "given_turns", "temperature", "episode_id", "seat"),
)
"""Columns that hold a field of `Trajectory` unchanged."""


def shared_prefix(previous: Ids, ids: Ids) -> int:
    """Length of the common prefix."""
    equal, different = 0, min(len(previous), len(ids))
    if previous[:different] == ids[:different]:
        return different
    while different - equal > 1:
        middle = (equal + different) // 2
        if previous[equal:middle] == ids[equal:middle]:
            equal = middle
        else:
            different = middle
    return equal


def to_batch(trajectories: Sequence[Trajectory]) -> Any:
    """A `pyarrow.RecordBatch` of `SCHEMA`; raises `StoreError` for a value that no column can hold."""
    try:
        with _without_collection():
            return _batch(trajectories)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as cause:
        first = trajectories[0].id if trajectories else ""
        raise StoreError(
            f"an episode cannot be stored (in the batch from {first!r}): {one_line(cause)}"
        ) from cause


def _batch(trajectories: Sequence[Trajectory]) -> Any:
    columns = {name: [getattr(episode, name) for episode in trajectories] for name in _PLAIN}
    columns |= _outcome_columns(trajectories)
    arrays = {name: pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()}
    arrays["turns"] = _turn_lists(trajectories)
    return pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


@contextmanager
def _without_collection() -> Generator[None]:
    """A pause of the garbage collector: records have no cycles, and their number starts it many times, which
    takes half of the time of reading.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _outcome_columns(trajectories: Sequence[Trajectory]) -> dict[str, list[Any]]:
    endings = [episode.ending for episode in trajectories]
    rewards = [episode.total_reward for episode in trajectories]
    return {
        "ending": [ending.kind for ending in endings],
        "limit": [ending.limit if isinstance(ending, Truncated) else None for ending in endings],
        "failure": [ending.failure if isinstance(ending, Failed) else None for ending in endings],
        "failure_detail": [ending.detail if isinstance(ending, Failed) else None for ending in endings],
        "total_reward": rewards,
        "succeeded": [None if reward is None else reward >= SUCCESS for reward in rewards],
        "turn_count": [len(episode.turns) for episode in trajectories],
        "sampled_tokens": [
            sum(len(turn.sample.token_ids) for turn in episode.turns if turn.sample)
            for episode in trajectories
        ],
    }


_COSTS = TURN.field("costs").type
_NOTHING_SAID = Sample(text="", prompt_ids=(), token_ids=(), logprobs=(), policy_version=0)


def _turn_lists(trajectories: Sequence[Trajectory]) -> Any:
    turns = [turn for episode in trajectories for turn in episode.turns]
    structs = pa.StructArray.from_arrays(
        [
            pa.array([turn.action for turn in turns], pa.string()),
            pa.array([turn.observation for turn in turns], pa.string()),
            pa.array([turn.reward for turn in turns], pa.float64()),
            pa.array(_info_texts(trajectories), pa.string()),
            _sample_structs(trajectories, turns),
            pa.array([list(turn.costs.items()) if turn.costs else None for turn in turns], _COSTS),
            pa.array([turn.policy_s for turn in turns], pa.float64()),
            pa.array([turn.environment_s for turn in turns], pa.float64()),
        ],
        fields=list(TURN),
    )
    offsets = _offsets(len(episode.turns) for episode in trajectories)
    return pa.ListArray.from_arrays(offsets, structs, type=SCHEMA.field("turns").type)


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _info_texts(trajectories: Sequence[Trajectory]) -> list[str | None]:
    return [
        _info_text(episode.id, turn.info) if turn.info else None
        for episode in trajectories
        for turn in episode.turns
    ]


def _info_text(episode: str, info: dict[str, object]) -> str:
    try:
        return _JSON.encode(info)
    except (TypeError, ValueError, RecursionError) as cause:
        raise StoreError(f"episode {episode!r}: info is not JSON: {one_line(cause)}") from cause


def _sample_structs(trajectories: Sequence[Trajectory], turns: Sequence[Turn]) -> Any:
    # Arrow requires non-null children of a null struct if a field is not nullable: these values are unread
    samples = [turn.sample or _NOTHING_SAID for turn in turns]
    shared, news = _prompts(trajectories)
    return pa.StructArray.from_arrays(
        [
            pa.array([sample.text for sample in samples], pa.string()),
            _numbers("i", shared, pa.int32()),
            _number_lists("i", news, SAMPLE.field("prompt_new").type),
            _number_lists("i", [sample.token_ids for sample in samples], SAMPLE.field("token_ids").type),
            _number_lists("d", [sample.logprobs for sample in samples], SAMPLE.field("logprobs").type),
            pa.array([sample.policy_version for sample in samples], pa.int64()),
            pa.array([sample.finish_reason for sample in samples], pa.string()),
            _loss_masks(samples),
        ],
        fields=list(SAMPLE),
        mask=pa.array([turn.sample is None for turn in turns], pa.bool_()),
    )


def _loss_masks(samples: Sequence[Sample]) -> Any:
    kind = SAMPLE.field("loss_mask").type
    missing = [sample.loss_mask is None for sample in samples]
    if all(missing):
        return pa.nulls(len(samples), kind)
    values = _numbers("b", chain.from_iterable(sample.loss_mask or () for sample in samples), kind.value_type)
    offsets = _offsets(len(sample.loss_mask or ()) for sample in samples)
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=pa.array(missing, pa.bool_()))


def _prompts(trajectories: Sequence[Trajectory]) -> tuple[list[int], list[Ids]]:
    """Of each turn, the length of the shared prefix and the ids after it.

    A turn without a sample has 0 and none, and does not break the chain. Most prompts extend the context
    before them, and then nothing is joined.
    """
    shared: list[int] = []
    news: list[Ids] = []
    for episode in trajectories:
        prompt = sampled = ()
        for turn in episode.turns:
            ids = () if turn.sample is None else turn.sample.prompt_ids
            end = len(prompt) + len(sampled)
            if ids[len(prompt) : end] != sampled or ids[: len(prompt)] != prompt:
                end = shared_prefix(prompt + sampled, ids)
            shared.append(end)
            news.append(ids[end:])
            if turn.sample is not None:
                prompt, sampled = ids, turn.sample.token_ids
    return shared, news


def _numbers(code: str, values: Sequence[float] | Iterator[float], kind: Any) -> Any:
    """Arrow array of numbers, by a machine array: ten times faster than single Python numbers."""
    return _arrow(array(code, values), kind)


def _arrow(machine: "array[Any]", kind: Any) -> Any:
    return pa.Array.from_buffers(kind, len(machine), [None, pa.py_buffer(machine)])


def _number_lists(code: str, lists: Sequence[Sequence[float]], kind: Any) -> Any:
    machine: array[Any] = array(code)
    for numbers in lists:
        machine.fromlist(list(numbers))
    values = _arrow(machine, kind.value_type)
    return pa.ListArray.from_arrays(_offsets(len(numbers) for numbers in lists), values, type=kind)


def _offsets(lengths: Iterator[int]) -> Any:
    return _numbers("i", accumulate(lengths, initial=0), pa.int32())


def from_batch(batch: Any, *, contexts: bool = True) -> list[Trajectory]:
    """The trajectories of a `pyarrow.RecordBatch` of `SCHEMA`.

    Without `contexts`, samples have no `prompt_ids` and no `logprobs`: those are most of an episode's size,
    and no part of its texts. Nothing is validated again: the table's format and schema were checked when it
    was opened.
    """
    with _without_collection():
        return _trajectories(batch, contexts)


def _trajectories(batch: Any, contexts: bool) -> list[Trajectory]:
    columns = {name: batch.column(name).to_pylist() for name in _PLAIN}
    for name in ("given_turns", "seat"):  # null in the files of older tables
        columns[name] = [value or 0 for value in columns[name]]
    columns["turns"] = _read_turn_lists(batch.column("turns"), contexts)
    columns["ending"] = _read_endings(batch)
    names = tuple(Trajectory.model_fields)
    rows = zip(*(columns[name] for name in names), strict=True)
    return [_trajectory(dict(zip(names, row, strict=True))) for row in rows]


def _unvalidated(record: type[RecordT]) -> Callable[[dict[str, Any]], RecordT]:
    """A function that makes a record of the values of all its fields, in their order: `model_construct`
    without its search for aliases and defaults, which takes several times as long.
    """
    fields, put = set(record.model_fields), object.__setattr__

    def make(values: dict[str, Any]) -> RecordT:
        made = record.__new__(record)
        put(made, "__dict__", values)
        put(made, "__pydantic_fields_set__", fields)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    return make


_trajectory = _unvalidated(Trajectory)
_turn = _unvalidated(Turn)
_sample = _unvalidated(Sample)


def _read_endings(batch: Any) -> list[Ending]:
    names = ("ending", "limit", "failure", "failure_detail")
    rows = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    return [_ending(*row) for row in rows]


def _ending(kind: str, limit: str | None, failure: str | None, detail: str | None) -> Ending:
    if kind == "terminated":
        return Terminated()
    if kind == "cancelled":
        return Cancelled()
    if kind == "truncated" and limit is not None:
        return Truncated(limit=limit)
    if kind == "failed" and failure is not None:
        return Failed(failure=failure, detail=detail or "")
    raise StoreError(f"the table holds an ending that this version does not know: {kind!r}")


def _read_turn_lists(lists: Any, contexts: bool) -> list[tuple[Turn, ...]]:
    structs = lists.flatten()
    starts = _read_offsets(lists)
    offsets = [start - starts[0] for start in starts]  # a slice of a larger batch does not start at 0
    said = structs.field("sample")
    samples = _read_samples(said, _read_contexts(said, offsets) if contexts else repeat(((), ())))
    turns = [
        _turn(
            {
                "action": action,
                "observation": observation,
                "reward": reward,
                "sample": sample,
                "info": json.loads(info) if info else {},
                "costs": dict(costs or ()),
                "policy_s": policy_s,
                "environment_s": environment_s,
            }
        )
        for action, observation, reward, info, sample, costs, policy_s, environment_s in zip(
            structs.field("action").to_pylist(),
            structs.field("observation").to_pylist(),
            _read_numbers("d", structs.field("reward")),
            structs.field("info").to_pylist(),
            samples,
            structs.field("costs").to_pylist(),
            structs.field("policy_s").to_pylist(),
            structs.field("environment_s").to_pylist(),
            strict=True,
        )
    ]
    return [tuple(turns[start:end]) for start, end in pairwise(offsets)]


def _read_samples(structs: Any, contexts: Iterable[tuple[Ids, tuple[float, ...]]]) -> list[Sample | None]:
    """Samples per turn; `contexts` are the ids of each prompt, and the log-probabilities."""
    columns = zip(
        structs.is_valid().to_pylist(),
        structs.field("text").to_pylist(),
        _read_number_lists("i", structs.field("token_ids")),
        _read_numbers("q", structs.field("policy_version")),
        structs.field("finish_reason").to_pylist(),
        _read_loss_masks(structs.field("loss_mask")),
        strict=True,
    )
    return [
        _sample(
            {
                "text": text,
                "prompt_ids": prompt_ids,
                "token_ids": token_ids,
                "logprobs": logprobs,
                "policy_version": version,
                "finish_reason": reason,
                "loss_mask": mask,
            }
        )
        if is_sample
        else None
        for (is_sample, text, token_ids, version, reason, mask), (prompt_ids, logprobs) in zip(
            columns, contexts, strict=False
        )
    ]


def _read_contexts(structs: Any, offsets: Sequence[int]) -> Iterator[tuple[Ids, tuple[float, ...]]]:
    """Prompt and log-probabilities per turn; `offsets` bound the episodes: a prompt shares ids with its own
    episode only.
    """
    valid = structs.is_valid().to_pylist()
    shared = _read_numbers("i", structs.field("prompt_shared"))
    news = _read_number_lists("i", structs.field("prompt_new"))
    token_ids = _read_number_lists("i", structs.field("token_ids"))
    logprobs = _read_number_lists("d", structs.field("logprobs"))
    starts = set(offsets)
    seen: Ids = ()
    for k, is_sample in enumerate(valid):
        if k in starts:
            seen = ()
        if not is_sample:
            yield (), ()
            continue
        prompt = seen[: shared[k]] + news[k]
        seen = prompt + token_ids[k]
        yield prompt, logprobs[k]


def _read_loss_masks(lists: Any) -> list[tuple[Literal[0, 1], ...] | None]:
    if lists.null_count == len(lists):
        return [None] * len(lists)
    given = zip(_read_number_lists("b", lists), lists.is_valid().to_pylist(), strict=True)
    return [mask if is_given else None for mask, is_given in given]


def _read_numbers(code: str, numbers: Any) -> list[Any]:
    """Values of a fixed-width array; null entries have arbitrary values."""
    size = array(code).itemsize
    start, end = numbers.offset * size, (numbers.offset + len(numbers)) * size
    buffer: Any = memoryview(numbers.buffers()[1] or b"")
    return buffer[start:end].cast(code).tolist()


def _read_number_lists(code: str, lists: Any) -> list[tuple[Any, ...]]:
    values = _read_numbers(code, lists.values)
    return [tuple(values[start:end]) for start, end in pairwise(_read_offsets(lists))]


def _read_offsets(lists: Any) -> list[int]:
    offsets = _read_numbers("i", lists.offsets)
    if not offsets:  # an empty array may have no offsets
        return [0]
    return offsets
