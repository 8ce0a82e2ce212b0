"""Which engine a configuration starts, and with what."""

import asyncio
import socket
from contextlib import closing
from pathlib import Path

import pytest

from agentevol.cluster.processes.gpu_allocation import gpus_of_rollouts
from agentevol.config.run import load
from agentevol.config.sections.engine import EmbeddedConfig, VllmConfig, VllmServersConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Conversation, Message, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.vllm import engine as vllm
from agentevol.engines.vllm.servers import engine as vllm_server
from agentevol.models.resolution import resolve
from agentevol.rollout import engine_factory
from agentevol.runs.launch import check, plan


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_embedded_engine_computes_in_the_precision_asked_for(dtype: str):
    engine = engine_factory.start_engine(EmbeddedConfig(slots=2, dtype=dtype), resolve("starter"))
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
    config = VllmConfig(
        slots=3,
        context=64,
        dtype="float16",
        tensor_parallel=2,
        cache_gib=0.5,
        colocated=True,
        transfer="gloo",
        chat_template_kwargs=told,
        overflow="drop_oldest",
    )
    engine_factory.start_engine(config, resolve("starter"))
    expected = {"slots": 3, "context": 64, "dtype": "float16", "tensor_parallel": 2, "cache_gib": 0.5}
    expected |= {"colocated": True, "transfer": "gloo"}
    expected |= {"chat_template_kwargs": told, "overflow": "drop_oldest"}
    assert started == [(resolve("starter"), expected)]


def test_servers_get_every_setting_that_they_have_and_the_key_of_the_variable(
    monkeypatch: pytest.MonkeyPatch,
):
    started: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        vllm_server, "VllmServerEngine", lambda *given, **settings: started.append((*given, settings))
    )
    monkeypatch.setenv("SERVER_KEY", "sk-1\n")
    given = {"slots": 3, "context": 64, "dtype": "bfloat16", "overflow": "drop_oldest"}
    given |= {"chat_template_kwargs": {"enable_thinking": False}}
    config = VllmServersConfig(url=("http://a:1/", "http://b:1"), api_key_env="SERVER_KEY", **given)
    engine_factory.start_engine(config, resolve("starter"), updates=False)
    expected = {**given, "updates": False, "key": "sk-1"}
    assert started == [(resolve("starter"), ("http://a:1", "http://b:1"), expected)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["engine.url=http://h:1"],
            "engine.url is no setting of engine 'embedded'; it belongs to: vllm with engine.url",
        ),
        (
            ["engine.tensor_parallel=2"],
            "engine.tensor_parallel is no setting of engine 'embedded'; it belongs to: vllm",
        ),
        (
            ["engine=vllm", "engine.url=http://h:1", "engine.tensor_parallel=2"],
            "engine.tensor_parallel is no setting of engine 'vllm with engine.url'; it belongs to: vllm",
        ),
        (
            ["engine.colocated=true"],
            "engine.colocated is no setting of engine 'embedded'; it belongs to: vllm",
        ),
        (
            ["engine=vllm", "engine.url=http://h:1", "engine.colocated=true"],
            "engine.colocated is no setting of engine 'vllm with engine.url'; it belongs to: vllm",
        ),
        (["engine.transfer=gloo"], "engine.transfer is no setting of engine 'embedded'; it belongs to: vllm"),
        (
            ["engine=vllm", "engine.url=http://h:1", "engine.transfer=nccl"],
            "engine.transfer is no setting of engine 'vllm with engine.url'; it belongs to: vllm",
        ),
        (
            ["engine=vllm", "engine.colocated=true", "engine.transfer=nccl"],
            "engine: transfer = 'nccl' is between GPUs: with colocated take 'ipc'",
        ),
        (
            ["engine=vllm", "learn.device=cpu", "engine.transfer=nccl"],
            "engine.transfer = 'nccl' begins on a learner's GPU",
        ),
        (
            ["engine=vllm", "engine.colocated=true", "engine.workers=2", "engine.transfer=ipc"],
            "set engine.colocated, and learn.shards = 2",
        ),
        (
            ["engine=vllm", "engine.colocated=true", "learn.device=cpu"],
            "engine.colocated has no effect with learn.device = 'cpu'",
        ),
        (
            ["engine=vllm", "engine.colocated=true", "rollout.mode=one_step_off"],
            "engine.colocated takes turns: it needs rollout.mode = 'synchronous'",
        ),
        (
            ["engine=vllm", "engine.colocated=true", "learn.shards=3"],
            "learn.shards = 3 needs a GPU of a rollout worker for each, and engine.workers",
        ),
        (
            ["engine=vllm", "engine.api_key_env=KEY"],
            "engine.api_key_env is no setting of engine 'vllm'; it belongs to: vllm with engine.url",
        ),
        (
            ["engine=vllm", "engine.url=http://h:1", "engine.cache_gib=1"],
            "engine.cache_gib is no setting of engine 'vllm with engine.url'; it belongs to: vllm",
        ),
        (["engine=vllm", "engine.url=h:1"], "'h:1' is no URL of an endpoint"),
        (["engine=vllm", "engine.url=http://h:1/?key=hush"], "'http://h:1/' is no URL of an endpoint"),
        (["engine=vllm", "engine.url=[]"], "a list of different URLs"),
        (["engine=vllm", "engine.url=['http://h:1', 'http://h:1/']"], "a list of different URLs"),
        (["engine=vllm", "engine.url=http://me:hush@h:1"], "must not hold a password"),
    ],
)
def test_servers_that_cannot_be_used_so_are_refused_when_the_configuration_loads(settings, message):
    with pytest.raises(ConfigError, match=message) as refused:
        load(None, settings)
    assert "hush" not in str(refused.value)


