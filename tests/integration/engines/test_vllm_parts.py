"""What the vLLM engine is made of, as far as it needs no vLLM."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, Qwen2Config

from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.weights import verification
from agentevol.engines.vllm.weights.output_embeddings import is_tied, untied
from agentevol.models.causal_lm import load_model

SHAPE = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 48}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 128}


def write_model(folder: Path, *, tied: bool, max_shard_size: str = "50GB") -> Path:
    torch.manual_seed(0)
    config = Qwen2Config(**SHAPE, **HEADS, tie_word_embeddings=tied)
    model = AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    return folder


@pytest.mark.parametrize("shards", ["50GB", "10KB"])
def test_a_tied_checkpoint_gets_output_embeddings_of_its_own(tmp_path, shards):
    path = write_model(tmp_path / "tied", tied=True, max_shard_size=shards)
    model = load_model(path, "eager")
    assert is_tied(model)
    copy = untied(path, model, tmp_path / "copy")
    names = [name for file in copy.glob("*.safetensors") for name in load_file(file)]
    assert "lm_head.weight" in names
    assert json.loads((copy / "config.json").read_text())["tie_word_embeddings"] is False
    read = load_model(copy, "eager")
    assert not is_tied(read)
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    assert torch.equal(read(ids).logits, model(ids).logits)
    assert is_tied(load_model(path, "eager"))  # the checkpoint itself stays as it was


def test_an_untied_checkpoint_is_used_as_it_is(tmp_path):
    path = write_model(tmp_path / "untied", tied=False)
    assert untied(path, load_model(path, "eager"), tmp_path / "copy") == path
    assert not (tmp_path / "copy").exists()


def sample(model, prompt: list[int], shift: float = 0.0) -> Sampled:
    """Three greedy tokens with their log-probabilities, all shifted."""
    ids = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=3, pad_token_id=0)
    with torch.no_grad():
        logp = model(ids).logits[0].log_softmax(-1)
    tokens = ids[0, len(prompt) :].tolist()
    logprobs = [logp[len(prompt) - 1 + k, token].item() + shift for k, token in enumerate(tokens)]
    return Sampled(tuple(tokens), tuple(logprobs), "length")


def test_the_probe_measures_the_largest_difference(tmp_path):
    model = load_model(write_model(tmp_path / "model", tied=False), "eager")
    begun = verification.prompts(61, 128)
    same = [sample(model, prompt) for prompt in begun]
    found = verification.gap(model, begun, same)
    assert found.largest < verification.TOLERANCES["float32"]
    assert found.tokens == 4 * 3
    off = [*same[:3], sample(model, begun[3], -0.01)]
    assert verification.gap(model, begun, off).largest == pytest.approx(0.01, abs=1e-4)
    broken = [*same[:3], Sampled(same[3].token_ids, (float("nan"),) * 3, "length")]
    assert verification.gap(model, begun, broken).largest == float("inf")


def test_a_probe_that_compared_nothing_or_met_no_number_is_no_pass(tmp_path):
    checkpoint = Checkpoint(write_model(tmp_path / "model", tied=False), 3)
    model = load_model(checkpoint.path, "eager")
    begun = verification.prompts(61, 128)[:1]
    same = sample(model, begun[0])
    verification.check(model, begun, [same], "float32", checkpoint)
    for sampled, said in (
        ([Sampled((), (), "stop")], "by inf over 0 tokens"),
        ([Sampled(same.token_ids, (float("nan"),) * 3, "length")], "by inf over 3 tokens"),
    ):
        with pytest.raises(RunStopped, match=said):
            verification.check(model, begun, sampled, "float32", checkpoint)
    with pytest.raises(RunStopped, match="by inf over 0 tokens"):
        verification.check(model, [], [], "float32", checkpoint)


def test_the_probe_fits_any_context():
    assert [len(prompt) for prompt in verification.prompts(61, 4096)] == [48] * 4
    assert [len(prompt) for prompt in verification.prompts(61, 32)] == [16] * 4
    assert verification.new_tokens(32) == 8
    assert all(0 <= token < 61 for prompt in verification.prompts(61, 4096) for token in prompt)


GUARDED = """
import multiprocessing, subprocess, sys, time
from agentevol.engines.vllm.watchdog import Watchdog, descendants, watching_children
if __name__ == "__main__":
    watchdog = Watchdog()
    with watching_children(watchdog):
        spawn = multiprocessing.get_context("spawn")
        child = spawn.Process(target=subprocess.run, args=(["sleep", "60"],), daemon=True)
        child.start()
        while not (its := list(descendants(child.pid))):
            time.sleep(0.05)
    if sys.argv[1] == "dismissed":
        watchdog.dismiss()
    print(child.pid, *its, flush=True)
    time.sleep(60)
"""


def running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
@pytest.mark.parametrize(("how", "survives"), [("guarded", False), ("dismissed", True)])
def test_what_is_watched_does_not_outlive_a_killed_process(how, survives):
    parent = subprocess.Popen([sys.executable, "-c", GUARDED, how], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None  # the child holds it open as well: it is never read to its end
    pids = [int(pid) for pid in parent.stdout.readline().split()]  # a child, and its own
    assert len(pids) == 2
    assert all(map(running, pids))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + (1 if survives else 20)
    while any(map(running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [running(pid) for pid in pids] == [survives] * 2
    if survives:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
