"""vLLM's weight-transfer interface over Gloo, for engines on CPUs: what its NCCL backend is on GPUs.

vLLM imports this module in its own processes (`worker_extension_cls`), which makes the backend known there.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, ClassVar

import torch

_base: Any = import_module("vllm.distributed.weight_transfer.base")
_factory: Any = import_module("vllm.distributed.weight_transfer.factory")
NAME = "gloo"


@dataclass
class Meeting(_base.WeightTransferInitInfo):
    """Where an engine's processes meet the sender, and as which ranks."""

    master_address: str
    master_port: int
    world_size: int
    rank_offset: int


@dataclass
class Announced(_base.WeightTransferUpdateInfo):
    """The tensors that come next, in order."""

    names: Sequence[str]
    dtype_names: Sequence[str]
    shapes: Sequence[Sequence[int]]


class Receiver(_base.WeightTransferEngine):
    """In vLLM's process: takes a checkpoint's tensors in, one by one."""

    init_info_cls = Meeting
    update_info_cls = Announced

    def init_transfer_engine(self, init_info: Meeting) -> None:
        """Meet the sender."""
        rank = init_info.rank_offset + self.parallel_config.rank
        self._group = _group(init_info.master_address, init_info.master_port, rank, init_info.world_size)

    def start_weight_update(self) -> None:
        """Be ready for tensors in a checkpoint's format."""
        _reload().initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: Announced) -> None:
        """Take them in."""
        for name, dtype, shape in zip(
            update_info.names, update_info.dtype_names, update_info.shapes, strict=True
        ):
            tensor = torch.empty(tuple(shape), dtype=getattr(torch, dtype))
            _broadcast(self._group, tensor)
            self.model.load_weights([(name, tensor)])

    def finish_weight_update(self) -> None:
        """Put them in place."""
        _reload().finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Let the sender go."""
        self._group = None


@dataclass
class SenderInfo(_base.TrainerInitInfo):
    """What the sender is begun with."""

    backend: ClassVar[str] = NAME
    master_address: str
    master_port: int
    world_size: int


class Sending(_base.TrainerWeightTransferEngine):
    """In the learner's process; ranks other than 0 have nothing to do."""

    init_info_cls = SenderInfo

    @classmethod
    def trainer_init(cls, init_info: SenderInfo, *, client: Any, source: Any = None) -> "Sending":
        """Meet the engines."""
        made = cls(client=client, source=source, is_sender=init_info.is_sender)
        if made.is_sender:
            where = init_info.master_address, init_info.master_port
            told = Meeting(*where, init_info.world_size, rank_offset=1)
            with ThreadPoolExecutor(1) as beside:  # they wait for this process
                met = beside.submit(client.init_weight_transfer_engine, asdict(told))
                made._group = _group(*where, 0, init_info.world_size)
                met.result()
        return made

    def send_weights(self) -> None:
        """Send all tensors of the source."""
        if not self.is_sender:
            return
        tensors = self.source.metadata()
        announced: Mapping[str, Any] = {
            "names": [one.name for one in tensors],
            "dtype_names": [str(one.dtype).removeprefix("torch.") for one in tensors],
            "shapes": [list(one.shape) for one in tensors],
        }
        self.client.start_weight_update()
        beside = ThreadPoolExecutor(1)
        try:
            receiving = beside.submit(self.client.update_weights, announced)
            for _, tensor in self.source:
                _broadcast(self._group, tensor.contiguous())
            receiving.result()
        finally:
            beside.shutdown(wait=False)  # one that failed may wait for ever
        self.client.finish_weight_update()

    def shutdown(self) -> None:
        """Let the engines go."""
        self._group = None


class Extension:
    """Named to vLLM so that this module is imported; adds nothing to its workers."""


def _group(host: str, port: int, rank: int, size: int) -> Any:
    utils = import_module("vllm.distributed.utils")
    return utils.stateless_init_torch_distributed_process_group(host, port, rank, size, "gloo")


def _broadcast(group: Any, tensor: torch.Tensor) -> None:
    """From rank 0, in place."""
    group.broadcast(tensor, 0).wait()


def _reload() -> Any:
    return import_module("vllm.model_executor.model_loader.reload")


_factory.WeightTransferEngineFactory.register_engine(NAME, Receiver)
_factory.WeightTransferTrainerFactory.register_engine(NAME, Sending)
