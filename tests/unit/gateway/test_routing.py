"""The gateway's rules that need no server: where a request belongs, who takes it, how counts add up."""

import json
from typing import Any

import pytest

from agentgym_server.gateway.backends.discovery import parsed
from agentgym_server.gateway.backends.fleet import Backend, Fleet
from agentgym_server.gateway.backends.upstream import target_of
from agentgym_server.gateway.metrics import summed
from agentgym_server.gateway.routing import (
    Destination,
    Request,
    destination,
    item_destination,
    item_repeatable,
    number_tag,
    repeatable,
    tag_of,
)
from agentgym_server.sessions.session import instance_tag, new_session_id
from agentgym_server.wire.problems import Problem

SESSION = "s_AAAB" + "x" * 24
"""A session of instance 1."""


def request(method: str, path: str, query: bytes = b"", body: Any = None, **headers: str) -> Request:
    pairs = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Request(method, path, path, query, pairs, raw)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (request("GET", "/docs"), Destination()),
        (request("GET", "/"), Destination()),
        (request("GET", "/envs/guess/tasks"), Destination(env="guess")),
        (request("POST", "/envs/guess/sessions"), Destination(env="guess", begins=True)),
        (
            request("POST", "/envs/guess/sessions", idempotency_key="k"),
            Destination(env="guess", begins=True, key="k"),
        ),
        (request("GET", "/envs/guess/sessions"), Destination(env="guess")),
        (request("POST", f"/sessions/{SESSION}/steps"), Destination(tag="AAAB")),
        (request("POST", f"/sessions/{SESSION}/mcp"), Destination(tag="AAAB")),
        (request("GET", "/sessions/s_short"), Destination()),
        (request("GET", "/sessions/..%2f"), Destination()),
    ],
)
def test_native_requests(given: Request, expected: Destination) -> None:
    assert destination(given) == expected


ONE = 1 << 32
"""The first integer id of instance 1."""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (request("POST", "/agentgym/guess/create"), Destination(env="guess", begins=True, mounted=True)),
        (request("POST", "/agentgym/guess//create"), Destination(env="guess", begins=True, mounted=True)),
        (
            request("POST", "/agentgym/searchqa/create", body={"id": ONE}),
            Destination(env="searchqa", begins=True, mounted=True),
        ),
        (
            request("POST", "/agentgym/guess/step", body={"id": ONE + 5, "action": "x"}),
            Destination("AAAB", "guess", mounted=True),
        ),
        (
            request("POST", "/agentgym/webshop/step", body={"env_idx": 2 * ONE}),
            Destination("AAAC", "webshop", mounted=True),
        ),
        # `id` is the task where `env_idx` is the session
        (
            request("POST", "/agentgym/searchqa/reset", body={"env_idx": ONE, "id": 7}),
            Destination("AAAB", "searchqa", mounted=True),
        ),
        (
            request("GET", "/agentgym/guess/observation", b"id=4294967296"),
            Destination("AAAB", "guess", mounted=True),
        ),
        (
            request("GET", "/agentgym/lmrlgym/maze/observation", b"id=4294967296"),
            Destination("AAAB", "maze", mounted=True),
        ),
        (request("GET", "/agentgym/guess/"), Destination(env="guess", mounted=True)),
        (request("POST", "/agentgym/guess/step", body=b"{no"), Destination(env="guess", mounted=True)),
        (request("POST", "/agentgym/guess/step", body=[1]), Destination(env="guess", mounted=True)),
        (
            request("POST", "/agentgym/guess/step", body=b"[" * 100_000),
            Destination(env="guess", mounted=True),
        ),
        (request("POST", "/agentgym/guess/step", body={"id": True}), Destination(env="guess", mounted=True)),
        (request("POST", "/agentgym/guess/step", body={"id": -1}), Destination(env="guess", mounted=True)),
        (request("POST", "/agentgym/guess/step", body={"id": 1e99}), Destination(env="guess", mounted=True)),
    ],
)
def test_requests_of_agentgym_go_by_their_integer_id(given: Request, expected: Destination) -> None:
    assert destination(given) == expected


