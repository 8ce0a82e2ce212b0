"""Slots, queue and batches, without a model."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentevol.core.protocols import Sampling
from agentevol.engines.embedded.scheduler import Request, Scheduler, common_prefix, prefill_first
from agentevol.engines.embedded.slot_cache import Chunk, Run, plan_runs

WEIGHTS = cast(Any, SimpleNamespace(stop_ids=frozenset({9})))


def request(conversation_id: str, prompt_ids: list[int], max_new_tokens: int = 4) -> Request:
    reply = cast(asyncio.Future, None)  # nothing here answers
    return Request(conversation_id, prompt_ids, Sampling(max_new_tokens=max_new_tokens), 0, WEIGHTS, reply)


def scheduler(slots: int, prefill_tokens: int = 100, evict_after_s: float = 1e9) -> Scheduler:
    return Scheduler(slots, prefill_tokens, evict_after_s)


def feed(one: Scheduler) -> list[Chunk]:
    """Take the next chunks and note them as cached."""
    chunks = one.next_chunks()
    for chunk in chunks:
        one.slots[chunk.slot].ids.extend(chunk.token_ids)
    return chunks


def test_conversations_get_slots_in_order_and_the_rest_waits_for_a_release():
    one = scheduler(slots=2)
    for name in "abcd":
        one.add(request(name, [1, 2]))
    one.admit()
    assert [slot.conversation_id for slot in one.slots] == ["a", "b"]
    assert one.queued == 2
    one.release("a")
    one.admit()
    assert [slot.conversation_id for slot in one.slots] == ["c", "b"]
    assert one.queued == 1


def test_a_conversation_keeps_its_slot_and_feeds_only_what_is_new():
    one = scheduler(slots=2)
    first = request("a", [1, 2, 3])
    one.add(first)
    one.admit()
    assert feed(one) == [Chunk(0, 0, [1, 2, 3])]
    first.token_ids.append(5)
    assert feed(one) == [Chunk(0, 3, [5])]
    first.token_ids.append(9)  # sampled last, so never fed
    one.drop(first)
    one.add(request("a", [1, 2, 3, 5, 9, 7]))
    one.admit()
    assert feed(one) == [Chunk(0, 4, [9, 7])]


@pytest.mark.parametrize(
    ("prompt_ids", "chunk"),
    [([1, 2, 8, 8], Chunk(0, 2, [8, 8])), ([1, 2], Chunk(0, 1, [2])), ([7, 2], Chunk(0, 0, [7, 2]))],
)
def test_ids_that_do_not_extend_the_cache_rewind_it_to_the_common_prefix(prompt_ids, chunk):
    one = scheduler(slots=1)
    first = request("a", [1, 2, 3])
    one.add(first)
    one.admit()
    feed(one)
    one.drop(first)
    one.add(request("a", prompt_ids))
    one.admit()
    assert feed(one) == [chunk]


def test_prompts_of_similar_length_go_together_and_long_ones_in_pieces():
    one = scheduler(slots=4, prefill_tokens=20)
    for name, length in zip("abcd", (4, 9, 10, 30), strict=True):
        one.add(request(name, [1] * length))
    one.admit()
    assert feed(one) == [Chunk(3, 0, [1] * 20)]  # the longest, as much of it as a step may hold
    assert feed(one) == [Chunk(2, 0, [1] * 10), Chunk(3, 20, [1] * 10)]  # 2 x 10 fill the step
    assert feed(one) == [Chunk(1, 0, [1] * 9)]  # 4 is less than half of 9
    assert feed(one) == [Chunk(0, 0, [1] * 4)]


@pytest.mark.parametrize(
    ("prefilling", "decoding", "first"),
    [(1, 0, True), (1, 2, True), (1, 3, False), (10, 20, True), (10, 21, False)],
)
def test_prompts_go_first_once_they_are_half_as_many_as_decoding_rows(prefilling, decoding, first):
    assert prefill_first(prefilling, decoding) is first


def test_an_idle_conversation_gives_its_slot_to_one_that_waits():
    one = scheduler(slots=1, evict_after_s=0)
    leaked = request("leaked", [1])
    one.add(leaked)
    one.admit()
    one.add(request("next", [2]))
    one.admit()
    assert one.slots[0].conversation_id == "leaked"  # it acts, so it stays
    one.drop(leaked)
    one.admit()
    assert one.slots[0].conversation_id == "next"
    assert one.slots[0].ids == []


def test_a_conversation_that_was_just_idle_keeps_its_slot():
    one = scheduler(slots=1, evict_after_s=60)
    first = request("first", [1])
    one.add(first)
    one.admit()
    one.drop(first)
    one.add(request("next", [2]))
    one.admit()
    assert one.slots[0].conversation_id == "first"


def test_a_conversation_cannot_act_twice_at_once():
    one = scheduler(slots=1)
    one.add(request("a", [1]))
    with pytest.raises(ValueError, match="two calls"):
        one.add(request("a", [1]))
    one.admit()
    with pytest.raises(ValueError, match="two calls"):
        one.add(request("a", [1]))


def test_releasing_returns_what_was_waited_for_and_frees_the_name():
    one = scheduler(slots=1)
    running, waiting = request("a", [1]), request("b", [1])
    one.add(running)
    one.add(waiting)
    one.admit()
    assert one.release("b") == [waiting]
    assert one.release("a") == [running]
    assert one.release("a") == []
    one.add(request("b", [1]))
    assert one.queued == 1


def test_a_request_ends_by_a_stop_token_or_by_length():
    one = request("a", [1], max_new_tokens=2)
    assert one.finish_reason() is None
    one.token_ids = [9]
    assert one.finish_reason() == "stop"
    one.token_ids = [5]
    assert one.finish_reason() is None
    one.token_ids = [5, 6]
    assert one.finish_reason() == "length"


def test_common_prefixes():
    assert common_prefix([1, 2, 3], [1, 2, 4, 5]) == 2
    assert common_prefix([1, 2], [1, 2, 4]) == 2
    assert common_prefix([], [1]) == 0


def test_rows_join_into_one_call_where_that_reads_little_more():
    chunks = [Chunk(0, 99, [1]), Chunk(1, 109, [1]), Chunk(2, 499, [1]), Chunk(4, 499, [1])]
    # 100 and 110 keys join at the price of 10; 500 would cost 2 x 390 more; slot 3 is not there.
    assert plan_runs(chunks, call_cost=100) == [
        Run(slice(0, 2), slice(0, 2), 110),
        Run(slice(2, 3), slice(2, 3), 500),
        Run(slice(3, 4), slice(4, 5), 500),
    ]
    assert [run.length for run in plan_runs(chunks, call_cost=1000)] == [500, 500]
