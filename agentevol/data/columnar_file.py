"""Columnar file of training sequences: the safetensors cache of one round, read through memory mapping.

    token_ids [5, 6, 7, 8, 5, 6, 9]    sequence_ends [4, 7]    weight [1.0, 0.5]    policy_version [2, 2]

These are two training sequences, of 4 and of 3 tokens. The file is a cache: its metadata holds the key
of the inputs that the sequences were derived from, and a checksum of the content.

Only training sequences for imitation have this form. Those of groups, pairs and reward models have further
fields, and are learnt in one iteration alone.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from math import isnan
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from agentevol.core.protocols import TrainingSequence
from agentevol.data.composition import Versions, sampled_turns
from agentevol.data.hashes import of_sequences
from agentgym_store.files import whole_file

Columns = Mapping[str, NDArray[Any]]

NO_VERSION = np.iinfo(np.int64).min
"""Encoding of a missing policy version."""

TYPES = {"I64": np.int64, "I32": np.int32, "F64": np.float64, "F32": np.float32, "BOOL": np.bool_}
"""Safetensors types of the columns."""

BY_TOKEN = {"token_ids": np.int32, "mask": np.bool_, "rollout_logp": np.float32, "turn": np.int32}
"""Columns with an entry for every token."""

Ages = list[tuple[int | None, int]]
"""Pairs of a version and a number of episodes; the version is of the oldest weights that sampled a turn of
them.
"""


@dataclass(frozen=True)
class About:
    """Metadata of encoded sequences."""

    ids: list[str]
    """Id of the episode of each sequence."""
    environments: list[str]
    """Environment of each sequence."""
    digest: str
    """Hash of the sequences (`agentevol.data.hashes.of_sequences`)."""
    ages: Ages
    """Ages of the episodes that the sequences were selected from."""


class EncodedSequences(Sequence[TrainingSequence]):
    """Training sequences whose arrays are views of columns, in memory or in a mapped file."""

    def __init__(self, columns: Columns, about: About) -> None:
        self._columns, self._about = columns, about

    @classmethod
    def of(
        cls,
        sequences: Sequence[TrainingSequence],
        sampled_by: Versions | None = None,
        ages: Ages | None = None,
    ) -> "EncodedSequences":
        """Encode training sequences whose turns were `sampled_by` these weights.

        Raises `ValueError` for a sequence with fields of comparisons or reward models.
        """
        if isinstance(sequences, EncodedSequences):
            return sequences
        for sequence in sequences:
            _check_imitated(sequence)
        about = About(
            ids=[sequence.trajectory_id for sequence in sequences],
            environments=[sequence.environment for sequence in sequences],
            digest=of_sequences(sequences),
            ages=ages or [],
        )
        return cls(
            {**_by_token(sequences), **_by_sequence(sequences), **_by_turn(sequences, sampled_by or {})},
            about,
        )

    def __len__(self) -> int:
        return len(self._about.ids)

    @overload
    def __getitem__(self, index: int) -> TrainingSequence: ...
    @overload
    def __getitem__(self, index: slice) -> list[TrainingSequence]: ...
    def __getitem__(self, index: int | slice) -> TrainingSequence | list[TrainingSequence]:
        places = range(len(self))[index]
        return (
            self._sequence(places) if isinstance(places, int) else [self._sequence(place) for place in places]
        )

    def __iter__(self) -> Iterator[TrainingSequence]:
        return map(self._sequence, range(len(self)))

    @property
    def digest(self) -> str:
        """Hash of the sequences, as in manifests."""
        return self._about.digest

    @property
    def ids(self) -> list[str]:
        """Id of the episode of each sequence."""
        return self._about.ids

    @property
    def environments(self) -> list[str]:
        """Environment of each sequence."""
        return self._about.environments

    @property
    def weights(self) -> list[float]:
        """Weight of each sequence."""
        return self._columns["weight"].tolist()

    @property
    def tokens(self) -> list[int]:
        """Number of learnt tokens of each sequence, 0 where its weight is 0."""
        return self._columns["learnt_tokens"].tolist()

    @cached_property
    def turns(self) -> dict[int, int]:
        """Version of the weights -> number of learnt turns that they sampled."""
        versions, counts = np.unique(self._columns["sampled_by"], return_counts=True)
        return dict(zip(versions.tolist(), counts.tolist(), strict=True))

    @property
    def episodes(self) -> int:
        """Number of episodes that the sequences were selected from."""
        return sum(count for _, count in self._about.ages)

    def staler(self, oldest: int) -> int:
        """Number of these episodes with a turn sampled by weights before version `oldest`."""
        return sum(count for version, count in self._about.ages if version is not None and version < oldest)

    def sampled_by(self, index: int) -> list[int]:
        """Version of the weights of each learnt turn of a sequence."""
        start, end = _bounds(self._columns["turn_ends"], index)
        return self._columns["sampled_by"][start:end].tolist()

    def write(self, file: Path, key: str) -> None:
        """Write the file atomically; `key` identifies the inputs of the sequences."""
        about = json.dumps(asdict(self._about))
        told = {"key": key, "about": about, "sha256": _checksum(key, about, self._columns)}
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as stream:
            stream.write(save(dict(self._columns), {"sequences": json.dumps(told)}))

    def _sequence(self, index: int) -> TrainingSequence:
        columns, about = self._columns, self._about
        start, end = _bounds(columns["sequence_ends"], index)
        version, heat = int(columns["policy_version"][index]), float(columns["temperature"][index])
        return TrainingSequence(
            token_ids=columns["token_ids"][start:end],
            mask=columns["mask"][start:end],
            rollout_logp=columns["rollout_logp"][start:end],
            turn=columns["turn"][start:end],
            weight=float(columns["weight"][index]),
            trajectory_id=about.ids[index],
            policy_version=None if version == NO_VERSION else version,
            environment=about.environments[index],
            temperature=None if isnan(heat) else heat,
            drift_events=int(columns["drift_events"][index]),
        )


def read_sequences(file: Path, key: str, *, mapped: bool = True) -> EncodedSequences | None:
    """Read the sequences of a file, `mapped` or into memory.

    None where there is no file, where its key differs, or where it is damaged.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read()
            shared = mmap(stream.fileno(), 0, access=ACCESS_READ) if mapped else data
        start = 8 + int.from_bytes(data[:8], "little")  # start of the columns, after the header
        header = json.loads(data[8:start])
        told = json.loads(header.pop("__metadata__")["sequences"])
        columns = _columns(header, data, start)
        if (told["key"], told["sha256"]) != (key, _checksum(key, told["about"], columns)):
            return None
        # Small columns are copied, so that a mapped page is loaded only when a sequence of it is read.
        small = {name: column.copy() for name, column in columns.items() if name not in BY_TOKEN}
        return EncodedSequences(
            {**_columns(header, shared, start), **small}, _about(**json.loads(told["about"]))
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def _columns(header: Mapping[str, Mapping[str, Any]], data: mmap | bytes, start: int) -> Columns:
    return {
        name: np.ndarray(tuple(one["shape"]), TYPES[one["dtype"]], data, start + one["data_offsets"][0])
        for name, one in header.items()
    }


def _about(ages: list[list[Any]], **others: Any) -> About:
    return About(ages=[(version, count) for version, count in ages], **others)


def _checksum(key: str, about: str, columns: Columns) -> str:
    digest = sha256(json.dumps([key, about]).encode())
    for name, column in sorted(columns.items()):
        digest.update(json.dumps([name, str(column.dtype), column.shape]).encode())
        digest.update(column.data)
    return digest.hexdigest()


def _check_imitated(sequence: TrainingSequence) -> None:
    has_more = sequence.unit or sequence.side or sequence.margin or sequence.replayed
    has_more = has_more or sequence.preference != 1
    has_objects = any(one is not None for one in (sequence.episode, sequence.labels, sequence.label_samples))
    if has_more or has_objects or sequence.turn is None:
        raise ValueError(
            f"a sequence of episode {sequence.trajectory_id} has fields that no imitated sequence has"
        )


def _bounds(ends: NDArray[Any], index: int) -> tuple[int, int]:
    return int(ends[index - 1]) if index else 0, int(ends[index])


def _by_token(sequences: Sequence[TrainingSequence]) -> dict[str, NDArray[Any]]:
    return {
        name: np.concatenate(
            [np.empty(0, kind), *(getattr(sequence, name) for sequence in sequences)], dtype=kind
        )
        for name, kind in BY_TOKEN.items()
    }


def _by_sequence(sequences: Sequence[TrainingSequence]) -> dict[str, NDArray[Any]]:
    versions = [
        NO_VERSION if sequence.policy_version is None else sequence.policy_version for sequence in sequences
    ]
    learnt = [int(sequence.mask.sum()) if sequence.weight > 0 else 0 for sequence in sequences]
    return {
        "sequence_ends": np.cumsum([len(sequence.token_ids) for sequence in sequences], dtype=np.int64),
        "weight": np.asarray([sequence.weight for sequence in sequences], np.float64),
        "policy_version": np.asarray(versions, np.int64),
        "temperature": np.asarray([sequence.temperature for sequence in sequences], np.float64),  # None: NaN
        "drift_events": np.asarray([sequence.drift_events for sequence in sequences], np.int64),
        "learnt_tokens": np.asarray(learnt, np.int64),
    }


def _by_turn(sequences: Sequence[TrainingSequence], sampled_by: Versions) -> dict[str, NDArray[Any]]:
    found = [sampled_turns(sequence, sampled_by) for sequence in sequences]
    return {
        "sampled_by": np.asarray([version for versions in found for version in versions], np.int64),
        "turn_ends": np.cumsum([len(versions) for versions in found], dtype=np.int64),
    }
