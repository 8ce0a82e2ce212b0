"""Scripted player with an agent's view: it searches likely places first, then does the task.

The expert of `agentgym_envs.alfworld.expert` knows the positions of all objects, so its episodes contain no
search. This player reads observations only. It is a baseline, and a source of demonstrations.

    agent = search(first_observation, Random(0))
    command = next(agent)                      # 'go to countertop 1'
    command = agent.send("You arrive at ...")  # 'take mug 2 from countertop 1'
"""

import math
import re
from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from random import Random

from agentgym_envs.alfworld import rooms
from agentgym_envs.alfworld.world import World

Agent = Generator[str, str, None]
"""Yields commands and is sent observations; returns when it considers the task done, or has no further
command.
"""

_TASKS = (
    (r"(?:put|find) two (\w+)(?: and put them)? in (\w+)", "two"),
    (r"look at (\w+) under the (\w+)", "light"),
    (r"examine the (\w+) with the (\w+)", "light"),
    (r"put a clean (\w+) in (\w+)", "clean"),
    (r"clean some (\w+) and put it in (\w+)", "clean"),
    (r"put a hot (\w+) in (\w+)", "heat"),
    (r"heat some (\w+) and put it in (\w+)", "heat"),
    (r"put a cool (\w+) in (\w+)", "cool"),
    (r"cool some (\w+) and put it in (\w+)", "cool"),
    (r"put (?:a|some) (\w+) (?:in|on) (\w+)", "place"),
)
_APPLIANCE = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
REFUSED = "Nothing happens."
LOOKS = 3
"""Number of `look` commands of a player that wrongly considers the task done."""
_THING = re.compile(r"a (\w+ \d+)")
_FITS = {r.lower(): {o.lower() for o in objects} for r, objects in rooms.FITS.items()}
_ROOMINESS = {r.lower(): weight for r, weight in rooms.ROOMINESS.items()}


@dataclass
class _Memory:
    """Observed facts of the current episode. Names are like `mug 2`."""

    verb: str
    object: str
    target: str
    places: list[str]
    """Receptacles in the order in which they would be searched."""
    seen: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Place -> objects last seen there."""
    here: str = ""
    """Last place that was gone to."""


def search(first_observation: str, rng: Random, *, care: float = 1.0) -> Agent:
    """Play a game from its first observation.

    `care` is the probability of each part of the task being remembered: to search likely places first (else
    places are searched in reading order), to clean, heat or cool, to bring the second object, to switch the
    lamp on. A forgotten part is never made up for: the player considers the task done, and looks around.
    Raises `ValueError` for an unreadable task.
    """
    memory = _read_task(first_observation, rng, is_eager=rng.random() < care)
    if memory.verb == "light":
        yield from _examine_in_light(memory, is_careful=rng.random() < care)
        return
    homes: list[str] = [place for place in memory.places if _type(place) == memory.target]
    for number in range(2 if memory.verb == "two" else 1):
        if number > 0 and rng.random() >= care:
            break
        thing = yield from _fetch(memory, avoid="" if memory.verb in _APPLIANCE else memory.target)
        if not thing or not homes:
            return
        if memory.verb in _APPLIANCE and rng.random() < care:
            yield from _treat(memory, thing)
        yield from _reach(memory, homes[0])
        text = yield f"move {thing} to {homes[0]}"
        if text == REFUSED:  # it is at the current location, and closed
            yield f"open {homes[0]}"
            yield f"move {thing} to {homes[0]}"
    yield from _look_around()


def play(world: World, rng: Random, max_turns: int, care: float = 1.0) -> list[str]:
    """The player's commands in a fresh world, won or lost: at most `max_turns`."""
    agent = search(world.initial_observation(), rng, care=care)
    commands: list[str] = []
    try:
        command = next(agent)
        for _ in range(max_turns):
            commands.append(command)
            text = world.step(command)
            if world.won:
                break
            command = agent.send(text)
    except StopIteration:
        pass
    return commands


