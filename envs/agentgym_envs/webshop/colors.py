"""Colour normalisation of the reward: a text that contains a colour counts as that colour."""

from functools import lru_cache

_NAMES = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel
camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry
cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green
grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot
midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple
rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan
taupe teal tiger turquoise violet walnut wheat white wine yellow
"""
COLORS = tuple(_NAMES.split())
"""Colours in the order of their lookup."""


@lru_cache(maxsize=1 << 14)
def normalized(text: str) -> str:
    """The first colour in the text, regardless of the rest; the text without one.

    >>> normalized("dark blue"), normalized("standard"), normalized("xx-large")
    ('blue', 'tan', 'xx-large')
    """
    return next((color for color in COLORS if color in text), text)
