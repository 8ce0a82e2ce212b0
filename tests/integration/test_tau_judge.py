"""A judge behind a real endpoint, beside a server: other episodes go on meanwhile, and its failure is one."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from support.tau import call

from agentgym_envs.tau.data.domain import Tasks
from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.retail.builtin import builtin_tasks
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of

TASK = next(one for one in builtin_tasks().tasks("train") if one.kind == "cancel").model_copy(
    update={"basis": ("DB", "NL_ASSERTION"), "statements": ("The agent cancels the order.",)}
)
SOURCE = Tasks({"train": [TASK]}, {TASK.source: builtin_tasks().domain(TASK.source)}, "judged")


class Stub(ThreadingHTTPServer):
    """An endpoint that answers once `go` is set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.go = Event(), Event()
        self.status, self.text = 200, json.dumps({"reason": "seen", "holds": True})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        stub: Any = self.server
        assert self.path == "/v1/chat/completions"
        self.rfile.read(int(self.headers["Content-Length"]))
        stub.asked.set()
        assert stub.go.wait(30)
        body = json.dumps({"choices": [{"message": {"content": stub.text}}]}).encode()
        self.send_response(stub.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
        pass


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.go.set()
        server.shutdown()
        thread.join()


@asynccontextmanager
async def served(stub: Stub) -> AsyncIterator[httpx.AsyncClient]:
    judge = {"base_url": stub.url, "model": "wise", "retries": 1}
    app = create_app(
        {"tau-retail": lambda: TauRetail(judge_model=judge, sources=(SOURCE,))}, settings=ServerSettings()
    )
    service = service_of(app)
    await service.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        yield http
    await service.close()


async def opened(http: httpx.AsyncClient) -> str:
    reply = await http.post("/envs/tau-retail/sessions", json={"task_id": TASK.id})
    assert reply.status_code == 201, reply.text
    return reply.json()["session_id"]


async def stepped(http: httpx.AsyncClient, session: str, turn: int, action: str) -> httpx.Response:
    return await http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})


async def solved(http: httpx.AsyncClient) -> "tuple[str, asyncio.Task[httpx.Response]]":
    """A session whose gold actions are done, and its last step under way."""
    session = await opened(http)
    for turn, action in enumerate(TASK.gold, 1):
        assert (await stepped(http, session, turn, call(action.name, **action.arguments))).is_success
    return session, asyncio.create_task(stepped(http, session, len(TASK.gold) + 1, call("done")))


async def test_other_episodes_go_on_while_a_judge_is_asked(stub: Stub) -> None:
    async with served(stub) as http:
        _, last = await solved(http)
        assert await asyncio.to_thread(stub.asked.wait, 30)
        reply = await stepped(http, await opened(http), 1, call("calculate", expression="2 + 2"))
        assert (reply.json()["observation"], last.done()) == ("4.0", False)
        stub.go.set()
        end = (await last).json()
    assert (end["reward"], end["terminated"]) == (1.0, True)
    assert end["info"]["judge"]["verdicts"] == [{"reason": "seen", "holds": True}]


@pytest.mark.parametrize(("status", "text"), [(500, ""), (200, "I would say so.")])
async def test_a_judge_that_fails_makes_a_failed_episode_and_no_reward(
    stub: Stub, status: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_envs.endpoints.retries.FIRST_PAUSE_S", 0.0)
    stub.status, stub.text = status, text
    stub.go.set()
    async with served(stub) as http:
        session, last = await solved(http)
        reply = await last
        ended = await http.get(f"/sessions/{session}")
    assert (reply.status_code, reply.json()["type"]) == (502, "urn:agentevol:problem:judge")
    assert ended.json()["failure"]["kind"] == "judge"
    assert "reward" not in reply.json()
