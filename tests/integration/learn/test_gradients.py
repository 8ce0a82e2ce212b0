"""One forward pass or two, in micro-batches of any size: the same gradient."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2

from agentevol.core.algorithms.contract import Batch, Loss, Objective
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.packing import packed
from agentevol.learn.gradients import accumulate
from agentevol.learn.heads.linear import new_heads
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.network import Network, Outputs, Reader


def network(kind: str = "policy", *, dropout: float = 0.0) -> Network:
    model = qwen2(12, layers=2, intermediate=24, attention_dropout=dropout)
    model.set_attn_implementation(PACKED_ATTENTION)
    heads = None
    if kind != "policy":
        heads = new_heads(model, 1)
        torch.nn.init.normal_(heads.weight)
    return Network(Reader(model.train(), heads), kind, torch.device("cpu"))


def sequences(units: int = 3) -> list[TrainingSequence]:
    """Pairs of 7 tokens, of which 3 are learnt."""
    random = np.random.default_rng(0)
    mask = np.array([False] * 4 + [True] * 3)
    return [
        TrainingSequence(
            random.integers(0, 12, 7).astype(np.int32), mask, np.full(7, np.nan, np.float32), 1.0,
            f"{unit}{side}", unit=f"pair {unit}", side=side,
        )
        for unit in range(units)
        for side in (1, -1)
    ]  # fmt: skip


def contrast(batch: Batch) -> Loss:
    """Every sequence against all others of the batch: nothing of it can be computed apart."""
    score_J = batch.sums(batch.logp) + (0.0 if batch.value is None else batch.sums(batch.value**2))
    if batch.entropy is not None:
        score_J = score_J + batch.sums(batch.entropy)
    value = -(score_J.log_softmax(0) * batch.side).sum()
    return Loss(value, {"score": float(score_J.detach().sum()), "score_max": float(score_J.detach().max())})


def joint(together: str, *needs: str) -> Objective:
    sft = objective("sft")
    return replace(
        sft, algorithm=replace(sft.algorithm, together=together), loss=contrast, needs=frozenset(needs)
    )


def gradient(net: Network, chosen: Objective, max_tokens: int) -> tuple[torch.Tensor, object]:
    for parameter in net.parameters():
        parameter.grad = None
    assembly = Assembly(sequences())
    step = accumulate(net, assembly, chosen, assembly.optimiser_batch(range(6)), max_tokens)
    return torch.cat([parameter.grad.flatten() for parameter in net.parameters()]), step


@pytest.mark.parametrize("kind", ["policy", "critic"])
def test_two_passes_over_small_micro_batches_give_the_gradient_of_one_over_all(kind: str):
    net, chosen = network(kind), joint("batch", "entropy")
    whole, one = gradient(net, chosen, max_tokens=42)
    parts, two = gradient(net, chosen, max_tokens=7)
    assert whole.abs().max() > 1e-3
    # float32: rounding relative to the largest entry
    torch.testing.assert_close(parts, whole, atol=1e-5 * whole.abs().max().item(), rtol=0.0)
    assert two.loss == pytest.approx(one.loss, rel=1e-5)
    assert two.metrics == pytest.approx(one.metrics, rel=1e-5)
    assert (two.correct, two.nll) == (one.correct, pytest.approx(one.nll, rel=1e-5))


def test_the_comparison_notices_a_loss_that_is_computed_apart():
    net = network()
    whole, _ = gradient(net, joint("batch"), max_tokens=42)
    apart, _ = gradient(net, joint("sequence"), max_tokens=7)  # as if no sequence concerned another
    assert (apart - whole).abs().max() > 1e-3


def test_a_pair_larger_than_a_micro_batch_takes_two_passes_and_smaller_ones_share_one():
    net = network()
    reads = Counting(net)
    gradient(reads, joint("unit"), max_tokens=14)
    assert [len(part) for part in reads.sequences] == [2, 2, 2]  # a pair each, once
    reads.sequences.clear()
    gradient(reads, joint("unit"), max_tokens=7)
    assert [len(part) for part in reads.sequences] == [1] * 12  # six sequences, twice


def test_metrics_add_up_over_micro_batches_and_maxima_stay_maxima():
    net = network()
    _, step = gradient(net, joint("unit"), max_tokens=14)
    scores = [contrast_score(net, pair) for pair in (0, 2, 4)]
    assert step.metrics["score"] == pytest.approx(sum(a + b for a, b in scores), rel=1e-5)
    assert step.metrics["score_max"] == pytest.approx(max(max(pair) for pair in scores), rel=1e-5)


def contrast_score(net: Network, first: int) -> tuple[float, float]:
    data = sequences()
    with torch.no_grad():
        found = [net.read(packed(data, [index])).columns["logp"].sum().item() for index in (first, first + 1)]
    return found[0], found[1]


def test_dropout_draws_the_same_masks_in_both_passes():
    net = Counting(network(dropout=0.5))
    gradient(net, joint("batch"), max_tokens=7)
    first, second = net.logp[:6], net.logp[6:]
    assert all(torch.equal(*pair) for pair in zip(first, second, strict=True))
    gradient(net, joint("batch"), max_tokens=7)
    assert not torch.equal(net.logp[0], net.logp[12])  # another step draws others


@dataclass
class Counting:
    """A network that remembers what it read and said."""

    inner: Network
    sequences: list[tuple[int, ...]] = field(default_factory=list)
    logp: list[torch.Tensor] = field(default_factory=list)

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def parameters(self) -> list[torch.nn.Parameter]:
        return self.inner.parameters()

    def read(self, batch: object, *, entropy: bool = False) -> Outputs:
        outputs = self.inner.read(batch, entropy=entropy)
        self.sequences.append(batch.sequences)
        self.logp.append(outputs.columns["logp"].detach().clone())
        return outputs
