"""Share of repeated word n-grams, by which ADPO lowers the return of a failure.

Version A; wk222/verlm at e51101ae, arXiv:2510.18913.

repeated_share("a b c d a b c d", 4)  -> 0.2    4 distinct of 5
"""


def repeated_share(text: str, n: int) -> float:
    """1 - distinct / all of the n-grams of words, in [0, 1); 0 for fewer than `n` words.

    Words are split at white space, case is ignored.
    """
    words = text.lower().split()
    grams = [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
