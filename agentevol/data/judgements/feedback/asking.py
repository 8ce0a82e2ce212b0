"""Questions to a judge about stored episodes: a bounded number at a time, each within a time limit.

Answers are appended to the table of feedback in batches, so that a process that is killed loses the last
seconds at most. A failure is counted by its reason, and is never an opinion.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentevol.core.errors import described
from agentevol.data.judgements.feedback.records import Origin
from agentevol.data.judgements.feedback.subjects import Subject
from agentevol.data.judgements.outcomes import FailureKind, NoRating, Usage
from agentgym_store.errors import StoreError
from agentgym_store.feedback.records import Feedback, Kind
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where

READ_EPISODES = 64
"""Subjects whose episodes are in memory at a time."""
BATCH, BATCH_S = 64, 2.0
"""Records of an append, and seconds after which fewer are appended."""
MOST_TOLD = 5
"""Failures that are told in words."""

Answer = tuple[Sequence[Feedback], Usage]


class Asking(Protocol):
    """Kind of question to one judge."""

    origin: Origin
    kind: Kind
    """Kind of opinion by which it is known whether a subject was judged."""
    calls: int
    """Calls of a model for one subject at most; 0 of rules and records."""

    async def answer(self, subject: Subject, episodes: Sequence[Trajectory]) -> Answer:
        """Records about the subject, and what they took. Raises `NoRating`."""
        ...


@dataclass
class Outcome:
    """Counts of one judge's answers."""

    judged: int = 0
    """Subjects with an opinion."""
    records: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    """Kind of failure -> number of subjects."""
    told: list[str] = field(default_factory=list[str])
    """The first failures in words."""
    usage: Usage = field(default_factory=Usage)

    def failed(self, subject: Subject, kind: FailureKind, detail: str) -> None:
        """Count a subject without an opinion."""
        self.failures[kind] += 1
        if len(self.told) < MOST_TOLD:
            turn = "" if subject.turn is None else f", turn {subject.turn + 1}"
            self.told.append(f"{' and '.join(subject.ids)}{turn}: failed({kind}): {detail}")


def ask_all(
    asking: Asking,
    subjects: Sequence[Subject],
    store: Store,
    append: Callable[[Sequence[Feedback]], None],
    *,
    concurrency: int = 64,
    timeout_s: float = 600.0,
    tell: Callable[[Outcome], object] = lambda _: None,
) -> Outcome:
    """Ask about all subjects and append the answers; `tell` is called after each subject.

    Raises `StoreError` where the table cannot be read or written.
    """
    outcome, waiting = Outcome(), _with_episodes(subjects, store)

    async def work(writer: _Writer) -> None:
        for subject, episodes in waiting:
            found = await _answer(asking, subject, episodes, outcome, timeout_s)
            await writer.add(found)
            outcome.records += len(found)
            tell(outcome)

    async def run() -> None:
        writer = _Writer(append)
        try:
            async with asyncio.TaskGroup() as tasks:
                workers = [tasks.create_task(work(writer)) for _ in range(min(concurrency, len(subjects)))]
                tasks.create_task(writer.keep_writing(workers))
        finally:
            await writer.flush()

    try:
        asyncio.run(run())
    except BaseExceptionGroup as several:
        first = next((one for one in several.exceptions if isinstance(one, StoreError)), None)
        raise first or several from None
    return outcome


async def _answer(
    asking: Asking, subject: Subject, episodes: Sequence[Trajectory], outcome: Outcome, timeout_s: float
) -> Sequence[Feedback]:
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            found, usage = await asking.answer(subject, episodes)
    except NoRating as none:
        outcome.usage += none.usage
        outcome.failed(subject, none.kind, str(none))
        return ()
    except Exception as cause:  # noqa: BLE001 - a bug in one judge loses one opinion
        if isinstance(cause, TimeoutError) and limit.expired():
            outcome.failed(subject, "timeout", f"no answer within {timeout_s:g} s")
        else:
            outcome.failed(subject, "internal", described(cause))
        return ()
    outcome.usage += usage
    outcome.judged += 1
    return found


class _Writer:
    """Records that wait for the next append."""

    def __init__(self, append: Callable[[Sequence[Feedback]], None]) -> None:
        self._append = append
        self._waiting: list[Feedback] = []
        self._one_at_a_time = asyncio.Lock()

    async def add(self, records: Sequence[Feedback]) -> None:
        """Take the records of one answer, which are appended together."""
        self._waiting += records
        if len(self._waiting) >= BATCH:
            await self.flush()

    async def keep_writing(self, workers: "Sequence[asyncio.Task[None]]") -> None:
        """Append what waits every few seconds, until the workers have ended."""
        while workers and (await asyncio.wait(workers, timeout=BATCH_S))[1]:
            await self.flush()

    async def flush(self) -> None:
        """Append what waits. Raises `StoreError`."""
        async with self._one_at_a_time:
            batch, self._waiting = self._waiting, []
            if batch:
                await asyncio.to_thread(self._append, batch)


def _with_episodes(
    subjects: Sequence[Subject], store: Store
) -> Iterator[tuple[Subject, Sequence[Trajectory]]]:
    for start in range(0, len(subjects), READ_EPISODES):
        some = subjects[start : start + READ_EPISODES]
        names = sorted({name for one in some for name in one.ids})
        found: Mapping[str, Trajectory] = {one.id: one for one in store.trajectories(Where(ids=names))}
        for one in some:
            yield one, [found[name] for name in one.ids]
