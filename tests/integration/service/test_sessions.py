"""Episodes of the policy service: rewards, endings, leases, and the table that they end up in."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.clock import Clock
from support.policy_service import ScriptedEngine, running

from agentevol.data.groups import group_of
from agentevol.service.service import Service
from agentevol.service.settings import ServiceSettings
from agentgym_server.settings import ServerSettings
from agentgym_store.errors import StoreError
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

ASK = {"role": "user", "content": "Make a guess."}


@pytest.fixture
def clock() -> Clock:
    return Clock(0.0)


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(lambda prompt: f"turn {prompt.count('<|im_start|>assistant')}")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
async def served(
    engine: ScriptedEngine, table: Path, clock: Clock
) -> AsyncGenerator[tuple[Service, httpx.AsyncClient]]:
    async with running(engine, table, now=clock) as both:
        yield both


@pytest.fixture
def client(served: tuple[Service, httpx.AsyncClient]) -> httpx.AsyncClient:
    return served[1]


async def begun(client: httpx.AsyncClient, **more: object) -> str:
    return (await client.post("/sessions", json={"task_id": "t", **more})).json()["session_id"]


async def called(client: httpx.AsyncClient, session: str, *messages: object, **more: object) -> Any:
    body = {"messages": messages or [ASK], **more}
    return await client.post(f"/sessions/{session}/v1/chat/completions", json=body)


async def posted(client: httpx.AsyncClient, session: str, what: str, **body: object) -> tuple[int, Any]:
    reply = await client.post(f"/sessions/{session}/{what}", json=body)
    return reply.status_code, reply.json()


def stored(table: Path) -> list[Trajectory]:
    return list(Store.open(table).trajectories())


async def test_an_ended_session_is_an_episode_of_the_table(client, table):
    session = await begun(
        client, env="guess", instruction="Find it.", seed=5, group="g1", metadata={"run": "r12"}
    )
    first = (await called(client, session)).json()["choices"][0]["message"]
    await posted(client, session, "reward", reward=0.25, call=1)
    higher = {"role": "user", "content": "Higher."}
    await called(client, session, ASK, first, higher, temperature=0.5)
    await posted(client, session, "reward", reward=0.5)
    status, summary = await posted(client, session, "end", outcome="truncated", limit="max_turns")
    assert (status, summary["total_reward"], summary["success"]) == (200, 0.75, False)
    assert summary["ending"] == {"kind": "truncated", "limit": "max_turns"}
    (episode,) = stored(table)
    assert (episode.id, episode.run, episode.env, episode.task_id) == (
        f"serve/{session}",
        *("serve", "guess", "t"),
    )
    assert (episode.purpose, episode.iteration, episode.attempt, episode.seed) == ("explore", 0, 0, 5)
    assert (episode.policy, episode.instruction) == ("scripted", "Find it.")
    assert episode.initial_observation == "Make a guess."
    assert [(turn.action, turn.observation, turn.reward) for turn in episode.turns] == [
        ("turn 1", "Higher.", 0.25),
        ("turn 2", "", 0.5),
    ]
    assert episode.turns[0].info == {"call": 1, "group": "g1", "metadata": {"run": "r12"}}
    assert episode.turns[1].info["overrides"] == {"temperature": {"given": 0.5, "used": 1.0}}
    assert episode.ending.kind == "truncated"


async def test_a_named_group_is_the_unit_of_comparison_and_else_task_and_weights_are(client, table):
    for more in ({"group": "a"}, {"group": "a", "task_id": "u"}, {"group": "b"}, {}, {}, {"task_id": "u"}):
        session = await begun(client, **more)
        await called(client, session)
        await posted(client, session, "end", outcome="terminated", success=False)
    episodes = stored(table)
    assert [group_of(t) for t in episodes] == [
        *("serve/group a/external", "serve/group a/external", "serve/group b/external"),
        *("serve/0/external/t", "serve/0/external/t", "serve/0/external/u"),
    ]
    assert [(t.task_id, t.attempt) for t in episodes] == [
        *(("t", 0), ("u", 0), ("t", 1), ("t", 2), ("t", 3), ("u", 1)),
    ]


async def test_attempts_go_on_counting_after_a_restart(engine, table):
    for expected in (0, 1):
        async with running(engine, table) as (_, client):
            session = await begun(client)
            await called(client, session)
            await posted(client, session, "end", outcome="terminated", success=True)
        assert stored(table)[-1].attempt == expected


async def test_a_reward_goes_to_the_last_call_or_to_one_that_is_named(client, table):
    session = await begun(client)
    ids = [(await called(client, session)).json()["id"] for _ in range(3)]
    assert (await posted(client, session, "reward", reward=1))[1]["call"] == 3
    assert (await posted(client, session, "reward", reward=0.5, call=1))[1]["total_reward"] == 1.5
    assert (await posted(client, session, "reward", reward=-1, call=ids[1]))[1]["call"] == 2
    again = await posted(client, session, "reward", reward=2, call=3)  # replaces: a retry adds nothing
    assert again == (200, {"session_id": session, "call": 3, "choice": 0, "reward": 2.0, "total_reward": 1.5})
    await posted(client, session, "end", outcome="terminated")
    assert [turn.reward for turn in stored(table)[0].turns] == [0.5, -1.0, 2.0]


async def test_a_reward_may_go_to_any_choice(client, table):
    session = await begun(client)
    await called(client, session, n=3)
    for choice, reward in ((0, 0.0), (2, 1.0)):
        assert (await posted(client, session, "reward", reward=reward, choice=choice))[0] == 200
    assert (await posted(client, session, "reward", reward=1, choice=3))[0] == 404
    await posted(client, session, "end", outcome="terminated")
    assert [turn.reward for turn in stored(table)[0].turns] == [0.0, 1.0]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "true", '"1"', "null"])
async def test_what_is_no_number_is_no_reward(client, number):
    session = await begun(client)
    await called(client, session)
    reply = await client.post(
        f"/sessions/{session}/reward",
        content=f'{{"reward": {number}}}',
        headers={"content-type": "application/json"},
    )
    assert (reply.status_code, reply.json()["error"]["type"]) == (400, "invalid_request_error")
    assert (await client.get(f"/sessions/{session}")).json()["total_reward"] is None


async def test_rewards_that_add_up_to_infinity_are_refused(client):
    session = await begun(client)
    for _ in range(2):
        await called(client, session)
    assert (await posted(client, session, "reward", reward=1.7e308, call=1))[0] == 200
    status, error = await posted(client, session, "reward", reward=1.7e308, call=2)
    assert (status, error["error"]["param"]) == (400, "reward")
    assert (await client.get(f"/sessions/{session}")).json()["total_reward"] == 1.7e308


async def test_a_reward_needs_a_call(client):
    session = await begun(client)
    assert (await posted(client, session, "reward", reward=1))[1]["error"]["code"] == "no_call"
    await called(client, session)
    assert (await posted(client, session, "reward", reward=1, call=2))[1]["error"]["code"] == "call_not_found"


async def test_silence_is_not_a_reward_of_0(client, table):
    session = await begun(client)
    refused = await posted(client, session, "end", outcome="terminated")
    assert (refused[0], refused[1]["error"]["code"]) == (409, "no_call")
    await called(client, session)
    refused = await posted(client, session, "end", outcome="terminated")
    assert (refused[0], refused[1]["error"]["code"]) == (409, "no_reward")
    assert stored(table) == []
    assert (await posted(client, session, "end", outcome="terminated", success=False))[0] == 200
    assert stored(table)[0].total_reward == 0.0


async def test_success_may_not_contradict_the_rewards(client):
    session = await begun(client)
    await called(client, session)
    await posted(client, session, "reward", reward=0.4)
    status, error = await posted(client, session, "end", outcome="terminated", success=True)
    assert (status, error["error"]["param"]) == (400, "success")
    assert (await posted(client, session, "end", outcome="terminated", success=False))[1]["success"] is False


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ({"outcome": "cancelled"}, {"kind": "cancelled"}),
        (
            {"outcome": "failed", "kind": "tool-timeout", "detail": "30 s"},
            {"kind": "failed", "failure": "tool-timeout", "detail": "30 s"},
        ),
    ],
)
async def test_what_did_not_end_by_itself_has_no_return_whatever_was_posted(client, table, body, ending):
    session = await begun(client)
    await called(client, session)
    await posted(client, session, "reward", reward=1)
    assert (await posted(client, session, "end", **body, success=True))[0] == 400
    status, summary = await posted(client, session, "end", **body)
    assert (status, summary["total_reward"], summary["success"]) == (200, None, None)
    (episode,) = stored(table)
    assert (episode.ending.model_dump(), episode.total_reward) == (ending, None)


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"outcome": "won"}, {"outcome": "truncated"}, {"outcome": "failed"}),
        {"outcome": "terminated", "limit": "x"},
        {"outcome": "cancelled", "kind": "x"},
        {"outcome": "cancelled", "detail": "x"},
        {"outcome": "terminated", "sucess": True},
    ],
)
async def test_an_ending_without_effect_is_refused(client, body):
    session = await begun(client)
    status, error = await posted(client, session, "end", **body)
    assert (status, error["error"]["type"]) == (400, "invalid_request_error")


async def test_an_ending_may_be_repeated_and_not_changed(client, table):
    session = await begun(client)
    await called(client, session)
    end = {"outcome": "terminated", "success": True}
    first, second = await asyncio.gather(*(posted(client, session, "end", **end) for _ in range(2)))
    assert first == second == await posted(client, session, "end", **end)
    assert len(stored(table)) == 1
    for what, body in (("end", {"outcome": "cancelled"}), ("reward", {"reward": 1})):
        status, error = await posted(client, session, what, **body)
        assert (status, error["error"]["code"]) == (410, "session_closed")
    assert (await called(client, session)).status_code == 410
    assert (await client.get(f"/sessions/{session}/trace")).status_code == 410
    assert (await client.get(f"/sessions/{session}")).json()["state"] == "ended"


async def test_the_engine_forgets_a_session_at_its_end_and_calls_under_way_are_told(client, engine, table):
    session = await begun(client)
    await called(client, session)
    assert session not in engine.released
    engine.free.clear()
    calls = [asyncio.create_task(called(client, session)) for _ in range(2)]
    await engine.asked_for(3)
    await posted(client, session, "end", outcome="cancelled")
    replies = await asyncio.gather(*calls)
    assert [reply.status_code for reply in replies] == [410, 410]
    assert {session, f"{session}/3"} <= set(engine.released)
    assert len(stored(table)[0].turns) == 1
    assert engine.acting == {}


async def test_a_session_that_nobody_uses_is_cancelled(served, clock, table):
    service, client = served
    session = await begun(client, lease_ttl_s=60)
    await called(client, session)
    await posted(client, session, "reward", reward=1)
    clock.now = 59
    await called(client, session)  # renews
    clock.now = 118
    service.sessions.sweep()
    assert service.health()["sessions"]["active"] == 1
    clock.now = 119
    assert (await called(client, session)).status_code == 410
    await service.idle()
    (episode,) = stored(table)
    assert (episode.ending.kind, episode.total_reward) == ("cancelled", None)
    assert service.health()["finished"] == {"cancelled": 1}


async def test_a_call_under_way_keeps_its_session(served, clock, engine):
    service, client = served
    session = await begun(client, lease_ttl_s=60)
    engine.free.clear()
    call = asyncio.create_task(called(client, session))
    await engine.asked_for(1)
    clock.now = 600
    service.sessions.sweep()
    engine.free.set()
    assert (await call).status_code == 200
    assert (await client.get(f"/sessions/{session}")).json()["state"] == "open"


async def test_tombstones_go_after_a_while(served, clock):
    service, client = served
    session = await begun(client)
    await posted(client, session, "end", outcome="cancelled")
    clock.now = 599
    service.sessions.sweep()
    assert (await posted(client, session, "reward", reward=1))[0] == 410
    clock.now = 600
    service.sessions.sweep()
    assert (await posted(client, session, "reward", reward=1))[0] == 404


async def test_what_is_open_when_the_service_stops_has_failed(engine, table):
    engine.free.clear()
    async with running(engine, table) as (service, client):
        used, unused = await begun(client), await begun(client)
        call = asyncio.create_task(called(client, used))
        await engine.asked_for(1)
        await service.abandon()
        assert (await call).status_code == 410
        assert (await client.post("/sessions", json={"task_id": "t"})).status_code == 503
    assert sorted(t.id for t in stored(table)) == sorted(f"serve/{session}" for session in (used, unused))
    assert {(t.ending.kind, getattr(t.ending, "failure", "")) for t in stored(table)} == {
        ("failed", "service-stopped")
    }


async def test_a_full_service_says_so(engine, table):
    settings = ServiceSettings(server=ServerSettings(max_sessions=1))
    async with running(engine, table, settings) as (_, client):
        session = await begun(client)
        refused = await client.post("/sessions", json={"task_id": "t"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "capacity")
        assert refused.headers["retry-after"] == "1"
        await posted(client, session, "end", outcome="cancelled")
        assert (await client.post("/sessions", json={"task_id": "t"})).status_code == 201


async def test_a_session_has_so_many_calls(engine, table):
    async with running(engine, table, ServiceSettings(max_calls=2)) as (_, client):
        session = await begun(client)
        codes = [(await called(client, session)).status_code for _ in range(3)]
    assert codes == [200, 200, 400]


async def test_a_table_that_cannot_be_written_loses_nothing(served, table, monkeypatch):
    service, client = served
    session = await begun(client)
    await called(client, session)
    end = {"outcome": "terminated", "success": True}

    def full(*_: object, **__: object) -> int:
        raise StoreError("no space left")

    monkeypatch.setattr(service.table._store, "append", full)
    status, error = await posted(client, session, "end", **end)
    assert (status, error["error"]["code"]) == (503, "table_error")
    assert stored(table) == []
    monkeypatch.undo()
    assert (await posted(client, session, "end", **end))[0] == 200
    assert [t.total_reward for t in stored(table)] == [1.0]


async def test_one_episode_that_cannot_be_stored_harms_no_other(served, table, monkeypatch):
    service, client = served
    sessions = [await begun(client, task_id=name) for name in ("good", "bad", "fine")]
    append = service.table._store.append

    def picky(episodes: list[Trajectory], *, commit: dict[str, str]) -> int:
        if any(t.task_id == "bad" for t in episodes):
            raise StoreError("what is this")
        return append(episodes, commit=commit)

    monkeypatch.setattr(service.table._store, "append", picky)
    ends = await asyncio.gather(*(posted(client, one, "end", outcome="cancelled") for one in sessions))
    assert [status for status, _ in ends] == [200, 503, 200]
    assert sorted(t.task_id for t in stored(table)) == ["fine", "good"]
    monkeypatch.undo()


async def test_many_endings_at_once_are_few_commits(client, table):
    sessions = [await begun(client) for _ in range(20)]
    ends = await asyncio.gather(*(posted(client, one, "end", outcome="cancelled") for one in sessions))
    assert {status for status, _ in ends} == {200}
    assert len(stored(table)) == 20
    assert Store.open(table).version() <= 5


async def test_a_service_without_a_table_has_no_sessions(engine):
    async with running(engine) as (_, client):
        refused = await client.post("/sessions", json={"task_id": "t"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (501, "no_table")
        assert (await client.post("/v1/chat/completions", json={"messages": [ASK]})).status_code == 200
