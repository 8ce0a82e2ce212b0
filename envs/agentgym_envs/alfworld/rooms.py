"""Room statistics for the generator: furniture, objects, affordances and placements for four kinds of room.

Counts and pairs are facts of the 120 AI2-THOR floor plans as the official ALFWorld games use them (AI2-THOR
Apache-2.0, ALFRED MIT, ALFWorld MIT): share of rooms, range and mean per kind of room.
"""

from typing import NamedTuple


class Fixture(NamedTuple):
    """Frequency and count of a receptacle type in a kind of room."""

    share: float
    """Share of the rooms that have at least one."""
    low: int
    high: int
    mean: float
    """Mean count in rooms with at least one."""


FIXTURES: dict[str, dict[str, Fixture]] = {
    "kitchen": {
        "Microwave": Fixture(1, 1, 1, 1),
        "CoffeeMachine": Fixture(1, 1, 1, 1),
        "SinkBasin": Fixture(1, 1, 1, 1),
        "GarbageCan": Fixture(1, 1, 1, 1),
        "Fridge": Fixture(1, 1, 1, 1),
        "Toaster": Fixture(1, 1, 1, 1),
        "Cabinet": Fixture(1, 2, 27, 13),
        "StoveBurner": Fixture(1, 4, 6, 4),
        "CounterTop": Fixture(1, 1, 4, 2.3),
        "Drawer": Fixture(0.97, 1, 27, 6),
        "DiningTable": Fixture(0.54, 1, 3, 1.2),
        "Shelf": Fixture(0.23, 3, 3, 3),
        "SideTable": Fixture(0.10, 1, 1, 1),
        "Safe": Fixture(0.03, 1, 1, 1),
    },
    "living": {
        "Sofa": Fixture(1, 1, 2, 1.2),
        "GarbageCan": Fixture(1, 1, 1, 1),
        "ArmChair": Fixture(0.92, 1, 3, 1.6),
        "SideTable": Fixture(0.82, 1, 5, 2),
        "CoffeeTable": Fixture(0.80, 1, 2, 1.1),
        "Drawer": Fixture(0.77, 1, 21, 5),
        "DiningTable": Fixture(0.47, 1, 1, 1),
        "Shelf": Fixture(0.38, 1, 14, 6),
        "Dresser": Fixture(0.38, 1, 1, 1),
        "TVStand": Fixture(0.34, 1, 1, 1),
        "Cabinet": Fixture(0.17, 1, 8, 4),
        "Ottoman": Fixture(0.12, 1, 1, 1),
        "Safe": Fixture(0.03, 1, 1, 1),
        "Desk": Fixture(0.01, 1, 1, 1),
    },
    "bedroom": {
        "GarbageCan": Fixture(1, 1, 1, 1),
        "Bed": Fixture(1, 1, 2, 1.1),
        "Drawer": Fixture(0.96, 2, 17, 6),
        "Desk": Fixture(0.71, 1, 2, 1.1),
        "Shelf": Fixture(0.68, 1, 14, 4.5),
        "SideTable": Fixture(0.63, 1, 2, 1.3),
        "Dresser": Fixture(0.44, 1, 1, 1),
        "LaundryHamper": Fixture(0.29, 1, 1, 1),
        "Safe": Fixture(0.20, 1, 1, 1),
        "ArmChair": Fixture(0.18, 1, 1, 1),
        "Cabinet": Fixture(0.15, 1, 8, 4),
        "DiningTable": Fixture(0.12, 1, 1, 1),
        "CounterTop": Fixture(0.02, 1, 1, 1),
    },
    "bathroom": {
        "Toilet": Fixture(1, 1, 1, 1),
        "GarbageCan": Fixture(1, 1, 1, 1),
        "ToiletPaperHanger": Fixture(1, 1, 1, 1),
        "HandTowelHolder": Fixture(1, 1, 4, 1.6),
        "TowelHolder": Fixture(1, 1, 2, 1.2),
        "SinkBasin": Fixture(1, 1, 2, 1.5),
        "CounterTop": Fixture(0.86, 1, 2, 1.1),
        "BathtubBasin": Fixture(0.64, 1, 1, 1),
        "Drawer": Fixture(0.55, 1, 8, 4),
        "Cabinet": Fixture(0.46, 2, 9, 4),
        "Shelf": Fixture(0.24, 1, 3, 2),
        "Cart": Fixture(0.08, 1, 1, 1),
        "Dresser": Fixture(0.07, 1, 1, 1),
        "SideTable": Fixture(0.06, 1, 1, 1),
    },
}

OPENABLE: dict[str, float] = {"Fridge": 1.0, "Microwave": 1.0, "Drawer": 0.84, "Cabinet": 0.82, "Safe": 0.85}
"""Share of the instances that are closed at the start; the others of these types are open surfaces."""

