"""Nouns: what is sold, and what is divided."""

from typing import Final

from agentgym_envs.social.content import Pools

GOODS: Final[Pools] = {
    "train": (
        *(
            "bicycle",
            "guitar",
            "bookcase",
            "camera",
            "kayak",
            "rocking chair",
            "printer",
            "tent",
            "piano",
            "laptop",
        ),
        *("lawn mower", "wardrobe", "telescope", "sewing machine", "surfboard", "stove"),
    ),
    "valid": ("scooter", "trumpet", "desk", "projector", "canoe", "freezer"),
    "test": ("motorbike", "cello", "sofa", "tablet", "trailer", "loom", "microscope", "sideboard"),
}
"""Goods with a price, in the singular."""

ITEMS: Final[Pools] = {
    "train": ("hat", "ball", "book", "melon", "pen", "lamp", "mug", "plum", "cap", "key", "kite", "coin"),
    "valid": ("spoon", "shell", "fig", "vase", "bell", "rope"),
    "test": ("drum", "pear", "glove", "stamp", "candle", "ring", "basket"),
}
"""Kinds of items that are divided, one word each, in the singular."""
