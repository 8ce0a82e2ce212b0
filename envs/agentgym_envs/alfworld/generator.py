"""Procedural generator of ALFWorld games: unlimited rooms and tasks from a seed, in the official format.

    >>> game("train", "small", 0).sentence
    'find two plunger and put them in cart'

Three levels of difficulty: `small` rooms have 3 to 8 receptacles, `medium` 9 to 14, `large` are furnished
like the official rooms. Every game has a room of its own, and its seed is a function of split, level and
index, so rooms of different splits differ. `test_unseen` asks only for (task type, object, target)
combinations that no other split uses. A game is not stored: it is generated on each request, in about
two milliseconds.
"""

import zlib
from dataclasses import dataclass, field
from functools import cache
from random import Random

from agentgym_envs.alfworld import expert, rooms
from agentgym_envs.alfworld.game import Game
from agentgym_envs.alfworld.scene import parse
from agentgym_envs.alfworld.world import World

VERSION = "2"
"""Part of every seed: another generator makes other games."""

COUNTS: dict[str, int] = {"train": 200_000, "valid": 100, "test": 200, "test_unseen": 100}
"""Split -> number of games of each difficulty."""

RECEPTACLES: dict[str, tuple[int, int]] = {"small": (3, 8), "medium": (9, 14), "large": (15, 60)}
"""Difficulty -> least and largest number of receptacles drawn; a task may need two or three more."""

OBJECT_TYPES: dict[str, tuple[int, int]] = {"small": (3, 7), "medium": (6, 11), "large": (10, 30)}
"""Difficulty -> least and largest number of portable object types."""

SIMPLE, LIGHT, TWO = "pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place"
KINDS = (SIMPLE, LIGHT, *rooms.TOOLS, TWO)
LONGEST_WALKTHROUGH = 20
SHARED_LOCATION = 0.19
"""Share of the receptacles that share their location with another one."""
WITHIN_TARGET = 0.27
"""Probability that an object to be cleaned, heated or cooled starts in a receptacle of the target's type: 936
of 3,479 do in the official training games. An object that is only to be placed never does.
"""
HELD_OUT = 8
"""One of this many (task type, object, target) combinations is reserved for `test_unseen`."""

_SENTENCES: dict[str, tuple[str, str]] = {
    SIMPLE: ("put a {o} in {r}", "put some {o} on {r}"),
    LIGHT: ("look at {o} under the {r}", "examine the {o} with the {r}"),
    "pick_clean_then_place_in_recep": ("put a clean {o} in {r}", "clean some {o} and put it in {r}"),
    "pick_heat_then_place_in_recep": ("put a hot {o} in {r}", "heat some {o} and put it in {r}"),
    "pick_cool_then_place_in_recep": ("put a cool {o} in {r}", "cool some {o} and put it in {r}"),
    TWO: ("put two {o} in {r}", "find two {o} and put them in {r}"),
}
_STATES = {
    "pick_clean_then_place_in_recep": ("cleanable", "isClean"),
    "pick_heat_then_place_in_recep": ("heatable", "isHot"),
    "pick_cool_then_place_in_recep": ("coolable", "isCool"),
}


@dataclass(frozen=True)
class Ask:
    """Specification of a game: a task type, an object type and a target type (or lamp) in a kind of room."""

    kind: str
    object: str
    target: str
    room: str


@dataclass
class _Room:
    """Room under construction. Ids are mangled; lists are in the order of creation."""

    receptacles: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """(id, type, location)"""
    objects: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(id, type)"""
    within: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(object id, receptacle id)"""


def game(split: str, difficulty: str, index: int) -> Game:
    """Game number `index` of a split and level; equal arguments give equal games.

    Raises `LookupError` for an unknown split or level and an index out of range.
    """
    if split not in COUNTS or difficulty not in RECEPTACLES or not 0 <= index < COUNTS[split]:
        raise LookupError(f"no game {split}/{difficulty}/{index}")
    game_id = f"{split}/{difficulty}/{index}"
    rng = Random(f"{VERSION}/{game_id}")
    ask = _draw_ask(rng, unseen=split == "test_unseen")
    return make_game(ask, difficulty, seed=rng.getrandbits(48), game_id=game_id)


