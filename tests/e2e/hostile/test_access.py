"""Hostile callers: other methods, other sites' pages, and tokens that are none."""

import base64
from collections.abc import Callable

import pytest


def steps_of(session: str) -> str:
    return f"/sessions/{session}/steps"


ROUTES = {
    "/health": "GET, HEAD, OPTIONS",
    "/ready": "GET, HEAD, OPTIONS",
    "/envs": "GET, HEAD, OPTIONS",
    "/envs/echo": "GET, HEAD, OPTIONS",
    "/envs/echo/schema": "GET, HEAD, OPTIONS",
    "/envs/echo/tasks": "GET, HEAD, OPTIONS",
    "/envs/echo/sessions": "OPTIONS, POST",
    "/sessions/s_x": "DELETE, GET, HEAD, OPTIONS",
    "/sessions/s_x/steps": "OPTIONS, POST",
    "/sessions/s_x/fork": "OPTIONS, POST",
    "/sessions/s_x/lease": "OPTIONS, POST",
    "/batch": "OPTIONS, POST",
    "/metrics": "GET, HEAD, OPTIONS",
    "/openapi.json": "GET, HEAD, OPTIONS",
    "/docs": "GET, HEAD, OPTIONS",
    "/sessions/s_x/mcp": "OPTIONS, POST",
}


@pytest.mark.parametrize("path", ROUTES)
def test_every_other_method_is_refused(server, sound: Callable[..., None], path: str):
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - {*ROUTES[path].split(", ")}:
        answer = server.call(method, path)
        assert (answer.status, answer.headers["allow"]) == (405, ROUTES[path])
        if method != "HEAD":
            sound(answer)


@pytest.mark.parametrize("path", ROUTES)
def test_options_and_head_have_no_body(server, path: str):
    options, head = server.call("OPTIONS", path), server.call("HEAD", path)
    assert (options.status, options.headers["allow"], options.body) == (204, ROUTES[path], b"")
    assert head.status == (
        200 if "HEAD" in ROUTES[path] and "s_x" not in path else 404 if "GET" in ROUTES[path] else 405
    )
    assert head.body == b""


HOSTS = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "user@evil.example",
    "[::1",
    "\u00e4",
]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("header", ["host", "origin"])
def test_another_sites_page_is_refused(server, sound: Callable[..., None], header: str, host: str):
    value = host if header == "host" else f"http://{host}"
    answer = server.call("GET", "/health", headers={header: value.encode("latin-1")})
    sound(answer)
    assert (answer.status, answer.slug) == (403, "forbidden-origin")


STRANGERS = {
    "no token": None,
    "empty": "",
    "no kind": "top-secret",
    "no token after Bearer": "Bearer",
    "wrong token": "Bearer nope",
    "prefix of a token": "Bearer top",
    "token and more": "Bearer top-secret2",
    "two tokens": "Bearer top-secret top-secret",
    "other kind": "Digest top-secret",
    "Basic without base64": "Basic !!!",
    "Basic without a colon": "Basic " + base64.b64encode(b"top-secret").decode(),
    "Basic as the user": "Basic " + base64.b64encode(b"top-secret:").decode(),
    "long": "Bearer " + "x" * 10_000,
    "non-ASCII": "Bearer t\u00f6p",
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_is_told_so_and_nothing_else(server, sound: Callable[..., None], name: str):
    headers = {} if STRANGERS[name] is None else {"authorization": STRANGERS[name].encode("latin-1")}
    for path in ("/envs", "/metrics", "/openapi.json", "/docs", "/sessions/s_x", "/nowhere"):
        answer = server.call_as(headers, "GET", path)
        sound(answer)
        assert (answer.status, answer.slug, answer.json()["instance"]) == (401, "unauthorized", path)
        assert answer.headers["www-authenticate"] == 'Bearer realm="agentevol"'
    assert server.call_as(headers, "GET", "/health").json() == {"status": "healthy"}


def test_an_agents_token_opens_nothing_but_steps(server, sound: Callable[..., None]):
    session, headers = server.open(), {"authorization": "Bearer low-secret"}
    for method, path in (
        ("POST", "/envs/echo/sessions"),
        ("GET", f"/sessions/{session}"),
        ("DELETE", f"/sessions/{session}"),
        ("POST", f"/sessions/{session}/fork"),
        ("POST", "/batch"),
        ("GET", "/metrics"),
        ("GET", "/openenv/echo/health"),
        ("POST", "/agentgym/echo/create"),
    ):
        answer = server.call(method, path, headers=headers)
        sound(answer)
        assert (answer.status, answer.slug) == (403, "forbidden-scope")
    step = {"turn": 1, "action": "a"}
    assert server.call("POST", steps_of(session), json=step, headers=headers).status == 200
