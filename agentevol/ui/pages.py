"""Rendering of templates.

Every text that a template prints is made visible and escaped, whether or not the template asks for it.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from agentevol.ui import text


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of HTML; its template also knows whether the pages are `writable`."""
    writable = not request.app.state.context.settings.read_only
    return HTMLResponse(render(template, path=request.url.path, writable=writable, **values), status)


def render(template: str, **values: Any) -> str:
    """The text of a template."""
    return _environment().get_template(f"{template}.html.jinja").render(**values)


def address(*parts: str, **query: object) -> str:
    """A path on this server, quoted; query values of None or "" are left out.

    > address("episodes", "a b", id="run/1")
    "/episodes/a%20b?id=run%2F1"
    """
    return with_query("/" + "/".join(quote(part, safe="") for part in parts), query)


def with_query(path: str, query: Mapping[str, object]) -> str:
    """A path with query parameters; values of None or "" are left out."""
    given = {name: value for name, value in query.items() if value not in (None, "", [])}
    return f"{path}?{urlencode(given, doseq=True, errors='replace')}" if given else path


@lru_cache
def asset(name: str) -> str:
    """Address of a static file, which changes with its content."""
    content = files("agentevol.ui").joinpath("static", name).read_bytes()
    return f"/static/{name}?{sha256(content).hexdigest()[:8]}"


def _shown(value: object) -> object:
    return text.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@lru_cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("agentevol.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.globals |= {"address": address, "asset": asset}
    environment.filters |= {
        "number": text.number,
        "percent": text.percent,
        "duration": text.duration,
        "moment": text.moment,
        "line": text.one_line,
    }
    return environment
