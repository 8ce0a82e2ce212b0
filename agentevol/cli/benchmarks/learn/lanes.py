"""Lanes: each is one comparison of an algorithm on a model and a device.

`sft` and `dpo` run everywhere. Where there is a CUDA device, `sft-4096` and `dpo-4096` do too: bf16,
sequences of 4,096 tokens, a model in the shape of Qwen2.5-0.5B.
"""

from dataclasses import dataclass
from typing import Any, Literal

Algorithm = Literal["sft", "dpo"]


@dataclass(frozen=True)
class Shape:
    """The sizes of a Qwen2 model."""

    vocabulary: int
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    positions: int
    tied: bool = False


SMALL = Shape(1024, 192, 512, layers=4, heads=4, kv_heads=4, positions=1024)
"""2.2 M weights, untied embeddings."""
HALF_BILLION = Shape(151_936, 896, 4864, layers=24, heads=14, kv_heads=2, positions=4096, tied=True)
"""Qwen2.5-0.5B."""


@dataclass(frozen=True)
class Lane:
    """One comparison."""

    name: str
    algorithm: Algorithm
    shape: Shape
    device: str
    dtype: Literal["float32", "bf16"]
    sequences_per_step: int
    """Training sequences per step; both of a pair count."""
    pass_tokens: int
    """Maximum tokens of one forward pass of the learner."""
    trl_sequences: int
    """Sequences of one forward pass of TRL; both of a pair count."""
    length: int | None = None
    """Tokens of every sequence; None draws lengths as in a household episode."""
    learning_rate: float = 1e-3
    threads: int = 1

    @property
    def sides(self) -> tuple[str, ...]:
        """Compared sides; sequences of one length need no padding."""
        loop = self.algorithm == "sft" and self.length is None
        return ("learner", "padded", "trl") if loop else ("learner", "trl")


def lanes(*, cuda: bool) -> dict[str, Lane]:
    """All lanes by name."""
    small: dict[str, Any] = {"shape": SMALL, "device": "cpu", "dtype": "float32"}
    small |= {"sequences_per_step": 32, "pass_tokens": 4096, "trl_sequences": 8}
    found = [Lane("sft", "sft", **small), Lane("dpo", "dpo", **small, learning_rate=1e-4)]
    if cuda:
        large: dict[str, Any] = {"shape": HALF_BILLION, "device": "cuda", "dtype": "bf16", "length": 4096}
        large |= {"sequences_per_step": 16, "pass_tokens": 8192, "trl_sequences": 2, "learning_rate": 1e-5}
        found += [Lane("sft-4096", "sft", **large), Lane("dpo-4096", "dpo", **large)]
    return {lane.name: lane for lane in found}
