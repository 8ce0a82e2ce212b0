"""Purposes of meetings, and appointments: ordinary ones, and private ones with their synonyms."""

from typing import Final

from agentgym_envs.social.content import Pools

PURPOSES: Final[Pools] = {
    "train": (
        "a review of the budget",
        "a rehearsal",
        "a lesson in Spanish",
        "an inspection",
        "a game of tennis",
    ),
    "valid": ("a tasting", "an interview for the newsletter"),
    "test": ("a walk round the site", "a planning session", "a photo shoot"),
}

ORDINARY: Final[Pools] = {
    "train": ("team meeting", "lunch with a client", "training", "errands", "school run", "gym"),
    "valid": ("workshop", "choir", "reading group"),
    "test": ("seminar", "stocktaking", "car repair", "evening class"),
}

PRIVATE: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "train": (
        ("job interview", "interview for a job", "new employer"),
        ("therapy session", "therapist", "psychologist"),
        ("divorce lawyer", "divorce", "separation"),
        ("surprise party", "secret party", "birthday surprise"),
        ("debt counselling", "debts", "owe money"),
        ("dance audition", "audition", "casting"),
    ),
    "valid": (("hair transplant", "baldness", "new hair"), ("court hearing", "trial", "judge")),
    "test": (
        ("fertility clinic", "pregnancy", "having a baby"),
        ("house viewing", "moving away", "new flat"),
        ("addiction group", "rehab", "addiction"),
    ),
}
"""By split: reasons of private appointments, each with its synonyms."""
