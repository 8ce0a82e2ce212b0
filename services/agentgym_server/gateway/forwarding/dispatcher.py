"""Dispatcher of WebSocket and batch operations: each goes to its server, and results are merged."""

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from agentgym_server.gateway.backends.delivery import Delivery, DeliveryRequest
from agentgym_server.gateway.backends.fleet import Backend
from agentgym_server.gateway.forwarding.channels import Channel, HttpChannel, SocketChannel, status_of
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.gateway.routing import (
    Act,
    Destination,
    item_act,
    item_destination,
    item_repeatable,
    item_slots,
    item_wait_s,
    tag_of,
    without_wait,
)
from agentgym_server.lanes.auth import RANKS, Scope
from agentgym_server.lanes.operations import OPERATIONS, Item, batch_items, batch_reply, refused
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import Headers, Reply

OWN = ("health", "envs")
OK = b'"ok":true,"status":200,"result":'


class Channels(Protocol):
    """Channels to servers, for one caller."""

    def to(self, backend: Backend) -> Channel:
        """The channel to this server."""
        ...


class HttpChannels:
    """Channels over `POST /batch`."""

    def __init__(self, gateway: Gateway, headers: Headers) -> None:
        self._gateway, self._headers = gateway, headers

    def to(self, backend: Backend) -> Channel:
        """See `Channels.to`."""
        return HttpChannel(self._gateway.upstream, backend, self._headers)


class SocketChannels:
    """Channels over one WebSocket per server, opened on first use."""

    def __init__(self, gateway: Gateway, headers: Headers) -> None:
        self._gateway, self._headers = gateway, headers
        self._channels: dict[Backend, SocketChannel] = {}

    def to(self, backend: Backend) -> Channel:
        """See `Channels.to`."""
        channel = self._channels.get(backend)
        if channel is None or not channel.open:
            limit = self._gateway.settings.max_frame_bytes
            channel = SocketChannel(self._gateway.upstream, backend, self._headers, limit)
            self._channels[backend] = channel
        return channel

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))


class Dispatcher:
    """Dispatcher for one caller."""

    def __init__(self, gateway: Gateway, channels: Channels, caller: Scope) -> None:
        self._gateway, self._channels = gateway, channels
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
        delivery = DeliveryRequest(Destination(), all(map(item_repeatable, items)))
        try:
            told = await self._delivery.to(
                backend, delivery, lambda one, _: self._channels.to(one).batch(items)
            )
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
            channel, given = self._channels.to(backend), item if wait else without_wait(item)
            return (await channel.batch([given]))[0] if batched else await channel.operate(given)

        wait_s = item_wait_s(item)
        slots = lambda: item_slots(item)  # noqa: E731
        delivery = DeliveryRequest(item_destination(item), item_repeatable(item), wait_s, slots)
        act = item_act(item)
        try:
            members = await self._delivery.deliver(delivery, attempt)
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