USUAL: dict[str, str] = {
    "kitchen": "Apple Bread ButterKnife Bowl Cup DishSponge Egg Fork Knife Lettuce Mug Pan PepperShaker Plate Pot "
    "Potato SaltShaker SoapBottle Spatula Spoon Tomato",
    "living": "Box CreditCard KeyChain Laptop Pillow RemoteControl Statue",
    "bedroom": "AlarmClock Book CD CellPhone CreditCard KeyChain Laptop Pen Pencil Pillow",
    "bathroom": "Candle Cloth HandTowel Plunger ScrubBrush SoapBar SoapBottle SprayBottle ToiletPaper Towel",
}
"""Portable object types that nearly every room of a kind has."""

OCCASIONAL: dict[str, str] = {
    "kitchen": "Kettle WineBottle Ladle Glassbottle PaperTowelRoll Vase Statue",
    "living": "Newspaper Vase Watch WateringCan TissueBox Plate Book CellPhone",
    "bedroom": "Mug Bowl Box BaseballBat BasketBall TennisRacket TeddyBear Cloth",
    "bathroom": "TissueBox DishSponge",
}
"""Portable object types that a third of the rooms of a kind have."""

FITTINGS: dict[str, str] = {
    "kitchen": "Sink LightSwitch Window StoveKnob Chair",
    "living": "LightSwitch Television HousePlant Painting Curtains FloorLamp Window",
    "bedroom": "LightSwitch Mirror Window Blinds Poster Chair",
    "bathroom": "Sink LightSwitch Mirror ShowerDoor Bathtub",
}
"""Objects that belong to no receptacle and cannot be carried."""

CLEANABLE = frozenset(
    [
        "Apple",
        "Bowl",
        "ButterKnife",
        "Cloth",
        "Cup",
        "DishSponge",
        "Egg",
        "Fork",
        "Kettle",
        "Knife",
        "Ladle",
        "Lettuce",
        "Mug",
        "Pan",
        "Plate",
        "Pot",
        "Potato",
        "SoapBar",
        "Spatula",
        "Spoon",
        "Tomato",
    ]
)
HEATABLE = frozenset(["Apple", "Bread", "Cup", "Egg", "Mug", "Plate", "Potato", "Tomato"])
COOLABLE = frozenset(
    [
        "Apple",
        "Bowl",
        "Bread",
        "Cup",
        "Egg",
        "Lettuce",
        "Mug",
        "Pan",
        "Plate",
        "Pot",
        "Potato",
        "Tomato",
        "WineBottle",
    ]
)
SLICEABLE = frozenset(["Apple", "Bread", "Egg", "Lettuce", "Potato", "Tomato"])
TOGGLEABLE = frozenset(("DeskLamp", "FloorLamp"))
RECEPTACLE_OBJECTS = frozenset(["Bowl", "Box", "Cup", "Mug", "Pan", "Plate", "Pot"])

TOOLS = {
    "pick_clean_then_place_in_recep": ("SinkBasin", CLEANABLE),
    "pick_heat_then_place_in_recep": ("Microwave", HEATABLE),
    "pick_cool_then_place_in_recep": ("Fridge", COOLABLE),
}
"""Task type -> the appliance that it needs and the object types that it applies to."""

LAMP = "DeskLamp"
LAMP_STANDS = ("Desk", "SideTable", "Dresser", "Shelf")
LAMP_ROOMS = ("living", "bedroom")

ROOMINESS: dict[str, float] = {
    "CounterTop": 6, "DiningTable": 9, "Desk": 6, "Fridge": 4, "Bed": 4, "Dresser": 4, "CoffeeTable": 4, "TVStand": 3,
    "Cart": 3, "Sofa": 2.5, "Toilet": 2.5, "SideTable": 2.5, "SinkBasin": 1.5, "BathtubBasin": 1.5,
    "Cabinet": 0.5, "Drawer": 0.5, "CoffeeMachine": 0.5, "StoveBurner": 0.7, "Safe": 0.6,
}  # fmt: skip
"""Mean number of objects in one receptacle of a type; 1 where absent."""

