"""Endpoints that fail while `sotopia` is served: typed endings, sums that are right, no reward invented."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from support.sotopia_models import act, judgement, say
from support.sotopia_profiles import write_profiles

import agentgym_envs.endpoints.retries
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.runs.evaluation import trial
from agentgym_client import EnvClient, ServerProblem
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_server import create_app

Mode = Literal["fine", "slow", "together", "half", "again", "nonsense", "dies"]
"""`half`: every other call fails; `again`: the first call of each prompt does."""
TASK = "sotopia/1"
EPISODES = 8
SECOND = "And then?"
"""The second message of an agent."""


class Stub:
    """OpenAI-compatible endpoint on a real socket; each model fails in its mode."""

    def __init__(self, partner: Mode = "fine", judge: Mode = "fine") -> None:
        self.modes: dict[str, Mode] = {"talker": partner, "judge": judge}
        self.asked = Counter[str]()
        self._prompts = set[str]()
        self.url = ""
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._together = threading.Barrier(EPISODES)

    def release(self) -> None:
        """Let late answers go."""
        self._released.set()

    def answer(self, model: str, prompt: str) -> tuple[int, str] | None:
        """Status and content of an answer; None where the connection is cut."""
        with self._lock:
            self.asked[model] += 1
            count, mode = self.asked[model], self.modes[model]
            is_first = prompt not in self._prompts
            self._prompts.add(prompt)
        text = say("I see.") if model == "talker" else judgement()
        if mode == "slow":
            self._released.wait(10)
        if mode == "together":
            self._together.wait(10)
        if (mode == "half" and count % 2) or (mode == "again" and is_first):
            return 503, "busy"
        if mode == "nonsense":
            return 200, "I would rather not say."
        # An endpoint that dies has answered the first requests.
        return None if mode == "dies" and SECOND in prompt else (200, text)


@contextmanager
def listening(stub: Stub) -> Generator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = stub.answer(body["model"], body["messages"][0]["content"])
            if answer is None:
                self.close_connection = True
                return
            status, text = answer
            found = {"choices": [{"message": {"content": text}}]} if status == 200 else {"error": text}
            raw = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the base's name
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that no longer wait are no error of a test."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield stub
    finally:
        stub.release()
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the invented profiles."""
    import_official(write_profiles(tmp_path / "source"), tmp_path / "home")
    monkeypatch.setattr(agentgym_envs.endpoints.retries, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr("agentgym_envs.sotopia.environment.SHARED", AnswerCache())
    return tmp_path / "home"


def options(stub: Stub, **more: Any) -> dict[str, Any]:
    """Options of the environment; who is late has little time, and nobody else."""
    late = {name: {"timeout_s": 0.2} for name, mode in stub.modes.items() if mode == "slow"}
    partner, judge = (
        json.dumps({"model": name, "base_url": stub.url, **late.get(name, {})})
        for name in ("talker", "judge")
    )
    return {"partner_model": partner, "judge_model": judge, **more}


async def episode(client: EnvClient, number: int) -> tuple[str, float | None]:
    """How an episode ended, and its return; None where it failed."""
    messages = [say(f"Hello {number}."), say(SECOND), act("leave")]
    try:
        session = await client.open("sotopia", TASK, seed=number)
        for message in messages:
            result = await session.step(message)
            if result.terminated or result.truncated:
                break
    except ServerProblem as problem:
        return f"failed({problem.failure})", None
    return ("terminated" if session.terminated else "open"), session.total_reward


async def endings(client: EnvClient) -> tuple[Counter[str], list[float | None]]:
    found = await asyncio.gather(*(episode(client, number) for number in range(EPISODES)))
    return Counter(ending for ending, _ in found), [total for _, total in found]


@asynccontextmanager
async def in_process(home: Path, given: dict[str, Any]) -> AsyncIterator[EnvClient]:
    app = create_app({"sotopia": lambda: Sotopia(home=home, **given)})
    async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as client:
        yield client


def kept(home: Path) -> list[dict[str, Any]]:
    """Conversations without scores."""
    file = home / "sotopia" / "unjudged.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize(
    ("partner", "judge", "retries", "ending"),
    [
        ("fine", "fine", 0, "terminated"),
        ("again", "again", 1, "terminated"),
        ("slow", "fine", 0, "failed(partner)"),
        ("nonsense", "fine", 1, "failed(partner)"),
        ("dies", "fine", 1, "failed(partner)"),
        ("fine", "slow", 0, "failed(judge)"),
        ("fine", "nonsense", 1, "failed(judge)"),
        ("fine", "dies", 1, "failed(judge)"),
    ],
)
async def test_all_episodes_end_alike_where_all_meet_the_same_fault(
    home: Path, partner: Mode, judge: Mode, retries: int, ending: str
) -> None:
    with listening(Stub(partner, judge)) as stub:
        async with in_process(home, options(stub, retries=retries)) as client:
            found, totals = await endings(client)
    assert found == {ending: EPISODES}
    assert totals == [0.8 if ending == "terminated" else None] * EPISODES
    records = kept(home)
    assert len(records) == (0 if ending == "terminated" else EPISODES)
    status = "unjudged" if ending == "failed(judge)" else "unfinished"
    assert {one["status"] for one in records} <= {status}
    assert {one["seed"] for one in records} == (set(range(EPISODES)) if records else set())


