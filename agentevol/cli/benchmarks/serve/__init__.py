"""Serving benchmark: throughput, latency, CPU time and memory of environment servers, compared with others.

`servers` are the measured servers, each a separate process, pinned to one core; `loads` are the clients, in a
process on another core; `measure` connects the two; `table` prints. OpenEnv takes part where an interpreter
with `openenv==0.10.0` is named: its dependencies conflict with ours.

    agentevol bench serve
    agentevol bench serve --openenv /path/to/venv/bin/python --json
"""

from agentevol.cli.benchmarks.serve.main import main

__all__ = ["main"]
