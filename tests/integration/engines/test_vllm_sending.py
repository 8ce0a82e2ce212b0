"""Weights that a learner's process sends to vLLM, on CPUs, and vLLM asleep while it learns."""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from support.tiny_models import words, write_checkpoint

from agentevol.core.errors import ConfigError, PolicyFault, RunStopped, TransferFailed
from agentevol.core.protocols import Checkpoint, Conversation, Message, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.engines.vllm.engine import VllmEngine
from agentevol.engines.vllm.weights.sender import Sender, Weights
from agentevol.engines.vllm.weights.transfer_modes import Step
from agentgym_store.records import Sample

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
with_vllm = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
GREEDY = Sampling(temperature=0.0, max_new_tokens=5)


class Receivers:
    """Engines of this process, as a learner's speaks to them."""

    def __init__(self, *engines: VllmEngine, names: Sequence[str] = ("one",)) -> None:
        self._engines, self.names, self.ranks = engines, tuple(names), len(engines)
        self.steps: list[str] = []

    def init_weight_transfer_engine(self, init_info: Mapping[str, Any]) -> None:
        self._all("init_weight_transfer_engine", init_info)

    def start_weight_update(self) -> None:
        self._all("start_weight_update")

    def update_weights(self, update_info: Any) -> None:
        self._all("update_weights", update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._all("finish_weight_update")

    def probe(self) -> list[Any]:
        return self._all("probe")

    def admit(self) -> None:
        self._all("admit")

    def _all(self, step: Step, given: Any = None) -> list[Any]:
        self.steps.append(step)
        return [engine.deliver(step, given) for engine in self._engines]


def sent(engine: VllmEngine, sender: Sender, told: Checkpoint, receivers: Receivers, own: Path) -> None:
    """Have the engine receive `told` while the sender sends the weights in `own`."""
    with ThreadPoolExecutor(1) as beside:
        received: Future[None] = beside.submit(engine.receive, told)
        try:
            sender.send(Checkpoint(own, told.version), "float32", receivers)
        except RunStopped:
            receivers.admit()
            received.result()
            raise
        received.result()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three of one architecture, whose input and output embeddings are one tensor."""
    folder = tmp_path_factory.mktemp("models")
    return [write_checkpoint(folder / f"model-{seed}", seed=seed, tied=True) for seed in range(3)]


@pytest.fixture(scope="module")
def engine(models: list[Path]) -> Generator[VllmEngine]:
    engine = VllmEngine(Checkpoint(models[0], 0), slots=4, transfer="gloo", colocated=True)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def sender() -> Sender:
    return Sender("gloo", 0, lambda: "127.0.0.1")


async def said(engine: VllmEngine | EmbeddedEngine, name: str) -> Sample:
    conversation = Conversation(name, [Message("user", words(5, 40))])
    return await engine.serve(GREEDY).act(conversation, 0)


def said_by(model: Path) -> Sample:
    engine = EmbeddedEngine(Checkpoint(model, 0), slots=1, threads=1)
    try:
        return asyncio.run(said(engine, "embedded"))
    finally:
        engine.close()


class TestWithVllm:
    pytestmark = with_vllm

    def test_what_is_sent_is_sampled_with_and_an_engine_that_slept_wakes(self, engine, sender, models):
        receivers = Receivers(engine)
        before = asyncio.run(said(engine, "before"))
        for version, model in ((1, models[1]), (2, models[2])):
            engine.sleep()
            sent(engine, sender, Checkpoint(model, version), receivers, model)
            now = asyncio.run(said(engine, f"after {version}"))
            assert now.policy_version == version
            expected = said_by(model)
            assert now.token_ids == expected.token_ids != before.token_ids
            assert now.logprobs == pytest.approx(expected.logprobs, abs=1e-4)
        assert receivers.steps.count("init_weight_transfer_engine") == 1
        engine.sleep()
        engine.sleep()
        engine.update(Checkpoint(models[0], 3))  # by the checkpoint's files
        assert asyncio.run(said(engine, "again")).token_ids == before.token_ids

    def test_acts_wait_while_it_sleeps(self, engine, sender, models):
        async def through() -> Sample:
            await asyncio.to_thread(engine.sleep)
            act = asyncio.create_task(engine.serve(GREEDY).complete("waits", [1, 2, 3], 0))
            await asyncio.sleep(0.2)
            assert not act.done()
            await asyncio.to_thread(engine.update, Checkpoint(models[1], 4))
            with pytest.raises(PolicyFault, match="replaced by version 4"):
                await act
            return await said(engine, "awake")

        assert asyncio.run(through()).policy_version == 4

    def test_an_engine_that_met_a_sender_meets_another(self, engine, models):
        another = Receivers(engine, names=["another"])
        sent(engine, Sender("gloo", 0, lambda: "127.0.0.1"), Checkpoint(models[2], 5), another, models[2])
        assert asyncio.run(said(engine, "met")).token_ids == said_by(models[2]).token_ids

    def test_weights_that_are_not_the_checkpoints_stop_the_run(self, models, tmp_path, monkeypatch):
        engine = VllmEngine(Checkpoint(models[0], 0), slots=4, transfer="gloo")
        sender = Sender("gloo", 0, lambda: "127.0.0.1")
        try:
            monkeypatch.setattr(Weights, "__iter__", _doubled(Weights.__iter__))
            with pytest.raises(RunStopped, match="does not sample with the weights of model-1"):
                sent(engine, sender, Checkpoint(models[1], 1), Receivers(engine), models[1])
            monkeypatch.undo()
            with ThreadPoolExecutor(1) as beside:  # a step that vLLM refuses
                receiving = beside.submit(engine.receive, Checkpoint(models[1], 1))
                with pytest.raises(TransferFailed, match="weights did not arrive"):
                    engine.deliver("finish_weight_update")
                with pytest.raises(TransferFailed, match="weights did not arrive"):
                    receiving.result()
            with pytest.raises(PolicyFault, match="weights did not arrive"):
                asyncio.run(said(engine, "of no use"))
        finally:
            engine.close()


def _doubled(original: Any) -> Any:
    def iterate(self: Weights) -> Any:
        for name, tensor in original(self):
            yield name, 2 * tensor if "embed" in name else tensor

    return iterate


def test_the_tensors_of_a_checkpoint_are_told_as_they_are_sent(models):
    weights = Weights(torch.device("cpu"))
    weights.folder = models[0]
    told = weights.metadata()
    assert told == [(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in weights]
    assert [name for name, *_ in told] == sorted(name for name, *_ in told)
    assert "lm_head.weight" not in {name for name, *_ in told}
    assert len(told) == 2 * 12 + 2  # of two layers, the embeddings, the last norm
