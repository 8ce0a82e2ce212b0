"""Why a process died, out of what Ray says of it."""

from agentevol.errors import AgentEvolError, ConfigError, RunStopped


def last_words(told: str) -> str:
    """Where a process died of an error, Ray tells it as the last line of a traceback."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    found = next((line for line in reversed(lines) if "Error: " in line), lines[-1] if lines else "unknown")
    return found[:300]


def start_failure(told: str, who: str = "a rollout worker") -> AgentEvolError:
    """Why it did not start."""
    reason = last_words(told)
    kind, _, text = reason.partition(": ")
    if kind.endswith(ConfigError.__name__):
        return ConfigError(text)
    return RunStopped(f"{who} did not start: {reason}")


def one_line(told: str, limit: int = 300) -> str:
    """A message without its line breaks, and not longer than this."""
    return " ".join(told.split())[:limit]
