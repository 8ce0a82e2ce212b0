"""Weight-transfer modes of a vLLM engine (`engine.transfer`), in vLLM's own terms.

disk   the engine reads the checkpoint's files
nccl   the learner's process sends the weights from its GPU to the engine's
ipc    the learner's process shares them with vLLM on the same GPU (`engine.colocated`)
gloo   as nccl, between CPUs
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from agentevol.core.errors import ConfigError, one_line
from agentevol.core.protocols import Transfer

Step = Literal[
    "init_weight_transfer_engine",
    "start_weight_update",
    "update_weights",
    "finish_weight_update",
    "probe",
    "admit",
]
"""Steps of an update, in order: four of vLLM's, a sample for verification, and the end."""
_NAMES = {"init_weight_transfer_engine": "init_info", "update_weights": "update_info"}
SETTINGS: Mapping[Transfer, dict[str, str]] = {
    "disk": {},
    "nccl": {},
    "ipc": {"VLLM_ALLOW_INSECURE_SERIALIZATION": "1"},  # handles of CUDA memory are pickled
    "gloo": {},
}
"""Environment variables for vLLM."""
SHARED = 0.8
"""Share of a GPU's memory for vLLM while it is awake, where a learner has a context there as well."""


def arguments(transfer: Transfer, colocated: bool) -> dict[str, Any]:
    """Further arguments of vLLM for this mode. Raises `ConfigError` for a vLLM without it."""
    found: dict[str, Any] = {}
    if transfer != "disk":
        try:
            settings = import_module("vllm.config.weight_transfer").WeightTransferConfig
            _ = import_module("vllm.distributed.weight_transfer.factory").WeightTransferTrainerFactory
        except (ImportError, AttributeError) as cause:
            raise ConfigError(
                f"engine.transfer = {transfer!r} is not available with this vLLM ({one_line(cause)}): take a"
                " newer one (0.32 has it), or 'disk'"
            ) from cause
        found["weight_transfer_config"] = settings(backend=transfer)
    if transfer == "gloo":
        found["worker_extension_cls"] = "agentevol.engines.vllm.weights.gloo.Extension"
    if colocated:
        found |= {"enable_sleep_mode": True, "gpu_memory_utilization": SHARED}
    return found


def named(step: Step, given: Any) -> dict[str, Any]:
    """Arguments of a call to vLLM's workers."""
    return {_NAMES[step]: given} if step in _NAMES else {}
