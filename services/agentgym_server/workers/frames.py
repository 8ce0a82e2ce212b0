"""Frames between the server and its workers: four bytes of length, then JSON. Nothing is pickled."""

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

from agentgym_server.wire import strict_json

HEAD = 4


def packed(message: object) -> bytes:
    """A message as one frame; raises `TypeError` or `ValueError` for a value without a JSON form."""
    body = strict_json.dump(message)
    return len(body).to_bytes(HEAD, "big") + body


def receive(sock: socket.socket) -> Any:
    """The next message of a blocking socket; raises `EOFError` when the other side has closed."""
    size = int.from_bytes(_exactly(sock, HEAD), "big")
    return json.loads(_exactly(sock, size))


def _exactly(sock: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = sock.recv(size - len(received))
        if not piece:
            raise EOFError("the connection was closed")
        received += piece
    return bytes(received)


class FrameProtocol(asyncio.Protocol):
    """Protocol of the server's end: calls `on_message` with each message and `on_lost` once."""

    def __init__(self, on_message: Callable[[Any], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        """Split the stream into frames."""
        self._buffer += data
        while len(self._buffer) >= HEAD:
            end = HEAD + int.from_bytes(self._buffer[:HEAD], "big")
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEAD:end])
            del self._buffer[:end]
            self._on_message(json.loads(body))

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the loss."""
        self._on_lost()