def _read_task(text: str, rng: Random, is_eager: bool) -> _Memory:
    sentence = text.rpartition("Your task is to: ")[2].rstrip(".")
    for pattern, verb in _TASKS:
        match = re.fullmatch(pattern, sentence)
        if match:
            wanted, target = match.groups()
            intro = text.rpartition("Looking quickly around you, you see ")[2].partition(".")[0]
            places = _THING.findall(intro)
            if is_eager:
                places.sort(key=lambda place: -_likelihood(place, wanted, rng))
            return _Memory(verb, wanted, target, places)
    raise ValueError(f"cannot read the task {sentence!r}")


def _likelihood(place: str, wanted: str, rng: Random) -> float:
    """Gumbel-perturbed log-weight: sorting by it draws an order without replacement (Plackett-Luce)."""
    fits = wanted in _FITS.get(_type(place), ())
    weight = _ROOMINESS.get(_type(place), 1.0) if fits else 0.01
    return math.log(weight) - math.log(-math.log(rng.random()))


def _fetch(memory: _Memory, avoid: str) -> Generator[str, str, str]:
    """Find an object of the wanted type outside receptacles of type `avoid` and take it; its name, or "" if
    none.

    An object in the target already counts there, unless it is still to be cleaned, heated or cooled.
    """
    for place, things in memory.seen.items():
        for thing in _of_type(things, memory.object):
            if _type(place) != avoid:
                yield from _reach(memory, place)
                return (yield from _take(memory, thing, place))
    unseen = deque(p for p in memory.places if p not in memory.seen and _type(p) != avoid)
    for _ in range(2 * len(unseen)):
        if not unseen:
            break
        place = unseen.popleft()
        yield from _reach(memory, place)
        if place not in memory.seen:  # it is at the current location: look at it when coming from elsewhere
            unseen.append(place)
        for thing in _of_type(memory.seen.get(place, []), memory.object):
            return (yield from _take(memory, thing, place))
    return ""


def _take(memory: _Memory, thing: str, place: str) -> Generator[str, str, str]:
    memory.seen[place].remove(thing)
    yield f"take {thing} from {place}"
    return thing


def _reach(memory: _Memory, place: str) -> Generator[str, str, None]:
    """Go to a place, open it if it is closed, and record its contents; no command if already there."""
    if place == memory.here and place in memory.seen:
        return
    text = yield f"examine {place}" if place == memory.here else f"go to {place}"
    if text == REFUSED:
        return
    memory.here = place
    if text.endswith("is closed."):
        text = yield f"open {place}"
    memory.seen[place] = _THING.findall(text)


def _treat(memory: _Memory, thing: str) -> Generator[str, str, None]:
    """Clean, heat or cool the held object; the appliance may stay closed."""
    appliances = [place for place in memory.places if _type(place) == _APPLIANCE[memory.verb]]
    if appliances:
        if appliances[0] != memory.here:
            memory.here = appliances[0]
            yield f"go to {appliances[0]}"
        yield f"{memory.verb} {thing} with {appliances[0]}"


def _examine_in_light(memory: _Memory, is_careful: bool) -> Agent:
    """Take the object, then find a lamp and, if careful, switch it on."""
    thing = yield from _fetch(memory, avoid="")
    if not thing:
        return
    known = [place for place, things in memory.seen.items() if any(_of_type(things, memory.target))]
    unknown = [place for place in memory.places if place not in memory.seen]
    for place in [*known, *unknown]:
        yield from _reach(memory, place)
        for lamp in _of_type(memory.seen.get(place, []), memory.target):
            yield f"use {lamp}" if is_careful else f"examine {thing}"
            yield from _look_around()
            return


def _look_around() -> Agent:
    """Commands of a player that considers the task done."""
    for _ in range(LOOKS):
        yield "look"


def _of_type(things: Iterable[str], type_name: str) -> list[str]:
    return [thing for thing in things if _type(thing) == type_name]


def _type(name: str) -> str:
    return name.rpartition(" ")[0]