@pytest.mark.parametrize(
    ("given", "tag"),
    [
        (request("POST", "/openenv/guess/reset"), None),
        (request("POST", "/openenv/guess/step", body={"session_id": SESSION}), "AAAB"),
        (request("POST", "/openenv/guess/step", x_session_id=SESSION), "AAAB"),
        (request("GET", "/openenv/guess/ws", f"session_id={SESSION}".encode()), "AAAB"),
        (
            request(
                "POST",
                "/openenv/guess/mcp",
                body={"method": "openenv/session/close", "params": {"session_id": SESSION}},
            ),
            "AAAB",
        ),
        (request("POST", "/openenv/guess/step", body={"session_id": 5}), None),
    ],
)
def test_requests_of_openenv_go_by_the_session_that_they_name(given: Request, tag: str | None) -> None:
    assert destination(given) == Destination(tag, "guess", mounted=True)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"op": "create", "env": "guess"}, Destination(env="guess", begins=True)),
        (
            {"op": "create", "env": "guess", "idempotency_key": "k"},
            Destination(env="guess", begins=True, key="k"),
        ),
        ({"op": "schema", "env": "guess"}, Destination(env="guess")),
        ({"op": "step", "session_id": SESSION}, Destination(tag="AAAB")),
        ({"op": "step", "session_id": 5}, Destination()),
        ({"op": "step"}, Destination()),
        ({"op": "create", "env": ["guess"]}, Destination()),
        ({"op": "nonsense"}, Destination()),
        ({"op": {}}, Destination()),
        ("step", Destination()),
        (None, Destination()),
    ],
)
def test_operations_go_by_environment_or_session(item: object, expected: Destination) -> None:
    assert item_destination(item) == expected


def test_tags_are_those_of_the_ids_that_servers_make() -> None:
    for instance in (0, 1, 619160, (1 << 20) - 1):
        assert tag_of(new_session_id(instance)) == instance_tag(instance)
        assert (
            number_tag(instance << 32) == number_tag((instance << 32) + 4294967295) == instance_tag(instance)
        )
    assert number_tag("4294967296") == "AAAB"
    assert [number_tag(value) for value in (1 << 52, -1, True, 1.5, "x", "9" * 30, None)] == [None] * 7


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (request("GET", "/envs/guess/tasks"), True),
        (request("DELETE", f"/sessions/{SESSION}"), True),
        (request("POST", f"/sessions/{SESSION}/steps"), True),  # it carries its turn
        (request("POST", f"/sessions/{SESSION}/lease"), True),
        (request("POST", f"/sessions/{SESSION}/fork"), False),
        (request("POST", f"/sessions/{SESSION}/fork", idempotency_key="k"), True),
        (request("POST", f"/sessions/{SESSION}/mcp"), False),
        (request("POST", "/envs/guess/sessions"), False),
        (request("POST", "/envs/guess/sessions", idempotency_key="k"), True),
        (request("POST", "/agentgym/guess/step", idempotency_key="k"), False),  # it knows no keys
    ],
)
def test_only_what_cannot_act_twice_is_repeatable(given: Request, expected: bool) -> None:
    assert repeatable(given) is expected


def test_operations_are_repeatable_likewise() -> None:
    repeated = [
        op for op in ("step", "get", "lease", "delete", "create", "fork") if item_repeatable({"op": op})
    ]
    assert repeated == ["step", "get", "lease", "delete"]
    assert item_repeatable({"op": "create", "idempotency_key": "k"})
    assert item_repeatable("nonsense")


@pytest.mark.parametrize(
    ("raw", "query", "target"),
    [
        (b"/sessions/s_a", b"", "/sessions/s_a"),
        (b"/a%2Fb//c", b"x=1&y=%20", "/a%2Fb//c?x=1&y=%20"),
        (b"/\xff\x00 #", b"#", "/%FF%00%20%23?%23"),
        (b"//evil.example/", b"", "//evil.example/"),
    ],
)
def test_a_target_is_passed_on_as_it_came_and_is_always_printable(
    raw: bytes, query: bytes, target: str
) -> None:
    assert target_of(raw, query) == target


@pytest.mark.parametrize(
    "text",
    [
        "guess",
        "=http://a",
        "guess=a:1",
        "guess=ftp://a",
        "guess=http://a?x=1",
        "guess=http://",
        "g=http://u@a",
    ],
)
def test_what_is_no_backend_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME=URL, for example guess="):
        parsed(text)


@pytest.mark.parametrize("port", ["99999", "x", "-1", "0"])
def test_a_port_that_is_none_is_an_error(port: str) -> None:
    with pytest.raises(ValueError, match=r"[Pp]ort"):
        parsed(f"guess=http://a:{port}")


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("guess=http://127.0.0.1:8001", ["http://127.0.0.1:8001"]),
        ("guess=http://[::1]:8001/", ["http://[::1]:8001"]),
        ("guess=https://guess.example/base/", ["https://guess.example/base"]),
    ],
)
async def test_addresses_and_names_of_certificates_are_not_looked_up(text: str, urls: list[str]) -> None:
    assert await parsed(text).urls() == urls


