"""`World`: the state of one episode and the actions on it, with the replies of the original engine.

    > go to fridge 1
    You arrive at fridge 1. The fridge 1 is closed.
    > cool mug 1 with fridge 1
    You cool the mug 1 using the fridge 1.

The world continues after a win. Oddities of the original are kept, each with a note at its place.
"""

from bisect import insort
from collections.abc import Callable
from typing import ClassVar

from agentgym_envs.alfworld.dialects import HELP, place_command, place_text
from agentgym_envs.alfworld.scene import NOWHERE, Command, Scene, State, Verb, facing, listing

BANNER = "-= Welcome to TextWorld, ALFRED! =-"
NOTHING_HAPPENS = "Nothing happens."


class World:
    """One episode's state over a shared scene. `contents`, `held` and the like hold the scene's indices."""

    __slots__ = (
        "_commands", "contents", "held", "location", "opened", "scene", "spots", "states", "taken_from"
    )  # fmt: skip

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.location = scene.start.location
        self.held: int | None = None
        self.opened = set(scene.start.opened)
        self.contents = list(scene.start.contents)
        """Sorted objects by receptacle."""
        self.spots = set(scene.start.spots)
        """Pairs of object and location: an object put down elsewhere keeps its old location as well."""
        self.taken_from: set[tuple[int, int]] = set()
        """Pairs of object and receptacle, for the listing of objects next to a receptacle."""
        self.states: dict[State, set[int]] = {name: set(them) for name, them in scene.start.states.items()}
        self._commands: dict[str, Command] | None = None

    def copy(self) -> "World":
        """An independent world in the same state."""
        twin = object.__new__(World)
        twin.scene = self.scene
        twin.location = self.location
        twin.held = self.held
        twin.opened = set(self.opened)
        twin.contents = list(self.contents)
        twin.spots = set(self.spots)
        twin.taken_from = set(self.taken_from)
        twin.states = {name: set(things) for name, things in self.states.items()}
        twin._commands = self._commands  # immutable once complete, so it can be shared
        return twin

    def initial_observation(self) -> str:
        """Banner, room and task; the first observation."""
        return f"{BANNER}\n\n{self.scene.intro}\n\nYour task is to: {self.scene.sentence}."

    def step(self, command: str) -> str:
        """Execute a command and return the observation; an inadmissible one changes nothing."""
        found = self._table().get(command.strip())
        if found is None:
            return NOTHING_HAPPENS
        verb, first, second = found
        return self._ACTIONS[verb](self, first, second)

    def admissible(self) -> list[str]:
        """The admissible commands of this state, sorted."""
        return sorted(self._table())

    @property
    def holding(self) -> str | None:
        """Name of the held object."""
        return None if self.held is None else self.scene.objects[self.held]

    @property
    def won(self) -> bool:
        """True if the current state meets the goal; later states may not."""
        scene = self.scene
        if scene.goal.kind == "look_at_obj_in_light":
            return self.held is not None and self.counts(self.held) and self._is_lit()
        for r in scene.goal_receptacles:
            if sum(map(self.counts, self.contents[r])) >= scene.goal.count:
                return True
        return False

    def counts(self, thing: int) -> bool:
        """True if an object meets the goal's conditions on it, wherever it is."""
        goal = self.scene.goal
        if thing not in self.scene.goal_objects:
            return False
        if goal.sliced and thing not in self.states["sliced"]:
            return False
        return goal.treatment is None or thing in self.states[goal.treatment]

    def is_accessible(self, receptacle: int) -> bool:
        """True if the contents of a receptacle can be reached from its location."""
        return receptacle not in self.scene.openable or receptacle in self.opened

    def _is_lit(self) -> bool:
        lit = self.scene.goal_lamps & self.states["toggled"]
        return bool(lit) and any(not lit.isdisjoint(self.contents[r]) for r in self.scene.here[self.location])

    def _table(self) -> dict[str, Command]:
        """The admissible commands of this state with their parsed form."""
        if self._commands is None:
            table = dict(self.scene.commands[self.location])
            for r in self.scene.here[self.location]:
                self._add_receptacle(table, r)
            if self.held is not None:
                self._add_held(table, self.held)
            self._commands = table
        return self._commands

    def _add_receptacle(self, table: dict[str, Command], r: int) -> None:
        """Open, close, take and use at a receptacle."""
        scene = self.scene
        name = scene.receptacles[r]
        if r in scene.openable:
            verb: Verb = "close" if r in self.opened else "open"
            table[f"{verb} {name}"] = (verb, r, 0)
        if self.held is None and self.is_accessible(r):
            for o in scene.pickupable.intersection(self.contents[r]):
                table[f"take {scene.objects[o]} from {name}"] = ("take", o, r)
        for o in scene.toggleable.intersection(self.contents[r]):  # inside a closed drawer as well
            table[f"use {scene.objects[o]}"] = ("use", o, 0)

    def _add_held(self, table: dict[str, Command], held: int) -> None:
        """Place, treat, slice and examine with an object in the hand."""
        scene = self.scene
        name = scene.objects[held]
        table[f"examine {name}"] = ("examine object", held, 0)
        for r in scene.here[self.location]:
            if held in scene.accepts[r] and self.is_accessible(r):
                table[place_command(scene.dialect, name, scene.receptacles[r])] = ("place", held, r)
            tool = scene.tools[r]
            if tool is not None and held in tool[1]:  # microwave and fridge may stay closed
                table[f"{tool[0]} {name} with {scene.receptacles[r]}"] = (tool[0], held, r)
        for o in scene.sliceable if held in scene.knives else ():
            if (o, self.location) in self.spots:  # also objects in a closed receptacle
                table[f"slice {scene.objects[o]} with {name}"] = ("slice", o, held)

    def _go(self, r: int, _: int) -> str:
        self.location = self.scene.location_of[r]
        self._commands = None
        return f"{self.scene.arrivals[r]}{self._examine_receptacle(r, 0)}"

    def _open(self, r: int, _: int) -> str:
        self.opened.add(r)
        self._commands = None
        return f"You open the {self.scene.receptacles[r]}. {self._examine_receptacle(r, 0)}"

    def _close(self, r: int, _: int) -> str:
        self.opened.discard(r)
        self._commands = None
        return f"You close the {self.scene.receptacles[r]}."

    def _take(self, o: int, r: int) -> str:
        # an object that is also in a second receptacle stays listed there, and counts there for the goal
        self.contents[r] = tuple(x for x in self.contents[r] if x != o)
        self.spots.discard((o, self.location))
        self.held = o
        self.taken_from.add((o, r))
        self._commands = None
        return f"You pick up the {self.scene.objects[o]} from the {self.scene.receptacles[r]}."

    def _place(self, o: int, r: int) -> str:
        if o not in self.contents[r]:
            things = list(self.contents[r])
            insort(things, o)
            self.contents[r] = tuple(things)
        self.spots.add((o, self.location))
        self.held = None
        self.taken_from.discard((o, r))
        self._commands = None
        return place_text(self.scene.dialect, self.scene.objects[o], self.scene.receptacles[r])

    def _clean(self, o: int, r: int) -> str:
        self.states["clean"].add(o)
        return f"You clean the {self.scene.objects[o]} using the {self.scene.receptacles[r]}."

    def _heat(self, o: int, r: int) -> str:
        self.states["hot"].add(o)
        self.states["cool"].discard(o)
        return f"You heat the {self.scene.objects[o]} using the {self.scene.receptacles[r]}."

    def _cool(self, o: int, r: int) -> str:
        self.states["cool"].add(o)
        self.states["hot"].discard(o)
        return f"You cool the {self.scene.objects[o]} using the {self.scene.receptacles[r]}."

    def _use(self, o: int, _: int) -> str:
        self.states["toggled"].add(o)  # there is no switching off
        return f"You turn on the {self.scene.objects[o]}."

    def _slice(self, o: int, knife: int) -> str:
        self.states["sliced"].add(o)
        return f"You sliced the {self.scene.objects[o]} with the {self.scene.objects[knife]}."

    def _examine_receptacle(self, r: int, _: int) -> str:
        name = self.scene.receptacles[r]
        if not self.is_accessible(r):
            return f"The {name} is closed."
        things = listing(map(self.scene.objects.__getitem__, self.contents[r]))
        if r in self.scene.openable:
            return f"The {name} is open. In it, you see {things}."
        return f"On the {name}, you see {things}."

    def _examine_object(self, o: int, _: int) -> str:
        name = self.scene.objects[o]
        if o in self.scene.held_contents:
            return f"This is a normal {name}. In it, you see {self.scene.held_contents[o]}."
        words = self._describing_words(o)
        if words:
            return f"This is a {words} {name}."
        if o in self.scene.toggleable and o in self.states["toggled"]:
            return f"This {name} is on."
        if o in self.scene.sliceable and o in self.states["sliced"]:
            return f"This is a sliced {name}."
        return f"There's nothing special about {name}."

    def _describing_words(self, o: int) -> str:
        """`hot and clean sliced`, as far as it applies; empty for an object that is at most sliced."""
        clean, hot, cool, sliced = (o in self.states[name] for name in ("clean", "hot", "cool", "sliced"))
        if not (clean or hot or cool):
            return ""
        warmth = "hot" if hot else "cool" if clean or sliced else "cold"
        words = f"{warmth} and clean" if clean and (hot or cool) else "clean" if clean else warmth
        return f"{words} sliced" if sliced else words

    def _look(self, _: int, __: int) -> str:
        here = self.scene.here[self.location]
        if not here:
            return f"{NOWHERE}nothing."  # the receptacles are listed in the first observation only
        # an object taken from a receptacle and put down at the same location is listed next to it
        floor = sorted((o, r) for o, r in self.taken_from if r in here and (o, self.location) in self.spots)
        return facing(self.scene.receptacles, here, listing(self.scene.objects[o] for o, _ in floor))

    def _inventory(self, _: int, __: int) -> str:
        return f"You are carrying: a {self.holding}." if self.holding else "You are not carrying anything."

    def _help(self, _: int, __: int) -> str:
        return HELP[self.scene.dialect]

    _ACTIONS: ClassVar[dict[Verb, Callable[["World", int, int], str]]] = {
        "go": _go,
        "open": _open,
        "close": _close,
        "take": _take,
        "place": _place,
        "clean": _clean,
        "heat": _heat,
        "cool": _cool,
        "use": _use,
        "slice": _slice,
        "examine receptacle": _examine_receptacle,
        "examine object": _examine_object,
        "look": _look,
        "inventory": _inventory,
        "help": _help,
    }