def test_servers_survive_the_way_through_a_file(tmp_path: Path):
    config = load(None, ["engine=vllm", "engine.url=['http://a:1', 'http://b:1']", "engine.api_key_env=KEY"])
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config
    assert config.engine.urls == ("http://a:1", "http://b:1")
    assert load(None, ["engine=vllm", "engine.url=http://a:1"]).engine.urls == ("http://a:1",)
    assert isinstance(load(None, ["engine=vllm"]).engine, VllmConfig)


def test_a_run_whose_server_is_not_there_does_not_begin():
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        config = load(None, ["engine=vllm", f"engine.url={url}"])
        with pytest.raises(ConfigError, match=rf"engine.url: GET {url}/version: All connection attempts"):
            check(config)
    assert f"engine: vllm, float32, at {url}" in plan(config)


def test_a_run_whose_engine_cannot_be_imported_does_not_begin():
    config = load(None, ["engine=json:no_engine", "engine.gpus=2"])
    with pytest.raises(ConfigError, match="engine 'json:no_engine' cannot be imported"):
        check(config)
    assert "engine: json:no_engine, float32" in plan(config)
    assert "GPUs: 5 where there are any" in plan(config)  # two of each worker, one learner
    assert gpus_of_rollouts(config, 5) == 2


def test_an_engine_of_anothers_gets_its_section_and_the_checkpoint(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("json.my_engine", lambda *given: given, raising=False)
    config = load(None, ["engine=json:my_engine", "engine.options.depth=3", "engine.slots=2"])
    settings, checkpoint = engine_factory.start_engine(config.engine, resolve("starter"))
    assert (settings.slots, settings.options, checkpoint) == (2, {"depth": 3}, resolve("starter"))


def test_a_run_whose_key_is_missing_does_not_begin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SERVER_KEY", raising=False)
    config = load(None, ["engine=vllm", "engine.url=http://h:1", "engine.api_key_env=SERVER_KEY"])
    with pytest.raises(ConfigError, match="the environment variable SERVER_KEY is not set"):
        check(config)
