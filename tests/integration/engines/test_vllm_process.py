"""Parts of the vLLM engine over a stand-in for `AsyncLLM`: process, generation, sleep, transfer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentevol.core.errors import PolicyFault
from agentevol.core.protocols import Sampling
from agentevol.engines.vllm.capabilities import Capabilities
from agentevol.engines.vllm.generation import Generation
from agentevol.engines.vllm.policy import Order, Served, VllmCounts
from agentevol.engines.vllm.process import VllmProcess
from agentevol.engines.vllm.sleep_mode import DISCARD, KEEP, SleepMode
from agentevol.engines.vllm.weights.receiver import Receiver


class Dead(Exception):
    """vLLM's `EngineDeadError`."""


class StandIn:
    """Records calls; `generate` gives these outputs, and `broken` is raised by every call."""

    def __init__(self, *outputs: Any, broken: Exception | None = None) -> None:
        self.outputs, self.broken = outputs, broken
        self.calls: list[tuple[Any, ...]] = []
        self.has_free_cache = True

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        if self.broken is not None:
            raise self.broken

    async def generate(
        self, prompt: Any, parameters: Any, request_id: str, lora_request: Any
    ) -> AsyncIterator[Any]:
        self._note("generate", prompt, parameters.max_tokens, request_id, lora_request)
        for output in self.outputs:
            yield output

    async def collective_rpc(self, method: str, kwargs: Any) -> None:
        self._note(method, kwargs)

    async def add_lora(self, request: Any) -> bool:
        self._note("add_lora", request)
        return request != "refused"

    async def reset_prefix_cache(self) -> bool:
        self._note("reset_prefix_cache")
        return self.has_free_cache

    async def sleep(self, level: int) -> None:
        self._note("sleep", level)

    async def wake_up(self, tags: list[str]) -> None:
        self._note("wake_up", *tags)

    def shutdown(self, timeout: float) -> None:
        self._note("shutdown", timeout)


def output(ids: tuple[int, ...], reason: str | None = "stop", cached: int | None = 3) -> Any:
    """vLLM's output of a request whose tokens all have log-probability -0.5."""
    logprobs = [{token: SimpleNamespace(logprob=-0.5)} for token in ids]
    said = SimpleNamespace(token_ids=list(ids), logprobs=logprobs, finish_reason=reason)
    return SimpleNamespace(outputs=[said], num_cached_tokens=cached)


class SamplingParams(SimpleNamespace):
    __struct_fields__ = ()


def vllm() -> Capabilities:
    kinds = SimpleNamespace(FINAL_ONLY="final")
    return Capabilities(None, None, SamplingParams, kinds, Dead, lambda ids: {"ids": ids}, on_cpu=True)


def process(stand_in: StandIn) -> VllmProcess:
    found = VllmProcess(vllm(), lambda: PolicyFault("it died"))
    found.llm = stand_in
    return found


SERVED = Served(cast(Any, None), (2,), 7, "0007", Path("weights"))


def generation(stand_in: StandIn, counts: VllmCounts | None = None, reason: str | None = None) -> Generation:
    adapters = {"0007": "adapters"}
    return Generation(
        vllm(),
        process(stand_in),
        counts or VllmCounts(),
        lambda served: adapters[served.name],
        lambda: reason,
    )


def order(conversation: str = "a") -> Order:
    return Order(conversation, (5, 6, 7, 8), Sampling(max_new_tokens=9), 1, SERVED)


async def test_a_request_is_numbered_and_counted():
    stand_in, counts = StandIn(output((1,), None), output((1, 2))), VllmCounts()
    asked = generation(stand_in, counts)
    sampled = await asked.sample(order())
    await asked.sample(order("b"))
    assert (sampled.token_ids, sampled.logprobs, sampled.finish_reason) == ((1, 2), (-0.5, -0.5), "stop")
    assert stand_in.calls == [
        ("generate", {"ids": [5, 6, 7, 8]}, 9, "a/1", "adapters"),
        ("generate", {"ids": [5, 6, 7, 8]}, 9, "b/2", "adapters"),
    ]
    assert counts == VllmCounts(read=8, cached=6, sampled=4)


async def test_a_probe_is_of_its_weights_and_not_counted():
    stand_in, counts = StandIn(output((1, 2))), VllmCounts()
    probed = await generation(stand_in, counts).probe(SERVED, vocabulary=61, context=32)
    assert [prompt[:2] for prompt, _ in probed] == [[5, 22], [36, 53], [6, 23], [37, 54]]
    assert [call[2:4] for call in stand_in.calls] == [(8, f"probe/7/{row}") for row in range(4)]
    assert counts == VllmCounts()