def make_game(ask: Ask, difficulty: str, seed: int, game_id: str) -> Game:
    """A solvable game for `ask`; its goal is false at the start and the expert wins it.

    Raises `ValueError` if no such game is found in 200 tries.
    """
    for attempt in range(200):
        rng = Random(f"{VERSION}/{seed}/{attempt}")
        draft = _draft(ask, difficulty, rng, game_id)
        walkthrough = _walkthrough(draft)
        if walkthrough:
            return Game(draft.id, draft.sentence, draft.facts, draft.goal, tuple(walkthrough))
    raise ValueError(f"no {difficulty} game asks for {ask}")


@cache
def asks(kind: str, *, unseen: bool) -> tuple[Ask, ...]:
    """Every combination of a task type that a room can offer: the held-out ones, or the others."""
    return tuple(ask for ask in _possible(kind) if _is_held_out(ask) == unseen)


def _possible(kind: str) -> list[Ask]:
    if kind == LIGHT:
        return [Ask(kind, o, rooms.LAMP, room) for room in rooms.LAMP_ROOMS for o in rooms.objects_of(room)
                if _sources(o, "", room)]  # fmt: skip
    tool, able = rooms.TOOLS.get(kind, ("", None))
    return [
        Ask(kind, o, target, room)
        for room, fixtures in rooms.FIXTURES.items()
        for o in rooms.objects_of(room)
        for target in fixtures
        if (not tool or tool in fixtures) and (able is None or o in able)
        if o in rooms.FITS.get(target, ()) and _sources(o, target, room)
    ]


def _is_held_out(ask: Ask) -> bool:
    return zlib.crc32(f"{ask.kind}/{ask.object}/{ask.target}".encode()) % HELD_OUT == 0


def _draw_ask(rng: Random, *, unseen: bool) -> Ask:
    """A task type, then an object, then a target, each uniform: tables that hold any object do not
    dominate.
    """
    choices = asks(rng.choice(KINDS), unseen=unseen)
    wanted = rng.choice(sorted({ask.object for ask in choices}))
    return rng.choice([ask for ask in choices if ask.object == wanted])


def _sources(object_type: str, target: str, room: str) -> list[str]:
    """Receptacle types of a room, other than the target, that may hold an object at the start."""
    return [r for r in rooms.FIXTURES[room] if r != target and object_type in rooms.FITS.get(r, ())]


def _draft(ask: Ask, difficulty: str, rng: Random, game_id: str) -> Game:
    room = _Room()
    _furnish(room, ask, difficulty, rng)
    _strew(room, ask, difficulty, rng)
    if difficulty == "large":
        _make_irregular(room, ask, rng)
    template = rng.choice(_SENTENCES[ask.kind])
    sentence = template.format(o=ask.object.lower(), r=ask.target.lower())
    return Game(game_id, sentence, tuple(_facts(room, rng)), _goal(ask), ())


def _walkthrough(draft: Game) -> list[str]:
    """The expert's winning commands; empty if the game is won at the start, too long or cannot be won."""
    world = World(parse(draft))
    if world.won:
        return []
    try:
        commands = expert.plan(world)
    except expert.DeadEnd:
        return []
    return commands if len(commands) <= LONGEST_WALKTHROUGH else []


def _furnish(room: _Room, ask: Ask, difficulty: str, rng: Random) -> None:
    """Choose receptacles: those of the task, then typical ones, up to the level's size."""
    types = _needed_fixtures(ask, rng)
    others = _full_room(ask.room, rng)
    for present in types:
        if present in others:
            others.remove(present)
    rng.shuffle(others)
    low, high = RECEPTACLES[difficulty]
    types += others[: max(rng.randint(low, high) - len(types), 0)]
    places: list[str] = []
    for receptacle_type in types:
        shared = bool(places) and rng.random() < SHARED_LOCATION / 2
        location = rng.choice(places) if shared else _location(rng, places)
        room.receptacles.append((_identifier(receptacle_type, rng), receptacle_type, location))


def _needed_fixtures(ask: Ask, rng: Random) -> list[str]:
    """Target (or lamp stand), appliance, and a start place of the object."""
    if ask.kind == LIGHT:
        needed = [rng.choice([stand for stand in rooms.LAMP_STANDS if stand in rooms.FIXTURES[ask.room]])]
    else:
        needed = [ask.target]
    if ask.kind in rooms.TOOLS and rooms.TOOLS[ask.kind][0] not in needed:
        needed.append(rooms.TOOLS[ask.kind][0])
    sources = _sources(ask.object, ask.target, ask.room)
    if not any(receptacle in sources for receptacle in needed) or rng.random() < 0.8:
        fixtures = rooms.FIXTURES[ask.room]
        needed.append(rng.choices(sources, [fixtures[source].share for source in sources])[0])
    return needed


