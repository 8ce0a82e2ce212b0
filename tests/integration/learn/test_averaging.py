"""Means of the weights of checkpoints."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.tiny_models import qwen2, write_model

from agentevol.core.errors import ConfigError
from agentevol.learn.continual.averaging import write_mean
from agentevol.models.checkpoints import read_lineage


def members(place: Path, count: int = 3) -> list[Path]:
    found = [write_model(place / str(seed), qwen2(12, seed=seed)).path for seed in range(count)]
    for one in found:
        (one / "moments.st").write_bytes(b"moments")
    return found


def test_every_weight_is_the_mean_of_the_members_and_moments_begin_anew(tmp_path: Path):
    three = members(tmp_path)
    write_mean(three, tmp_path / "mean", 1, torch.float32)
    made, own = (
        load_file(tmp_path / "mean" / "model.safetensors"),
        [load_file(one / "model.safetensors") for one in three],
    )
    assert made.keys() == own[0].keys()
    for name, tensor in made.items():
        mean = (own[0][name] + own[1][name] + own[2][name]) / 3
        assert torch.allclose(tensor, mean, atol=1e-7)
    assert any(not torch.allclose(made[name], own[0][name], atol=1e-3) for name in made)
    assert not (tmp_path / "mean" / "moments.st").exists()
    assert (tmp_path / "mean" / "tokenizer.json").read_bytes() == (three[0] / "tokenizer.json").read_bytes()
    lineage = read_lineage(tmp_path / "mean")
    assert lineage is not None
    assert (lineage.version, lineage.metrics) == (1, {"merged": 3.0})


def test_the_mean_of_one_model_with_itself_is_the_model(tmp_path: Path):
    (one,) = members(tmp_path, 1)
    write_mean([one, one, one, one], tmp_path / "mean", 1, torch.float32)
    for name, tensor in load_file(tmp_path / "mean" / "model.safetensors").items():
        assert torch.equal(tensor, load_file(one / "model.safetensors")[name])


def test_members_of_other_shapes_are_refused_and_nothing_is_written(tmp_path: Path):
    (one,) = members(tmp_path, 1)
    for other in (qwen2(13), qwen2(12, hidden=32), qwen2(12, layers=2)):
        path = write_model(tmp_path / f"other {other.num_parameters()}", other).path
        with pytest.raises(ConfigError, match="has other shapes than"):
            write_mean([one, path], tmp_path / "mean", 1, torch.float32)
    assert not (tmp_path / "mean").exists()
