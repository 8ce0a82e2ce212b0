"""Tokenizer with the rules of Lucene's StandardTokenizer.

Words are the texts between Unicode's word boundaries (UAX #29) with a letter, a number or a pictograph.
"""

import re
import unicodedata
from functools import lru_cache

LONGEST = 255
"""Longer words are split into pieces of this many characters."""
_ASCII = re.compile(
    r"\w+(?:(?:(?<=[A-Za-z])[:.'](?=[A-Za-z])|(?<=[0-9])[,;.'](?=[0-9]))\w+)*", flags=re.ASCII
)
_LETTER, _NUMBER, _JOIN, _KATAKANA = "letter", "number", "join", "katakana"
_ALONE, _PICTURE, _FLAG, _EXTEND, _OTHER = "alone", "picture", "flag", "extend", "other"
_MID_LETTER, _MID_NUMBER, _MID_BOTH = "midletter", "midnumber", "midboth"
_MID = {
    _MID_LETTER: ":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a",
    _MID_BOTH: ".'\u2018\u2019\u2024\ufe52\uff07\uff0e",
    _MID_NUMBER: ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b",
}
_PICTURES = (  # Extended_Pictographic of emoji-data.txt: first and last code points
    *((0xA9, 0xA9), (0xAE, 0xAE), (0x203C, 0x203C), (0x2049, 0x2049), (0x2122, 0x2122), (0x2139, 0x2139)),
    *((0x2194, 0x2199), (0x21A9, 0x21AA), (0x231A, 0x231B), (0x2328, 0x2328), (0x2388, 0x2388)),
    *((0x23CF, 0x23CF), (0x23E9, 0x23F3), (0x23F8, 0x23FA), (0x24C2, 0x24C2), (0x25AA, 0x25AB)),
    *((0x25B6, 0x25B6), (0x25C0, 0x25C0), (0x25FB, 0x25FE), (0x2600, 0x2605), (0x2607, 0x2612)),
    *((0x2614, 0x2685), (0x2690, 0x2705), (0x2708, 0x2712), (0x2714, 0x2714), (0x2716, 0x2716)),
    *((0x271D, 0x271D), (0x2721, 0x2721), (0x2728, 0x2728), (0x2733, 0x2734), (0x2744, 0x2744)),
    *((0x2747, 0x2747), (0x274C, 0x274C), (0x274E, 0x274E), (0x2753, 0x2755), (0x2757, 0x2757)),
    *((0x2763, 0x2767), (0x2795, 0x2797), (0x27A1, 0x27A1), (0x27B0, 0x27B0), (0x27BF, 0x27BF)),
    *((0x2934, 0x2935), (0x2B05, 0x2B07), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55)),
    *((0x3030, 0x3030), (0x303D, 0x303D), (0x3297, 0x3297), (0x3299, 0x3299), (0x1F000, 0x1F0FF)),
    *((0x1F10D, 0x1F10F), (0x1F12F, 0x1F12F), (0x1F16C, 0x1F171), (0x1F17E, 0x1F17F), (0x1F18E, 0x1F18E)),
    *((0x1F191, 0x1F19A), (0x1F1AD, 0x1F1E5), (0x1F201, 0x1F20F), (0x1F21A, 0x1F21A), (0x1F22F, 0x1F22F)),
    *((0x1F232, 0x1F23A), (0x1F23C, 0x1F23F), (0x1F249, 0x1F3FA), (0x1F400, 0x1F53D), (0x1F546, 0x1F64F)),
    *((0x1F680, 0x1F6FF), (0x1F774, 0x1F77F), (0x1F7D5, 0x1F7FF), (0x1F80C, 0x1F80F), (0x1F848, 0x1F84F)),
    *((0x1F85A, 0x1F85F), (0x1F888, 0x1F88F), (0x1F8AE, 0x1F8FF), (0x1F90C, 0x1F93A), (0x1F93C, 0x1F945)),
    *((0x1F947, 0x1FAFF), (0x1FC00, 0x1FFFD)),
)
_KINDS = {character: kind for kind, characters in _MID.items() for character in characters}
_VOICED = "\uff9e\uff9f"
"""Half-width marks of katakana: letters by category, but they extend the letter before them."""
_RUNS = (_LETTER, _NUMBER, _JOIN)
_ZWJ = "\u200d"


