"""Weight transfer from the learner's process to vLLM, through vLLM's weight-transfer interface.

    learner, rank 0                              engines
    Sender.send(checkpoint, receivers)  ->  init_weight_transfer_engine   once for a set of engines
                                            start_weight_update, update_weights, finish_weight_update
    the tensors, over NCCL, CUDA IPC or Gloo
    log-probabilities of a probe        <-  probe
                                            admit                         sampling goes on, with new weights

vLLM's own senders for NCCL and IPC are used unchanged; the sender for CPUs is in `gloo`.
"""

import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from safetensors import safe_open

from agentevol.core.errors import AgentEvolError, TransferFailed, one_line
from agentevol.core.protocols import Checkpoint
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.weights import verification
from agentevol.engines.vllm.weights.output_embeddings import places, untied
from agentevol.models.causal_lm import DTYPES, load_model

Probed = Sequence[tuple[Sequence[int], Sampled]]
"""Prompts, each with an engine's sample after it."""


class Receivers(Protocol):
    """Engines that take part in an update. Every call goes to all of them at once and waits for all answers.

    vLLM's senders call the first four methods; they raise `TransferFailed`.
    """

    names: tuple[str, ...]
    """Names of the processes: new ones need a new process group."""
    ranks: int
    """Number of GPUs, or processes on CPUs, that hold weights."""

    def init_weight_transfer_engine(self, init_info: Mapping[str, Any]) -> None:
        """Join the sender's process group."""
        ...

    def start_weight_update(self) -> None:
        """Prepare to receive tensors."""
        ...

    def update_weights(self, update_info: Any) -> None:
        """Receive these tensors."""
        ...

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Finish loading the received weights."""
        ...

    def probe(self) -> Sequence[Probed]:
        """Sample with the weights of every engine, for the verification."""
        ...

    def admit(self) -> None:
        """Admit requests."""
        ...


class Meta(NamedTuple):
    """Metadata of a tensor that vLLM's senders need before it is sent."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


class Weights:
    """Tensors of a checkpoint's folder under their names there, in one order: vLLM's `WeightSource`. They are
    read one by one, on their way to the device.
    """

    def __init__(self, device: torch.device) -> None:
        self.folder, self._device = Path(), device

    def metadata(self) -> list[Meta]:
        """Metadata of all tensors, in the order of iteration."""
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
    """Sender of one checkpoint after another from this process, which is `rank` of the learners.

    Rank 0 communicates with the engines; with `ipc` the other ranks also send from their own GPUs.
    """

    def __init__(self, backend: str, rank: int, host: Callable[[], str]) -> None:
        self._backend, self._rank, self._host = backend, rank, host
        self._device = torch.device("cpu" if backend == "gloo" else "cuda")
        self._weights = Weights(self._device)
        self._met: tuple[str, ...] = ()
        self._sending: Any = None

    def send(self, checkpoint: Checkpoint, dtype: str, receivers: Receivers) -> None:
        """Transfer these weights to the engines, verify that they sample with them, and admit requests.

        Raises `TransferFailed` where the weights did not arrive, and `RunStopped` where an engine samples
        with other weights.
        """
        model = None if self._rank else load_model(checkpoint.path, "eager", DTYPES[dtype])
        with tempfile.TemporaryDirectory(prefix="agentevol-sent-") as scratch:
            self._weights.folder = checkpoint.path
            if self._backend == "gloo" and model is not None:  # CPU engines have separate embeddings
                self._weights.folder = untied(checkpoint.path.absolute(), model, Path(scratch) / "untied")
            try:
                self._meet(receivers)
                self._sending.send_weights()
            except AgentEvolError:
                raise
            except Exception as cause:  # vLLM, NCCL and sockets raise various types
                raise TransferFailed(f"{self._backend}: {one_line(cause)}") from cause
        if model is None:
            return
        torch.nn.Module.to(model, self._device)
        for one in receivers.probe():
            begun, sampled = [prompt for prompt, _ in one], [sample for _, sample in one]
            verification.check(model, begun, sampled, dtype, checkpoint)
        receivers.admit()

    def _meet(self, receivers: Receivers) -> None:
        """Join a process group with engines that have none with this process."""
        if receivers.names == self._met:
            return
        if self._sending is not None:
            self._sending.shutdown()
        transfer = import_module("vllm.distributed.weight_transfer.factory").WeightTransferTrainerFactory
        told = _told(self._backend, self._rank, self._host, 1 + receivers.ranks)
        self._sending = transfer.trainer_init(told, client=receivers, source=self._weights)
        self._met = receivers.names


def _told(backend: str, rank: int, host: Callable[[], str], size: int) -> Any:
    """Initialisation arguments of vLLM's sender."""
    if backend == "ipc":
        return import_module("vllm.distributed.weight_transfer.ipc_engine").IPCTrainerInitInfo(
            rank=rank, packed=True
        )
    address = host()
    if backend == "gloo":
        gloo = import_module("agentevol.engines.vllm.weights.gloo")
        return gloo.SenderInfo(address, _free_port(address), size, rank=rank)
    nccl = import_module("vllm.distributed.weight_transfer.nccl_engine")
    return nccl.NCCLTrainerInitInfo(address, _free_port(address), size, rank=rank)


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.bind((host, 0))
        return sock.getsockname()[1]


def _dtype(name: str) -> torch.dtype:
    """Torch type of a safetensors type name."""
    return {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}[name]
