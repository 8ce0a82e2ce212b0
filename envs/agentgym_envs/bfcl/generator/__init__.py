"""Generated dialogues over files, messages and tickets, to train on: `dialogue`, `documents`, `find`.

The id says which dialogue it is: `train/17` is the same on every machine. In part of them a function is
withheld at first, or the user leaves out a value, as in the benchmark.

Names for other packages: `COUNTS`, `VERSION`, `dialogue`, `documents`, `find`.
"""

import re
from functools import cache, lru_cache
from random import Random

from agentgym_envs.bfcl.apis import documents_of_the_wheel
from agentgym_envs.bfcl.dialogues import MORE_FUNCTIONS, Dialogue
from agentgym_envs.bfcl.documents import Documents
from agentgym_envs.bfcl.generator.files import Files
from agentgym_envs.bfcl.generator.messages import Messages
from agentgym_envs.bfcl.generator.request import Domain, Request
from agentgym_envs.bfcl.generator.tickets import Tickets

__all__ = ["COUNTS", "VERSION", "dialogue", "documents", "find"]

VERSION = "1"
COUNTS = {"train": 2000, "valid": 100, "test": 200}
"""Dialogues by split."""
DOMAINS: tuple[type[Domain], ...] = (Files, Messages, Tickets)
REQUESTS = (2, 4)
"""Fewest and most things that the user asks."""
WITHHELD, LEFT_OUT = 0.2, 0.2
"""Part of the dialogues in which a function is withheld, and in which the user leaves a value out."""

_ID = re.compile(r"(train|valid|test)/(0|[1-9][0-9]{0,5})")


@cache
def documents() -> Documents:
    """The documents of the functions of generated dialogues."""
    return Documents({domain.owner: documents_of_the_wheel(domain.owner) for domain in DOMAINS})


def find(task_id: str) -> tuple[str, int] | None:
    """Split and number of a generated dialogue; None for other ids."""
    found = _ID.fullmatch(task_id)
    if found is None or int(found[2]) >= COUNTS[found[1]]:
        return None
    return found[1], int(found[2])


@lru_cache(maxsize=4096)
def dialogue(split: str, number: int) -> Dialogue:
    """The dialogue of a number of a split."""
    draw = Random(f"agentevol.bfcl.{VERSION}.{split}.{number}")
    domains = [domain(draw) for domain in draw.sample(DOMAINS, draw.choice((1, 2)))]
    config = {domain.owner: domain.config() for domain in domains}
    requests = [request for domain in domains for request in domain.beginning()]
    asked = len(requests) + draw.randint(*REQUESTS)
    while len(requests) < asked:
        request = draw.choice(domains).request()
        if request.says not in [one.says for one in requests]:
            requests.append(request)
    kind = draw.random()
    if kind < WITHHELD:
        return _with_withheld(domains, config, requests, draw)
    if kind < WITHHELD + LEFT_OUT:
        return _made(domains, config, _with_question(requests, draw))
    return _made(domains, config, requests)


def _made(
    domains: list[Domain],
    config: dict[str, dict[str, object]],
    requests: list[Request],
    withheld: tuple[tuple[str, ...], ...] = (),
) -> Dialogue:
    return Dialogue(
        says=tuple(request.says for request in requests),
        classes=tuple(domain.owner for domain in domains),
        config=config,
        excluded=_excluded({call.name for request in requests for call in request.calls}),
        withheld=withheld,
        gold=tuple(tuple(request.calls) for request in requests),
    )


def _excluded(used: set[str]) -> tuple[str, ...]:
    """Functions by which the same could be done in another way: to move is to copy and to remove."""
    if {"cp", "mv"} <= used:
        return () if "rm" in used else ("rm",)
    return ("mv",) if "cp" in used else ("cp",) if "mv" in used else ()


def _with_withheld(
    domains: list[Domain], config: dict[str, dict[str, object]], requests: list[Request], draw: Random
) -> Dialogue:
    """A dialogue in which the last function of a request is added only after the user asked for it."""
    names = [[call.name for call in request.calls] for request in requests]
    firsts = [
        turn
        for turn, called in enumerate(names)
        if not any(called[-1] in earlier for earlier in names[:turn]) and called.count(called[-1]) == 1
    ]
    turn = draw.choice(firsts)
    asked = requests[turn]
    changed = [
        *requests[:turn],
        Request(asked.says, []),
        Request(MORE_FUNCTIONS, asked.calls),
        *requests[turn + 1 :],
    ]
    added = tuple((names[turn][-1],) if place == turn + 1 else () for place in range(len(changed)))
    return _made(domains, config, changed, added)


def _with_question(requests: list[Request], draw: Random) -> list[Request]:
    """The requests, one of them first without a value that it needs, if there is such a one."""
    places = [place for place, request in enumerate(requests) if request.vague]
    if not places:
        return requests
    place = draw.choice(places)
    asked = requests[place]
    return [
        *requests[:place],
        Request(asked.vague, []),
        Request(asked.detail, asked.calls),
        *requests[place + 1 :],
    ]