@pytest.mark.parametrize(
    ("stand_in", "reason", "message"),
    [
        (StandIn(), None, "vLLM aborted it"),
        (StandIn(output((1,), "abort")), "the engine is closed", "the engine is closed"),
        (StandIn(broken=ValueError("no\nroom")), None, "vLLM: no room"),
        (StandIn(broken=Dead()), None, "it died"),
    ],
)
async def test_a_request_without_a_sample_is_a_fault(stand_in: StandIn, reason: str | None, message: str):
    counts = VllmCounts()
    with pytest.raises(PolicyFault) as fault:
        await generation(stand_in, counts, reason).sample(order())
    assert str(fault.value) == message
    assert counts == VllmCounts()


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.generate("a/1", [5], SamplingParams(max_tokens=1), None),
        lambda one: one.call("finish_weight_update", {}),
        lambda one: one.load(Path("weights")),
        lambda one: one.add_adapters("adapters"),
        lambda one: one.clear_prefix_cache(),
        lambda one: one.sleep(1),
        lambda one: one.wake("weights"),
    ],
)
async def test_every_call_tells_a_death_and_passes_on_what_else_vllm_raises(call: Any):
    with pytest.raises(PolicyFault, match="it died"):
        await call(process(StandIn(broken=Dead())))
    with pytest.raises(OSError, match="disk"):
        await call(process(StandIn(broken=OSError("disk"))))


async def test_weights_are_loaded_and_old_keys_and_values_cleared():
    stand_in = StandIn()
    one = process(stand_in)
    await one.load(Path("weights"))
    await one.clear_prefix_cache()
    assert stand_in.calls == [("reload_weights", {"weights_path": "weights"}), ("reset_prefix_cache",)]
    stand_in.has_free_cache = False
    with pytest.raises(RuntimeError, match="still holds keys and values"):
        await one.clear_prefix_cache()
    with pytest.raises(RuntimeError, match="did not add the adapters"):
        await one.add_adapters("refused")


def test_a_process_is_shut_down_once():
    stand_in = StandIn()
    one = process(stand_in)
    one.shut()
    one.shut()
    one.dismiss()
    assert stand_in.calls == [("shutdown", 5.0)]


@pytest.mark.parametrize("level", [DISCARD, KEEP])
async def test_memory_comes_back_part_by_part_and_once(level: int):
    stand_in = StandIn()
    mode = SleepMode(process(stand_in), level)
    await mode.wake("weights")  # it never slept
    assert (stand_in.calls, mode.asleep) == ([], False)
    await mode.enter()
    for part in ("weights", "kv_cache", "kv_cache"):
        await mode.wake(part)
    assert stand_in.calls == [("sleep", level), ("wake_up", "weights"), ("wake_up", "kv_cache")]
    assert not mode.asleep


async def test_an_engine_that_did_not_fall_asleep_is_awake():
    mode = SleepMode(process(StandIn(broken=Dead())), DISCARD)
    with pytest.raises(PolicyFault):
        await mode.enter()
    assert not mode.asleep


async def probed() -> str:
    return "samples"


async def test_steps_run_between_the_beginning_and_the_end_of_a_transfer():
    stand_in = StandIn()
    receiver = Receiver(process(stand_in), probed)
    early = asyncio.create_task(receiver.run("start_weight_update", None))
    await asyncio.sleep(0)
    assert not stand_in.calls  # nothing is received yet
    receiving = asyncio.create_task(receiver.receive())
    assert await early is None
    assert await receiver.run("update_weights", {"names": []}) is None
    assert await receiver.run("probe", None) == "samples"
    assert not receiving.done()
    await receiver.run("admit", None)
    await receiving
    assert stand_in.calls == [
        ("start_weight_update", {}),
        ("update_weights", {"update_info": {"names": []}}),
    ]
    late = asyncio.create_task(receiver.run("probe", None))
    await asyncio.sleep(0)
    assert not late.done()  # it waits for the next transfer
    late.cancel()


async def test_a_step_that_fails_ends_the_transfer():
    receiver = Receiver(process(StandIn(broken=OSError("disk"))), probed)
    receiving = asyncio.create_task(receiver.receive())
    with pytest.raises(OSError, match="disk"):
        await receiver.run("start_weight_update", None)
    await receiving
