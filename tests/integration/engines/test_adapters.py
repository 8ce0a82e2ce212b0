"""Adapters apart from their weights, as far as it needs no vLLM: PEFT itself says what they are."""

from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, Qwen2Config

from agentevol.config.run import load
from agentevol.config.sections.engine import VllmConfig
from agentevol.core.errors import ConfigError
from agentevol.engines.vllm import lora_engine as vllm_lora
from agentevol.engines.vllm.lora_engine import lora_arguments
from agentevol.engines.vllm.weights.lora_adapters import adapters_of, check_base, kinds, under, write_peft
from agentevol.models.causal_lm import load_model
from agentevol.models.lora import FILE, adapted_from, to_bytes, trained
from agentevol.models.lora_config import LoraConfig
from agentevol.models.resolution import resolve
from agentevol.rollout import engine_factory
from agentevol.runs.evaluation import trial

LORA = LoraConfig(rank=4, alpha=12, keep=True)
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])


def write_base(folder: Path, *, seed: int = 0, tied: bool = False) -> Path:
    torch.manual_seed(seed)
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 128}
    shape = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}
    config = Qwen2Config(**shape, **heads, initializer_range=0.3, tie_word_embeddings=tied)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def learnt(start: Path, folder: Path, *, seed: int = 1, lora: LoraConfig = LORA) -> Path:
    """A checkpoint as the learner writes it, whose adapters went on from those of `start`, if any."""
    model = load_model(start, "eager")
    adapters = adapted_from(model, lora, start)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in trained(model).values():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    stored = to_bytes(model)
    adapters.merge_and_unload()  # in place
    model.save_pretrained(folder)
    (folder / FILE).write_bytes(stored)
    return folder


def logits(model) -> torch.Tensor:
    with torch.inference_mode():
        return model(IDS).logits


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_base(tmp_path / "base")


def test_peft_reads_what_is_written_and_gets_the_merged_checkpoint(base: Path, tmp_path: Path):
    first = learnt(base, tmp_path / "1")
    merged = load_model(first, "eager")
    write_peft(adapters_of(first, merged, LORA), LORA, tmp_path / "peft")
    read = PeftModel.from_pretrained(load_model(base, "eager"), tmp_path / "peft")
    torch.testing.assert_close(logits(read), logits(merged), rtol=1e-4, atol=1e-4)
    assert (logits(merged) - logits(load_model(base, "eager"))).abs().max() > 0.1


@pytest.mark.parametrize("tied", [False, True])
def test_all_checkpoints_of_a_run_lie_on_the_weights_that_it_began_with(tied: bool, tmp_path: Path):
    base = write_base(tmp_path / "base", tied=tied)
    second = learnt(learnt(base, tmp_path / "1"), tmp_path / "2", seed=2)
    assert under(base, LORA, tmp_path / "unused") == base
    assert not (tmp_path / "unused").exists()
    found = under(second, LORA, tmp_path / "under")
    tensors = load_file(found / "model.safetensors")
    for name, tensor in load_file(base / "model.safetensors").items():
        torch.testing.assert_close(tensors[name], tensor, rtol=1e-5, atol=1e-6)
    for path in (tmp_path / "1", second, base):
        adapters = adapters_of(path, load_model(path, "eager"), LORA)
        for alone in (base, found):
            check_base(path, alone, adapters, LORA)


def test_a_checkpoint_without_adapters_gets_ones_that_change_nothing(base: Path, tmp_path: Path):
    model = load_model(base, "eager")
    before, names = logits(model), [name for name, _ in model.named_parameters()]
    write_peft(adapters_of(base, model, LORA), LORA, tmp_path / "peft")
    assert [name for name, _ in model.named_parameters()] == names
    assert torch.equal(logits(model), before)
    read = PeftModel.from_pretrained(load_model(base, "eager"), tmp_path / "peft")
    assert torch.equal(logits(read), before)
    assert len(load_file(tmp_path / "peft" / "adapter_model.safetensors")) == 2 * 2 * 7  # A and B, layers
    attention = [f"{name}_proj" for name in "kqvo"]
    assert kinds(adapters_of(base, model, LORA)) == sorted([*attention, "down_proj", "gate_proj", "up_proj"])


