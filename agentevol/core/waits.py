"""Times that requests have waited in a queue."""

from dataclasses import dataclass


@dataclass
class Waits:
    """Number, sum and maximum of waiting times, in seconds."""

    count: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one wait."""
        self.merge(Waits(1, seconds, seconds))

    def merge(self, other: "Waits") -> None:
        """Count the waits of another queue, too."""
        self.count += other.count
        self.total_s += other.total_s
        self.longest_s = max(self.longest_s, other.longest_s)

    def figures(self, name: str) -> dict[str, float]:
        """Mean and maximum as `NAME_wait_s` and `NAME_wait_max_s`; {} without a wait."""
        if not self.count:
            return {}
        return {f"{name}_wait_s": self.total_s / self.count, f"{name}_wait_max_s": self.longest_s}
