"""Plan of one judge's opinions: what is to be asked, and what the table of feedback has already."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentevol.data.judgements.feedback.asking import Asking, Outcome, ask_all
from agentevol.data.judgements.feedback.records import Known, known
from agentevol.data.judgements.feedback.subjects import Subject, left
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store


@dataclass(frozen=True)
class Plan:
    """Subjects of one judge."""

    asking: Asking
    chosen: int
    """Subjects in all."""
    left: tuple[Subject, ...]
    """Those that the judge has no opinion of yet, by this rubric."""
    known: Known

    @property
    def calls(self) -> int:
        """Calls of a model at most, with all retries."""
        return self.asking.calls * len(self.left)


def plan(
    asking: Asking, subjects: Sequence[Subject], records: Sequence[Feedback], limit: int | None = None
) -> Plan:
    """The plan for these subjects, `limit` new ones at most; `records` are those of the table of feedback."""
    found = known(records, asking.origin)
    remaining = left(subjects, asking.origin, asking.kind, found)
    return Plan(asking, len(subjects), tuple(remaining[:limit]), found)


def carry_out(
    plan: Plan,
    store: Store,
    table: FeedbackTable,
    *,
    concurrency: int,
    timeout_s: float,
    tell: Callable[[Outcome], object] = lambda _: None,
) -> Outcome:
    """Ask what is left, and write the answers. Raises `StoreError`."""
    table.append(plan.known.again)
    return ask_all(
        plan.asking,
        plan.left,
        store,
        table.append,
        concurrency=concurrency,
        timeout_s=timeout_s,
        tell=tell,
    )
