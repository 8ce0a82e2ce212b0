"""Parquet files of episodes: row groups that are bounded in number of episodes and in size."""

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

from agentgym_store.arrow import EPISODE_COLUMNS, SCHEMA, parquet
from agentgym_store.location import Place
from agentgym_store.records import Trajectory
from agentgym_store.rows import to_batch

_GROUP_EPISODES = 256  # one is written while the next is converted, also in an append of a thousand
_GROUP_CHARACTERS = 64 * 2**20  # a column of one row group stays far below Arrow's 2 GiB


@contextmanager
def writing(file: str, place: Place, schema: Any = SCHEMA) -> Generator[Any]:
    """A `pyarrow.parquet.ParquetWriter`; the file is complete when the block ends."""
    with parquet.ParquetWriter(
        file,
        schema,
        filesystem=place.files,
        compression="zstd",
        compression_level=1,
        store_schema=False,
        write_statistics=[name for name in schema.names if schema is not SCHEMA or name in EPISODE_COLUMNS],
    ) as writer:
        yield writer


def write_episodes(trajectories: Sequence[Trajectory], file: str, place: Place) -> None:
    """Write a file of episodes; a thread writes each row group while the next one is converted."""
    with writing(file, place) as writer, ThreadPoolExecutor(1) as thread:
        written: Future[None] | None = None
        for group in _row_groups(trajectories):
            batch = to_batch(group)
            if written is not None:
                written.result()
            written = thread.submit(writer.write_batch, batch)
        if written is not None:
            written.result()


def _row_groups(trajectories: Sequence[Trajectory]) -> Iterator[Sequence[Trajectory]]:
    """Slices of the episodes, bounded in number and in size."""
    start = size = 0
    for place, episode in zip(count(), trajectories, strict=False):
        weight = _weight(episode)
        if place > start and (place - start >= _GROUP_EPISODES or size + weight > _GROUP_CHARACTERS):
            yield trajectories[start:place]
            start, size = place, 0
        size += weight
    yield trajectories[start:]


def _weight(episode: Trajectory) -> int:
    """Approximate size of an episode in characters and ids."""
    total = len(episode.initial_observation) + len(episode.instruction)
    for turn in episode.turns:
        total += len(turn.observation)
        if turn.sample is not None:
            total += len(turn.sample.prompt_ids)
    return total
