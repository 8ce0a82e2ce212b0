"""Which vLLM is accepted, and what is said of others. None has to be installed."""

from types import ModuleType, SimpleNamespace

import pytest

from agentevol.cluster.processes.gpu_allocation import gpus_of_learners, gpus_of_rollouts
from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentevol.engines.vllm import capabilities as vllm_capability
from agentevol.engines.vllm.capabilities import (
    ENGINE_ARGUMENTS,
    LORA_ARGUMENTS,
    LORA_METHODS,
    METHODS,
    SAMPLING_ARGUMENTS,
    capabilities,
    check_installed,
    check_version,
)
from agentevol.models.limits import check_split
from agentevol.runs.launch import check, plan


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Pretends that a vLLM of some version is installed, or none."""

    def pretend(found: str | None) -> None:
        monkeypatch.setattr(vllm_capability, "find_spec", lambda _name: found and object())
        monkeypatch.setattr(vllm_capability, "version", lambda _name: found)

    return pretend


def module(name: str, **members: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made


def whole_vllm() -> dict[str, ModuleType]:
    """Modules with everything that is used, and nothing behind it."""
    engine = type("AsyncLLM", (), dict.fromkeys(METHODS))
    arguments = type("AsyncEngineArgs", (), {"__dataclass_fields__": dict.fromkeys(ENGINE_ARGUMENTS)})
    sampling = type("SamplingParams", (), {"__struct_fields__": SAMPLING_ARGUMENTS})
    platform = SimpleNamespace(is_cpu=lambda: True)
    return {
        "vllm.v1.engine.async_llm": module("a", AsyncLLM=engine),
        "vllm.engine.arg_utils": module("b", AsyncEngineArgs=arguments),
        "vllm.sampling_params": module("c", SamplingParams=sampling, RequestOutputKind=object()),
        "vllm.v1.engine.exceptions": module("d", EngineDeadError=RuntimeError),
        "vllm.inputs": module("e", tokens_input=list),
        "vllm.platforms": module("f", current_platform=platform),
        "vllm.v1.executor.uniproc_executor": module("g", UniProcExecutor=object),
    }


def test_without_vllm_one_line_says_how_to_install_it(installed):
    installed(None)
    with pytest.raises(ConfigError, match=r"needs vLLM, which is not installed: `pip install") as raised:
        check_installed()
    assert "\n" not in str(raised.value)


def test_a_run_with_vllm_is_refused_before_there_is_a_folder(installed):
    config = load(None, ["engine=vllm"])
    installed(None)
    with pytest.raises(ConfigError, match="not installed"):
        check(config)
    check(config, here=False)  # a plan for another machine
    installed("0.32.0")
    check(config)


@pytest.mark.parametrize("found", ["0.30.0", "0.30.1rc1", "0.32.0+cpu", "1.0"])
def test_versions_from_0_30_on_are_accepted(found):
    check_version(found)


@pytest.mark.parametrize("found", ["0.29.3", "0.8.5", "dev"])
def test_older_versions_are_named_and_refused(found):
    with pytest.raises(ConfigError, match=f"needs vLLM 0.30 or newer, not {found}: "):
        check_version(found)


def test_a_vllm_with_everything_is_accepted(installed):
    installed("0.32.0")
    assert capabilities(whole_vllm().__getitem__).on_cpu is True


def test_what_adapters_need_is_asked_for_only_with_them(installed):
    installed("0.32.0")
    modules = whole_vllm()
    assert capabilities(modules.__getitem__).LoRARequest is None
    modules["vllm.lora.request"] = module("h", LoRARequest=object)
    with pytest.raises(ConfigError, match=r"no AsyncLLM\.add_lora, .*AsyncEngineArgs\.enable_lora, "):
        capabilities(modules.__getitem__, lora=True)
    for name in LORA_METHODS:
        setattr(modules["vllm.v1.engine.async_llm"].AsyncLLM, name, None)
    fields = modules["vllm.engine.arg_utils"].AsyncEngineArgs.__dataclass_fields__
    fields |= dict.fromkeys(LORA_ARGUMENTS)
    assert capabilities(modules.__getitem__, lora=True).LoRARequest is object


def test_what_a_vllm_lacks_is_named(installed):
    installed("0.99.0")
    modules = whole_vllm()
    del modules["vllm.v1.engine.async_llm"].AsyncLLM.reset_prefix_cache
    fields = modules["vllm.engine.arg_utils"].AsyncEngineArgs.__dataclass_fields__
    del fields["logprobs_mode"]
    expected = r"vLLM 0\.99\.0: it has no AsyncLLM.reset_prefix_cache, AsyncEngineArgs.logprobs_mode; take"
    with pytest.raises(ConfigError, match=expected):
        capabilities(modules.__getitem__)


def test_a_module_that_is_gone_is_named(installed):
    installed("0.99.0")

    def without_inputs(name: str) -> ModuleType:
        if name == "vllm.inputs":
            raise ModuleNotFoundError("No module named 'vllm.inputs'")
        return whole_vllm()[name]

    with pytest.raises(ConfigError, match=r"cannot use vLLM 0\.99\.0: No module named 'vllm\.inputs'"):
        capabilities(without_inputs)


def test_the_engine_is_named_in_short_or_in_full():
    for override in ("engine=vllm", "engine.name=vllm"):
        config = load(None, [override, "engine.slots=7", "engine.dtype=bfloat16"])
        assert (config.engine.name, config.engine.slots) == ("vllm", 7)
        assert "engine: vllm, bfloat16" in plan(config)
    assert "engine: embedded, float32" in plan(load(None))


def test_unknown_engines_are_refused():
    with pytest.raises(ConfigError, match=r"engine\.name"):
        load(None, ["engine=sglang"])


def test_a_cache_of_its_own_is_for_vllm_alone():
    assert load(None, ["engine=vllm", "engine.cache_gib=2"]).engine.cache_gib == 2
    with pytest.raises(
        ConfigError, match=r"engine\.cache_gib is no setting of engine 'embedded'; it belongs to: vllm$"
    ):
        load(None, ["engine.cache_gib=2"])


def test_more_episodes_than_slots_are_for_vllm_alone():
    settings = ["engine=vllm", "engine.slots=8"]
    config = load(None, [*settings, "engine.episodes=20"])
    assert (config.engine.capacity, load(None, settings).engine.capacity) == (20, 8)
    assert [line for line in plan(config) if "rollout workers with 20 episodes each" in line]
    with pytest.raises(ConfigError, match=r"engine\.episodes is no setting .*: vllm, vllm with engine\.url$"):
        load(None, ["engine.episodes=100"])
    with pytest.raises(ConfigError, match=r"engine: slots = 8 has no effect above episodes = 7"):
        load(None, [*settings, "engine.episodes=7"])


@pytest.mark.parametrize(
    ("settings", "gpus", "claimed"),
    [
        (["engine=vllm"], 0, 0),
        (["engine=vllm"], 3, 1),  # two rollout workers, one learner
        (["engine=vllm", "engine.workers=1", "learn.device=cpu"], 1, 1),
        (["engine=vllm", "engine.tensor_parallel=2"], 5, 2),
        (["engine=vllm", "engine.tensor_parallel=2"], 0, 0),
        (["engine=vllm", "engine.colocated=true"], 2, 1),
        (["engine=vllm", "engine.url=http://host:8000"], 1, 0),  # servers have their own
        ([], 3, 0),
    ],
)
def test_workers_with_vllm_claim_gpus_where_there_are_any(settings, gpus, claimed):
    assert gpus_of_rollouts(load(None, settings), gpus) == claimed


def test_learners_claim_no_gpu_where_they_share_those_of_rollout_workers():
    assert gpus_of_learners(load(None, ["learn.shards=2"]), 2) == 1
    assert gpus_of_learners(load(None, ["engine=vllm", "engine.colocated=true"]), 2) == 0


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ([], "needs 3 GPUs, 1 for each of 2 rollout workers and 1 for each of 1 learners: there are 2; set"),
        (["engine.tensor_parallel=4", "learn.device=cpu"], "needs 8 GPUs, 4 for each of 2 rollout workers"),
    ],
)
def test_too_few_gpus_are_told_instead_of_waited_for(settings: list[str], line: str):
    with pytest.raises(ConfigError, match=line):
        gpus_of_rollouts(load(None, ["engine=vllm", *settings]), 2)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "parallel", "line"),
    [
        (12, 2, 2, ""),
        (12, 2, 4, ""),  # each head of keys and values is copied once
        (12, 12, 5, "engine.tensor_parallel = 5 does not divide the model's 12 heads"),
        (12, 6, 4, "the model's 6 heads of keys and values can neither be divided by it nor be copied"),
        (12, 4, 6, "the model's 4 heads of keys and values can neither be divided by it nor be copied"),
    ],
)
def test_heads_that_cannot_be_split_evenly_are_refused(heads: int, kv_heads: int, parallel: int, line: str):
    if not line:
        check_split(heads, kv_heads, parallel)
        return
    with pytest.raises(ConfigError, match=line):
        check_split(heads, kv_heads, parallel)


def test_a_model_that_cannot_be_split_is_refused_before_anything_starts(installed):
    config = load(None, ["engine=vllm", "engine.tensor_parallel=7"])
    installed("0.32.0")
    for begin in (check, plan):
        with pytest.raises(ConfigError, match=r"engine\.tensor_parallel = 7 does not divide the model's"):
            begin(config)