async def test_where_half_of_the_calls_fail_without_another_try_the_sums_are_right(home: Path) -> None:
    with listening(Stub("fine", "half")) as stub:
        async with in_process(home, options(stub, retries=0)) as client:
            found, totals = await endings(client)
    assert found == {"terminated": EPISODES / 2, "failed(judge)": EPISODES / 2}
    assert Counter(totals) == {0.8: EPISODES / 2, None: EPISODES / 2}
    assert stub.asked["judge"] == EPISODES
    assert len(kept(home)) == EPISODES / 2


async def test_where_half_of_a_partners_calls_fail_each_failed_call_is_one_failed_episode(home: Path) -> None:
    with listening(Stub("half", "fine")) as stub:
        async with in_process(home, options(stub, retries=0)) as client:
            found, totals = await endings(client)
    failed = -(-stub.asked["talker"] // 2)  # every other call, the first included
    assert found == {"terminated": EPISODES - failed, "failed(partner)": failed}
    assert Counter(totals) == {0.8: EPISODES - failed, None: failed}
    assert stub.asked["judge"] == EPISODES - failed
    assert {one["status"] for one in kept(home)} == {"unfinished"}
    assert len(kept(home)) == failed


async def test_a_spent_budget_fails_what_is_open_by_its_kind_and_asks_nobody(home: Path) -> None:
    with listening(Stub()) as stub:
        async with in_process(home, options(stub, budget="1 tokens", concurrency=1)) as client:
            found, totals = await endings(client)
    assert (found, totals) == ({"failed(partner)": EPISODES}, [None] * EPISODES)
    assert stub.asked == {"talker": 1}
    assert len(kept(home)) == EPISODES


async def test_an_episode_beyond_its_time_fails_at_the_server_too(home: Path) -> None:
    with listening(Stub("fine", "slow")) as stub:
        late = json.dumps({"model": "judge", "base_url": stub.url, "timeout_s": 60})
        given = options(stub, retries=0) | {"judge_model": late, "episode_timeout_s": 2}
        async with in_process(home, given) as client:
            found, totals = await endings(client)
    assert sum(found.values()) == EPISODES
    assert set(found) <= {"failed(judge)", "failed(partner)"}  # on a slow machine time may end before
    assert totals == [None] * EPISODES


async def test_a_seat_whose_client_is_gone_fails_the_other_and_is_not_judged(home: Path) -> None:
    with listening(Stub()) as stub:
        async with in_process(home, {"judge_model": "judge", "judge_url": stub.url}) as client:
            first, second = await client.open_seats("sotopia", TASK, seed=0)
            step = asyncio.create_task(first.step(say("Hello.")))
            await second.await_turn()
            await second.close()
            with pytest.raises(ServerProblem) as failed:
                await step
            assert failed.value.failure == "partner"
            assert (second.outcome, stub.asked["judge"]) == ("cancelled", 0)


async def test_an_unknown_split_is_told_with_the_parts_of_splits_and_where_they_come_from(
    home: Path, tmp_path: Path
) -> None:
    for place, told in ((home, "all, hard, judged"), (tmp_path / "empty", "data import sotopia DIR")):
        app = create_app({"sotopia": partial(Sotopia, home=place, judge="none")})
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            answer = (await http.get("/envs/sotopia/tasks", params={"split": "Hard"})).json()
        assert answer["detail"].startswith("sotopia has no split 'Hard'; there are: train, valid, test")
        assert all(name in answer["detail"] for name in told.split(", "))


async def test_failures_tell_agents_no_address(home: Path) -> None:
    with listening(Stub("nonsense")) as stub:
        async with in_process(home, options(stub, retries=0)) as client:
            session = await client.open("sotopia", TASK)
            with pytest.raises(ServerProblem) as failed:
                await session.step(say("Hello."))
    assert "incident" in failed.value.detail
    assert "127.0.0.1" not in str(failed.value.members) + failed.value.detail


@pytest.mark.slow
def test_an_evaluation_tells_why_its_own_server_failed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVOL_HOME", str(home))
    with listening(Stub(judge="nonsense")) as stub:
        config = EnvironmentConfig(name="sotopia", options=options(stub, retries=0))
        played = trial(
            "idle",
            config,
            "judged",
            difficulty=None,
            episodes=1,
            temperature=0.0,
            seed=0,
            started=lambda _: lambda _: None,
        )
    (reason,) = played.failures
    assert "the judge of this episode failed: incident " in reason
    assert ": JudgeFault: the judge's endpoint failed 1 times; the last: the judge's answer is no" in reason
    assert f"the conversation is kept in {home}" in reason
    assert any(reason in remark for remark in played.remarks())
    assert played.summary("judged").n == 0


@pytest.mark.slow
@pytest.mark.parametrize("died", ["talker", "judge"])
def test_an_endpoint_that_dies_for_good_in_a_server_of_its_own(home: Path, tmp_path: Path, died: str) -> None:
    """The server is a process, and the endpoint closes its socket in the middle of all episodes."""
    kind = "partner" if died == "talker" else "judge"

    async def played(url: str, stop: Any) -> list[tuple[str, float | None]]:
        async with EnvClient(url) as client:
            sessions = [await client.open("sotopia", TASK, seed=number) for number in range(EPISODES)]
            for number, session in enumerate(sessions):
                await session.step(say(f"Hello {number}. {SECOND if died == 'judge' else ''}"))
            finished = [await one.step(act("leave")) for one in sessions[:2]]
            stop()
            found: list[tuple[str, float | None]] = [("terminated", one.reward) for one in finished]
            message = say(SECOND) if died == "talker" else act("leave")
            for session in sessions[2:]:
                try:
                    result = await session.step(message)
                    found.append(("terminated" if result.terminated else "open", result.reward))
                except ServerProblem as problem:
                    found.append((f"failed({problem.failure})", None))
            return found

    stub = Stub()
    with pytest.MonkeyPatch.context() as patch, listening(stub):
        patch.setenv("AGENTEVOL_HOME", str(home))
        config = EnvironmentConfig(name="sotopia", options=options(stub, retries=0, judge_cache=False))
        with EnvironmentServer(config, tmp_path / "log") as server:
            found = asyncio.run(played(server.url, lambda: stub.modes.update({died: "dies"})))
    assert Counter(found) == {("terminated", 0.8): 2, (f"failed({kind})", None): EPISODES - 2}
    assert len(kept(home)) == EPISODES - 2
    assert f"the {kind}" in (tmp_path / "log").read_text()


async def test_partners_are_asked_at_the_same_time(home: Path) -> None:
    """No call is answered before all episodes wait for theirs."""
    with listening(Stub("together")) as stub:
        async with in_process(home, options(stub, retries=0)) as client:
            found, totals = await endings(client)
    assert (found, totals) == ({"terminated": EPISODES}, [0.8] * EPISODES)
    assert stub.asked == {"talker": 2 * EPISODES, "judge": EPISODES}
