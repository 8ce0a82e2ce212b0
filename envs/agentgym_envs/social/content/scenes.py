"""Scenarios: what both characters know, in several wordings by family."""

from typing import Final

from agentgym_envs.social.content import Pools

PRICE: Final[Pools] = {
    "train": (
        "One person sells a used {item}, listed at {listed}; the other may buy it.",
        "A {item} is advertised for {listed}, and a buyer has come to see it.",
        "Two neighbours talk about the price of a {item} with a tag of {listed}.",
        "An advertisement offers a {item} for {listed}. Owner and customer discuss it.",
    ),
    "valid": ("At a market a {item} is on display for {listed}; somebody is interested.",),
    "test": (
        "A {item} stands in a garage, priced {listed}. Owner and visitor haggle.",
        "Somebody answers a notice about a {item} for {listed}.",
    ),
}

SPLIT: Final[Pools] = {
    "train": (
        "Two people divide {items} between them. What is not agreed on is lost to both.",
        "There are {items} to share. Both value them differently, and without agreement nobody gets any.",
        "A box holds {items}. Two finders decide who takes what, or leave it all.",
    ),
    "valid": ("An aunt leaves {items} to two relatives, if they agree on how to part them.",),
    "test": (
        "At the end of a fair {items} remain, for two helpers who can settle on shares.",
        "Two roommates move out and split {items}; unresolved things go to charity.",
    ),
}

FRIENDS: Final[Pools] = {
    "train": (
        "Two people at a party find out which friend they have in common. There is exactly one.",
        "Two new colleagues look for their only common friend.",
        "On a train two passengers discover that one person is a friend of both.",
    ),
    "valid": ("Two guests of a wedding want to know whom they both know; it is one person.",),
    "test": (
        "Two hikers in a hut search for the single acquaintance whom they share.",
        "Two pen friends compare their address lists for the one entry in both.",
    ),
}

SCHEDULE: Final[Pools] = {
    "train": (
        "Two people look for a time in the week for {purpose}.",
        "It is about a date for {purpose}, which suits two calendars.",
        "Two busy people arrange {purpose}.",
    ),
    "valid": ("A slot has to be found for {purpose}.",),
    "test": (
        "Two diaries are compared to fix {purpose}.",
        "By telephone two people settle the time of {purpose}.",
    ),
}

SECRETS: Final[Pools] = {
    "train": (
        "One person works on {project} and knows its details; the other asks about them.",
        "There is talk about {project}. One knows more than may be told, the other is curious.",
    ),
    "valid": ("An interview about {project}: one asks, one answers.",),
    "test": (
        "A reporter questions somebody who takes part in {project}.",
        "Over lunch, {project} comes up between an insider and an outsider.",
    ),
}

PERSUADE: Final[Pools] = {
    "train": (
        "One person wants the other to {cause}, and has collected evidence.",
        "Two acquaintances discuss whether one of them should {cause}.",
    ),
    "valid": ("The question is whether to {cause}; one is for it, one is undecided.",),
    "test": (
        "Somebody campaigns for people to {cause}, and meets a sceptic.",
        "A conversation on a bench: is it right to {cause}?",
    ),
}
