"""What a benchmark is doing, for those who wait for it."""

import sys


def say(text: str) -> None:
    """What is measured now, on standard error."""
    sys.stderr.write(f"measuring {text}\n")
    sys.stderr.flush()
