"""Uniform numbers as a function of integers, by the hash of SplitMix64 (Steele et al., 2014)."""

_MASK = (1 << 64) - 1


def uniform(*counters: int) -> float:
    """Uniform number in [0, 1) for these integers, of a seed and a position for instance, modulo 2**64."""
    state = 0
    for counter in counters:
        state = _hashed(state + counter)
    return (state >> 11) / (1 << 53)


def _hashed(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
