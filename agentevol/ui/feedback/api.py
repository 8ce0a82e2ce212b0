"""REST API of feedback.

GET  /api/sources                             [{"key": "first-3f9a1c", "name": "first", "kind": "run"}]
GET  /api/feedback/KEY?all=true               records as JSON Lines: those that stand, or all
POST /api/feedback/KEY                        a record, an array of them, or JSON Lines
                                              201 {"added": 1, "known": 0, "ids": ["5b1c..."]}
GET  /api/feedback/KEY/queue?as=human:Anna    [{"episode": "first/...", "disagreement": 0.4, ...}]
GET  /api/feedback/KEY/stats                  {"records": 1, "opinions": 1, "kind": {"score": 1}, ...}

Errors are problems as `application/problem+json` (RFC 9457).
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import StreamingResponse

from agentevol.data.feedback.sources.queue import following
from agentevol.data.feedback.sources.statistics import Summary, summary
from agentevol.ui.context import Shared
from agentevol.ui.errors import BadQuery
from agentevol.ui.feedback.queue import EXPLORED
from agentgym_store.errors import StoreError
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Feedback, feedback

JSON, LINES = "application/json", ("application/jsonl", "application/x-ndjson")
MOST_BYTES = 2**26
"""Bytes of the records of one request."""

router = APIRouter(prefix="/api")


async def _records(request: Request) -> list[Feedback]:
    """Records in the body. Raises `BadQuery` naming the first bad one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in (JSON, *LINES):
        raise BadQuery(f"Records are sent as {JSON} or {LINES[0]}, not as {kind or 'nothing'}.")
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise BadQuery(f"These records are longer than {MOST_BYTES:,} bytes: send them in parts.")
    texts = [content] if kind == JSON else content.splitlines()
    return [_record(number, one) for number, one in enumerate(_values(texts), 1)]


def _values(texts: Sequence[bytearray]) -> Iterator[Any]:
    """Values of JSON texts; those of an array are single ones."""
    for number, text in enumerate(texts, 1):
        try:
            value = json.loads(text) if text.strip() else []
        except ValueError as cause:
            raise BadQuery(f"Line {number} is no JSON: {cause}.") from None
        yield from value if isinstance(value, list) else [value]


def _record(number: int, value: Any) -> Feedback:
    if not isinstance(value, dict):
        raise BadQuery(f"Record {number} is no object.")
    try:
        return feedback(value)
    except StoreError as cause:
        raise BadQuery(f"Record {number}: {cause}.") from None


Records = Annotated[list[Feedback], Depends(_records)]
Person = Annotated[str, Query(alias="as", pattern="^human:.", description="Who rates.")]


@router.get("/sources")
def sources(context: Shared) -> list[dict[str, str]]:
    """Runs and tables, with the keys of their addresses."""
    return [{"key": one.key, "name": one.name, "kind": one.kind} for one in context.library.sources()]


@router.get("/feedback/{key}")
def read(context: Shared, key: str, every: Annotated[bool, Query(alias="all")] = False) -> StreamingResponse:
    """Records of a run or table."""
    records = context.feedback.records(context.library.find(key))
    found = records if every else standing(records)
    return StreamingResponse((f"{one.model_dump_json()}\n" for one in found), media_type=LINES[0])


@router.post("/feedback/{key}", status_code=201)
def add(context: Shared, key: str, records: Records) -> dict[str, Any]:
    """Add records, all or none; those whose id is there already are left out."""
    source = context.library.find(key)
    with context.tables.opened(source) as store:
        try:
            added = context.feedback.add(source, records, store)
        except StoreError as cause:
            raise BadQuery(f"Nothing was added: {cause}.") from None
    return {"added": len(added.records), "known": added.known, "ids": [one.id for one in added.records]}


@router.get("/feedback/{key}/queue")
def queue(
    context: Shared,
    key: str,
    person: Person,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Explored episodes that a person should rate next, as `agentevol feedback queue` lists them."""
    source = context.library.find(key)
    with context.tables.opened(source) as store:
        returns = dict(store.rows(("id", "total_reward"), EXPLORED))
    opinions = context.feedback.standing(source)
    return [vars(one) for one in islice(following(returns, opinions, person=person, seed=seed), limit)]


@router.get("/feedback/{key}/stats")
def stats(context: Shared, key: str) -> Summary:
    """Counts of opinions, and agreement and reliability of their sources."""
    source = context.library.find(key)
    records = context.feedback.records(source)
    with context.tables.opened(source) as store:
        return summary(records, store)
