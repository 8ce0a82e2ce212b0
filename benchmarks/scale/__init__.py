"""Scaling of a run over many replicas: an event simulation of parts that were measured one by one.

`calibration` measures the cost of each part here (`stand_in` the driver's), `costs` holds the costs and the
resulting limits, `simulation` plays episodes with them: `driver`, `Station`s of `events`, `replica`.

    python -m benchmarks scale --json > scale.json
    python -m benchmarks scale --costs scale.json     the same costs again, or others written there by hand
"""

from benchmarks.scale.main import main

__all__ = ["main"]