def _full_room(room: str, rng: Random) -> list[str]:
    """Receptacle types of a furnished room, one entry for each receptacle."""
    types: list[str] = []
    for receptacle_type, fixture in rooms.FIXTURES[room].items():
        if rng.random() < fixture.share:
            types += [receptacle_type] * _count(fixture, rng)
    return types


def _count(fixture: rooms.Fixture, rng: Random) -> int:
    """A count in the fixture's range with about its mean: two triangular halves around the mean."""
    if fixture.low == fixture.high:
        return fixture.low
    return round(
        rng.triangular(
            fixture.low, fixture.high, max(3 * fixture.mean - fixture.low - fixture.high, fixture.low)
        )
    )


def _strew(room: _Room, ask: Ask, difficulty: str, rng: Random) -> None:
    """Put objects into the room: the task's, then typical ones."""
    low, high = OBJECT_TYPES[difficulty]
    usual = [o for o in rooms.USUAL[ask.room].split() if rng.random() < 0.9]
    occasional = [o for o in rooms.OCCASIONAL[ask.room].split() if rng.random() < 0.35]
    types = [o for o in (*usual, *occasional) if o != ask.object]
    rng.shuffle(types)
    types = types[: rng.randint(low, high) - 1]
    least = 2 if ask.kind == TWO else 1
    for _ in range(max(least, rng.choice((1, 1, 2, 3)))):
        within = ask.kind in rooms.TOOLS and rng.random() < WITHIN_TARGET
        _place(room, ask.object, _fitting(room, ask.object, ask.target, within=within), rng)
    for object_type in types:
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            _place(room, object_type, _fitting(room, object_type), rng)
    if ask.kind == LIGHT:
        stands = [receptacle for receptacle, kind, _ in room.receptacles if kind in rooms.LAMP_STANDS]
        _add(room, rooms.LAMP, rng.choice(stands), rng)
    if difficulty != "small":
        for fitting in rooms.FITTINGS[ask.room].split():
            _add(room, fitting, None, rng)


def _fitting(
    room: _Room, object_type: str, target: str = "", *, within: bool = False
) -> list[tuple[str, str]]:
    """Receptacles (id, type) that may hold an object: those of the type `target`, or all others."""
    return [
        (receptacle, kind)
        for receptacle, kind, _ in room.receptacles
        if (kind == target) == within and object_type in rooms.FITS.get(kind, ())
    ]


def _place(room: _Room, object_type: str, fitting: list[tuple[str, str]], rng: Random) -> None:
    """Put one object into a receptacle of `fitting`, or nowhere if there is none."""
    if not fitting:
        _add(room, object_type, None, rng)
        return
    weights = [rooms.roominess(kind) for _, kind in fitting]
    _add(room, object_type, rng.choices(fitting, weights)[0][0], rng)


def _add(room: _Room, object_type: str, receptacle: str | None, rng: Random) -> None:
    identifier = _identifier(object_type, rng)
    room.objects.append((identifier, object_type))
    if receptacle is not None:
        room.within.append((identifier, receptacle))


def _make_irregular(room: _Room, ask: Ask, rng: Random) -> None:
    """As in the official rooms, let some objects be in two receptacles that share a location."""
    where = {receptacle: (kind, location) for receptacle, kind, location in room.receptacles}
    for identifier, receptacle in list(room.within):
        twins = [r for r, (kind, location) in where.items()
                 if r != receptacle and location == where[receptacle][1] and kind != ask.target]  # fmt: skip
        if twins and rng.random() < 0.05:
            room.within.append((identifier, rng.choice(twins)))


