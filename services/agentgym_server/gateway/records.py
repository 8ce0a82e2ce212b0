"""Records of the sessions that began through this gateway: one whose server died still has a state.

A server holds its sessions in memory. When it dies, an open one has failed with `worker-lost`. An ended one
keeps its outcome, but its replies are gone: it has expired. A closed one stays closed.
"""

import json
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, cast

from agentgym_server.clock import Clock
from agentgym_server.gateway.fleet import LOST_TEXT
from agentgym_server.gateway.routing import Act

KEPT = 16384
"""Sessions that are remembered; beyond, the oldest are forgotten."""
TURN = re.compile(rb'"turn":([0-9]{1,10})')
HEAD_BYTES = 160
"""A step's reply begins with its session and its turn."""
OF_THE_LIVING = ("observation", "info", "reward", "tools", "lease")
OF_A_STEP = ("turn", "total_reward", "terminated", "truncated")
Json = dict[str, Any]


@dataclass(slots=True)
class SessionRecord:
    """What is known of one session."""

    facts: Json
    """Its object at the beginning, without what only a living one has."""
    begun_at: float
    active_at: float
    turn: int
    last: bytes = b""
    """The reply of its last turn."""
    closing: Json | None = None
    """The reply of its deletion."""


class SessionRecords:
    """Session records by id."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: OrderedDict[str, SessionRecord] = OrderedDict()

    def note(self, act: Act, status: int, body: bytes) -> None:
        """Take down what a reply says; `body` is the result's JSON."""
        if status == 201 and act.name in ("create", "fork"):
            self._begin(json.loads(body))
        elif status == 200 and act.session_id in self._records:
            record = self._records[act.session_id]
            if act.name == "step":
                self._play(record, body)
            elif act.name == "delete":
                record.closing = json.loads(body)

    def answer(self, act: Act) -> Json | None:
        """What is said instead of a server that died; None where only the server could carry this out."""
        if act.name == "get":
            return self.shown(act.session_id)
        return self.closed(act.session_id) if act.name == "delete" else None

    def shown(self, session_id: str) -> Json:
        """The session object of a session whose server died; what nobody knows any more is missing."""
        record = self._records.get(session_id)
        if record is None:
            return {"session_id": session_id, **_failed(0)}
        played = cast("Json", json.loads(record.last)) if record.last else {}
        view = record.facts | {name: played[name] for name in OF_A_STEP if name in played}
        parent = cast("Json", view.get("parent") or {})
        return {
            **view,
            **_fate(record, view),
            "steps_executed": view["turn"] - parent.get("turn", 0),
            "last_activity_at": self._clock.stamp(record.active_at),
            "wall_s": round(record.active_at - record.begun_at, 6),
            "stored_bytes": 0,
        }

    def closed(self, session_id: str) -> Json:
        """The reply of the deletion of a session whose server died."""
        record = self._records.get(session_id)
        if record is not None and record.closing is not None:
            return record.closing
        reply = {"session_id": session_id, "state": "closed", "outcome": self.shown(session_id)["outcome"]}
        if record is not None:
            record.closing = reply
        return reply

    def _begin(self, session: Json) -> None:
        facts = {name: value for name, value in session.items() if name not in OF_THE_LIVING}
        now = self._clock.now()
        self._records.setdefault(session["session_id"], SessionRecord(facts, now, now, session["turn"]))
        if len(self._records) > KEPT:
            self._records.popitem(last=False)

    def _play(self, record: SessionRecord, body: bytes) -> None:
        found = TURN.search(body, 0, HEAD_BYTES)
        turn = int(found.group(1)) if found is not None else 0
        if turn > record.turn:  # else: a reply that was given before
            record.turn, record.last, record.active_at = turn, body, self._clock.now()


def _failed(turn: int) -> Json:
    failure = {"kind": "worker-lost", "turn": turn, "message": LOST_TEXT}
    return {"state": "failed", "failure": failure, "outcome": "failed", "reason": None}


def _fate(record: SessionRecord, view: Json) -> Json:
    """State, outcome and failure."""
    ended = view["terminated"] or view["truncated"]
    fate = _failed(view["turn"] + 1)
    if ended:
        outcome = "terminated" if view["terminated"] else "truncated"
        fate = {"state": "expired", "failure": None, "outcome": outcome, "reason": None}
    if record.closing is None:
        return fate
    closing = {name: record.closing[name] for name in ("state", "outcome")}
    reason = "closed" if closing["outcome"] == "cancelled" else None
    failure = fate["failure"] if closing["outcome"] == "failed" else None
    return {**fate, **closing, "reason": reason, "failure": failure}
