"""Fields of a form that a page sends."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.responses import RedirectResponse

from agentevol.ui.errors import BadQuery

MOST_BYTES = 2**20
"""Bytes of a form."""
MOST_FIELDS = 200
KIND = "application/x-www-form-urlencoded"


class Form(dict[str, str]):
    """Fields by name, of the last one of a name; empty ones are left out."""

    def required(self, name: str) -> str:
        """A field that the form must have. Raises `BadQuery`."""
        if name not in self:
            raise BadQuery(f"This form has no {name}.", "Go back, fill it in, and send it again.")
        return self[name]


async def _form(request: Request) -> Form:
    if request.headers.get("content-type", "").partition(";")[0].strip() != KIND:
        raise BadQuery(f"A form is sent as {KIND}.")
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise BadQuery(f"This form is longer than {MOST_BYTES:,} bytes.", "Write less.")
    try:
        fields = parse_qsl(content.decode("ascii"), errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise BadQuery("This form is not valid.", "Go back and send it again.") from None
    return Form((name, value.replace("\r\n", "\n")) for name, value in fields)


Fields = Annotated[Form, Depends(_form)]
"""Parameter of a route: the fields of the form that was sent to it."""


def see(address: str) -> RedirectResponse:
    """The answer to a form: a page, which can be loaded again without sending the form twice."""
    return RedirectResponse(address, 303)
