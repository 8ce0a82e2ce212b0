"""Forms: which ones are accepted, and how their fields are read."""

from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from agentevol.ui.app import create_app
from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import MOST_BYTES, Fields
from agentevol.ui.guard import Guard
from agentevol.ui.settings import UiSettings

HOST = "127.0.0.1:8600"


def client_of(**options: Any) -> TestClient:
    app = FastAPI()
    app.add_exception_handler(BadQuery, _told)

    @app.post("/echo")
    def echo(fields: Fields) -> dict[str, str]:
        return fields

    return TestClient(Guard(app, **options), f"http://{HOST}")


def _told(request: Any, cause: Exception) -> Any:
    from starlette.responses import PlainTextResponse

    del request
    return PlainTextResponse(str(cause), 400)


@pytest.mark.parametrize(
    "headers",
    [
        {},  # a program
        {"origin": f"http://{HOST}"},
        {"origin": f"http://{HOST.upper()}"},
        {"sec-fetch-site": "same-origin"},
        {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"},
    ],
)
def test_own_forms_are_accepted(headers: dict[str, str]) -> None:
    assert client_of().post("/echo", data={"a": "1"}, headers=headers).json() == {"a": "1"}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:8601"},
        {"origin": "null"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": f"http://{HOST}.evil.example"},
        {"origin": f"http://{HOST}@evil.example"},
    ],
)
def test_forms_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    reply = client_of().post("/echo", data={"a": "1"}, headers=headers)
    assert (reply.status_code, reply.text) == (403, "This form was sent by a page of another site.\n")


def test_pages_that_are_only_read_refuse_all_forms() -> None:
    reply = client_of(read_only=True).post("/echo", data={"a": "1"})
    assert reply.status_code == 405
    assert "--read-only" in reply.text
    assert reply.headers["allow"] == "GET"


def test_other_methods_are_refused() -> None:
    assert client_of().put("/echo").status_code == 405
    assert client_of().delete("/echo").status_code == 405


def test_fields_are_texts() -> None:
    sent = "a=1&a=2&empty=&text=%C3%A4%0D%0Ab+c&%3Cx%3E=%00"
    reply = client_of().post("/echo", content=sent, headers={"content-type": FORM})
    assert reply.json() == {"a": "2", "text": "ä\nb c", "<x>": "\x00"}


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("content", "kind", "told"),
    [
        ("a=1", "application/json", "A form is sent as"),
        ("a=1", "text/plain", "A form is sent as"),
        ("a=%ff", FORM, "not valid"),
        ("a=\xe4", FORM, "not valid"),
        ("&".join("a=1" for _ in range(201)), FORM, "not valid"),
        ("a=" + "x" * MOST_BYTES, FORM, "longer than"),
    ],
)
def test_what_is_no_form_is_refused(content: str, kind: str, told: str) -> None:
    reply = client_of().post("/echo", content=content.encode("latin-1"), headers={"content-type": kind})
    assert reply.status_code == 400
    assert told in reply.text


def test_pages_name_their_origin_to_themselves_only() -> None:
    reply = TestClient(create_app(UiSettings(())), f"http://{HOST}").get("/")
    assert reply.headers["referrer-policy"] == "same-origin"
