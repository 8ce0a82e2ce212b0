"""Floating-point operations of a model's training, and peak rates of devices.

Model flops utilisation (PaLM, arXiv:2204.02311, appendix B) is the first over the second in the time taken: 2
flops for each weight of a matrix and token in the forward pass, twice as many in the backward pass, which is
the 6 N of arXiv:2001.08361, and those of attention. Padding, recomputation and the output layer on untrained
tokens do not count, as they are not required.
"""

from collections.abc import Sequence

from agentevol.cli.benchmarks.learn.lanes import Algorithm, Shape

PEAK_BF16 = {
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "H200 NVL": 835e12,
    "H200": 989e12,
    "A100": 312e12,
}
"""Peak rates by a part of the device's name, the first that matches: NVIDIA's data sheets, dense, bf16."""


def layer_weights(shape: Shape) -> int:
    """Weights of one layer's matrices: queries and output, keys and values, gate, up and down."""
    kv_width = shape.hidden // shape.heads * shape.kv_heads
    attention = 2 * shape.hidden * shape.hidden + 2 * shape.hidden * kv_width
    return attention + 3 * shape.hidden * shape.intermediate


def forward_flops(shape: Shape, lengths: Sequence[int], learnt: int) -> int:
    """Flops of one forward pass over sequences of these lengths; the output layer computes `learnt` tokens
    only.

    The token at position t attends to t tokens, counted from 1: 2 flops for each of them and each number of a
    query, and as many for the values.
    """
    matrices = 2 * shape.layers * layer_weights(shape) * sum(lengths)
    attention = 4 * shape.layers * shape.hidden * sum(length * (length + 1) // 2 for length in lengths)
    return matrices + attention + 2 * shape.hidden * shape.vocabulary * learnt


def training_flops(shape: Shape, algorithm: Algorithm, lengths: Sequence[int], learnt: int) -> int:
    """Flops of one training pass over the sequences: forward, twice that backward, and for DPO the reference
    model's forward.
    """
    return (4 if algorithm == "dpo" else 3) * forward_flops(shape, lengths, learnt)


def peak_flops(device: str) -> float | None:
    """Peak bf16 flops per second of a device of this name; None for an unknown device."""
    return next((peak for name, peak in PEAK_BF16.items() if name in device), None)
