"""Expert that wins every winnable game from any state, by reading the full state.

    plan(World(scene)) == ["go to shelf 1", "take mug 2 from shelf 1", "go to desk 1", "move mug 2 to desk 1"]

It takes the objects of the goal, treats them, and places them; ties are broken by id, and objects that are
nearly done come first. It drops any other held object. In a game that can be won from its start this fails in
one case only: the held object fits nowhere in the room.
"""

from collections.abc import Iterable

from agentgym_envs.alfworld.dialects import place_command
from agentgym_envs.alfworld.world import NOTHING_HAPPENS, World

_TOOL_VERBS = {"clean": "clean", "hot": "heat", "cool": "cool"}


class DeadEnd(Exception):
    """No known sequence of commands wins from here; the text names the obstacle."""


def plan(world: World) -> list[str]:
    """Commands, in the scene's dialect, of which the last one wins; empty if the world is won already.

    `world` itself is not changed. Raises `DeadEnd` if the game cannot be won any more.
    """
    attempt = _Attempt(world.copy())
    if attempt.world.won:
        return []
    attempt.drop_what_is_of_no_use()
    if world.scene.goal.sliced:
        attempt.slice_enough()
    if world.scene.goal.kind == "look_at_obj_in_light":
        attempt.look_under_the_lamp()
    else:
        attempt.fill_the_target()
    return attempt.commands


