"""Program: an endpoint that answers every request at once with the same judgement; it prints its address."""

import asyncio
import json
import sys
from typing import Any

from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_server.serve import run

SEAT = {one.name: ["As expected, because the two agree in the end.", one.high] for one in SOTOPIA}
TEXT = json.dumps({"evaluations": {"agent_1": SEAT, "agent_2": SEAT}})
BODY = json.dumps(
    {
        "choices": [{"message": {"role": "assistant", "content": TEXT}}],
        "usage": {"prompt_tokens": 2700, "completion_tokens": 400},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
REPLY = HEAD % len(BODY) + BODY


class Instant(asyncio.Protocol):
    """Connection whose requests are answered as soon as they are whole."""

    def __init__(self) -> None:
        self._buffer = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, whose class is uvloop's own."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            self._transport.write(REPLY)


async def serve() -> int:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()
    return 0


if __name__ == "__main__":
    run(serve())
