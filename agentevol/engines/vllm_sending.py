"""From the learner's process: a checkpoint's weights, sent to vLLM through its weight-transfer interface.

    learner, rank 0                              engines
    Sender.send(checkpoint, receivers)  ->  init_weight_transfer_engine   once for a set of engines
                                            start_weight_update, update_weights, finish_weight_update
    the tensors, over NCCL, CUDA IPC or Gloo
    log-probabilities of a probe        <-  probe
                                            admit                         acts go on, with the new weights

vLLM's own senders for NCCL and IPC are used as they are; for CPUs there is one in `vllm_gloo`.
"""

import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from safetensors import safe_open

from agentevol.causal_lm import load_model
from agentevol.engines import probe
from agentevol.engines.loading import DTYPES
from agentevol.engines.scheduler import Sampled
from agentevol.engines.untied import places, untied
from agentevol.errors import AgentEvolError, TransferFailed, one_line
from agentevol.protocols import Checkpoint

Probed = Sequence[tuple[Sequence[int], Sampled]]
"""Prompts, and what an engine sampled after them."""


class Receivers(Protocol):
    """Engines that take part in an update. What is asked is asked of all at once, and answered by all.

    The first four are what vLLM's senders call; they raise `TransferFailed`.
    """

    names: tuple[str, ...]
    """Of the processes: others have to meet anew."""
    ranks: int
    """GPUs, or processes on CPUs, that hold weights."""

    def init_weight_transfer_engine(self, init_info: Mapping[str, Any]) -> None:
        """Meet the sender."""
        ...

    def start_weight_update(self) -> None:
        """Be ready for tensors."""
        ...

    def update_weights(self, update_info: Any) -> None:
        """Receive these tensors."""
        ...

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Put them in place."""
        ...

    def probe(self) -> Sequence[Probed]:
        """What each samples now."""
        ...

    def admit(self) -> None:
        """Let acts in."""
        ...


class Meta(NamedTuple):
    """What vLLM's senders ask of a tensor before it is sent."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


class Weights:
    """The tensors of a checkpoint's folder under the names that they have there, in one order: what vLLM
    calls a `WeightSource`. They are read one by one, on their way to the device.
    """

    def __init__(self, device: torch.device) -> None:
        self.folder, self._device = Path(), device

    def metadata(self) -> list[Meta]:
        """Of all tensors, in the order of iteration."""
        found: list[Meta] = []
        for name, file in sorted(places(self.folder).items()):
            with safe_open(self.folder / file, framework="pt") as tensors:
                view = tensors.get_slice(name)
                found.append(Meta(name, _dtype(view.get_dtype()), tuple(view.get_shape())))
        return found

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, file in sorted(places(self.folder).items()):
            with safe_open(self.folder / file, framework="pt") as tensors:
                yield name, tensors.get_tensor(name).to(self._device)


class Sender:
    """Sends one checkpoint after another from this process, which is `rank` of the learners.

    Rank 0 speaks to the engines; with `ipc` the others send from their own GPUs along with it.
    """

    def __init__(self, backend: str, rank: int, host: Callable[[], str]) -> None:
        self._backend, self._rank, self._host = backend, rank, host
        self._device = torch.device("cpu" if backend == "gloo" else "cuda")
        self._weights = Weights(self._device)
        self._met: tuple[str, ...] = ()
        self._sending: Any = None

    def send(self, checkpoint: Checkpoint, dtype: str, receivers: Receivers) -> None:
        """Have the engines take these weights, see that they sample with them, and let acts in.

        Raises `TransferFailed` where they did not arrive, and `RunStopped` where an engine samples with
        others.
        """
        model = None if self._rank else load_model(checkpoint.path, "eager", DTYPES[dtype])
        with tempfile.TemporaryDirectory(prefix="agentevol-sent-") as scratch:
            self._weights.folder = checkpoint.path
            if self._backend == "gloo" and model is not None:  # CPUs' engines have two embeddings for one
                self._weights.folder = untied(checkpoint.path.absolute(), model, Path(scratch) / "untied")
            try:
                self._meet(receivers)
                self._sending.send_weights()
            except AgentEvolError:
                raise
            except Exception as cause:  # vLLM, NCCL and sockets raise whatever goes wrong
                raise TransferFailed(f"{self._backend}: {one_line(cause)}") from cause
        if model is None:
            return
        torch.nn.Module.to(model, self._device)
        for one in receivers.probe():
            begun, sampled = [prompt for prompt, _ in one], [sample for _, sample in one]
            probe.check(model, begun, sampled, dtype, checkpoint)
        receivers.admit()

    def _meet(self, receivers: Receivers) -> None:
        """Meet engines that this process has not met."""
        if receivers.names == self._met:
            return
        if self._sending is not None:
            self._sending.shutdown()
        transfer = import_module("vllm.distributed.weight_transfer.factory").WeightTransferTrainerFactory
        told = _told(self._backend, self._rank, self._host, 1 + receivers.ranks)
        self._sending = transfer.trainer_init(told, client=receivers, source=self._weights)
        self._met = receivers.names


def _told(backend: str, rank: int, host: Callable[[], str], size: int) -> Any:
    """What vLLM's sender is begun with."""
    if backend == "ipc":
        return import_module("vllm.distributed.weight_transfer.ipc_engine").IPCTrainerInitInfo(
            rank=rank, packed=True
        )
    address = host()
    if backend == "gloo":
        gloo = import_module("agentevol.engines.vllm_gloo")
        return gloo.SenderInfo(address, _free_port(address), size, rank=rank)
    nccl = import_module("vllm.distributed.weight_transfer.nccl_engine")
    return nccl.NCCLTrainerInitInfo(address, _free_port(address), size, rank=rank)


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.bind((host, 0))
        return sock.getsockname()[1]


def _dtype(name: str) -> torch.dtype:
    """By the name that safetensors files give it."""
    return {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}[name]
