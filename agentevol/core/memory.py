"""Memory that this process has used."""

import sys
from typing import Any


def peak_memory() -> dict[str, float]:
    """Peak resident memory of this process, `memory_gib`, and where it has used a GPU with torch, the peak
    that torch has allocated there, `gpu_memory_gib`. Both since the process began.
    """
    found: dict[str, float] = {}
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
        found["memory_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        found["gpu_memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found
