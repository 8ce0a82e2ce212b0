"""Startup time of the import of `EnvClient` and `agentevol --help`, compared with an empty Python.

The three alternate, so that other load on the machine affects all of them.
"""

import json as json_module
import subprocess
import sys
import time

from agentevol.cli.benchmarks.figures import Figure

REPEATS = 7
PROGRAMS = {
    "python -c pass": "pass",
    "from agentgym_client import EnvClient": "from agentgym_client import EnvClient",  # not the lazy package
    "agentevol --help": "from agentevol.cli import main; main(['--help'])",
}
BUDGETS_S = {"from agentgym_client import EnvClient": 0.4, "agentevol --help": 0.6}


def seconds(program: str) -> float:
    """Wall time of a fresh interpreter running `program`; raises `CalledProcessError` when it fails."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(repeats: int = REPEATS) -> list[Figure]:
    """One figure for each program, after a run that fills the caches."""
    rounds = [[seconds(program) for program in PROGRAMS.values()] for _ in range(repeats + 1)]
    return [
        Figure(name, "s", times[1:]) for name, times in zip(PROGRAMS, zip(*rounds, strict=True), strict=True)
    ]


def main(json: bool = False) -> None:
    """Measure and print."""
    figures = measure()
    bare_s = figures[0].median
    if json:
        rows = [{**figure.as_json(), "budget_s": BUDGETS_S.get(figure.what)} for figure in figures]
        print(json_module.dumps({"benchmark": "startup", "figures": rows}, indent=2))
        return
    for figure in figures:
        budget = BUDGETS_S.get(figure.what)
        verdict = (
            ""
            if budget is None
            else f"; budget {budget} s: {'kept' if figure.median <= budget else 'MISSED'}"
        )
        print(f"{figure}; {figure.median / bare_s:.1f} times an empty Python{verdict}")
