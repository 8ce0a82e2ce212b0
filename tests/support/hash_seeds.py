"""Programs under several hash seeds, for what may not depend on the order of sets."""

import os
import subprocess
import sys


def printed(program: str, *arguments: str) -> set[str]:
    """Different outputs of a Python program under two hash seeds."""
    found = set[str]()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    return found
