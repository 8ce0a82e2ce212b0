"""What `--dry-run` says of processes, devices and memory, and the presets that set them."""

import re
from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen2Config

from agentevol.cli import main
from agentevol.config.presets.placements import names
from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentevol.runs.launch import plan
from agentevol.runs.memory_estimates import shape_of
from agentevol.runs.placement import GIB, lines, processes


@pytest.fixture(scope="module")
def seven_billion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of Qwen2.5-7B, which has 7.62 billion parameters, without weights."""
    folder = tmp_path_factory.mktemp("seven")
    Qwen2Config(
        vocab_size=152064, hidden_size=3584, num_hidden_layers=28, num_attention_heads=28,
        num_key_value_heads=4, intermediate_size=18944, max_position_embeddings=32768,
        tie_word_embeddings=False,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def test_eight_gpus_hold_seven_billion_weights(seven_billion: Path):
    config = load(None, ["engine.context=8192"], preset="eight-gpus")
    rollouts, learners = processes(config, shape_of(seven_billion))
    assert (rollouts.count, rollouts.device, learners.count, learners.device) == (4, "gpu", 4, "gpu")
    weights = 7_615_616_512
    assert rollouts.parts["weights"] == 2 * weights
    # 2 * 28 layers * 4 heads * 128 numbers of 2 bytes
    assert rollouts.parts["keys and values"] == 128 * 8192 * 2 * 28 * 4 * 128 * 2
    state = ("weights", "gradients", "optimiser")
    assert sum(learners.parts[name] for name in state) == 16 * weights // 4
    assert learners.total < 75 * GIB


def test_the_plan_says_what_each_process_needs_and_where(seven_billion: Path):
    told = lines(load(None, [], preset="eight-gpus"), seven_billion)
    assert told[0].startswith("4 rollout workers, each on a GPU of its own: about ")
    assert "(weights 14.2 GiB, keys and values 28.0 GiB)" in told[0]
    assert told[2].startswith("4 learners, each on a GPU of its own: about ")
    assert "(weights 7.1 GiB, gradients 7.1 GiB, optimiser 14.2 GiB, activations " in told[2]
    assert told[3].strip() == "7,615,616,512 of 7,615,616,512 weights are trained, spread over 4 learners"
    assert told[4:] == ["GPUs: 8"]


def test_weights_and_keys_that_gpus_share_are_told_for_each(seven_billion: Path):
    config = load(None, ["engine.context=8192", "engine.tensor_parallel=2"], preset="eight-gpus")
    rollouts, _ = processes(config, shape_of(seven_billion))
    assert (rollouts.count, rollouts.devices) == (4, 2)
    assert rollouts.parts["weights"] == 7_615_616_512
    assert rollouts.parts["keys and values"] == 128 * 8192 * 2 * 28 * (4 // 2) * 128 * 2
    told = lines(config, seven_billion)
    assert told[0].startswith(
        "4 rollout workers, each on 2 GPUs of its own that share the weights, on each of"
    )
    assert "14.2 GiB of the machine's memory to compare" in told[1]
    assert told[4:] == ["GPUs: 12"]
    four = load(None, ["engine.context=8192", "engine.tensor_parallel=7"], preset="eight-gpus")
    with pytest.raises(ConfigError, match="the model's 4 heads of keys and values"):
        lines(four, seven_billion)


def test_vllm_sets_room_aside_for_two_sets_of_adapters(seven_billion: Path):
    lora = ["engine.lora=true", "learn.lora.rank=12", "learn.lora.keep=true"]
    config = load(None, ["engine=vllm", "engine.dtype=bfloat16", "engine.context=8192", *lora])
    rollouts, _ = processes(config, shape_of(seven_billion, config.learn.lora))
    # what the matrices of a layer read and make: queries, keys and values, output; gate, up and down
    sides = 2 * 3584 + 2 * (3584 + 512) + 2 * 3584 + 3 * (3584 + 18944)
    assert rollouts.parts["adapters"] == 2 * 28 * sides * 16 * 2  # of rank 16, the next that vLLM knows
    assert rollouts.parts["weights"] == 2 * 7_615_616_512  # those under the adapters
    whole = load(None, ["engine=vllm", "learn.lora.rank=12", "learn.lora.keep=true"])
    assert "adapters" not in processes(whole, shape_of(seven_billion, whole.learn.lora))[0].parts


def test_gpus_that_are_used_in_turns_are_told_once_with_what_each_side_holds(seven_billion: Path):
    settings = ["engine.context=8192", "engine.colocated=true", "learn.shards=3"]
    config = load(None, settings, preset="eight-gpus")
    rollouts, learners = processes(config, shape_of(seven_billion))
    told = lines(config, seven_billion)
    assert told[2].startswith("3 learners, each on a GPU of a rollout worker in turns with it: about ")
    held, learnt = (f"{one.total / GIB:.1f} GiB" for one in (rollouts, learners))
    assert told[4:] == [
        f"GPUs: 4, 3 of them in turns: about {held} of a rollout worker, then about {learnt} of a learner"
    ]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            ["engine.slots=2", "engine.context=64"],
            "keys and values: at most 2 episodes of 64 tokens, 0.4 MiB each",
        ),
        (["engine=vllm", "engine.cache_gib=3"], "keys and values 3.0 GiB"),
        (["engine=vllm"], "GPUs: 3 where there are any"),
        (["engine=vllm", "learn.device=cpu"], "GPUs: 2 where there are any"),
        (
            ["engine=vllm", "engine.tensor_parallel=2"],
            "each on 2 GPUs of its own that share the weights where Ray sees any, else in 2 processes on the",
        ),
        (["learn.device=cpu"], r"memory of the processors: about \d.\d GiB"),
        (["engine=vllm", "learn.device=cuda"], "GPUs: 3$"),
        (
            ["engine=vllm", "engine.colocated=true"],
            "1 learner, on a GPU of a rollout worker in turns with it where Ray sees any, else on the CPU:",
        ),
        (["engine=vllm", "engine.colocated=true"], "GPUs: 2 where there are any, 1 of them in turns: about"),
        (["engine=vllm", "engine.url=http://h:1"], "2 rollout workers, each on the CPU"),
        (
            ["learn.shards=2"],
            "2 learners, each on a GPU of its own where Ray sees any, else on the CPU: about",
        ),
        (["learn.lora.rank=8"], "of 2,077,632 weights are trained"),
        (["ray.address=auto", "checkpoints=s3://bucket/a"], "^checkpoints: s3://bucket/a$"),
        (["table=s3://bucket/a"], "^table: s3://bucket/a$"),
    ],
)
def test_the_plan_follows_the_settings(settings: list[str], line: str):
    told = plan(load(None, settings))
    assert any(re.search(line, one) for one in told), told


def test_a_context_beyond_the_model_is_refused_before_anything_starts():
    with pytest.raises(ConfigError, match="context 99999 exceeds the"):
        plan(load(None, ["engine.context=99999"]))


@pytest.mark.parametrize("name", names())
def test_a_preset_sets_processes_and_what_is_given_goes_over_it(name: str, tmp_path: Path):
    plain, preset = load(None), load(None, preset=name)
    for section in ("explore", "select", "evaluate", "environment", "demonstrations"):
        assert getattr(preset, section) == getattr(plain, section)
    file = tmp_path / "mine.toml"
    file.write_text("[engine]\nslots = 7\nthreads = 3\n")
    both = load(file, ["engine.threads=4"], preset=name)
    assert both.engine == preset.engine.model_copy(update={"slots": 7, "threads": 4})
    assert load(None, ["algorithm=grpo"], preset=name).learn.schedule == "constant"


def test_the_presets_are_those_that_the_help_names():
    assert names() == ["cpu", "eight-gpus", "multi-node", "one-gpu"]
    with pytest.raises(
        ConfigError, match=r"no preset named 'nine-gpus'; there are: rlhf, .*, aml, .*, one-gpu"
    ):
        load(None, preset="nine-gpus")


def test_a_dry_run_shows_a_preset(capsys: Any):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--preset", "cpu", "--dry-run", "engine.workers=3"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert 'device = "cpu"' in told
    assert "# 3 rollout workers, each on the CPU: about " in told


def test_a_run_that_is_finished_takes_no_preset(tmp_path: Path, capsys: Any):
    with pytest.raises(SystemExit):
        main(["run", "--preset", "cpu", "--resume", str(tmp_path)])
    assert "--resume takes the run's own configuration" in capsys.readouterr().err
