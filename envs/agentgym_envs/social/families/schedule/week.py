"""Slots of a week, and `Calendar`, what one seat knows."""

from typing import Final

from agentgym_envs.core import Record

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri")
HOURS: Final = (9, 11, 14, 16)
SLOTS: Final = tuple(f"{day} {hour}" for day in DAYS for hour in HOURS)


class Calendar(Record):
    """Calendar of one seat."""

    free: dict[str, int]
    """Preference, 1 to 3, by free slot."""
    busy: dict[str, str]
    """Reason by busy slot."""
    private: str
    """The busy slot whose reason is private."""
    reasons: tuple[str, ...]
    """The private reason and its synonyms."""

    @property
    def slots(self) -> list[str]:
        """Free slots, the best first, then in the order of the week."""
        return sorted(self.free, key=lambda slot: (-self.free[slot], SLOTS.index(slot)))

    @property
    def text(self) -> str:
        """The calendar as its owner reads it."""
        free = ", ".join(f"{slot} ({self.free[slot]})" for slot in SLOTS if slot in self.free)
        busy = ", ".join(
            f"{slot} {'private: ' if slot == self.private else ''}{self.busy[slot]}"
            for slot in SLOTS
            if self.busy.get(slot)
        )
        return f"Free, with your preference from 1 to 3 (best): {free}. All other times are busy: {busy}."


def day_of(slot: str) -> str:
    """The day of a slot."""
    return slot.partition(" ")[0]
