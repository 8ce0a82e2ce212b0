"""Where a run on many replicas saturates: a simulation, by event, of parts that were measured one by one.

`calibration` measures what each part costs here (`stand_in` the driver's), `costs` holds that and the limits
that follow, `simulation` plays episodes with it: `driver`, `Station`s of `events`, `replica`.

    agentevol bench scale --json > scale.json
    agentevol bench scale --costs scale.json     the same costs again, or other ones written there by hand
"""

from agentevol.bench.scale.main import main

__all__ = ["main"]
