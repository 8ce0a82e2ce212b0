"""Causes of incidents, read from the log of a server."""

import json
import traceback
from pathlib import Path

from agentevol.rollout.incidents import causes, with_cause

FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"


class OfAJudge(RuntimeError):
    """A fault."""


def logged(incident: str, message: str, *notes: str) -> str:
    """A line of a log with the traceback of a fault."""
    try:
        raise OfAJudge(message)
    except OfAJudge as fault:
        for note in notes:
            fault.add_note(note)
        trace = "".join(traceback.format_exception(fault))
    return json.dumps({"level": "error", "message": f"incident {incident}: a judge failed\n{trace}"})


def test_an_incident_has_the_exception_and_its_notes_on_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    other = json.dumps({"message": "session finished"})
    lines = ["", "Killed", "[1]", other, logged(FIRST, "no: answer", "kept in /a"), logged(SECOND, "x" * 900)]
    log.write_text("\n".join(lines))
    found = causes(log)
    assert found[FIRST] == "OfAJudge: no: answer; kept in /a"
    assert (list(found), len(found[SECOND])) == ([FIRST, SECOND], 400)
    assert with_cause(f"judge: step: incident {FIRST}", found).endswith(
        f"{FIRST}: OfAJudge: no: answer; kept in /a"
    )


def test_a_reason_without_a_known_incident_is_as_it_was(tmp_path: Path) -> None:
    assert causes(tmp_path / "none") == {}
    for reason in ("", "closed", f"incident {SECOND}", f"incident {FIRST} was before"):
        assert with_cause(reason, {FIRST: "a cause"}) == reason
