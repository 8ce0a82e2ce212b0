"""Caches of answers: cancelled callers, and the folder that later processes read."""

import asyncio
from pathlib import Path

import pytest

from agentgym_envs.endpoints.cache import AnswerCache, StoredCache
from agentgym_envs.endpoints.records import EndpointFault, Said

KEY = "ab12"


def stored(folder: Path) -> list[str]:
    """Names of the files in a folder."""
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


class Call:
    """A call that waits for `free`, with what became of it."""

    def __init__(self, text: str = "yes") -> None:
        self.begun, self.free = asyncio.Event(), asyncio.Event()
        self.calls = 0
        self.cancelled = 0
        self._text = text

    async def __call__(self) -> Said:
        self.calls += 1
        self.begun.set()
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Said(content=self._text)


async def test_a_call_is_cancelled_with_the_last_of_its_callers() -> None:
    cache, call = AnswerCache(), Call()
    callers = [asyncio.create_task(cache.get(KEY, call)) for _ in range(3)]
    await call.begun.wait()
    for caller in callers[:2]:
        caller.cancel()
    await asyncio.wait(callers[:2])
    assert call.cancelled == 0
    callers[2].cancel()
    await asyncio.wait(callers)
    await asyncio.sleep(0)
    assert (call.calls, call.cancelled) == (1, 1)


async def test_who_comes_after_a_cancelled_call_begins_another() -> None:
    cache, call = AnswerCache(), Call()
    first = asyncio.create_task(cache.get(KEY, call))
    await call.begun.wait()
    first.cancel()
    await asyncio.wait([first])
    call.free.set()
    assert await cache.get(KEY, call) == (Said(content="yes"), False)
    assert call.calls == 2


async def test_a_folder_keeps_answers_for_later_processes(tmp_path: Path) -> None:
    call = Call()
    call.free.set()
    assert await StoredCache(tmp_path).get(KEY, call) == (Said(content="yes"), False)
    assert await StoredCache(tmp_path).get(KEY, call) == (Said(content="yes"), True)
    assert call.calls == 1
    assert stored(tmp_path) == ["ab/ab12.json"]


async def test_an_answer_that_was_cut_off_is_asked_for_again(tmp_path: Path) -> None:
    call = Call()
    call.free.set()
    await StoredCache(tmp_path).get(KEY, call)
    (tmp_path / "ab" / "ab12.json").write_text('{"content": "y', encoding="utf-8")
    assert (await StoredCache(tmp_path).get(KEY, call))[1] is False
    assert call.calls == 2


async def test_failures_are_not_stored_and_a_folder_that_cannot_be_written_loses_no_answer(
    tmp_path: Path,
) -> None:
    async def failing() -> Said:
        raise EndpointFault("down")

    with pytest.raises(EndpointFault):
        await StoredCache(tmp_path).get(KEY, failing)
    assert stored(tmp_path) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    call = Call()
    call.free.set()
    assert (await StoredCache(tmp_path / "file").get(KEY, call))[0].content == "yes"
