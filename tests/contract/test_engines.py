"""The check of engines on the embedded one, on the page's, and on engines that break one rule each."""

import asyncio
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from support.tiny_models import write_checkpoint

from agentevol.config.sections.engine import CustomEngineConfig, EmbeddedConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.engines.check import CHECKS, CONTEXT, SLOTS, check_engine
from agentevol.rollout.engine_factory import start_engine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"


def page_engine() -> ModuleType:
    """The engine of docs/extend.md as a module."""
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
               if "class PlainEngine" in block]  # fmt: skip
    module = ModuleType("page_engine")
    sys.modules["page_engine"] = module
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    return module


plain: Any = page_engine()
SETTINGS = CustomEngineConfig(name="page_engine:PlainEngine", slots=SLOTS, context=CONTEXT)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(write_checkpoint(tmp_path_factory.mktemp("engine") / "model"), 3)


@pytest.mark.parametrize("settings", [EmbeddedConfig(slots=SLOTS, context=CONTEXT), SETTINGS])
def test_an_engine_that_keeps_the_contract_passes_every_check(settings, checkpoint: Checkpoint):
    report = check_engine(settings.name, lambda given: start_engine(settings, given), checkpoint)
    assert report.passed, "\n".join(report.lines())
    assert [result.name for result in report.results] == [*CHECKS, "closing"]
    assert all(result.cases > 0 for result in report.results)


def engine_with(change):
    """An engine whose samples go through `change(policy, sampled, seed)`."""

    class Policy(plain.PlainPolicy):
        async def _sampled(self, conversation_id, prompt_ids, seed):
            return change(self, await super()._sampled(conversation_id, prompt_ids, seed), seed)

    class Engine(plain.PlainEngine):
        def serve(self, sampling):
            return Policy(self._weights, self, sampling)

    return Engine


class WrongVersion(plain.PlainEngine):
    def serve(self, sampling):
        policy = super().serve(sampling)
        policy.version += 7
        return policy


class Forgetful(plain.PlainEngine):
    """Writes every prompt anew, from the latest message alone."""

    def serve(self, sampling):
        policy = super().serve(sampling)
        whole = policy.act

        async def act(conversation, seed):
            return await whole(replace(conversation, messages=conversation.messages[-1:], samples=[]), seed)

        policy.act = act
        return policy


class OneSeed(plain.PlainEngine):
    def serve(self, sampling):
        policy = super().serve(sampling)
        whole = policy.act
        policy.act = lambda conversation, _: whole(conversation, 0)
        return policy


class Crowded(plain.PlainEngine):
    """Draws by the number of requests under way."""

    busy = 0

    def serve(self, sampling):
        policy = super().serve(sampling)
        whole = policy.act

        async def act(conversation, seed):
            self.busy += 1
            await asyncio.sleep(0)
            try:
                return await whole(conversation, seed + self.busy)
            finally:
                self.busy -= 1

        policy.act = act
        return policy


class Cutting(plain.PlainEngine):
    """Cuts a long conversation instead of refusing it."""

    def serve(self, sampling):
        policy = super().serve(sampling)
        whole = policy.act

        async def act(conversation, seed):
            first, *more = conversation.messages
            short = replace(first, content=first.content[: 3 * CONTEXT // 2])
            return await whole(replace(conversation, messages=[short, *more]), seed)

        policy.act = act
        return policy


class Stuck(plain.PlainEngine):
    """Has room for as many conversations as slots, and never for another."""

    def __init__(self, settings, checkpoint):
        super().__init__(settings, checkpoint)
        self.room = asyncio.Semaphore(SLOTS)

    def serve(self, sampling):
        policy = super().serve(sampling)
        whole = policy.act

        async def act(conversation, seed):
            if seed == 5:  # that of the check of concurrency
                await self.room.acquire()
            return await whole(conversation, seed)

        policy.act = act
        return policy


class Stale(plain.PlainEngine):
    """Takes the version of new weights, and not the weights."""

    def update(self, checkpoint):
        fresh = plain.Weights(checkpoint, self._settings)
        fresh.model = self._weights.model
        self._weights = fresh


class InPlace(plain.PlainEngine):
    """Changes the weights of policies that are served already."""

    def update(self, checkpoint):
        self._weights.__dict__.update(plain.Weights(checkpoint, self._settings).__dict__)


class Gullible(plain.PlainEngine):
    """Takes any folder for weights."""

    def update(self, checkpoint):
        if any(checkpoint.path.iterdir()):
            super().update(checkpoint)


LINGERING: list[threading.Event] = []


class Lingering(plain.PlainEngine):
    """Leaves a thread behind, until the test ends it."""

    def close(self):
        ended = threading.Event()
        LINGERING.append(ended)
        threading.Thread(target=ended.wait, name="lingers").start()


class Lost(plain.PlainEngine):
    def close(self):
        self.lost = True


BROKEN = {
    "no tokens": (
        engine_with(lambda _policy, sampled, _seed: replace(sampled, token_ids=(), logprobs=())),
        "samples",
        "a sample has 0 tokens, not 1 to 6",
    ),
    "another version": (WrongVersion, "samples", "a sample has policy_version 10, not 3"),
    "positive log-probabilities": (
        engine_with(
            lambda _policy, sampled, _seed: replace(sampled, logprobs=tuple(-x for x in sampled.logprobs))
        ),
        "samples",
        "log-probabilities are not one finite number of at most 0 for each token",
    ),
    "probabilities of another temperature": (
        engine_with(
            lambda _policy, sampled, _seed: replace(
                sampled, logprobs=tuple(2 * x - 0.1 for x in sampled.logprobs)
            )
        ),
        "logprobs",
        "log-probabilities differ from the model's by",
    ),
    "one seed": (OneSeed, "seeds", "other seeds give no other samples"),
    "crowded": (Crowded, "concurrency", "a sample depends on what is sampled beside it"),
    "stuck": (Stuck, "concurrency", "no answer within 1 s"),
    "forgetful": (Forgetful, "turns", "the prompt of turn 2 does not extend the ids of the turn before"),
    "cutting": (Cutting, "context", "is sampled for, not refused as full"),
    "stale": (Stale, "update", "after an update log-probabilities differ from the new model's by"),
    "in place": (InPlace, "update", "a policy of the old weights samples by the new ones"),
    "gullible": (Gullible, "update", "an update from a folder without weights is not refused"),
    "lingering": (Lingering, "closing", "close leaves the thread 'lingers'"),
    "lost": (Lost, "closing", "an engine that was closed says that it is lost"),
}


def test_every_check_has_an_engine_that_breaks_it():
    assert {check for _, check, _ in BROKEN.values()} == {*CHECKS, "closing"}


@pytest.mark.parametrize("name", BROKEN)
def test_the_check_notices_what_is_broken(name: str, checkpoint: Checkpoint):
    kind, check, sentence = BROKEN[name]
    limit_s = 1 if name == "stuck" else 60
    report = check_engine(name, lambda given: kind(SETTINGS, given), checkpoint, limit_s)
    for ended in LINGERING:
        ended.set()
    failed = {result.name: " ".join(result.violations) for result in report.results if result.violations}
    assert sentence in failed[check]


def test_an_engine_that_cannot_be_imported_is_one_clear_line(checkpoint: Checkpoint):
    with pytest.raises(ConfigError, match="engine 'page_engine:Missing' cannot be imported"):
        start_engine(CustomEngineConfig(name="page_engine:Missing"), checkpoint)
