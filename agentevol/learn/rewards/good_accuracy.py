"""Accuracy with a small penalty for repetition in wrong answers (ADPO version A; wk222/verlm at e51101ae,
arXiv:2510.18913).

good_accuracy(True, "...")                  -> 1.0
good_accuracy(False, "a b c d a b c d")     -> -0.01    4 distinct of 5 word 4-grams
good_accuracy(False, "I do not know this")  -> 0.0
"""

from agentevol.learn.rewards.repetition import repeated_share


def good_accuracy(
    correct: bool, text: str, *, penalty_scale: float = 0.1, max_penalty: float = -0.5, n: int = 4
) -> float:
    """1 for a correct answer; else `penalty_scale` * `max_penalty` times the share of repeated word n-grams.

    With the defaults a wrong answer has between -0.05 and 0, so that a return of at most 0 still means
    failure. Words are split at white space, case is ignored.
    """
    if correct:
        return 1.0
    return min(0.0, penalty_scale * max_penalty * repeated_share(text, n))
