"""Records of sessions that were created through this gateway: the last state of those whose server was lost.

A server holds its sessions in memory. When it dies, an open session has failed with `worker-lost`. An ended
session keeps its outcome, but its replies are gone: it has expired. A closed session stays closed.
"""

import json
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, cast

from agentgym_server.clock import Clock
from agentgym_server.gateway.backends.fleet import LOST_TEXT
from agentgym_server.gateway.routing import Act

KEPT = 16384
"""Maximum number of records; the oldest are dropped."""
TURN = re.compile(rb'"turn":([0-9]{1,10})')
HEAD_BYTES = 160
"""Prefix of a step's reply that holds its session and its turn."""
OF_THE_LIVING = ("observation", "info", "reward", "tools", "lease", "partners")
OF_A_STEP = ("turn", "total_reward", "terminated", "truncated")
Json = dict[str, Any]


@dataclass(slots=True)
class SessionRecord:
    """Recorded state of one session."""

    facts: Json
    """Session object at creation, without the members of living sessions."""
    begun_at: float
    active_at: float
    turn: int
    last: bytes = b""
    """Reply of its last turn."""
    closing: Json | None = None
    """Reply of its deletion."""


class SessionRecords:
    """Session records by id."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: OrderedDict[str, SessionRecord] = OrderedDict()

    def note(self, act: Act, status: int, body: bytes) -> None:
        """Record a reply; `body` is the result's JSON."""
        if status == 201 and act.name in ("create", "fork"):
            self._begin(json.loads(body))
        elif status == 200 and act.session_id in self._records:
            record = self._records[act.session_id]
            if act.name == "step":
                self._play(record, body)
            elif act.name == "delete":
                record.closing = json.loads(body)

    def answer(self, act: Act) -> Json | None:
        """The reply in place of a lost server's; None if only the server could execute this operation."""
        if act.name == "get":
            return self.shown(act.session_id)
        return self.closed(act.session_id) if act.name == "delete" else None

    def shown(self, session_id: str) -> Json:
        """The session object of a session whose server was lost; unknown members are missing."""
        record = self._records.get(session_id)
        if record is None:
            return {"session_id": session_id, **_failed(0)}
        played = cast("Json", json.loads(record.last)) if record.last else {}
        view = record.facts | {name: played[name] for name in OF_A_STEP if name in played}
        parent = cast("Json", view.get("parent") or {})
        return {
            **view,
            **_fate(record, view),
            **({"your_turn": False} if "your_turn" in view else {}),
            "steps_executed": view["turn"] - parent.get("turn", 0),
            "last_activity_at": self._clock.stamp(record.active_at),
            "wall_s": round(record.active_at - record.begun_at, 6),
            "stored_bytes": 0,
        }

    def closed(self, session_id: str) -> Json:
        """The reply of the deletion of a session whose server was lost."""
        record = self._records.get(session_id)
        if record is not None and record.closing is not None:
            return record.closing
        reply = {"session_id": session_id, "state": "closed", "outcome": self.shown(session_id)["outcome"]}
        if record is not None:
            record.closing = reply
        return reply

    def _begin(self, session: Json) -> None:
        for partner in session.get("partners", ()):
            self._begin(partner)
        facts = {name: value for name, value in session.items() if name not in OF_THE_LIVING}
        now = self._clock.now()
        self._records.setdefault(session["session_id"], SessionRecord(facts, now, now, session["turn"]))
        if len(self._records) > KEPT:
            self._records.popitem(last=False)

    def _play(self, record: SessionRecord, body: bytes) -> None:
        found = TURN.search(body, 0, HEAD_BYTES)
        turn = int(found.group(1)) if found is not None else 0
        if turn > record.turn:  # else: a repeated reply
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
