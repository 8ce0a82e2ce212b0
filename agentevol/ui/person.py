"""The name under which a person plays or judges: a field of the forms, kept in a cookie."""

from urllib.parse import quote, unquote

from fastapi import Request
from starlette.responses import Response

from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Form
from agentgym_store.feedback.records import MOST_NAME, is_name

COOKIE = "agentevol_name"
YEAR_S = 365 * 24 * 3600
BAD_NAME = f"A name has 1 to {MOST_NAME} printable characters."


def known_name(request: Request) -> str:
    """The name in the cookie; empty without one."""
    name = unquote(request.cookies.get(COOKIE, ""))
    return name if is_name(name) else ""


def written_name(form: Form) -> str:
    """The name in the form; empty without one. Raises `BadQuery`."""
    name = form.get("name", "").strip()
    if name and not is_name(name):
        raise BadQuery(BAD_NAME, "Go back, change it, and send it again.")
    return name


def given_name(request: Request, form: Form) -> str:
    """The name in the form, or else the one in the cookie. Raises `BadQuery` where there is none."""
    name = written_name(form) or known_name(request)
    if not name:
        raise BadQuery(BAD_NAME, "Go back, fill in your name, and send it again.")
    return name


def keep_name(response: Response, name: str) -> None:
    """Keep the name for later forms of the same browser; an empty one forgets it."""
    if name:
        response.set_cookie(COOKIE, quote(name, safe=""), max_age=YEAR_S, samesite="strict", httponly=True)
    else:
        response.delete_cookie(COOKIE)
