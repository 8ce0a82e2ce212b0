"""Assets that are larger than the memory of a worker, read by sessions over REST."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.server.atlas import RECORD, Atlas, Greedy, write_atlas

from agentgym_envs.assets import mapped
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.workers.fork_server import WorkerStartFailed
from agentgym_server.workers.pool import WorkerPool

MIB = 1 << 20
RECORDS = 1024 * MIB // RECORD
LIMIT = 64 * MIB
"""Memory of a worker; the asset has 1,024 MiB."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_atlas(tmp_path_factory.mktemp("atlas") / "atlas.bin", RECORDS, every=RECORDS // 16)


@asynccontextmanager
async def served(world: Any, workers: int = 2) -> AsyncIterator[tuple[httpx.AsyncClient, WorkerPool]]:
    app = create_app({"atlas": world}, settings=ServerSettings(workers=workers, worker_memory_bytes=LIMIT))
    service = service_of(app)
    try:
        await service.start()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            yield http, service.pools["atlas"]
    finally:
        await service.close()


async def opened(http: httpx.AsyncClient) -> str:
    return (await http.post("/envs/atlas/sessions", json={"task_id": "train/0"})).json()["session_id"]


async def said(http: httpx.AsyncClient, session: str, turn: int, action: str) -> dict[str, Any]:
    return (await http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})).json()


async def test_sessions_read_a_file_that_is_larger_than_a_workers_memory(path: Path):
    async with served(partial(Atlas, path)) as (http, pool):
        sessions = [await opened(http) for _ in range(20)]
        for number, session in enumerate(sessions):
            record = RECORDS // 16 * (1 + number % 15)
            assert (await said(http, session, 1, str(record)))["observation"] == f"place {record}"
            assert (await said(http, session, 2, str(record + 1)))["observation"] == "nothing"
        swept = await said(http, sessions[0], 3, f"sweep {2 * LIMIT // RECORD}")  # twice what it may have
        assert swept["observation"] == "2 places"
        held = [await worker.check_memory() for worker in pool._workers.values()]
        assert all(0 < size < LIMIT // 2 for size in held), held
        assert pool.alive == 2
        assert (await said(http, sessions[0], 4, "0"))["reward"] == 1.0


async def test_a_copy_of_the_file_does_not_fit(path: Path):
    async with served(partial(Greedy, path), workers=1) as (http, _):
        reply = await http.post("/envs/atlas/sessions", json={"task_id": "train/0"})
        assert reply.status_code == 500
        assert reply.json()["type"] == "urn:agentevol:problem:internal"


async def test_a_missing_asset_is_found_before_the_first_episode(tmp_path: Path):
    with pytest.raises(WorkerStartFailed, match=r"FileNotFoundError.*nowhere\.bin"):
        async with served(partial(Atlas, tmp_path / "nowhere.bin"), workers=1):
            raise AssertionError("it started")


def test_views_of_a_file_share_one_mapping_and_cannot_write(path: Path):
    first, second = mapped(path), mapped(path)
    assert first.obj is second.obj
    assert bytes(first[:7]) == b"place 0"
    with pytest.raises(TypeError):
        first[0] = 0  # type: ignore[index]


def test_a_file_that_was_replaced_is_mapped_anew(tmp_path: Path):
    file, new = tmp_path / "file", tmp_path / "new"
    file.write_bytes(b"old")
    old = mapped(file)
    new.write_bytes(b"new!")
    new.replace(file)
    assert (bytes(old), bytes(mapped(file))) == (b"old", b"new!")
    file.write_bytes(b"")
    assert bytes(mapped(file)) == b""