async def test_every_address_of_a_name_is_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        (2, 1, 6, "", ("10.0.0.2", 80)),
        (2, 1, 6, "", ("10.0.0.3", 80)),
        (10, 1, 6, "", ("fd00::2", 80, 0, 0)),
    ]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: found)
    urls = ["http://10.0.0.2:80/a", "http://10.0.0.3:80/a", "http://[fd00::2]:80/a"]
    assert await parsed("guess=http://guess/a/").urls() == urls


async def test_a_name_that_cannot_be_looked_up_now_says_nothing_about_its_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("no such name")

    monkeypatch.setattr("socket.getaddrinfo", fails)
    assert await parsed("guess=http://guess").urls() is None


def backend(tag: str, *envs: str, active: int = 0, status: str = "healthy") -> Backend:
    made = Backend(envs[0], f"http://{tag}", tag, [{"env": env} for env in envs])
    made.health = {"status": status, "sessions": {"active": active}}
    return made


def fleet(*backends: Backend) -> Fleet:
    made = Fleet()
    for one in backends:
        made.add(one)
    made.complete = True
    return made


def tags(found: list[Backend]) -> list[str]:
    return [one.tag for one in found]


def test_the_replica_with_the_fewest_sessions_comes_first() -> None:
    many, few, other = backend("many", "a", active=5), backend("few", "a", active=2), backend("none", "b")
    found = fleet(many, few, other)
    assert tags(found.candidates(Destination(env="a", begins=True))) == ["few", "many"]
    few.begun = 4  # since it told
    assert tags(found.candidates(Destination(env="a", begins=True))) == ["many", "few"]


def test_what_no_server_knows_may_go_to_any() -> None:
    found = fleet(backend("a", "a"), backend("b", "b"))
    assert tags(found.candidates(Destination(env="zzz"))) == ["a", "b"]
    assert tags(found.candidates(Destination())) == ["a", "b"]


def test_a_draining_replica_gets_no_new_session_but_answers() -> None:
    draining, other = backend("d", "a", status="draining"), backend("o", "a", active=9)
    found = fleet(draining, other)
    assert tags(found.candidates(Destination(env="a", begins=True))) == ["o"]
    assert tags(found.candidates(Destination(env="a"))) == ["d", "o"]


def test_a_known_environment_without_servers_is_unavailable_and_not_unknown() -> None:
    only = backend("t", "a")
    found = fleet(only, backend("u", "b"))
    found.lose(only)
    with pytest.raises(Problem) as caught:
        found.candidates(Destination(env="a"))
    assert (caught.value.slug, caught.value.status, caught.value.retryable) == ("unavailable", 503, True)


def test_a_tag_is_held_lost_or_unknown() -> None:
    one, other = backend("aaaa", "a"), backend("bbbb", "a")
    found = fleet(one, other)
    found.lose(other)
    assert found.holder("aaaa") is one
    assert found.holder("cccc") is None
    with pytest.raises(Problem) as caught:
        found.holder("bbbb")
    document = caught.value.document()
    assert (document["status"], document["failure"]["kind"]) == (502, "worker-lost")
    assert "reward" not in document


def test_before_every_server_was_there_a_session_may_still_turn_up() -> None:
    found = fleet(backend("aaaa", "a"))
    found.complete = False
    with pytest.raises(Problem, match="unavailable"):
        found.holder("cccc")


def test_metrics_of_servers_are_added_up() -> None:
    one = (
        "# HELP steps_total Steps.\n# TYPE steps_total counter\n"
        'steps_total{env="a b",result="ok"} 3.0\n'
        "# HELP size Size.\n# TYPE size gauge\nsize 1.5\n"
        '# HELP s S.\n# TYPE s histogram\ns_bucket{le="+Inf"} 2.0\ns_sum 0.25\n'
    )
    other = (
        "# HELP steps_total Steps.\n# TYPE steps_total counter\n"
        'steps_total{env="a b",result="ok"} 4.0\nsteps_total{env="c",result="ok"} 1.0\n'
        "# HELP size Size.\n# TYPE size gauge\nsize 1e+09\n"
    )
    assert summed([one, other]) == (
        "# HELP steps_total Steps.\n# TYPE steps_total counter\n"
        'steps_total{env="a b",result="ok"} 7.0\nsteps_total{env="c",result="ok"} 1.0\n'
        "# HELP size Size.\n# TYPE size gauge\nsize 1000000001.5\n"
        '# HELP s S.\n# TYPE s histogram\ns_bucket{le="+Inf"} 2.0\ns_sum 0.25\n'
    )
