"""Operations by name for `POST /batch` and the WebSocket, with the same rules as the routes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from agentgym_server.catalogue import Page
from agentgym_server.lanes.auth import RANKS, Scope
from agentgym_server.service import Service
from agentgym_server.wire.problems import Problem, internal_problem
from agentgym_server.wire.reply import REPLAY, Reply, json_reply, problem_reply
from agentgym_server.wire.requests import BatchRequest, invalid, validated

Item = dict[str, Any]
Answer = Reply | Awaitable[Reply]
MOST_WAIT_S = 60.0


class Operation(NamedTuple):
    """Description of an operation: handler, subject and required scope."""

    subject: str | None
    """Member that names its subject: `env` or `session_id`."""
    work: Callable[[Service, str, Item], Answer]
    scope: Scope = "trainer"


def _health(service: Service, _: str, members: Item) -> Reply:
    _nothing(members)
    return json_reply(service.health())


async def _envs(service: Service, _: str, members: Item) -> Reply:
    _nothing(members)
    return json_reply({"envs": await service.catalogue.entries()})


def _schema(service: Service, env: str, members: Item) -> Reply:
    service.catalogue.of(env)
    _nothing(members)
    return json_reply(service.catalogue.schema(env))


async def _tasks(service: Service, env: str, members: Item) -> Reply:
    service.catalogue.of(env)
    return json_reply(await service.catalogue.tasks(env, page(members)))


def _create(service: Service, env: str, members: Item) -> Answer:
    key, wait_s = _retry_members(members)
    return service.episodes.create(env, members, key, wait_s)


def _step(service: Service, session_id: str, members: Item) -> Answer:
    return service.episodes.step(session_id, members)


def _step_at_once(service: Service, session_id: str, members: Item) -> Answer:
    return service.episodes.step(session_id, members, hold=False)


def _lease(service: Service, session_id: str, members: Item) -> Reply:
    return service.episodes.lease(session_id, members)


def _fork(service: Service, session_id: str, members: Item) -> Answer:
    key, wait_s = _retry_members(members)
    return service.episodes.fork(session_id, members, key, wait_s)


def _get(service: Service, session_id: str, members: Item) -> Answer:
    service.registry.find(session_id)
    history, wait_s = members.pop("history", False), members.pop("wait_s", 0)
    _nothing(members)
    if not isinstance(history, bool):
        raise invalid(("/history", "must be true or false"))
    if not is_wait(wait_s):
        raise invalid(("/wait_s", f"must be a number from 0 to {MOST_WAIT_S:g}"))
    if not wait_s:
        return service.episodes.get(session_id, history)
    return service.episodes.get_at_turn(session_id, history, float(wait_s))


def _delete(service: Service, session_id: str, members: Item) -> Reply:
    service.registry.find(session_id)
    _nothing(members)
    return service.episodes.delete(session_id)


OPERATIONS: dict[str, Operation] = {
    "health": Operation(None, _health, "agent"),
    "envs": Operation(None, _envs),
    "schema": Operation("env", _schema),
    "tasks": Operation("env", _tasks),
    "create": Operation("env", _create),
    "step": Operation("session_id", _step, "agent"),
    "fork": Operation("session_id", _fork),
    "lease": Operation("session_id", _lease),
    "get": Operation("session_id", _get),
    "delete": Operation("session_id", _delete),
}


BATCHED = OPERATIONS | {"step": Operation("session_id", _step_at_once, "agent")}
"""Operations of a batch: it is answered as a whole, so that no step in it waits for a partner."""


def operate(
    service: Service, item: object, caller: Scope, operations: Mapping[str, Operation] = OPERATIONS
) -> Answer:
    """Execute one operation, the reply at once where no waiting is needed; raises its `Problem`."""
    if not isinstance(item, dict):
        raise invalid(("", "must be an object"))
    members = dict(cast("Item", item))
    name = members.pop("op", None)
    operation = operations.get(name) if isinstance(name, str) else None
    if operation is None:
        raise invalid(("/op", "must be one of: " + ", ".join(operations)))
    if RANKS[caller] < RANKS[operation.scope]:
        raise Problem("forbidden-scope", f"a token of scope {operation.scope} is needed")
    subject = "" if operation.subject is None else _text(members, operation.subject)
    return operation.work(service, subject, members)


def result(
    service: Service, item: object, caller: Scope, operations: Mapping[str, Operation] = OPERATIONS
) -> bytes | Awaitable[bytes]:
    """One operation's result as the members of a JSON object; at once where no waiting is needed.

    `"ok":true,"status":200,"result":{...}`, or `"ok":false,"status":404,"problem":{...}`.
    """
    try:
        answer = operate(service, item, caller, operations)
    except Exception as cause:  # noqa: BLE001 - every exception becomes a problem
        return refused(cause)
    return _accepted(answer) if isinstance(answer, Reply) else _result_of(answer)


async def _result_of(answer: Awaitable[Reply]) -> bytes:
    try:
        return _accepted(await answer)
    except Exception as cause:  # noqa: BLE001 - see `result`
        return refused(cause)


def _accepted(reply: Reply) -> bytes:
    replay = b',"replay":true' if reply.headers[-1:] == REPLAY else b""
    return b'"ok":true,"status":%d%b,"result":%b' % (reply.status, replay, reply.body)


def refused(cause: Exception) -> bytes:
    """The members of a result that is a problem."""
    reply = problem_reply(cause if isinstance(cause, Problem) else internal_problem(cause))
    return b'"ok":false,"status":%d,"problem":%b' % (reply.status, reply.body)


async def batch(service: Service, body: object, caller: Scope) -> Reply:
    """Execute many operations: those of one session in order, all others concurrently."""
    items = batch_items(body, service.settings.max_batch_items)
    chains: dict[object, list[int]] = {}
    for place, item in enumerate(items):
        chains.setdefault(_chain(item, place), []).append(place)
    several = _Batch(service, items, caller)
    waiting = [rest for places in chains.values() if (rest := several.follow(places)) is not None]
    if waiting:
        await asyncio.gather(*waiting)
    return batch_reply(several.results)


def batch_items(body: object, limit: int) -> list[Any]:
    """The items of a batch; raises `validation`."""
    items = validated(BatchRequest, body).items
    if len(items) > limit:
        raise invalid(("/items", f"must have at most {limit} members"))
    return items


def batch_reply(results: list[bytes]) -> Reply:
    """The reply of a batch from the members of its results."""
    return Reply(200, b'{"results":[%b]}' % b",".join(b"{%b}" % members for members in results))


class _Batch:
    """The items of one batch and their results."""

    def __init__(self, service: Service, items: list[Any], caller: Scope) -> None:
        self._service, self._items = service, items
        self._caller: Scope = caller
        self.results = [b""] * len(items)

    def follow(self, places: Sequence[int]) -> Awaitable[None] | None:
        """Execute a chain up to the first operation that waits; the rest is to be awaited."""
        for position, place in enumerate(places):
            answer = result(self._service, self._items[place], self._caller, BATCHED)
            if not isinstance(answer, bytes):
                return self._finish(answer, places[position:])
            self.results[place] = answer
        return None

    async def _finish(self, answer: Awaitable[bytes], places: Sequence[int]) -> None:
        self.results[places[0]] = await answer
        rest = self.follow(places[1:])
        if rest is not None:
            await rest


def page(members: Item) -> Page:
    """The page that these members describe; raises `validation`."""
    wrong = [(f"/{name}", "unknown field") for name in members if name not in Page.__dataclass_fields__]
    wrong += [
        (f"/{name}", "must be a string")
        for name in ("split", "difficulty", "task_id")
        if name in members and not isinstance(members[name], str)
    ]
    bounds = {"offset": (0, 2**31 - 1), "limit": (1, 1000)}
    for name, (least, most) in bounds.items():
        value = members.get(name, least)
        if type(value) is not int or not least <= value <= most:
            wrong.append((f"/{name}", f"must be an integer from {least} to {most}"))
    if wrong:
        raise invalid(*wrong[:16])
    return Page(**members)


def _retry_members(members: Item) -> tuple[str | None, float]:
    """Members that REST has in headers: the idempotency key, and the wait for a free slot."""
    given = "idempotency_key" in members
    key, wait_s = members.pop("idempotency_key", None), members.pop("wait_s", 0)
    if given and not isinstance(key, str):
        raise invalid(("/idempotency_key", "must be a string"))
    if not is_wait(wait_s):
        raise invalid(("/wait_s", f"must be a number from 0 to {MOST_WAIT_S:g}"))
    return key, float(wait_s)


def is_wait(value: object) -> bool:
    """True if this is a valid wait for a free slot."""
    return type(value) in (int, float) and 0 <= cast("float", value) <= MOST_WAIT_S


def _chain(item: object, place: int) -> object:
    """Key of items that must run in order: their session, or a key of its own."""
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
