"""Progress messages of benchmarks."""

import sys


def say(text: str) -> None:
    """Print the current measurement on standard error."""
    sys.stderr.write(f"measuring {text}\n")
    sys.stderr.flush()
