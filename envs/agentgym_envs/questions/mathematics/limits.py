"""Bounds of the reader: each one is a number of steps or bits, not of seconds."""

MOST_CHARACTERS = 1_000
"""Longest text that is read."""
MOST_DEPTH = 32
"""Deepest nesting of brackets, arguments and exponents."""
MOST_ITEMS = 64
"""Most items of a list, tuple or set, and entries of a matrix."""
MOST_EXPONENT = 10_000
"""Largest numerator or denominator of an exponent of a symbol."""
MOST_ROOT = 12
"""Largest index of a root that is taken exactly."""
MOST_BITS = 4_096
"""Most bits of a numerator or denominator: 1,233 decimal digits."""
MOST_RADICAND = 10**12
"""Largest number that is factored into primes."""
MOST_OPERATIONS = 6_000
"""Most products and sums of terms for one text, or one comparison."""
MOST_POWER = 20
"""Largest power of a sum that is expanded."""


class Unreadable(ValueError):
    """A text is no answer of the notation, or exceeds a bound; the message is one line."""


class Budget:
    """Operations that are left for a text or a comparison."""

    def __init__(self, operations: int = MOST_OPERATIONS) -> None:
        self.left = operations

    def spend(self, operations: int) -> None:
        """Take operations from what is left. Raises `Unreadable` where nothing is."""
        self.left -= operations
        if self.left < 0:
            raise Unreadable("it takes too many operations")
