"""Operations by name, as `POST /batch` carries them: the same ones that the routes offer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from agentgym_server.catalogue import Page
from agentgym_server.problems import Problem
from agentgym_server.reply import REPLAY, Reply, json_reply, problem_reply
from agentgym_server.requests import BatchRequest, invalid, validated
from agentgym_server.service import Service

Item = dict[str, Any]
ENV_OPS = ("schema", "tasks", "create")
SESSION_OPS = ("step", "fork", "lease", "get", "delete")
OPS = ("health", "envs", *ENV_OPS, *SESSION_OPS)


async def batch(service: Service, body: object) -> Reply:
    """Carry out many operations: those of one session in order, everything else concurrently."""
    items = validated(BatchRequest, body).items
    limit = service.settings.max_batch_items
    if len(items) > limit:
        raise invalid(("/items", f"must have at most {limit} members"))
    chains: dict[object, list[int]] = {}
    for place, item in enumerate(items):
        chains.setdefault(_chain(item, place), []).append(place)
    results = [b""] * len(items)

    async def follow(places: list[int]) -> None:
        for place in places:
            results[place] = await result(service, items[place])

    await asyncio.gather(*(follow(places) for places in chains.values()))
    return Reply(200, b'{"results":[' + b",".join(results) + b"]}")


async def result(service: Service, item: object) -> bytes:
    """One operation's result as JSON: `{"ok": true, "status": 200, "result": {...}}`, or its problem."""
    try:
        reply = await operate(service, item)
    except Problem as problem:
        failed = problem_reply(problem)
        return b'{"ok":false,"status":%d,"problem":%b}' % (failed.status, failed.body)
    replay = b',"replay":true' if reply.headers[-1:] == REPLAY else b""
    return b'{"ok":true,"status":%d%b,"result":%b}' % (reply.status, replay, reply.body)


async def operate(service: Service, item: object) -> Reply:
    """Carry out one operation; raises its `Problem`."""
    if not isinstance(item, dict):
        raise invalid(("", "must be an object"))
    members = dict(cast("Item", item))
    op = members.pop("op", None)
    if op not in OPS:
        raise invalid(("/op", "must be one of: " + ", ".join(OPS)))
    if op in ENV_OPS:
        return await _on_environment(service, op, _text(members, "env"), members)
    if op in SESSION_OPS:
        return await _on_session(service, op, _text(members, "session_id"), members)
    _nothing(members)
    return json_reply(service.health() if op == "health" else {"envs": await service.catalogue.entries()})


async def _on_environment(service: Service, op: str, env: str, members: Item) -> Reply:
    if op == "create":
        return await service.episodes.create(env, members)
    service.catalogue.world(env)
    if op == "schema":
        _nothing(members)
        return json_reply(service.catalogue.schema(env))
    return json_reply(await service.catalogue.tasks(env, page(members)))


async def _on_session(service: Service, op: str, session_id: str, members: Item) -> Reply:
    episodes = service.episodes
    works: dict[str, Callable[[], Awaitable[Reply]]] = {
        "step": lambda: episodes.step(session_id, members),
        "fork": lambda: episodes.fork(session_id, members),
    }
    if op in works:
        return await works[op]()
    if op == "lease":
        return episodes.lease(session_id, members)
    if op == "get":
        history = members.pop("history", False)
        _nothing(members)
        return episodes.get(session_id, history is True)
    service.registry.find(session_id)
    _nothing(members)
    return episodes.delete(session_id)


def page(members: Item) -> Page:
    """The page that these members ask for; raises `validation`."""
    wrong = [(f"/{name}", "unknown field") for name in members if name not in Page.__dataclass_fields__]
    wrong += [
        (f"/{name}", "must be a string")
        for name in ("split", "difficulty")
        if not isinstance(members.get(name), str | None)
    ]
    bounds = {"offset": (0, 2**31 - 1), "limit": (1, 1000)}
    for name, (least, most) in bounds.items():
        value = members.get(name, least)
        if type(value) is not int or not least <= value <= most:
            wrong.append((f"/{name}", f"must be an integer from {least} to {most}"))
    if wrong:
        raise invalid(*wrong[:16])
    return Page(**members)


def _chain(item: object, place: int) -> object:
    """What an item shares with those that must come in order: its session, or nothing."""
    if not isinstance(item, dict):
        return place
    session = cast("Item", item).get("session_id")
    return session if isinstance(session, str) else place


def _text(members: Item, name: str) -> str:
    value = members.pop(name, None)
    if not isinstance(value, str):
        raise invalid((f"/{name}", "must be a string"))
    return value


def _nothing(members: Item) -> None:
    if members:
        raise invalid(*((f"/{name}", "unknown field") for name in list(members)[:16]))