def _facts(room: _Room, rng: Random) -> list[str]:
    facts = [f"receptacleType {r} {kind}Type" for r, kind, _ in room.receptacles]
    facts += [f"receptacleAtLocation {r} {location}" for r, _, location in room.receptacles]
    facts += [
        f"openable {r}" for r, kind, _ in room.receptacles if rng.random() < rooms.OPENABLE.get(kind, 0)
    ]
    location_of = {r: location for r, _, location in room.receptacles}
    receptacle_of = dict(reversed(room.within))
    for identifier, kind in room.objects:
        facts.append(f"objectType {identifier} {kind}Type")
        if identifier in receptacle_of:
            facts.append(f"objectAtLocation {identifier} {location_of[receptacle_of[identifier]]}")
        facts += [f"{name} {identifier}" for name in _properties(kind)]
    facts += [f"inReceptacle {identifier} {receptacle}" for identifier, receptacle in room.within]
    types = sorted({kind for _, kind in room.objects})
    for target in sorted({kind for _, kind, _ in room.receptacles}):
        facts += [f"canContain {target}Type {o}Type" for o in types if o in rooms.FITS.get(target, ())]
    return [*facts, f"atLocation agent1 {_location(rng, sorted(location_of.values()))}"]


def _properties(object_type: str) -> list[str]:
    fixed = object_type in rooms.TOGGLEABLE or any(
        object_type in names.split() for names in rooms.FITTINGS.values()
    )
    able = {
        "pickupable": not fixed,
        "cleanable": object_type in rooms.CLEANABLE,
        "heatable": object_type in rooms.HEATABLE,
        "coolable": object_type in rooms.COOLABLE,
        "sliceable": object_type in rooms.SLICEABLE,
        "toggleable": object_type in rooms.TOGGLEABLE,
        "isReceptacleObject": object_type in rooms.RECEPTACLE_OBJECTS,
    }
    return [name for name, holds in able.items() if holds]


def _goal(ask: Ask) -> str:
    """The goal in the form of the official files, whose text closes the whole `(define` as well."""
    o, r = f"{ask.object}Type", f"{ask.target}Type"
    if ask.kind == LIGHT:
        return (
            "(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and "
            f"(objectType ?ot {r}) (toggleable ?ot) (isToggled ?ot) "
            "(receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r))) "
            f"(exists (?o - object ?a - agent) (and (objectType ?o {o}) (holds ?a ?o))))))"
        )
    if ask.kind == TWO:
        return (
            "(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and "
            f"(objectType ?o1 {o}) (receptacleType ?r {r}) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and "
            f"(not (= ?o1 ?o2)) (objectType ?o2 {o}) (receptacleType ?r {r}) (inReceptacle ?o2 ?r)))))))))"
        )
    able, state = _STATES.get(ask.kind, ("", ""))
    asked = f"({able} ?o) ({state} ?o) " if able else ""
    return (
        f"(:goal (and (exists (?r - receptacle) (exists (?o - object) (and {asked}(objectType ?o {o}) "
        f"(receptacleType ?r {r}) (inReceptacle ?o ?r)))))))"
    )


def _identifier(type_name: str, rng: Random) -> str:
    """A mangled THOR id such as `Mug_bar__plus_01_dot_84_bar__plus_00_dot_79_bar__minus_01_dot_15`.

    Basins are prefixed with their fixture, as in `Sink_bar_..._bar_SinkBasin`, from which their names follow.
    """
    coordinates = "_bar_".join(_coordinate(rng) for _ in range(3))
    if type_name.endswith("Basin"):
        return f"{type_name.removesuffix('Basin')}_bar_{coordinates}_bar_{type_name}"
    return f"{type_name}_bar_{coordinates}"


def _coordinate(rng: Random) -> str:
    """Metres with sign and two digits, at random: ids collide with a probability of 10^-8."""
    centimetres = rng.randint(-999, 999)
    sign = "_minus_" if centimetres < 0 else "_plus_"
    return f"{sign}{abs(centimetres) // 100:02d}_dot_{abs(centimetres) % 100:02d}"


def _location(rng: Random, taken: list[str]) -> str:
    """A mangled `loc|i|j|rotation|horizon` that is not in `taken`; it is added to it."""
    while True:
        i, j = (_signed(rng.randint(-12, 12)) for _ in range(2))
        name = f"loc_bar_{i}_bar_{j}_bar_{rng.randint(0, 3)}_bar_{rng.choice((30, 45, 60))}"
        if name not in taken:
            taken.append(name)
            return name


def _signed(number: int) -> str:
    return f"_minus_{-number}" if number < 0 else str(number)
