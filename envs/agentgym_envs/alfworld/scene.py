"""`Scene`: a parsed game, immutable, shared by all its episodes.

Objects, receptacles and locations are small integers in the order of their ids, which is the order of every
listing. Names follow AI2-THOR's ids: `Mug_bar__minus_01_bar_2` becomes `mug 3`. Everything that no action
changes is computed once here, above all the command strings, so that a step costs a few lookups.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from agentgym_envs.alfworld.dialects import Dialect
from agentgym_envs.alfworld.game import MAX_ENTITIES, Game, GameError
from agentgym_envs.alfworld.goals import Goal, parse_goal

Verb = Literal[
    "go", "open", "close", "take", "place", "clean", "heat", "cool", "use", "slice",
    "examine receptacle", "examine object", "look", "inventory", "help",
]  # fmt: skip
Command = tuple[Verb, int, int]
"""Parsed command: the verb and up to two indices (0 for an unused one)."""
State = Literal["clean", "hot", "cool", "sliced", "toggled"]

NOWHERE = "You are in the middle of a room. Looking quickly around you, you see "

_ARITY = {
    "receptacletype": 2, "receptacleatlocation": 2, "objecttype": 2, "objectatlocation": 2, "inreceptacle": 2,
    "inreceptacleobject": 2, "cancontain": 2, "atlocation": 2, "isreceptacleobject": 1, "openable": 1,
    "opened": 1, "pickupable": 1, "cleanable": 1, "heatable": 1, "coolable": 1, "toggleable": 1,
    "sliceable": 1, "isclean": 1, "ishot": 1, "iscool": 1, "issliced": 1, "istoggled": 1,
}  # fmt: skip
_TOOLS: dict[str, tuple[Verb, str]] = {
    "sinkbasintype": ("clean", "cleanable"),
    "microwavetype": ("heat", "heatable"),
    "fridgetype": ("cool", "coolable"),
}
_TREATABLE = {"clean": "cleanable", "hot": "heatable", "cool": "coolable"}
_ID = re.compile(r"[a-z0-9_]+")
_KNIVES = ("knifetype", "butterknifetype")

Facts = dict[str, set[tuple[str, ...]]]


@dataclass(frozen=True)
class Start:
    """Start state of an episode."""

    location: int
    opened: frozenset[int]
    """Receptacles."""
    contents: tuple[tuple[int, ...], ...]
    """Sorted objects by receptacle; an object may be in several."""
    spots: frozenset[tuple[int, int]]
    """Pairs of object and location."""
    states: Mapping[State, frozenset[int]]
    """Objects by state."""


@dataclass(frozen=True, eq=False)
class Scene:
    """World of one game. Sets and tuples hold indices of objects, receptacles or locations."""

    id: str
    sentence: str
    goal: Goal
    dialect: Dialect
    objects: tuple[str, ...]
    """Names by object."""
    object_types: tuple[str, ...]
    receptacles: tuple[str, ...]
    """Names by receptacle."""
    receptacle_types: tuple[str, ...]
    location_of: tuple[int, ...]
    """Location by receptacle."""
    here: tuple[tuple[int, ...], ...]
    """Receptacles by location."""
    arrivals: tuple[str, ...]
    """`You arrive at ... . ` by receptacle."""
    openable: frozenset[int]
    accepts: tuple[frozenset[int], ...]
    """Objects that fit, by receptacle. Receptacles have no capacity limit."""
    tools: tuple[tuple[Verb, frozenset[int]] | None, ...]
    """By receptacle: its treatment of a held object, and the objects that it applies to."""
    pickupable: frozenset[int]
    toggleable: frozenset[int]
    sliceable: frozenset[int]
    knives: frozenset[int]
    held_contents: Mapping[int, str]
    """By object that is a receptacle: the listing of its contents at the start."""
    goal_objects: frozenset[int]
    """Objects that can meet the goal: of its type and, for a goal with a treatment, suited to that."""
    goal_receptacles: tuple[int, ...]
    goal_lamps: frozenset[int]
    commands: tuple[Mapping[str, Command], ...]
    """By location: the admissible commands that depend on the location only, sorted."""
    start: Start

    @cached_property
    def intro(self) -> str:
        """The room description of the first observation; only here are the receptacles listed."""
        here = self.here[self.start.location]
        return facing(self.receptacles, here, "nothing") if here else f"{NOWHERE}{listing(self.receptacles)}."


def listing(names: Iterable[str]) -> str:
    """`nothing`, `a x`, `a x, and a y`, `a x, a y, and a z`. The article is always `a`."""
    items = [f"a {name}" for name in names]
    if len(items) > 1:
        return f"{', '.join(items[:-1])}, and {items[-1]}"
    return items[0] if items else "nothing"


def facing(receptacles: tuple[str, ...], here: tuple[int, ...], floor: str) -> str:
    """The answer to `look` at a location with at least one receptacle."""
    names = [receptacles[r] for r in here]
    faced = f"{', '.join(names[:-1])}, and {names[-1]}" if len(names) > 1 else names[0]
    return f"You are facing the {faced}. Next to it, you see {floor}."


def parse(game: Game, dialect: Dialect = "move", shuffle_seed: int | None = None) -> Scene:
    """The scene of a game; raises `GameError` with the reason if the game is invalid.

    With `shuffle_seed` the numbers in the names are permuted (the stock wrapper's domain randomisation).
    """
    facts = _read_facts(game)
    entities = sorted({argument for group in facts.values() for fact in group for argument in fact})
    if len(entities) > MAX_ENTITIES:
        raise GameError(f"the game has {len(entities):,} entities; at most {MAX_ENTITIES:,} are read")
    return _build(game, dialect, facts, _names(entities, shuffle_seed), _index(facts))


def _build(game: Game, dialect: Dialect, facts: Facts, names: dict[str, str], index: "_Index") -> Scene:
    goal = parse_goal(game.goal)
    place = _single(facts, "receptacleatlocation", index.receptacles)
    location_of = tuple(index.locations[place[r]] for r in index.receptacles)
    here = _group(((place, r) for r, place in enumerate(location_of)), len(index.locations))
    object_types = tuple(_single(facts, "objecttype", index.objects).values())
    receptacle_types = tuple(_single(facts, "receptacletype", index.receptacles).values())
    receptacles = tuple(names[r] for r in index.receptacles)
    # an id without `_bar_` has no number, but keeps the space before it
    spots = (names.get(place[r], f"{place[r]} ") for r in index.receptacles)
    shown = receptacles if dialect == "move" else spots
    able = {name: index.of(facts, name) for name, arity in _ARITY.items() if arity == 1}
    start = _start(facts, index, able)
    of_goal = frozenset(_of_type(object_types, goal.object_type))
    return Scene(
        id=game.id,
        sentence=game.sentence,
        goal=goal,
        dialect=dialect,
        objects=tuple(names[o] for o in index.objects),
        object_types=object_types,
        receptacles=receptacles,
        receptacle_types=receptacle_types,
        location_of=location_of,
        here=here,
        arrivals=tuple(f"You arrive at {name}. " for name in shown),
        openable=index.of(facts, "openable", index.receptacles),
        accepts=_accepts(facts, receptacle_types, object_types),
        tools=tuple(_tool(kind, able) for kind in receptacle_types),
        pickupable=able["pickupable"],
        toggleable=able["toggleable"],
        sliceable=able["sliceable"],
        knives=frozenset(o for kind in _KNIVES for o in _of_type(object_types, kind)),
        held_contents=_held_contents(facts, index, names),
        goal_objects=of_goal & able[_TREATABLE[goal.treatment]] if goal.treatment else of_goal,
        goal_receptacles=tuple(_of_type(receptacle_types, goal.target_type)),
        goal_lamps=able["toggleable"].intersection(_of_type(object_types, goal.target_type)),
        commands=_static_commands(receptacles, location_of, len(here), start.location),
        start=start,
    )


def _start(facts: Facts, index: "_Index", able: dict[str, frozenset[int]]) -> Start:
    agents = {place for _, place in facts["atlocation"]}
    if len(agents) != 1:
        raise GameError(f"the agent must start at one location, not at {len(agents)}")
    for thing, receptacle in facts["inreceptacle"]:
        if receptacle not in index.receptacles:
            raise GameError(f"{thing!r} is in {receptacle!r}, which is no receptacle")
    pairs = ((index.receptacles[r], index.objects[o]) for o, r in facts["inreceptacle"])
    return Start(
        location=index.locations[agents.pop()],
        opened=index.of(facts, "opened", index.receptacles),
        contents=_group(pairs, len(index.receptacles)),
        spots=frozenset((index.objects[o], index.locations[x]) for o, x in facts["objectatlocation"]),
        states={
            "clean": able["isclean"],
            "hot": able["ishot"],
            "cool": able["iscool"],
            "sliced": able["issliced"],
            "toggled": able["istoggled"],
        },
    )


@dataclass(frozen=True)
class _Index:
    """Index of every id."""

    objects: dict[str, int]
    receptacles: dict[str, int]
    locations: dict[str, int]

    def of(self, facts: Facts, name: str, numbers: dict[str, int] | None = None) -> frozenset[int]:
        """Indices of the entities with a property: objects, or the keys of `numbers`."""
        known = self.objects if numbers is None else numbers
        return frozenset(known[entity] for (entity,) in facts[name] if entity in known)


def _index(facts: Facts) -> _Index:
    objects = _first(facts, "objecttype") | _first(facts, "objectatlocation") | _first(facts, "inreceptacle")
    receptacles = _first(facts, "receptacletype") | _first(facts, "receptacleatlocation")
    _check_ids(objects, receptacles)
    at = facts["receptacleatlocation"] | facts["objectatlocation"] | facts["atlocation"]
    return _Index(_number(objects), _number(receptacles), _number({place for _, place in at}))


def _number(entities: set[str]) -> dict[str, int]:
    return {entity: number for number, entity in enumerate(sorted(entities))}


def _read_facts(game: Game) -> Facts:
    """Arguments of every distinct fact by predicate, lower-cased; unknown facts too, whose entities count."""
    facts: Facts = {name: set() for name in _ARITY}
    for text in set(game.facts):
        name, *arguments = text.lower().split() or [""]
        if name == "holds":
            raise GameError("the game starts with something in the hand, which ALFWorld does not know")
        if len(arguments) != _ARITY.get(name, len(arguments)) or not arguments:
            raise GameError(f"a fact has the wrong number of arguments: {text[:100]!r}")
        facts.setdefault(name, set()).add(tuple(arguments))
    return facts


def _names(entities: list[str], shuffle_seed: int | None) -> dict[str, str]:
    """The display name of every id: per base the numbers run downwards along the sorted ids."""
    order = list(entities)
    if shuffle_seed is not None:
        random.Random(shuffle_seed).shuffle(order)
    bases = {entity: _base(entity) for entity in order if "_bar_" in entity}
    left = Counter(bases.values())
    names: dict[str, str] = {}
    for entity, base in bases.items():
        names[entity] = f"{base} {left[base]}"
        left[base] -= 1
    return names


def _base(entity: str) -> str:
    base = entity.split("_bar_", 1)[0]
    return f"{base}basin" if "basin" in entity else base


def _check_ids(objects: set[str], receptacles: set[str]) -> None:
    both = objects & receptacles
    if both:
        raise GameError(f"{min(both)[:100]!r} is both an object and a receptacle")
    for entity in sorted(objects | receptacles):
        if "_bar_" not in entity or not _ID.fullmatch(entity):
            raise GameError(f"{entity[:100]!r} is no id: letters, digits and `_`, with a `_bar_` part")


def _first(facts: Facts, name: str) -> set[str]:
    return {fact[0] for fact in facts[name]}


def _single(facts: Facts, name: str, entities: Iterable[str]) -> dict[str, str]:
    """The one value of a property of every entity, in their order."""
    values: dict[str, str] = {}
    for entity, value in facts[name]:
        if values.setdefault(entity, value) != value:
            raise GameError(f"{entity!r} has more than one {name}")
    for entity in entities:
        if entity not in values:
            raise GameError(f"{entity!r} has no {name}")
    return {entity: values[entity] for entity in entities}


def _group(pairs: Iterable[tuple[int, int]], count: int) -> tuple[tuple[int, ...], ...]:
    """Second members by first member, each group sorted."""
    groups: list[list[int]] = [[] for _ in range(count)]
    for key, value in pairs:
        groups[key].append(value)
    return tuple(tuple(sorted(group)) for group in groups)


def _of_type(types: tuple[str, ...], wanted: str) -> list[int]:
    return [index for index, kind in enumerate(types) if kind == wanted]


def _accepts(
    facts: Facts, receptacle_types: tuple[str, ...], object_types: tuple[str, ...]
) -> tuple[frozenset[int], ...]:
    by_type: dict[str, set[str]] = {}
    for receptacle_type, object_type in facts["cancontain"]:
        by_type.setdefault(receptacle_type, set()).add(object_type)
    fitting = {
        kind: frozenset(o for o, object_type in enumerate(object_types) if object_type in fit)
        for kind, fit in by_type.items()
    }
    return tuple(fitting.get(kind, frozenset()) for kind in receptacle_types)


def _tool(kind: str, able: dict[str, frozenset[int]]) -> tuple[Verb, frozenset[int]] | None:
    tool = _TOOLS.get(kind)
    return (tool[0], able[tool[1]]) if tool else None


def _held_contents(facts: Facts, index: _Index, names: dict[str, str]) -> dict[int, str]:
    inside: dict[str, list[str]] = {}
    for inner, outer in sorted(facts["inreceptacleobject"]):
        inside.setdefault(outer, []).append(names.get(inner, inner))
    holders = (outer for (outer,) in facts["isreceptacleobject"] if outer in index.objects)
    return {index.objects[outer]: listing(inside.get(outer, ())) for outer in holders}


def _static_commands(
    names: tuple[str, ...], location_of: tuple[int, ...], places: int, start: int
) -> tuple[dict[str, Command], ...]:
    """By location: the commands that are possible in any state; empty for locations that are never
    visited.
    """
    plain: tuple[Verb, ...] = ("help", "inventory", "look")
    always: dict[str, Command] = {verb: (verb, 0, 0) for verb in plain}
    examine: dict[str, Command] = {
        f"examine {name}": ("examine receptacle", r, 0) for r, name in enumerate(names)
    }
    go: dict[str, Command] = {f"go to {name}": ("go", r, 0) for r, name in enumerate(names)}
    order = sorted((always | examine | go).items())
    tables: list[dict[str, Command]] = [{} for _ in range(places)]
    for place in {start, *location_of}:
        tables[place] = {
            text: command
            for text, command in order
            if text in always or (location_of[command[1]] == place) == (command[0] != "go")
        }
    return tuple(tables)
