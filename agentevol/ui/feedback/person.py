"""The name under which a person says something: a field of the forms, kept in a cookie."""

from urllib.parse import quote, unquote

from fastapi import Request
from starlette.responses import Response

from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Form
from agentgym_store.feedback.records import MOST_NAME, is_name

COOKIE = "agentevol_name"
YEAR_S = 365 * 24 * 3600


def known_name(request: Request) -> str:
    """The name in the cookie; empty without one."""
    name = unquote(request.cookies.get(COOKIE, ""))
    return name if is_name(name) else ""


def given_name(request: Request, form: Form) -> str:
    """The name in the form, or else the one in the cookie. Raises `BadQuery`."""
    name = form.get("name", "").strip() or known_name(request)
    if not is_name(name):
        raise BadQuery(
            f"A name has 1 to {MOST_NAME} printable characters.",
            "Go back, fill in your name, and send it again.",
        )
    return name


def keep_name(response: Response, name: str) -> None:
    """Keep the name for later forms of the same browser."""
    response.set_cookie(
        COOKIE, quote(name, safe=""), max_age=YEAR_S, samesite="strict", httponly=True, path="/"
    )
