import errno
import json
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

from agentevol.core.errors import ConfigError, RunStopped
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import Lineage, read_lineage, save

FULL = "full_attention"
LINEAGE = Lineage(
    version=3, parent="start", parent_version=2, table_version=7, seed=1, metrics={"loss_last": 0.5}
)


@pytest.fixture
def model() -> PreTrainedModel:
    torch.manual_seed(0)
    shape = {"vocab_size": 20, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    return Qwen2ForCausalLM(
        Qwen2Config(**shape, num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=False)
    )


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    source = tmp_path / "start"
    source.mkdir()
    (source / "tokenizer.json").write_text('{"a": 1}', encoding="utf-8")
    (source / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    (source / "config.json").write_text("{}", encoding="utf-8")
    (source / "model.safetensors").write_bytes(b"old weights")
    (source / "model.safetensors.index.json").write_text("{}", encoding="utf-8")
    (source / "agentevol.json").write_text('{"version": 2}', encoding="utf-8")
    return source


def test_a_checkpoint_reads_back_with_its_tokenizer_and_its_lineage(
    model: PreTrainedModel, tokenizer: Path, tmp_path: Path
):
    out = tmp_path / "runs" / "new"
    save(model, tokenizer, out, LINEAGE, {"notes.txt": b"hello"})
    again = load_model(out, PACKED_ATTENTION)
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)
    assert (out / "tokenizer.json").read_text(encoding="utf-8") == '{"a": 1}'
    assert (out / "chat_template.jinja").read_text(encoding="utf-8") == "{{ messages }}"
    assert (out / "notes.txt").read_bytes() == b"hello"
    assert not (out / "model.safetensors.index.json").exists()  # the start's, not ours
    assert read_lineage(out) == LINEAGE
    assert json.loads((out / "agentevol.json").read_text(encoding="utf-8"))["table_version"] == 7
    assert [entry.name for entry in out.parent.iterdir()] == ["new"]


def test_a_checkpoint_is_never_overwritten(model: PreTrainedModel, tokenizer: Path, tmp_path: Path):
    (tmp_path / "new").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        save(model, tokenizer, tmp_path / "new", LINEAGE)


@pytest.mark.parametrize(
    "failure",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_leaves_nothing_half_written(
    model: PreTrainedModel,
    tokenizer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
):
    def write_half(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise failure

    monkeypatch.setattr(model, "save_pretrained", write_half)
    with pytest.raises(RunStopped, match="the disk is full"):
        save(model, tokenizer, tmp_path / "runs" / "new", LINEAGE)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_disk_that_fills_up_while_syncing_leaves_nothing_half_written(
    model: PreTrainedModel, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("agentgym_envs.files.os.fsync", fsync)
    with pytest.raises(RunStopped, match="the disk is full"):
        save(model, tokenizer, tmp_path / "runs" / "new", LINEAGE)
    assert list((tmp_path / "runs").iterdir()) == []


def test_other_write_errors_are_not_called_a_full_disk(
    model: PreTrainedModel, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(model, "save_pretrained", refuse)
    with pytest.raises(RunStopped, match="cannot write"):
        save(model, tokenizer, tmp_path / "runs" / "new", LINEAGE)


def test_what_a_killed_process_left_is_removed(model: PreTrainedModel, tokenizer: Path, tmp_path: Path):
    abandoned = tmp_path / "runs" / ".new.partial-abc"
    abandoned.mkdir(parents=True)
    (abandoned / "model.safetensors").write_bytes(b"half")
    save(model, tokenizer, tmp_path / "runs" / "new", LINEAGE)
    assert [entry.name for entry in (tmp_path / "runs").iterdir()] == ["new"]


@pytest.fixture
def saved(model: PreTrainedModel, tokenizer: Path, tmp_path: Path) -> Path:
    save(model, tokenizer, tmp_path / "saved", LINEAGE)
    return tmp_path / "saved"


def edit(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **changes}), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json is missing"),
        (lambda folder: (folder / "config.json").write_text("{", encoding="utf-8"), "cannot load"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"garbage!garbage!"), "is corrupt"),
        (lambda folder: edit(folder, hidden_size=12), "not those of|cannot load"),
        (lambda folder: edit(folder, num_hidden_layers=2), "cannot load"),  # only one layer has a type
        (lambda folder: edit(folder, num_hidden_layers=2, layer_types=[FULL, FULL]), "not those of"),
        (lambda folder: edit(folder, num_hidden_layers=0, layer_types=None), "not those of|cannot load"),
        (lambda folder: edit(folder, model_type="no-such-model"), "cannot load"),
        (lambda folder: edit(folder, model_type="t5"), "cannot load|not those of"),
    ],
)
def test_a_damaged_checkpoint_is_one_clear_line(saved: Path, damage: object, message: str):
    damage(saved)
    with pytest.raises(ConfigError, match=message) as caught:
        load_model(saved, PACKED_ATTENTION)
    assert "\n" not in str(caught.value)
    assert str(saved) in str(caught.value)


def test_a_missing_checkpoint_is_one_clear_line(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"no checkpoint at .*nowhere: not a folder"):
        load_model(tmp_path / "nowhere", PACKED_ATTENTION)


def test_a_corrupt_lineage_is_an_error_and_a_missing_one_is_not(saved: Path):
    (saved / "agentevol.json").write_text('{"version": "three"}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"agentevol\.json is corrupt"):
        read_lineage(saved)
    (saved / "agentevol.json").unlink()
    assert read_lineage(saved) is None
