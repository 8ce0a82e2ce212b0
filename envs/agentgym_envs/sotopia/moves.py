"""Moves inside utterances: `Move`, and its reader.

A move is written in square brackets and upper case: `[OFFER 72.50]`, `[OFFER me: hat=2 ball=1 book=0]` (what
the speaker keeps), `[ACCEPT]`, `[REJECT]`, `[SELECT Harvey]`. Everything else that is said is no move.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PriceOffer:
    """Offer to buy or sell for a price."""

    price: float


@dataclass(frozen=True)
class SplitOffer:
    """Offer to divide items."""

    keeps: Mapping[str, int]
    """Number of each kind that the speaker keeps."""


@dataclass(frozen=True)
class Accept:
    """Acceptance of the partner's standing offer."""


@dataclass(frozen=True)
class Reject:
    """Rejection of the partner's standing offer, which stands nevertheless."""


@dataclass(frozen=True)
class Select:
    """Choice of a person."""

    name: str


Move = PriceOffer | SplitOffer | Accept | Reject | Select

_BRACKETS = re.compile(r"\[([^\[\]]{1,200})\]")
_PRICE = re.compile(r"\$?((?:\d{1,3}(?:,\d{3}){1,3}|\d{1,12})(?:\.\d{1,2})?)", re.ASCII)
_KEEPS = re.compile(r"me:((?: [a-z]+=\d{1,3})+)", re.ASCII)


def read_move(utterance: str) -> Move | None:
    """The last well-formed move of an utterance; None without one."""
    found = map(_move, reversed(_BRACKETS.findall(utterance)))
    return next((move for move in found if move is not None), None)


def _move(text: str) -> Move | None:
    word, _, argument = text.partition(" ")
    if word == "SELECT" and argument.strip():
        return Select(argument.strip())
    if word == "OFFER":
        return _offer(argument)
    return {"ACCEPT": Accept(), "REJECT": Reject()}.get(text)


def _offer(argument: str) -> PriceOffer | SplitOffer | None:
    if found := _PRICE.fullmatch(argument):
        price = float(found[1].replace(",", ""))
        return PriceOffer(price) if price > 0 else None
    if found := _KEEPS.fullmatch(argument):
        pairs = [pair.split("=") for pair in found[1].split()]
        keeps = {kind: int(number) for kind, number in pairs}
        return SplitOffer(keeps) if len(keeps) == len(pairs) else None
    return None
