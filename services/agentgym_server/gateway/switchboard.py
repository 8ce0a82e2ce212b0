"""Dispatcher of WebSocket and batch operations: each goes to its server, and results are merged."""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from agentgym_server import strict_json
from agentgym_server.gateway.delivery import Delivery, Errand
from agentgym_server.gateway.fleet import Backend
from agentgym_server.gateway.lines import HttpLine, Line, SocketLine, status_of
from agentgym_server.gateway.routing import (
    Act,
    Destination,
    item_act,
    item_destination,
    item_repeatable,
    item_takes_slot,
    item_wait_s,
    tag_of,
    without_wait,
)
from agentgym_server.lanes.auth import RANKS, Scope
from agentgym_server.lanes.operations import OPERATIONS, Item, batch_items, batch_reply, refused
from agentgym_server.problems import Problem
from agentgym_server.reply import Headers, Reply

if TYPE_CHECKING:
    from agentgym_server.gateway.gateway import Gateway


OWN = ("health", "envs")
OK = b'"ok":true,"status":200,"result":'


class Lines(Protocol):
    """Channels to servers, for one caller."""

    def to(self, backend: Backend) -> Line:
        """The channel to this server."""
        ...


class HttpLines:
    """Channels over `POST /batch`."""

    def __init__(self, gateway: "Gateway", headers: Headers) -> None:
        self._gateway, self._headers = gateway, headers

    def to(self, backend: Backend) -> Line:
        """See `Lines.to`."""
        return HttpLine(self._gateway.upstream, backend, self._headers)


class SocketLines:
    """Channels over one WebSocket per server, opened on first use."""

    def __init__(self, gateway: "Gateway", headers: Headers) -> None:
        self._gateway, self._headers = gateway, headers
        self._lines: dict[Backend, SocketLine] = {}

    def to(self, backend: Backend) -> Line:
        """See `Lines.to`."""
        line = self._lines.get(backend)
        if line is None or not line.open:
            limit = self._gateway.settings.max_frame_bytes
            line = SocketLine(self._gateway.upstream, backend, self._headers, limit)
            self._lines[backend] = line
        return line

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(line.close() for line in self._lines.values()))


class Switchboard:
    """Dispatcher for one caller."""

    def __init__(self, gateway: "Gateway", lines: Lines, caller: Scope) -> None:
        self._gateway, self._lines = gateway, lines
        self._caller: Scope = caller
        parts = (gateway.fleet, gateway.watch, gateway.homes, gateway.queues)
        self._delivery = Delivery[bytes](*parts, status_of, _document)

    async def answer(self, frame: Item) -> bytes:
        """The members of the reply to a frame."""
        if frame.get("op") != "batch":
            return await self._guarded(self._operate(frame))
        body = {name: value for name, value in frame.items() if name != "op"}
        try:
            return OK + (await self.batch(body)).body
        except Problem as problem:
            return refused(problem)

    async def batch(self, body: object) -> Reply:
        """Execute many operations: those of one session in order, all others concurrently.

        Raises `validation` for an invalid batch.
        """
        items = batch_items(body, self._gateway.settings.max_batch_items)
        groups: dict[Backend | int, list[int]] = {}
        for place, item in enumerate(items):
            groups.setdefault(self._holder(item) or place, []).append(place)
        parts = [[items[place] for place in places] for places in groups.values()]
        told = await asyncio.gather(*map(self._part, groups, parts))
        results = [b""] * len(items)
        for places, members in zip(groups.values(), told, strict=True):
            for place, result in zip(places, members, strict=True):
                results[place] = result
        return batch_reply(results)

    def _holder(self, item: object) -> Backend | None:
        """The server that holds the item's session, if any."""
        tag = item_destination(item).tag
        return None if tag is None else self._gateway.fleet.tagged(tag)

    async def _part(self, backend: Backend | int, items: list[object]) -> list[bytes]:
        """The results of items that go to one server together, or of one item that is delivered alone."""
        if isinstance(backend, int):
            return [await self._guarded(self._operate(items[0], batched=True))]
        errand = Errand(Destination(), all(map(item_repeatable, items)))
        try:
            told = await self._delivery.to(backend, errand, lambda one, _: self._lines.to(one).batch(items))
        except Problem as problem:
            return [self._lost(item_act(item)) or refused(problem) for item in items]
        for item, members in zip(items, told, strict=True):
            self._note(item_act(item), members)
        return told

    async def _operate(self, item: object, batched: bool = False) -> bytes:
        name = own_operation(item, self._caller)
        if name is not None:
            value = await (self._gateway.health() if name == "health" else self._gateway.environments())
            return OK + strict_json.dump(value)

        async def attempt(backend: Backend, wait: bool) -> bytes:
            line, given = self._lines.to(backend), item if wait else without_wait(item)
            return (await line.batch([given]))[0] if batched else await line.operate(given)

        wait_s = item_wait_s(item)
        takes = lambda: item_takes_slot(item)  # noqa: E731
        errand = Errand(item_destination(item), item_repeatable(item), wait_s, takes)
        act = item_act(item)
        try:
            members = await self._delivery.deliver(errand, attempt)
        except Problem:
            known = self._lost(act)
            if known is None:
                raise
            return known
        self._note(act, members)
        return members

    def _note(self, act: Act, members: bytes) -> None:
        head, _, body = members.partition(b'"result":')
        if body:
            self._gateway.records.note(act, status_of(head), body)

    def _lost(self, act: Act) -> bytes | None:
        """The result of an operation on a session whose server was lost, if it is known without the
        server.
        """
        view = self._gateway.records.answer(act) if self._gateway.fleet.died(tag_of(act.session_id)) else None
        if view is None or RANKS[self._caller] < RANKS[OPERATIONS[act.name].scope]:
            return None
        return OK + strict_json.dump(view)

    @staticmethod
    async def _guarded(result: Awaitable[bytes]) -> bytes:
        try:
            return await result
        except Exception as cause:  # noqa: BLE001 - every exception becomes a problem
            return refused(cause)


def _document(members: bytes) -> bytes:
    """The problem document of a result, empty where it is none."""
    return members.partition(b'"problem":')[2]


def own_operation(item: object, caller: Scope) -> str | None:
    """The name of an operation that the gateway answers itself; all others are forwarded, malformed ones
    too.
    """
    name = next((name for name in OWN if item == {"op": name}), None)
    return None if name is None or RANKS[caller] < RANKS[OPERATIONS[name].scope] else name
