"""Records of what a form says."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from agentevol.data.feedback.rules import why_no_correction, why_no_pair
from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Form
from agentgym_store.errors import StoreError
from agentgym_store.feedback.records import Comparison, Correction, Feedback, feedback, now
from agentgym_store.records import Trajectory

LOWEST, HIGHEST = 1, 5
"""Scale of ratings."""
RATINGS = tuple(range(LOWEST, HIGHEST + 1))
AGAIN = "Go back and send the form again."


def given_feedback(form: Form, name: str) -> Feedback:
    """The record of a form: a rating, a flag, a comparison or a correction. Raises `BadQuery`."""
    try:
        return feedback(
            {
                "trajectory_id": form.required("id"),
                "turn": _turn(form),
                "source": f"human:{name}",
                "opinion": _opinion(form),
                "note": form.get("note", ""),
            }
        )
    except StoreError as cause:
        raise BadQuery(f"This cannot be saved: {cause}.", AGAIN) from None


def withdrawal(opinions: Sequence[Feedback], wanted: str, name: str) -> Feedback:
    """The record that withdraws the standing opinion with this id. Raises `BadQuery`."""
    for one in opinions:
        if one.id == wanted and one.source == f"human:{name}":
            return feedback(
                {**one.model_dump(exclude={"id", "note"}), "withdrawn": True, "created_at": now()}
            )
    raise BadQuery(
        f"{name} has no such opinion.", "It may be withdrawn already. Go back and load the page again."
    )


def check_fits(record: Feedback, episode: Trajectory, other: Trajectory | None) -> None:
    """Raise `BadQuery` for a turn that the episode has not, and for what nothing could be learnt from."""
    reason = ""
    if record.turn is not None and record.turn >= len(episode.turns):
        reason = f"the episode has {len(episode.turns)} turns"
    elif isinstance(record.opinion, Correction):
        reason = why_no_correction(episode, record.turn)
    elif isinstance(record.opinion, Comparison) and other is not None:
        reason = why_no_pair(episode, other)
    if reason:
        raise BadQuery(f"This cannot be saved: {reason}.", "Go back and load the page again.")


def checked_back(form: Form) -> str:
    """The page that a form was on. Raises `BadQuery` for one that is not of this server."""
    back = form.required("back")
    try:
        parts = urlsplit(back)
    except ValueError:
        parts = None
    if (
        parts is None
        or parts.scheme
        or parts.netloc
        or not back.startswith("/")
        or not back.isprintable()
        or "\\" in back
    ):
        raise BadQuery("This form names a page of another server.", AGAIN)
    return back


def _turn(form: Form) -> int | None:
    """Index of the turn; pages count from 1."""
    if "turn" not in form:
        return None
    return _number(form, "turn") - 1


def _opinion(form: Form) -> dict[str, Any]:
    if "score" in form:
        return {"kind": "score", "value": float(_number(form, "score")), "low": LOWEST, "high": HIGHEST}
    if "flag" in form:
        return {"kind": "flag", "reason": form["flag"]}
    if "verdict" in form:
        return {"kind": "comparison", "other": form.required("other"), "verdict": form["verdict"]}
    return {"kind": "correction", "action": form.required("action")}


def _number(form: Form, name: str) -> int:
    text = form[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadQuery(f"{name} is a number, not “{text[:100]}”.", AGAIN)
    return int(text)
