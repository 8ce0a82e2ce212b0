"""Porter's stemmer ("An algorithm for suffix stripping", Program 14(3), 1980) with his later changes.

Words of up to two letters stay, `bli` becomes `ble` (the paper: `abli`, `able`), `logi` becomes `log`. Lucene
stems English so; Snowball's "porter" and "english" do not.
"""

from functools import lru_cache

_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou"),
    *("ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in lower case, in time that grows as its length.

    >>> [stem(word) for word in ("analogies", "psychologically", "possibly", "relational", "sky", "skies")]
    ['analog', 'psycholog', 'possibl', 'relat', 'sky', 'ski']
    """
    if len(word) <= 2:
        return word
    word = _step_1(word)
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _step_5(_step_4(word))


class _Kinds(dict[int, str]):
    def __missing__(self, _: int) -> str:
        return "c"


_KINDS = _Kinds({**{ord(vowel): "v" for vowel in "aeiou"}, ord("y"): "y"})


def _kinds(word: str) -> str:
    """c or v for each letter: a consonant or a vowel; y after a consonant is a vowel."""
    kinds = word.translate(_KINDS)
    if "y" not in kinds:
        return kinds
    found: list[str] = []
    for kind in kinds:
        after_consonant = bool(found) and found[-1] == "c"
        found.append(("v" if after_consonant else "c") if kind == "y" else kind)
    return "".join(found)


def _measure(stem: str) -> int:
    """Number of vowel-consonant sequences: m of the paper."""
    return _kinds(stem).count("vc")


def _has_vowel(stem: str) -> bool:
    return "v" in _kinds(stem)


def _doubled(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _kinds(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    """*o of the paper: consonant, vowel, consonant, and the last is not w, x or y."""
    return len(word) >= 3 and word[-1] not in "wxy" and _kinds(word)[-3:] == "cvc"


def _step_1(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for ending in ("ed", "ing"):
            before = word.removesuffix(ending)
            if before != word and _has_vowel(before):
                word = _restored(before)
                break
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _restored(word: str) -> str:
    """The stem of a word without its -ed or -ing, restored to a word."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _doubled(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """The word with its longest matching ending replaced, if the rest has a measure above 0."""
    fitting = [rule for rule in rules if word.endswith(rule[0])]
    if not fitting:
        return word
    ending, other = max(fitting, key=lambda rule: len(rule[0]))
    before = word[: -len(ending)]
    counted = before + "l" if ending == "logi" else before
    return before + other if _measure(counted) > 0 else word


def _step_4(word: str) -> str:
    found = max((ending for ending in _STEP_4 if word.endswith(ending)), key=len, default=None)
    if found is None:
        return word
    kept = 1 if found in ("sion", "tion") else 0  # the letter before -ion
    before = word[: len(word) - len(found) + kept]
    return before if _measure(before) > 1 else word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
