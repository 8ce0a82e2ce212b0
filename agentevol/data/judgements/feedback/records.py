"""Origin of a judge's records of feedback, and what a judge has said already."""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import uuid4

from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.judges.interface import ItemJudge
from agentgym_store.feedback.latest import latest, thing
from agentgym_store.feedback.records import MOST_NOTE, Feedback, feedback, now


@dataclass(frozen=True)
class Origin:
    """Judge and rubric of records."""

    source: str
    """For example `judge:gpt-4.1`."""
    version: str
    """Digest of all that the judge is asked and how; not of the place where it is served."""

    def record(
        self, trajectory: str, turn: int | None, opinion: dict[str, Any], note: str = "", **more: Any
    ) -> Feedback:
        """The record of an opinion. Raises `StoreError` for one that is none."""
        return feedback(
            {
                "trajectory_id": trajectory,
                "turn": turn,
                "source": self.source,
                "rubric_version": self.version,
                "opinion": opinion,
                "note": note[:MOST_NOTE],
                **more,
            }
        )


def source_of(judge: ItemJudge) -> str:
    """Source of a judge's records: `judge:` with the name of the model, or of the rules."""
    return f"judge:{judge.name.removeprefix('openai:')}"


def origin(judge: ItemJudge, *asked: object) -> Origin:
    """Origin of the records of a judge that is asked so: prompts, dimensions, options, as JSON."""
    own = judge.sampling if isinstance(judge, EndpointJudge) else judge.version
    return Origin(source_of(judge), sha256(json.dumps([own, *asked]).encode()).hexdigest()[:16])


@dataclass(frozen=True)
class Known:
    """Opinions of one origin that need not be asked for."""

    done: frozenset[Hashable]
    """Things (`agentgym_store.feedback.latest.thing`) whose latest record is of this origin."""
    again: tuple[Feedback, ...]
    """Records of things that another rubric has judged since: they are written again."""


def known(records: Sequence[Feedback], origin: Origin) -> Known:
    """Opinions of this origin among the records of a table."""
    done = {thing(one) for one in latest(records) if _is_of(one, origin)}
    own = latest(one for one in records if _is_of(one, origin))
    return Known(frozenset(done), tuple(_renewed(one for one in own if thing(one) not in done)))


def _renewed(records: Iterable[Feedback]) -> Iterable[Feedback]:
    for one in records:  # it costs nothing again
        cost = None if one.cost is None else 0.0
        yield one.model_copy(update={"id": uuid4().hex, "created_at": now(), "cost": cost})


def _is_of(record: Feedback, origin: Origin) -> bool:
    return record.source == origin.source and record.rubric_version == origin.version