_FITS = {
    "ArmChair": "Book Box CellPhone Cloth CreditCard KeyChain Laptop Newspaper Pillow RemoteControl",
    "BathtubBasin": "Cloth DishSponge HandTowel SoapBar",
    "Bed": "BaseballBat BasketBall Book CellPhone Laptop Pillow TennisRacket",
    "Cabinet": "Book Bowl Box CD Candle Cloth Cup DishSponge Glassbottle HandTowel Kettle Ladle Mug Newspaper Pan "
    "PepperShaker Plate Plunger Pot SaltShaker SoapBar SoapBottle SprayBottle TissueBox ToiletPaper Vase WateringCan "
    "WineBottle",
    "Cart": "Candle Cloth DishSponge HandTowel Plunger SoapBar SoapBottle SprayBottle TissueBox ToiletPaper",
    "CoffeeMachine": "Mug",
    "CoffeeTable": "Book Bowl Box Candle CellPhone CreditCard KeyChain Laptop Newspaper Pen Pencil Plate RemoteControl "
    "Statue TissueBox Vase Watch WateringCan",
    "CounterTop": "AlarmClock Apple Book Bowl Bread ButterKnife CD Candle CellPhone Cloth CreditCard Cup DishSponge Egg "
    "Fork Glassbottle HandTowel Kettle KeyChain Knife Ladle Laptop Lettuce Mug Pan Pen Pencil PepperShaker Plate Pot "
    "Potato RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon SprayBottle Statue TissueBox ToiletPaper Tomato "
    "Vase WineBottle",
    "Desk": "AlarmClock BasketBall Book Bowl Box CD CellPhone Cloth CreditCard KeyChain Laptop Mug Pen Pencil "
    "RemoteControl Statue TennisRacket TissueBox Vase Watch WateringCan",
    "DiningTable": "AlarmClock Apple BaseballBat BasketBall Book Bowl Box Bread ButterKnife CD Candle CellPhone Cloth "
    "CreditCard Cup DishSponge Egg Fork Glassbottle Kettle KeyChain Knife Ladle Laptop Lettuce Mug Newspaper Pan Pen "
    "Pencil PepperShaker Plate Pot Potato RemoteControl SaltShaker SoapBottle Spatula Spoon SprayBottle Statue "
    "TennisRacket TissueBox Tomato Vase Watch WateringCan WineBottle",
    "Drawer": "Book ButterKnife CD Candle CellPhone Cloth CreditCard DishSponge Fork HandTowel KeyChain Knife Ladle "
    "Newspaper Pen Pencil PepperShaker RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon SprayBottle TissueBox "
    "ToiletPaper Watch WateringCan",
    "Dresser": "AlarmClock BasketBall Book Bowl Box CD CellPhone Cloth CreditCard KeyChain Laptop Mug Newspaper Pen "
    "Pencil Plate RemoteControl SprayBottle Statue TennisRacket TissueBox ToiletPaper Vase Watch WateringCan",
    "Fridge": "Apple Bowl Bread Cup Egg Glassbottle Lettuce Mug Pan Plate Pot Potato Tomato WineBottle",
    "GarbageCan": "Apple Bread CD Cloth DishSponge Egg HandTowel Lettuce Newspaper Pen Pencil Potato SoapBar SoapBottle "
    "SprayBottle TissueBox ToiletPaper Tomato WineBottle",
    "HandTowelHolder": "HandTowel",
    "LaundryHamper": "Cloth",
    "Microwave": "Apple Bowl Bread Cup Egg Glassbottle Mug Plate Potato Tomato",
    "Ottoman": "Book Box CellPhone CreditCard KeyChain Laptop Newspaper Pillow RemoteControl",
    "Safe": "CD CellPhone CreditCard KeyChain Statue Vase Watch",
    "Shelf": "AlarmClock Book Bowl Box CD Candle CellPhone Cloth CreditCard Cup DishSponge Glassbottle HandTowel Kettle "
    "KeyChain Mug Newspaper Pen Pencil PepperShaker Plate Pot RemoteControl SaltShaker SoapBar SoapBottle SprayBottle "
    "Statue TissueBox ToiletPaper Vase Watch WateringCan WineBottle",
    "SideTable": "AlarmClock Apple BaseballBat BasketBall Book Bowl Box Bread ButterKnife CD Candle CellPhone Cloth "
    "CreditCard Cup DishSponge Egg Fork HandTowel Kettle KeyChain Knife Laptop Lettuce Mug Newspaper Pan Pen Pencil "
    "PepperShaker Plate Pot Potato RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon SprayBottle Statue "
    "TennisRacket TissueBox ToiletPaper Tomato Vase Watch WateringCan WineBottle",
    "SinkBasin": "Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Glassbottle HandTowel Kettle Knife Ladle Lettuce "
    "Mug Pan Plate Pot Potato SoapBar Spatula Spoon Tomato",
    "Sofa": "Book Box CellPhone CreditCard KeyChain Laptop Newspaper Pillow RemoteControl",
    "StoveBurner": "Kettle Pan Pot",
    "TVStand": "TissueBox",
    "Toilet": "Candle Cloth DishSponge HandTowel SoapBar SoapBottle SprayBottle TissueBox ToiletPaper",
    "ToiletPaperHanger": "ToiletPaper",
    "TowelHolder": "Towel",
}

FITS: dict[str, frozenset[str]] = {
    receptacle: frozenset(objects.split()) for receptacle, objects in _FITS.items()
}
"""Receptacle type -> object types that may be put there; a type that is absent (Toaster) takes nothing."""


def roominess(receptacle_type: str) -> float:
    """Mean number of objects in one receptacle of this type."""
    return ROOMINESS.get(receptacle_type, 1.0)


def objects_of(room: str) -> tuple[str, ...]:
    """Portable object types that a kind of room may have, usual ones first."""
    return (*USUAL[room].split(), *OCCASIONAL[room].split())
