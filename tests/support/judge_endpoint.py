"""Program: an OpenAI-compatible endpoint that judges, or misbehaves, by the name of the model.

| model | behaviour |
|---|---|
| `ok` | usable judgements |
| `sound` | scores that no text of the agent or the world can move |
| `gullible` | scores that the transcript asks for |
| `flaky` | the first request of each prompt fails with 503 |
| `half` | the requests of half of all prompts fail with 503, however often they are made |
| `nonsense` | answers that are no judgements |
| `garbage` | answers that are no chat completions |
| `late` | usable judgements after a quarter of a second |
| `slow` | answers that never come |
| `dying` | the process kills itself at the tenth request |

It prints its address, and with `GET /` tells the number of requests that are open and that came.
"""

import asyncio
import json
import os
import signal
import sys
import zlib
from collections import Counter
from typing import Any

from support.judging import answer_to, completion, gullible_answer, sound_answer

OPEN, CAME = Counter[str](), Counter[str]()
SEEN = set[str]()
"""Prompts so far."""


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                ),
                0,
            )
            raw = await reader.readexactly(length)
            if head.startswith(b"GET"):
                await reply(writer, 200, {"open": OPEN["open"], "came": CAME.total()})
                continue
            body = json.loads(raw)
            CAME[body["model"]] += 1
            OPEN["open"] += 1
            try:
                await answer(body, reader, writer)
            finally:
                OPEN["open"] -= 1
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a request as its model does."""
    model = body["model"]
    if model == "dying" and CAME[model] == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    if model == "slow":
        await reader.read(1)  # the caller hangs up
        return
    if model == "late":
        await asyncio.sleep(0.25)
    prompt = body["messages"][-1]["content"] if len(body["messages"]) <= 2 else ""
    fresh, digest = prompt not in SEEN, zlib.crc32(prompt.encode())
    SEEN.add(prompt)
    if (model == "flaky" and fresh) or (model == "half" and digest % 2):
        await reply(writer, 503, {"error": {"message": "overloaded"}}, "retry-after: 0\r\n")
    elif model == "garbage":
        await reply(writer, 200, ["no", "completion"])
    elif model in ("sound", "gullible"):
        told = sound_answer(body) if model == "sound" else gullible_answer(body)
        await reply(writer, 200, completion(told))
    else:
        await reply(writer, 200, completion("Ten out of ten!" if model == "nonsense" else answer_to(body)))


async def reply(writer: asyncio.StreamWriter, status: int, value: object, more: str = "") -> None:
    """Send a JSON reply."""
    raw = json.dumps(value).encode()
    head = (
        f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n{more}\r\n"
    )
    writer.write(head.encode() + raw)
    await writer.drain()


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"http://127.0.0.1:{port}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
