"""Causes to be persuaded of, and evidence for them, in five types."""

from typing import Final

from agentgym_envs.social.content import Pools

CAUSES: Final[Pools] = {
    "train": (
        "take the train to work",
        "plant a hedge",
        "join the choir",
        "buy solar panels",
        "eat less meat",
    ),
    "valid": ("share a car", "learn to sail"),
    "test": ("move to the country", "adopt a dog", "keep bees"),
}

TYPES: Final = ("cost", "health", "time", "safety", "nature")
"""Types of evidence. They are syntax, and so the same everywhere."""

EVIDENCE: Final[dict[str, Pools]] = {
    "cost": {
        "train": (
            "it saves {n} dollars a year",
            "{n} % of households spend less",
            "bills fall by {n} %",
            "it pays within {n} months",
        ),
        "valid": ("expenses drop by {n} %", "a grant pays {n} % of it", "{n} users report savings"),
        "test": ("the budget gains {n} euros", "fees are {n} % lower", "{n} families have more money left"),
    },
    "health": {
        "train": (
            "{n} doctors recommend it",
            "blood pressure falls by {n} %",
            "{n} % of people sleep better",
            "it burns {n} calories",
        ),
        "valid": ("illness falls by {n} %", "{n} nurses advise it", "{n} % feel fitter"),
        "test": ("hearts are {n} % stronger", "{n} clinics praise it", "headaches fall by {n} %"),
    },
    "time": {
        "train": (
            "it saves {n} minutes a day",
            "{n} % of people have more free time",
            "queues shrink by {n} %",
            "it takes {n} minutes less",
        ),
        "valid": ("{n} hours a year are won", "delays drop by {n} %", "{n} people finish earlier"),
        "test": (
            "evenings are {n} minutes longer",
            "{n} % of waiting goes away",
            "{n} days a year are gained",
        ),
    },
    "safety": {
        "train": (
            "accidents fall by {n} %",
            "{n} insurers give a discount",
            "injuries are {n} % rarer",
            "{n} tests found no danger",
        ),
        "valid": ("risk drops by {n} %", "{n} firefighters support it", "{n} years without an incident"),
        "test": ("damage is {n} % rarer", "{n} police officers favour it", "{n} checks were passed"),
    },
    "nature": {
        "train": (
            "{n} kilos of carbon are saved",
            "{n} species profit",
            "noise falls by {n} %",
            "it saves {n} litres of water",
        ),
        "valid": ("waste drops by {n} %", "{n} birds were counted more", "rivers are {n} % cleaner"),
        "test": ("soil holds {n} % more water", "{n} trees stay", "smog is {n} % thinner"),
    },
}
"""By type and split: what a card says; three at least."""