class _Attempt:
    """Copy of a world to try commands in, with the commands so far. Once it is won, further ones are left
    out.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.scene = world.scene
        self.goal = world.scene.goal
        self.commands: list[str] = []

    def say(self, command: str) -> None:
        if self.world.won:
            return
        if self.world.step(command) == NOTHING_HAPPENS:
            raise DeadEnd(f"{command!r} is not possible")
        self.commands.append(command)

    def go(self, r: int, reach_in: bool = False) -> None:
        """Go to a receptacle, and open it if its contents are to be accessible."""
        if self.world.location != self.scene.location_of[r]:
            self.say(f"go to {self.scene.receptacles[r]}")
        if reach_in and not self.world.is_accessible(r):
            self.say(f"open {self.scene.receptacles[r]}")

    def take(self, o: int, r: int) -> None:
        self.go(r, reach_in=True)
        self.say(f"take {self.scene.objects[o]} from {self.scene.receptacles[r]}")

    def place(self, r: int) -> None:
        held = self.world.holding
        if held is not None:
            self.go(r, reach_in=True)
            self.say(place_command(self.scene.dialect, held, self.scene.receptacles[r]))

    def holders(self, o: int) -> list[int]:
        """Receptacles that hold an object."""
        return [r for r, things in enumerate(self.world.contents) if o in things]

    def has_use(self, o: int) -> bool:
        """True if an object can meet its part of the goal with an otherwise empty hand."""
        if o not in self.scene.goal_objects or (self.goal.sliced and o not in self.world.states["sliced"]):
            return False
        return self.world.counts(o) or self.tool_for(o) is not None

    def tool_for(self, o: int) -> int | None:
        """The first receptacle that applies the goal's treatment to an object."""
        verb = _TOOL_VERBS.get(self.goal.treatment or "")
        for r, tool in enumerate(self.scene.tools):
            if tool is not None and tool[0] == verb and o in tool[1]:
                return r
        return None

    def treat(self, o: int) -> None:
        tool = self.tool_for(o)
        if self.world.counts(o) or tool is None:
            return
        self.go(tool)
        verb = _TOOL_VERBS[self.goal.treatment or ""]
        self.say(f"{verb} {self.scene.objects[o]} with {self.scene.receptacles[tool]}")

    def drop_what_is_of_no_use(self) -> None:
        held = self.world.held
        if held is not None and not self.has_use(held) and not self.is_wanted_knife(held):
            self.drop(held)

    def is_wanted_knife(self, o: int) -> bool:
        return self.goal.sliced and o in self.scene.knives

    def drop(self, held: int) -> None:
        """Put the held object into the first receptacle that accepts it, preferably none of the goal's."""
        if self.world.won:
            return
        fitting = [r for r, accepted in enumerate(self.scene.accepts) if held in accepted]
        if not fitting:
            raise DeadEnd(f"{self.scene.objects[held]} is in the hand and fits nowhere")
        self.place(min(fitting, key=lambda r: (r in self.scene.goal_receptacles, r)))

    def slice_enough(self) -> None:
        """Slice as many objects as the goal requires, then put the knife away."""
        sliced = self.scene.goal_objects & self.world.states["sliced"]
        spots = {o: place for o, place in sorted(self.world.spots, reverse=True) if self.scene.here[place]}
        whole = self.reachable((self.scene.goal_objects & self.scene.sliceable & spots.keys()) - sliced)
        missing = whole[: max(0, self.goal.count - len(sliced))]
        if not missing:
            return
        self.take_a_knife()
        for o in missing:
            self.go(self.scene.here[spots[o]][0])
            self.say(f"slice {self.scene.objects[o]} with {self.world.holding}")
        if self.world.held is not None:
            self.drop(self.world.held)

    def take_a_knife(self) -> None:
        if self.world.held in self.scene.knives:
            return
        knives = self.reachable(self.scene.knives)
        if not knives:
            raise DeadEnd("there is no knife to slice with")
        self.take(knives[0], self.holders(knives[0])[0])

    def reachable(self, things: Iterable[int]) -> list[int]:
        """Members of `things` that can be taken, by id."""
        return [o for o in sorted(things) if o in self.scene.pickupable and self.holders(o)]

    def look_under_the_lamp(self) -> None:
        lamps = [(r, o) for o in sorted(self.scene.goal_lamps) for r in self.holders(o)]
        if not lamps:
            raise DeadEnd("there is no lamp to use")
        if self.world.held is None:
            useful = list(filter(self.has_use, self.reachable(self.scene.goal_objects)))
            if not useful:
                raise DeadEnd("there is nothing of the goal's type to take")
            self.take(useful[0], self.holders(useful[0])[0])
        r, lamp = lamps[0]
        self.go(r)
        self.say(f"use {self.scene.objects[lamp]}")

    def fill_the_target(self) -> None:
        target = self.choose_target()
        for _ in range(self.goal.count):
            if self.world.won:
                return
            o = self.take_next(target)
            self.treat(o)
            self.place(target)
        if not self.world.won:
            raise DeadEnd("the goal does not hold after all its objects were placed")

    def choose_target(self) -> int:
        """The receptacle to fill: the one that holds most of the objects, among those with enough
        candidates.
        """
        enough = [
            (-self.placed(r), r)
            for r in self.scene.goal_receptacles
            if self.placed(r) + len(self.candidates(r)) >= self.goal.count
        ]
        if not enough:
            raise DeadEnd("there are too few objects for any receptacle of the goal")
        return min(enough)[1]

    def placed(self, r: int) -> int:
        return sum(map(self.world.counts, self.world.contents[r]))

    def candidates(self, target: int) -> list[int]:
        """Objects that the target lacks: the held one, those outside, those inside that need treatment.

        An object that is both held and in the target counts once treated, even if it could not be put there.
        """
        inside = self.world.contents[target]
        held = self.world.held
        fit = [
            o
            for o in self.scene.goal_objects
            if self.has_use(o) and not (o in inside and self.world.counts(o))
            if o in self.scene.accepts[target] or (o == held and o in inside)
            if o == held or (o in self.scene.pickupable and self.holders(o))
        ]
        return sorted(fit, key=lambda o: (o != held, o in inside, not self.world.counts(o), o))

    def take_next(self, target: int) -> int:
        """Take the next object for the target."""
        candidates = self.candidates(target)
        if not candidates:
            raise DeadEnd("nothing that the goal asks for is left to take")
        held, o = self.world.held, candidates[0]
        if o == held:
            return o
        if held is not None:
            self.drop(held)
        self.take(o, self.holders(o)[0])
        return o
