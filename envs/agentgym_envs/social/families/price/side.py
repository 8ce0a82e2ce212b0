"""One side of a sale: what a seat knows of it."""

from dataclasses import dataclass

LEAST = 0.4
"""Share of the list price below which an offer is not taken seriously."""
NEW = 0.2
"""Share of the gap between both offers by which an offer has to come nearer to count as a new one."""


@dataclass(frozen=True)
class Side:
    """Seller or buyer; amounts in dollars."""

    sells: bool
    limit: float
    target: float
    listed: float

    @property
    def sign(self) -> int:
        """1 where a higher price is better."""
        return 1 if self.sells else -1

    def utility(self, price: float) -> float:
        """Distance of a price from the limit: 0 at the limit, 1 at the target, negative beyond the limit."""
        span = abs(self.target - self.limit) or 0.01
        return self.sign * (price - self.limit) / span

    def price(self, utility: float) -> float:
        """The price of a utility."""
        return self.limit + self.sign * utility * (abs(self.target - self.limit) or 0.01)

    def is_serious(self, offer: float) -> bool:
        """Whether an offer of the other side is neither above the list price nor below `LEAST` of it."""
        return LEAST * self.listed - 0.005 <= offer <= self.listed + 0.005

    def at_least(self, price: float, other: float) -> bool:
        """Whether `price` is at least as good as `other`, to half a cent."""
        return self.sign * (price - other) > -0.005
