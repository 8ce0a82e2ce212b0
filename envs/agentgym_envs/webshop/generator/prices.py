"""Prices: of a family, of its members and of purchases.

The price tag alone decides whether an item is within a bound: of a range that is the target's the upper end
is below it, and of one that is too expensive the lower end above it.
"""

from collections.abc import Sequence

from agentgym_envs.webshop.generator.draw import Draw, unit
from agentgym_envs.webshop.products import UNKNOWN_PRICE

_AT = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
_ENDINGS = (0.99, 0.99, 0.95, 0.49, 0.50, 0.00)
STEP = 10
"""Between bounds, in dollars."""


def bound(dollars: float) -> int:
    """The lowest bound above a price."""
    return STEP * (int(dollars) // STEP + 1)


def level(points: Sequence[float], draw: Draw) -> float:
    """About what the members of a family cost."""
    return draw.quantile(points, _AT)


def affordable(dollars: float, ranged: float, draw: Draw) -> str:
    """The tag of a member below `bound(dollars)`, in the file's form; a range as often as `ranged`."""
    return _tag(max(0.7 * dollars, dollars - 25), dollars, ranged, draw)


def expensive(dollars: float, ranged: float, missing: float, draw: Draw) -> str:
    """The tag of a member above the bound after `bound(dollars)`; no tag, which is $100, as often as
    `missing` where that is above it.
    """
    least = bound(dollars) + STEP
    if least < UNKNOWN_PRICE and draw.chance(missing):
        return ""
    return _tag(least + 1, least + 1 + max(8, 0.3 * dollars), ranged, draw)


def purchase(prices: Sequence[float], seed: int, asin: str) -> float:
    """What buying costs: within a range, a draw of its own."""
    if len(prices) == 1:
        return prices[0]
    low, high = sorted(prices)
    return round(low + (high - low) * unit(seed, asin, "price"), 2)


def _tag(low: float, high: float, ranged: float, draw: Draw) -> str:
    ends = sorted({_price(low, high, draw) for _ in range(2 if draw.chance(ranged) else 1)})
    return " - ".join(f"${end:.2f}" for end in ends)


def _price(low: float, high: float, draw: Draw) -> float:
    dollars = int(draw.within(low, high))
    if dollars >= 100:  # few numbers of three digits, for small vocabularies
        dollars += 9 - dollars % 10
    return dollars + draw.pick(_ENDINGS)
