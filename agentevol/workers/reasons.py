"""Reasons for a process's death, extracted from Ray's messages."""

from agentevol.errors import AgentEvolError, ConfigError, RunStopped


def last_words(told: str) -> str:
    """Error of a process that died of one: the last line of the traceback in Ray's message."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    found = next((line for line in reversed(lines) if "Error: " in line), lines[-1] if lines else "unknown")
    return found[:300]


def start_failure(told: str, who: str = "a rollout worker") -> AgentEvolError:
    """Error for a process that did not start."""
    reason = last_words(told)
    kind, _, text = reason.partition(": ")
    if kind.endswith(ConfigError.__name__):
        return ConfigError(text)
    return RunStopped(f"{who} did not start: {reason}")


def one_line(told: str, limit: int = 300) -> str:
    """A message without line breaks, cut to the limit."""
    return " ".join(told.split())[:limit]