def test_adapters_on_other_weights_or_of_another_scale_are_refused(base: Path, tmp_path: Path):
    first, model = learnt(base, tmp_path / "1"), load_model(base, "eager")
    adapters = adapters_of(first, model, LORA)
    elsewhere = write_base(tmp_path / "elsewhere", seed=5)
    with pytest.raises(ConfigError, match="their base weights differ from those in vLLM"):
        check_base(first, elsewhere, adapters, LORA)
    scaled = {name: 1.01 * tensor for name, tensor in adapters.items()}
    with pytest.raises(ConfigError, match=r"proj.weight in .*/1 is not that in .*/base with the adapters"):
        check_base(first, base, scaled, LORA)
    with pytest.raises(ConfigError, match="is not that in"):
        check_base(first, base, adapters, LoraConfig(rank=4, alpha=13, keep=True))
    without = {name: tensor for name, tensor in adapters.items() if ".layers.1.mlp" not in name}
    with pytest.raises(ConfigError, match=r"layers\.1\.mlp"):
        check_base(first, base, without, LORA)
    strayed = {name.replace("layers.1", "layers.7"): tensor for name, tensor in adapters.items()}
    with pytest.raises(ConfigError, match=r"layers\.1\..*is not that in"):
        check_base(first, base, strayed, LORA)


def test_adapters_of_another_rank_or_in_pieces_are_refused(base: Path, tmp_path: Path):
    first = learnt(base, tmp_path / "1", lora=LoraConfig(rank=2, alpha=12, keep=True))
    model = load_model(first, "eager")
    with pytest.raises(ConfigError, match=r"adapters\.st has other adapters than learn\.lora, of rank 4"):
        adapters_of(first, model, LORA)
    stored = load_file(first / FILE)
    stored.pop(next(name for name in stored if ".lora_B." in name))
    save_file(stored, first / FILE)
    with pytest.raises(ConfigError, match="has other adapters"):
        adapters_of(first, model, LoraConfig(rank=2, alpha=12, keep=True))
    (first / FILE).write_bytes(b"no")
    with pytest.raises(ConfigError, match=r"adapters\.st is corrupt"):
        adapters_of(first, model, LORA)


KEPT = ("engine=vllm", "engine.lora=true", "learn.lora.keep=true")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["engine.lora=true", "learn.lora.keep=true"],
            "engine.lora is no setting of engine 'embedded'; it belongs to: vllm",
        ),
        ([*KEPT, "engine.url=http://h:1"], "engine.lora is no setting of engine 'vllm with engine.url'"),
        ([*KEPT, "engine.transfer=gloo"], "engine: transfer = 'gloo' has no effect with lora"),
        (["engine=vllm", "engine.lora=true"], "set learn.lora.keep = true"),
        (["engine=vllm", "engine.lora=true", "learn.lora.rank=4"], "set learn.lora.keep = true"),
        ([*KEPT, "learn.lora.rank=513"], "adapters of rank 512 at most, not 513"),
        ([*KEPT, "learn.lora.targets=['q_proj','lm_head']"], "leave lm_head out of learn.lora.targets"),
        ([*KEPT, "learn.save_dtype=bf16"], "set learn.save_dtype = 'float32'"),
    ],
)
def test_adapters_that_no_engine_can_serve_are_refused_when_the_configuration_loads(settings, message):
    with pytest.raises(ConfigError, match=message):
        load(None, settings)


def test_a_run_hands_on_how_it_learns(monkeypatch: pytest.MonkeyPatch):
    config = load(None, [*KEPT, "learn.lora.rank=4", "engine.slots=3"])
    started = []
    monkeypatch.setattr(
        vllm_lora, "VllmLoraEngine", lambda checkpoint, **settings: started.append((checkpoint, settings))
    )
    engine_factory.start_engine(config.engine, resolve("starter"), lora=config.learn.lora)
    ((checkpoint, settings),) = started
    assert checkpoint == resolve("starter")
    assert settings["lora"] == LoraConfig(rank=4, keep=True)
    assert settings["slots"] == 3


def test_what_updates_nothing_has_no_adapters_to_serve():
    with pytest.raises(ConfigError, match=r"engine\.lora has no effect in an evaluation"):
        trial(
            "starter", load(None).environment, "test", difficulty=None, episodes=1, temperature=0.0, seed=0,
            started=lambda _: lambda _: None, engine=["engine=vllm", "engine.lora=true"],
        )  # fmt: skip
    with pytest.raises(ConfigError, match=r"engine\.lora is for runs"):
        engine_factory.start_engine(VllmConfig(lora=True), resolve("starter"))


@pytest.mark.parametrize(("rank", "highest"), [(1, 8), (8, 8), (9, 16), (300, 320), (512, 512)])
def test_vllm_has_room_for_the_next_of_its_ranks(rank: int, highest: int):
    assert lora_arguments(rank, ["q_proj"])["max_lora_rank"] == highest
