"""vLLM's weight-transfer interface over Gloo for engines on CPUs, the counterpart of its NCCL backend.

vLLM imports this module in its own processes (`worker_extension_cls`), which registers the backend there.
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
    """Rendezvous address of an engine's processes and the sender, and the ranks of the processes."""

    master_address: str
    master_port: int
    world_size: int
    rank_offset: int


@dataclass
class Announced(_base.WeightTransferUpdateInfo):
    """Names, types and shapes of the next tensors, in order."""

    names: Sequence[str]
    dtype_names: Sequence[str]
    shapes: Sequence[Sequence[int]]


class Receiver(_base.WeightTransferEngine):
    """Receiving side in vLLM's process: receives a checkpoint's tensors one by one."""

    init_info_cls = Meeting
    update_info_cls = Announced

    def init_transfer_engine(self, init_info: Meeting) -> None:
        """Join the sender's process group."""
        rank = init_info.rank_offset + self.parallel_config.rank
        self._group = _group(init_info.master_address, init_info.master_port, rank, init_info.world_size)

    def start_weight_update(self) -> None:
        """Prepare to receive tensors in a checkpoint's format."""
        _reload().initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: Announced) -> None:
        """Receive the tensors."""
        for name, dtype, shape in zip(
            update_info.names, update_info.dtype_names, update_info.shapes, strict=True
        ):
            tensor = torch.empty(tuple(shape), dtype=getattr(torch, dtype))
            _broadcast(self._group, tensor)
            self.model.load_weights([(name, tensor)])

    def finish_weight_update(self) -> None:
        """Finish loading the received weights."""
        _reload().finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Leave the sender's process group."""
        self._group = None


@dataclass
class SenderInfo(_base.TrainerInitInfo):
    """Initialisation arguments of the sender."""

    backend: ClassVar[str] = NAME
    master_address: str
    master_port: int
    world_size: int


class Sending(_base.TrainerWeightTransferEngine):
    """Sending side in the learner's process; ranks other than 0 have nothing to do."""

    init_info_cls = SenderInfo

    @classmethod
    def trainer_init(cls, init_info: SenderInfo, *, client: Any, source: Any = None) -> "Sending":
        """Join a process group with the engines."""
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
            beside.shutdown(wait=False)  # a failed one may wait for ever
        self.client.finish_weight_update()

    def shutdown(self) -> None:
        """Leave the engines' process group."""
        self._group = None


class Extension:
    """Worker extension whose name makes vLLM import this module; it adds nothing to the workers."""


def _group(host: str, port: int, rank: int, size: int) -> Any:
    utils = import_module("vllm.distributed.utils")
    return utils.stateless_init_torch_distributed_process_group(host, port, rank, size, "gloo")


def _broadcast(group: Any, tensor: torch.Tensor) -> None:
    """Broadcast from rank 0, in place."""
    group.broadcast(tensor, 0).wait()


def _reload() -> Any:
    return import_module("vllm.model_executor.model_loader.reload")


_factory.WeightTransferEngineFactory.register_engine(NAME, Receiver)
_factory.WeightTransferTrainerFactory.register_engine(NAME, Sending)
