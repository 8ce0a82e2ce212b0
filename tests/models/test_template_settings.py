"""Variables of the chat template reach every place that encodes a text."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from agentevol.cli import main
from agentevol.config.run import TrainConfig, load
from agentevol.config.sections.engine import EmbeddedConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, Conversation, Message, Sampling
from agentevol.data.final_observation import with_closing
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.learn.batches.packing import episode_sequences
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.expert_demonstrations import demonstration_sequences
from agentevol.runs.launch import check
from agentevol.runs.training import learn
from agentgym_envs.core import Observation
from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.store import Where

EMPTY = "<think>\n\n</think>\n\n"
SETTING = "chat_template_kwargs.enable_thinking=false"


def expert_episode(**changes: Any) -> Trajectory:
    turns = tuple(Turn(action="go to table 1", observation="a mug 1", reward=1.0) for _ in range(2))
    told: dict[str, Any] = {"turns": turns, "ending": Terminated(), "initial_observation": "Hm?", **changes}
    return Trajectory(
        id="e", run="r", iteration=1, purpose="explore", env="x", env_version="1", data_version="1",
        task_id="t", split="train", instruction="", seed=0, attempt=0, policy="p",
        started_at="2026-01-01T00:00:00Z", wall_s=0.0, **told,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3, no thinking", "llama3"])
def test_the_embedded_engine_samples_in_every_format(families: Any, checkpoints: Any, name: str):
    engine = start_engine(
        EmbeddedConfig(slots=2, chat_template_kwargs=families[name].arguments),
        Checkpoint(checkpoints[name], 0),
    )
    policy = engine.serve(Sampling(max_new_tokens=6))
    conversation = Conversation("c", [Message("user", "You are in the kitchen.")])
    for seed in range(3):
        conversation.say(asyncio.run(policy.act(conversation, seed)))
        conversation.hear(Observation(text="a mug 1"))
    engine.close()
    tokenizer = families[name].tokenizer()
    prompts = [tokenizer.decode(sample.prompt_ids) for sample in conversation.samples]
    assert [prompt.endswith(EMPTY) for prompt in prompts] == 3 * [name == "qwen3, no thinking"]
    last = conversation.samples[-1]
    assert list(last.prompt_ids)[: len(conversation.samples[1].prompt_ids)] == list(
        conversation.samples[1].prompt_ids
    )
    model = AutoModelForCausalLM.from_pretrained(checkpoints[name]).eval()
    ids = torch.tensor([[*last.prompt_ids, *last.token_ids]])
    with torch.no_grad():
        logp_TV = model(ids).logits[0].log_softmax(-1)
    for place, (token, logp) in enumerate(zip(last.token_ids, last.logprobs, strict=True)):
        assert logp_TV[len(last.prompt_ids) + place - 1, token].item() == pytest.approx(logp, abs=1e-4)


def test_new_weights_are_asked_in_the_same_format(checkpoints: Any):
    folder = checkpoints["qwen3"]
    engine = EmbeddedEngine(Checkpoint(folder, 0), slots=1, chat_template_kwargs={"enable_thinking": False})
    engine.update(Checkpoint(folder, 1))
    policy = engine.serve(Sampling(max_new_tokens=1))
    sample = asyncio.run(policy.act(Conversation("c", [Message("user", "Hm?")]), 0))
    engine.close()
    assert load_tokenizer(folder).decode(sample.prompt_ids).endswith(EMPTY)


def test_a_run_with_a_variable_that_its_base_does_not_read_is_refused(checkpoints: Any):
    settings = [f"engine.{SETTING}", "environment.name=guess"]
    check(load(None, [*settings, f"base={checkpoints['qwen3']}"]))
    with pytest.raises(ConfigError, match="enable_thinking has no effect"):
        check(load(None, [*settings, f"base={checkpoints['llama3']}"]))


def test_the_setting_survives_the_copy_of_the_configuration(tmp_path: Path):
    config = load(None, [f"engine.{SETTING}", 'engine.chat_template_kwargs.date_string="01 Jan 2026"'])
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config
    assert dict(config.chat_template_kwargs) == {"enable_thinking": False, "date_string": "01 Jan 2026"}


@pytest.mark.parametrize(("settings", "count"), [([], 0), ([f"engine.{SETTING}"], 2)])
def test_demonstrations_are_encoded_with_it(checkpoints: Any, settings: list[str], count: int):
    folder = checkpoints["qwen3"]
    (row,) = demonstration_sequences([expert_episode()], Checkpoint(folder, 0), load(None, settings))
    assert load_tokenizer(folder).decode(row.token_ids.tolist()).count(EMPTY) == count


@pytest.mark.parametrize("arguments", [{}, {"enable_thinking": False}])
def test_the_last_answer_of_a_truncated_episode_is_encoded_with_it(checkpoints: Any, arguments: Any):
    folder = checkpoints["qwen3"]
    renderer = ChatRenderer(load_tokenizer(folder), arguments)
    prompt = renderer.prompt([Message("user", "Hm?")])
    sample = Sample(
        text="go", prompt_ids=tuple(prompt), token_ids=(5, renderer.end_id), logprobs=(-1.0, -1.0),
        policy_version=0,
    )  # fmt: skip
    turn = Turn(action="go", observation="a mug 1", reward=0.0, sample=sample)
    episode = expert_episode(turns=(turn,), ending=Truncated(limit="max_turns"))
    (row,) = with_closing(episode_sequences(episode, 1.0), [episode], folder, arguments)
    before = [*prompt, 5, renderer.end_id]
    assert row.token_ids.tolist() == before + renderer.extend(before, "a mug 1")
    assert load_tokenizer(folder).decode(row.token_ids.tolist()).count(EMPTY) == 2 * len(arguments)


def test_train_encodes_chats_with_it_and_refuses_what_has_no_effect(checkpoints: Any, tmp_path: Path):
    data = tmp_path / "chats.jsonl"
    data.write_text('{"prompt": "Hm?", "completion": "go to table 1"}\n')
    read: list[float] = []
    for number, settings in enumerate(([], [SETTING])):
        config = load(None, [f"base={checkpoints['qwen3']}", "learn.epochs=1", *settings], TrainConfig)
        report = learn(data, config, tmp_path / str(number), Where(), lambda *_: None)
        read.append(report.metrics["tokens_read"])
    tokenizer = load_tokenizer(checkpoints["qwen3"])
    assert read[1] - read[0] == len(tokenizer.encode(EMPTY, add_special_tokens=False))
    config = load(None, [f"base={checkpoints['qwen2.5']}", SETTING], TrainConfig)
    with pytest.raises(ConfigError, match="enable_thinking has no effect"):
        learn(data, config, tmp_path / "refused", Where(), lambda *_: None)


def test_eval_takes_it_and_scripts_do_not(checkpoints: Any, capsys: pytest.CaptureFixture[str]):
    asked = ["eval", f"engine.{SETTING}", "--env", "guess", "--episodes", "2"]
    with pytest.raises(SystemExit):
        main([*asked, "--model", "expert"])
    assert "expert needs no engine" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*asked, "--model", str(checkpoints["llama3"])])
    assert "enable_thinking has no effect" in capsys.readouterr().err
    tokens: list[float] = []
    for most in ("3", "5"):
        with pytest.raises(SystemExit) as ended:
            main([*asked, "--model", str(checkpoints["qwen3"]), "--max-new-tokens", most, "--json"])
        assert ended.value.code == 0
        tokens.append(json.loads(capsys.readouterr().out)["mean_tokens"])
    assert tokens[1] > tokens[0]