def words(text: str) -> list[str]:
    """Words in their order.

    >>> words('usb-c to 4k@60hz, 3.5mm d.o.n. 18"x18"')
    ['usb', 'c', 'to', '4k', '60hz', '3.5mm', 'd.o.n', '18', 'x18']
    """
    found = _ASCII.findall(text) if text.isascii() else _unicode_words(text)
    return [piece for word in found if _counts(word) for piece in _pieces(word)]


def _counts(word: str) -> bool:
    return any(one.isalnum() or _kind(one) not in (_JOIN, _EXTEND) for one in word)


def _pieces(word: str) -> list[str]:
    if len(word) <= LONGEST:
        return [word]
    return [word[begin : begin + LONGEST] for begin in range(0, len(word), LONGEST)]


def _unicode_words(text: str) -> list[str]:
    units = _units(text)
    begins = [begin for begin, _ in units] + [len(text)]
    kinds = [kind for _, kind in units]
    found: list[str] = []
    place = 0
    while place < len(kinds):
        end = _end(kinds, place)
        if end > place:
            found.append(text[begins[place] : begins[end]])
        place = max(end, place + 1)
    return found


def _units(text: str) -> list[tuple[int, str]]:
    """Start and kind of each character that does not extend the one before."""
    units: list[tuple[int, str]] = []
    for place, character in enumerate(text):
        kind = _kind(character)
        before = units[-1][1] if units else _OTHER
        joined = kind == before == _PICTURE and text[place - 1] == _ZWJ
        if not (joined or (kind == _EXTEND and before != _OTHER)):
            units.append((place, kind))
    return units


def _end(kinds: list[str], begin: int) -> int:
    """End of the word that begins here; `begin` if there is none."""
    kind = kinds[begin]
    if kind in (_ALONE, _PICTURE):
        return begin + 1
    if kind == _FLAG:
        return begin + 1 + (begin + 1 < len(kinds) and kinds[begin + 1] == _FLAG)
    if kind not in (*_RUNS, _KATAKANA):
        return begin
    place = begin + 1
    while place < len(kinds):
        before, now = kinds[place - 1], kinds[place]
        after = kinds[place + 1] if place + 1 < len(kinds) else _OTHER
        if _joined(before, now):
            place += 1
        elif (before == after == _LETTER and now in (_MID_LETTER, _MID_BOTH)) or (
            before == after == _NUMBER and now in (_MID_NUMBER, _MID_BOTH)
        ):
            place += 2
        else:
            break
    return place


def _joined(before: str, now: str) -> bool:
    if _KATAKANA in (before, now):
        return {before, now} <= {_KATAKANA, _JOIN}
    return before in _RUNS and now in _RUNS


@lru_cache(maxsize=1 << 14)
def _kind(character: str) -> str:
    if character in _KINDS:
        return _KINDS[character]
    code, category = ord(character), unicodedata.category(character)
    if 0x1F3FB <= code <= 0x1F3FF:
        return _EXTEND
    if 0x1F1E6 <= code <= 0x1F1FF:
        return _FLAG
    if category in ("Mn", "Mc", "Me") or (category == "Cf" and code != 0x200B) or character in _VOICED:
        return _EXTEND
    if category == "Pc":
        return _JOIN
    if category == "Nd":
        return _NUMBER
    if category[0] == "L" or category == "Nl":
        return _script(character)
    return _PICTURE if any(first <= code <= last for first, last in _PICTURES) else _OTHER


def _script(character: str) -> str:
    """Script of a letter: ideographs and hiragana are single-character words."""
    name = unicodedata.name(character, "")
    if name.startswith(("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA")):
        return _ALONE
    return _KATAKANA if "KATAKANA" in name else _LETTER
