"""Forward passes distributed over ranks, and the concatenation of their outputs.

Three sequences of 7, 5 and 4 tokens, two ranks, micro-batches of 8 tokens:

    rank 0   [7]
    rank 1   [5]  [4]       rank 0 makes a dummy pass meanwhile, whose output is ignored

Sharded weights are gathered for every pass, so all ranks have to make equally many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from agentevol.core.algorithms.contract import Integers
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.batch_plan import micro_batches, tokens_of
from agentevol.learn.distributed.ranks import Ranks


@dataclass(frozen=True)
class Passes:
    """Indices of training sequences of every forward pass of every rank."""

    by_rank: list[list[list[int]]]
    spare: list[int]
    """Indices of training sequences of a dummy pass, for ranks with fewer passes than others."""
    ranks: Ranks

    @property
    def own(self) -> list[list[int]]:
        """Passes of this rank that count."""
        return self.by_rank[self.ranks.rank]

    @property
    def idle(self) -> list[list[int]]:
        """Dummy passes of this rank, after its own ones, so that every rank issues equal collectives."""
        return [self.spare] * (max(len(parts) for parts in self.by_rank) - len(self.own))

    @property
    def order(self) -> list[int]:
        """Order of the sequences in `joined`: rank by rank, pass by pass."""
        return [index for parts in self.by_rank for part in parts for index in part]

    def counts(self, tokens: Integers) -> list[int]:
        """Number of learnt tokens that each rank reads, given `tokens` of each sequence."""
        return [int(sum(tokens[part].sum() for part in parts)) for parts in self.by_rank]

    def joined(self, said: Sequence[Mapping[str, torch.Tensor]], tokens: Integers) -> dict[str, torch.Tensor]:
        """Columns over all sequences, in `order`; `said` are the outputs of this rank's passes, the dummy
        ones last.
        """
        counts = self.counts(tokens)
        own = counts[self.ranks.rank]
        return {
            name: self.ranks.joined(torch.cat([columns[name] for columns in said])[:own], counts)
            for name in said[0]
        }


def shared_out(
    sequences: Sequence[TrainingSequence], atoms: Sequence[Sequence[int]], max_tokens: int, ranks: Ranks
) -> Passes:
    """Distribute few passes of at most `max_tokens` tokens, about as many tokens for each rank.

    Every rank computes the same result. Raises `ConfigError` for an atom that is larger.
    """
    shares = [micro_batches(sequences, share, max_tokens) for share in _shares(sequences, atoms, ranks.size)]
    indices = [index for atom in atoms for index in atom]
    return Passes(shares, [min(indices, key=lambda index: len(sequences[index].token_ids))], ranks)


def _shares(
    sequences: Sequence[TrainingSequence], atoms: Sequence[Sequence[int]], count: int
) -> list[list[Sequence[int]]]:
    """Atoms of each rank: the longest first, each to the rank that has the fewest tokens."""
    if count == 1:
        return [list(atoms)]
    shares: list[list[Sequence[int]]] = [[] for _ in range(count)]
    filled = np.zeros(count, dtype=np.int64)
    lengths = np.asarray([tokens_of(sequences, atom) for atom in atoms])
    for number in np.argsort(-lengths, kind="stable").tolist():
        rank = int(filled.argmin())
        shares[rank].append(atoms[number])
        filled[rank] += lengths[number]
    return shares
