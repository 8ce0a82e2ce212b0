"""Ranks of distributed training and their collective operations.

    ranks = join(store, rank=0, size=2)
    ranks.gathered("from 0")    # ["from 0", "from 1"], on both

Every rank has to call the same methods in the same order. A single process is `ALONE`, which needs no process
group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed
from torch.distributed import Store, TCPStore  # pyright: ignore[reportPrivateImportUsage]

SaidT = TypeVar("SaidT")


@dataclass(frozen=True)
class Ranks:
    """This process, number `rank` from 0, among `size` that train together."""

    rank: int = 0
    size: int = 1

    def wait(self) -> None:
        """Return once every rank has called this."""
        self.any([False])

    def any(self, flags: Sequence[bool]) -> list[bool]:
        """For each flag, True where any rank has set it."""
        if self.size == 1:
            return list(flags)
        set_by_any = torch.tensor(flags, dtype=torch.int32)
        distributed.all_reduce(set_by_any, distributed.ReduceOp.MAX)
        return [bool(flag) for flag in set_by_any]

    def gathered(self, said: SaidT) -> list[SaidT]:
        """Gather an object from every rank, in their order. For small objects: they are pickled."""
        if self.size == 1:
            return [said]
        heard = [said] * self.size
        distributed.all_gather_object(heard, said)
        return heard

    def joined(self, own: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
        """Concatenate all ranks' values along the first axis, exactly; rank r has `counts[r]` of them."""
        if self.size == 1:
            return own
        whole = own.new_zeros((sum(counts), *own.shape[1:]))
        first = sum(counts[: self.rank])
        whole[first : first + counts[self.rank]] = own
        distributed.all_reduce(whole)  # a value plus zeros: the sum is exact
        return whole


ALONE = Ranks()


def meeting_point(host: str, size: int) -> TCPStore:
    """Open the rendezvous store of the ranks on rank 0's `host`, at a free port (its `port`)."""
    return TCPStore(host, 0, size, is_master=True, wait_for_workers=False)


def meet(host: str, port: int, size: int) -> TCPStore:
    """Connect to the rendezvous store that rank 0 opened."""
    return TCPStore(host, port, size, is_master=False)


def join(store: Store, rank: int, size: int, *, timeout_s: float = 1800) -> Ranks:
    """Join the process group as rank `rank` of `size`; returns once all ranks have joined.

    Tensors on a CUDA device use NCCL, others gloo. Waiting for a rank longer than `timeout_s` fails.
    """
    cuda = torch.cuda.is_available() and distributed.is_nccl_available()
    backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
    distributed.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=timeout_s)
    )
    return Ranks(rank, size)
