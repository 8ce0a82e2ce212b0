"""The project's own recipes: a village of carpenters, smiths, weavers, potters, glaziers, bakers, saddlers.

Each trade makes the same things of several materials, and large works take the products of several trades. In
the book of invented words every material and product has another name, in the same recipes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any, Final

from agentgym_envs.textcraft.recipes import RecipeBook, read

VERSION: Final = "1"
"""Part of `data_version`: other recipes make other tasks."""

NAMESPACE: Final = "village"
WOODS: Final = ("alder", "ash", "beech", "cedar", "elm", "fir", "larch", "maple", "pine", "rowan")
METALS: Final = ("copper", "gold", "iron", "lead", "nickel", "silver", "tin", "zinc")
FIBRES: Final = ("cotton", "flax", "hemp", "nettle", "silk", "wool")
PLANTS: Final[Mapping[str, str]] = {
    "black": "oak_gall",
    "blue": "woad_leaf",
    "brown": "walnut_husk",
    "green": "broom_twig",
    "orange": "onion_skin",
    "purple": "rock_lichen",
    "red": "madder_root",
    "yellow": "weld_flower",
}
"""Dye plants by colour."""
CLAYS: Final = ("grey", "ochre", "rust", "white")
SANDS: Final[Mapping[str, str]] = {"amber": "river_sand", "clear": "quartz_sand", "smoky": "lava_sand"}
"""Sands by the glass that is made of them."""
GRAINS: Final = ("barley", "millet", "oat", "rye", "wheat")
FRUITS: Final = ("apple", "cherry", "grape", "pear", "plum", "quince")
HIDES: Final = ("cow", "deer", "goat", "sheep")
STONES: Final = ("basalt", "granite", "limestone", "sandstone")

UNSEEN_CLASSES: Final = ("cloaks", "gloves", "lanterns", "sickles", "stools", "tarts")
"""Classes whose members are goals of the split `unseen_classes` alone."""

Rule = tuple[str, int, str, str]
"""Output, number that is made, class of the output or "", ingredients as `2 iron_plate, 1 #rods`."""


def rules() -> Iterator[Rule]:
    """All recipes."""
    yield from _of_wood()
    yield from _of_metal()
    yield from _of_fibre()
    yield from _of_clay_and_glass()
    yield from _of_food()
    yield from _of_hides_and_stone()
    yield from _of_several_trades()
    yield from _works()


def _of_wood() -> Iterator[Rule]:
    for one in WOODS:
        yield f"{one}_planks", 6, "planks", f"1 {one}_log"
        yield f"{one}_rod", 8, "rods", f"2 {one}_planks"
        yield f"{one}_stool", 1, "stools", f"2 {one}_planks, 3 {one}_rod"
        yield f"{one}_table", 1, "tables", f"4 {one}_planks, 4 {one}_rod"
        yield f"{one}_ladder", 1, "ladders", f"6 {one}_rod, 1 #ropes"
        yield f"{one}_wheel", 2, "wheels", f"3 {one}_planks, 4 {one}_rod, 2 #nails"
        yield f"{one}_chest", 1, "chests", f"5 {one}_planks, 2 #hinges"
        yield f"{one}_door", 1, "doors", f"4 {one}_planks, 1 #hinges, 1 #rings"
        yield f"{one}_cart", 1, "carts", f"4 {one}_planks, 2 {one}_wheel, 1 #straps"


def _of_metal() -> Iterator[Rule]:
    for one in METALS:
        yield f"{one}_ingot", 4, "ingots", f"3 {one}_ore, 2 charcoal"
        yield f"{one}_wire", 6, "wires", f"1 {one}_ingot"
        yield f"{one}_plate", 4, "plates", f"2 {one}_ingot"
        yield f"{one}_nail", 8, "nails", f"1 {one}_ingot"
        yield f"{one}_ring", 2, "rings", f"3 {one}_wire"
        yield f"{one}_chain", 2, "chains", f"6 {one}_wire"
        yield f"{one}_bell", 1, "bells", f"2 {one}_plate, 1 {one}_wire"
        yield f"{one}_hinge", 4, "hinges", f"1 {one}_plate, 2 {one}_nail"
        yield f"{one}_buckle", 2, "buckles", f"1 {one}_plate, 1 {one}_wire"
        yield f"{one}_gear", 2, "gears", f"2 {one}_plate, 3 {one}_nail"
        yield f"{one}_lantern", 1, "lanterns", f"2 {one}_plate, 1 #panes, 1 {one}_chain"
        for tool, plates in (
            ("axe", 2),
            ("chisel", 1),
            ("hammer", 3),
            ("saw", 2),
            ("sickle", 1),
            ("spade", 2),
        ):
            yield f"{one}_{tool}", 1, f"{tool}s", f"{plates} {one}_plate, 1 #rods"


def _of_fibre() -> Iterator[Rule]:
    for one in FIBRES:
        yield f"{one}_thread", 6, "threads", f"2 {one}_bundle"
        yield f"{one}_cloth", 3, "cloths", f"4 {one}_thread"
        yield f"{one}_rope", 2, "ropes", f"5 {one}_thread"
        yield f"{one}_sack", 1, "sacks", f"2 {one}_cloth, 1 {one}_thread"
        yield f"{one}_net", 1, "nets", f"3 {one}_rope, 2 {one}_thread"
        yield f"{one}_tent", 1, "tents", f"4 {one}_cloth, 2 #ropes, 3 #rods"
    for one, plant in PLANTS.items():
        yield f"{one}_dye", 4, "dyes", f"2 {plant}, 1 alum"
        yield f"{one}_linen", 2, "linens", f"2 #cloths, 1 {one}_dye"
        yield f"{one}_hood", 1, "hoods", f"1 {one}_linen, 1 #threads"
        yield f"{one}_tunic", 1, "tunics", f"2 {one}_linen, 2 #threads"
        yield f"{one}_cloak", 1, "cloaks", f"3 {one}_linen, 1 #buckles"
        yield f"{one}_banner", 1, "banners", f"2 {one}_linen, 1 #rods, 1 #rings"
        yield f"{one}_feast_cloak", 1, "feast_cloaks", f"1 {one}_cloak, 3 gold_wire"


def _of_clay_and_glass() -> Iterator[Rule]:
    for one in CLAYS:
        yield f"{one}_brick", 4, "bricks", f"3 {one}_clay, 1 charcoal"
        yield f"{one}_bowl", 1, "bowls", f"2 {one}_clay, 1 charcoal"
        yield f"{one}_jug", 1, "jugs", f"3 {one}_clay, 2 charcoal"
        yield f"{one}_tile", 4, "tiles", f"2 {one}_clay, 1 #dyes"
        yield f"{one}_glazed_jug", 1, "glazed_jugs", f"1 {one}_jug, 1 #dyes, 1 quartz_sand"
    for one, sand in SANDS.items():
        yield f"{one}_glass", 3, "glass", f"3 {sand}, 1 soda_ash, 1 charcoal"
        yield f"{one}_pane", 4, "panes", f"2 {one}_glass"
        yield f"{one}_bottle", 2, "bottles", f"1 {one}_glass"
        yield f"{one}_lens", 1, "lenses", f"1 {one}_glass, 1 fine_grit"
    for one in PLANTS:
        yield f"{one}_pane", 2, "stained_panes", f"2 #panes, 1 {one}_dye"


def _of_food() -> Iterator[Rule]:
    for one in GRAINS:
        yield f"{one}_flour", 3, "flours", f"2 {one}_grain"
        yield f"{one}_dough", 2, "doughs", f"2 {one}_flour, 1 water, 1 salt"
        yield f"{one}_loaf", 1, "loaves", f"1 {one}_dough, 1 yeast"
        yield f"{one}_porridge", 1, "porridges", f"2 {one}_grain, 1 milk"
    for one in FRUITS:
        yield f"{one}_jam", 2, "jams", f"3 {one}, 1 honey"
        yield f"{one}_juice", 1, "juices", f"4 {one}, 1 #bottles"
        yield f"{one}_tart", 1, "tarts", f"1 #doughs, 1 {one}_jam"


def _of_hides_and_stone() -> Iterator[Rule]:
    for one in HIDES:
        yield f"{one}_leather", 3, "leathers", f"1 {one}_hide, 2 oak_bark"
        yield f"{one}_strap", 4, "straps", f"1 {one}_leather"
        yield f"{one}_boots", 1, "boots", f"2 {one}_leather, 1 #threads"
        yield f"{one}_gloves", 1, "gloves", f"1 {one}_leather, 1 #threads"
        yield f"{one}_saddle", 1, "saddles", f"3 {one}_leather, 2 {one}_strap, 1 #buckles"
    for one in STONES:
        yield f"{one}_slab", 2, "slabs", f"2 {one}"
        yield f"{one}_pillar", 1, "pillars", f"3 {one}_slab"
        yield f"{one}_well", 1, "wells", f"4 {one}_slab, 1 #ropes, 1 #rods"


def _of_several_trades() -> Iterator[Rule]:
    yield "spinning_wheel", 1, "", "1 #wheels, 2 #planks, 1 #threads"
    yield "loom", 1, "", "4 #planks, 4 #rods, 2 #ropes"
    yield "drum", 1, "", "2 #planks, 1 #leathers, 1 #ropes"
    yield "harp", 1, "", "3 #planks, 6 #wires"
    yield "bellows", 1, "", "2 #planks, 1 #leathers, 2 #nails"
    yield "anvil", 1, "", "4 iron_plate, 1 #planks"
    yield "telescope", 1, "", "2 #lenses, 2 copper_plate, 1 #leathers"
    yield "mirror", 1, "", "1 #panes, 1 silver_plate, 1 #rods"
    yield "balance", 1, "", "1 #chains, 2 #bowls, 1 #rods"
    yield "beehive", 1, "", "3 #planks, 1 #ropes"
    yield "kite", 1, "", "1 #linens, 2 #rods, 1 #threads"
    yield "rowing_boat", 1, "", "6 #planks, 2 #rods, 2 #nails"
    yield "sail", 1, "", "3 #linens, 1 #ropes"


def _works() -> Iterator[Rule]:
    yield "fishing_boat", 1, "", "1 rowing_boat, 1 sail, 1 #nets"
    yield "forge", 1, "", "4 #bricks, 1 bellows, 1 anvil"
    yield "pulley", 1, "", "1 #wheels, 1 #ropes, 1 #rings"
    yield "winch", 1, "", "1 pulley, 1 #gears, 1 #chains"
    yield "mill_stone", 1, "", "1 #pillars, 1 #rings"
    yield "water_mill", 1, "", "1 mill_stone, 2 #gears, 1 #wheels"
    yield "clock", 1, "", "2 #gears, 1 #bells, 1 #panes"
    yield "printing_press", 1, "", "1 winch, 2 #plates, 1 #tables"
    yield "bell_tower", 1, "", "1 winch, 1 #bells, 2 #pillars"
    yield "lighthouse", 1, "", "1 winch, 1 #lanterns, 4 #bricks"
    yield "tower_clock", 1, "", "1 clock, 1 winch"
    yield "harbour", 1, "", "1 rowing_boat, 1 pulley, 2 #slabs"
    yield "smithy", 1, "", "1 forge, 1 #doors"
    yield "market_stall", 1, "", "1 #tables, 1 #banners, 1 #tents"
    yield "coach", 1, "", "1 #carts, 1 #doors, 1 #lanterns"
    yield "caravan", 1, "", "1 #carts, 1 #tents, 1 #saddles"
    yield "royal_coach", 1, "", "1 #carts, 1 #feast_cloaks"
    yield "weaving_house", 1, "", "1 loom, 1 spinning_wheel, 1 #doors"
    yield "observatory", 1, "", "1 telescope, 1 pulley, 1 #pillars"
    yield "village_square", 1, "", "1 #tables, 1 #banners, 1 #wells"
    yield "mill_house", 1, "", "1 water_mill, 1 #doors"


@dataclass(frozen=True, eq=False)
class OwnBook:
    """A book of recipes, and the classes whose members are goals of one split alone."""

    recipes: RecipeBook
    unseen: frozenset[str]


@cache
def village() -> OwnBook:
    """The book of words."""
    return _made(str)


@cache
def invented() -> OwnBook:
    """The book of invented words: the same recipes."""
    return _made(_Words().of)


def _made(renamed: Callable[[str], str]) -> OwnBook:
    found = read((f"{one['result']['item']}.json", one) for one in values(renamed))
    return OwnBook(RecipeBook(found), frozenset(f"{NAMESPACE}:{renamed(name)}" for name in UNSEEN_CLASSES))


def values(renamed: Callable[[str], str] = str) -> Iterator[dict[str, Any]]:
    """Recipes in the schema of TextCraft's files; `renamed` gives an item or class another name."""
    for output, count, group, listed in rules():
        parts = [part.split(" ") for part in listed.split(", ")]
        taken = [
            {"tag" if name.startswith("#") else "item": f"{NAMESPACE}:{renamed(name.removeprefix('#'))}"}
            for number, name in parts
            for _ in range(int(number))
        ]
        yield {
            "type": f"{NAMESPACE}:crafting_shapeless",
            "group": renamed(group) if group else "",
            "ingredients": taken,
            "result": {"item": f"{NAMESPACE}:{renamed(output)}", "count": count},
        }


class _Words:
    """Invented names: each part of a name has an invented word of two or three syllables."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The invented name."""
        return "_".join(self._word(part) for part in name.split("_"))

    def _word(self, part: str) -> str:
        known = self._of.get(part)
        if known is not None:
            return known
        draw, taken = (
            Random(sha256(f"agentevol.textcraft.{VERSION}.{part}".encode()).digest()),
            set(self._of.values()),
        )
        while True:
            word = "".join(
                draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(2, 3))
            )
            if word not in taken:
                self._of[part] = word
                return word
