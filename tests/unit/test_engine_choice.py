"""Which engine a configuration starts, and with what."""

import asyncio

import pytest

from agentevol.config.sections import EngineConfig
from agentevol.engines import choice, vllm
from agentevol.engines.embedded import EmbeddedEngine
from agentevol.models import resolve
from agentevol.protocols import Conversation, Message, Sampling


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_embedded_engine_computes_in_the_precision_asked_for(dtype: str):
    engine = choice.start_engine(EngineConfig(slots=2, dtype=dtype), resolve("starter"))
    assert isinstance(engine, EmbeddedEngine)
    assert str(engine._weights.model.dtype) == f"torch.{dtype}"
    policy = engine.serve(Sampling(temperature=0, max_new_tokens=2))
    said = asyncio.run(policy.act(Conversation("a", [Message("user", "look")]), 0))
    engine.close()
    assert len(said.token_ids) > 0
    assert not engine.lost


def test_vllm_gets_every_setting_of_its_section(monkeypatch: pytest.MonkeyPatch):
    started: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr(
        vllm, "VllmEngine", lambda checkpoint, **settings: started.append((checkpoint, settings))
    )
    told = {"enable_thinking": False}
    config = EngineConfig(
        name="vllm",
        slots=3,
        context=64,
        dtype="float16",
        cache_gib=0.5,
        chat_template_kwargs=told,
        overflow="drop_oldest",
    )
    choice.start_engine(config, resolve("starter"))
    expected = {"slots": 3, "context": 64, "dtype": "float16", "cache_gib": 0.5}
    expected |= {"chat_template_kwargs": told, "overflow": "drop_oldest"}
    assert started == [(resolve("starter"), expected)]
