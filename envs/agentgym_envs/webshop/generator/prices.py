"""Prices of families, members and purchases.

The price tag alone decides if an item is within a bound: the upper end of a target's range is below it, and
the lower end of an expensive item's range is above it.
"""

from collections.abc import Sequence

from agentgym_envs.webshop.generator.draw import Draw, unit
from agentgym_envs.webshop.products import UNKNOWN_PRICE

_AT = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
_ENDINGS = (0.99, 0.99, 0.95, 0.49, 0.50, 0.00)
_STEP = 10
"""Distance between bounds, in dollars."""
_TWO = 0.4
"""Share of families with two bounds."""


def bounds(dollars: float, draw: Draw) -> tuple[int, ...]:
    """One or two bounds above a price, for goals to choose from."""
    lowest = _STEP * (int(dollars) // _STEP + 1)
    return (lowest, lowest + _STEP) if draw.chance(_TWO) else (lowest,)


def level(points: Sequence[float], draw: Draw) -> float:
    """Approximate price level of a family."""
    return draw.quantile(points, _AT)


def affordable(dollars: float, ranged: float, draw: Draw) -> str:
    """The price tag of a member within all bounds, in the file's form; a range with probability `ranged`."""
    return _tag(max(0.7 * dollars, dollars - 25), dollars, ranged, draw)


def expensive(bound: int, ranged: float, missing: float, draw: Draw) -> str:
    """The price tag of a member above a bound; none, which means $100, with probability `missing` if that is
    above.
    """
    if bound < UNKNOWN_PRICE and draw.chance(missing):
        return ""
    return _tag(bound + 1, bound + 1 + max(8, 0.3 * bound), ranged, draw)


def purchase(prices: Sequence[float], seed: int, asin: str) -> float:
    """Purchase price: within a range, drawn separately."""
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
