"""How a vLLM engine is given new weights (`engine.transfer`), in vLLM's own terms.

disk   it reads the checkpoint's files
nccl   the learner's process sends them from its GPU to others
ipc    the learner's process shows them to vLLM on the same GPU (`engine.colocated`)
gloo   as nccl, between CPUs
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from agentevol.causal_lm import one_line
from agentevol.errors import ConfigError
from agentevol.protocols import Transfer

Step = Literal[
    "init_weight_transfer_engine",
    "start_weight_update",
    "update_weights",
    "finish_weight_update",
    "probe",
    "admit",
]
"""Of an update, in order: four that are vLLM's, a look at what it samples, and the end."""
_NAMES = {"init_weight_transfer_engine": "init_info", "update_weights": "update_info"}
SETTINGS: Mapping[Transfer, dict[str, str]] = {
    "disk": {},
    "nccl": {},
    "ipc": {"VLLM_ALLOW_INSECURE_SERIALIZATION": "1"},  # handles of CUDA memory are pickled
    "gloo": {},
}
"""What vLLM reads from the environment."""
SHARED = 0.8
"""Of a GPU's memory that is vLLM's while it is awake, where a learner has a context there as well."""


def arguments(transfer: Transfer, colocated: bool) -> dict[str, Any]:
    """How vLLM is started for it, beside everything else. Raises `ConfigError` for one that lacks it."""
    found: dict[str, Any] = {}
    if transfer != "disk":
        try:
            settings = import_module("vllm.config.weight_transfer").WeightTransferConfig
            _ = import_module("vllm.distributed.weight_transfer.factory").WeightTransferTrainerFactory
        except (ImportError, AttributeError) as cause:
            raise ConfigError(
                f"engine.transfer = {transfer!r} is not to be had with this vLLM ({one_line(cause)}): take a"
                " newer one (0.32 has it), or 'disk'"
            ) from cause
        found["weight_transfer_config"] = settings(backend=transfer)
    if transfer == "gloo":
        found["worker_extension_cls"] = "agentevol.engines.vllm_gloo.Extension"
    if colocated:
        found |= {"enable_sleep_mode": True, "gpu_memory_utilization": SHARED}
    return found


def named(step: Step, given: Any) -> dict[str, Any]:
    """What vLLM's workers are called with."""
    return {_NAMES[step]: given} if step in _NAMES else {}
