"""Tokenizer with Pattern's rules: punctuation is split from words, and text is split into sentences.

It is the tokenizer of TextBlob 0.20.1. Two oddities are kept: quotation marks are tokens of
their own, so that `men's` is three, and what looks like an emoticon is one, so that `size: s` ends in `:s`.
"""

import re
from collections.abc import Iterator, Sequence

_PUNCTUATION = ",;:!?()[]{}`'\"@#$^&*+-|=~_"
_MARKS = (*_PUNCTUATION, ".")
_CONTRACTIONS = ("'d", "'m", "'s", "'ll", "'re", "'ve", "n't")
_QUOTES = re.compile("([“”‘’'\"])")
_PARAGRAPH = "END-OF-SENTENCE"
_ENDS = frozenset(("...", ".", "!", "?", _PARAGRAPH))
_AFTER_ENDS = _ENDS | {"”", "’", ")"}
"""Marks that belong to the sentence that has just ended."""
_ABBREVIATED = """
a. adj. adv. al. a.m. c. cf. comp. conf. def. ed. e.g. esp. etc. ex. f. fig. gen. id. i.e. int. l. m. Med.
Mil. Mr. n. n.q. orig. pl. pred. pres. p.m. ref. v. vs. w/
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_ABBREVIATION = re.compile(r"([A-Za-z]\.)+$|[A-Z][bcdfghjklmnpqrstvwxz|]+.$")
_EMOTICONS = r"""
<3 ♥ >:D :-D :D =-D =D X-D x-D XD xD 8-D >:P :-P :P :-p :p :-b :b :c) :o) :^) >:) :-) :) =) =] :] :} :> :3
8) 8-) >;] ;-) ;) ;-] ;] ;D ;^) *-) *) >:o :-O :O :o :-o o_O o.O °O° °o° >:/ :-/ :/ :\ >:\ :-. :-s :s :S
:-S >.> >:[ :-( :( =( :-[ :[ :{ :-< :c :-c =/ :'( :'''( ;'(
"""
_SPACED = "|".join(" ?".join(map(re.escape, one)) for one in _EMOTICONS.split())
_EMOTICON = re.compile(f"({_SPACED})($|\\s)")
_SARCASM = re.compile(r"\( ?! ?\)")


def sentences(text: str) -> list[list[str]]:
    """The tokens of each sentence.

    >>> sentences("ACME Men's Shorts, 5.5oz. Size: S")
    [['ACME', 'Men', "'", 's', 'Shorts', ',', '5.5oz', '.'], ['Size', ':S']]
    """
    for contraction in _CONTRACTIONS:
        text = text.replace(contraction, f" {contraction}")
    text = _QUOTES.sub(r" \1 ", text).replace("\r\n", "\n")
    words = re.sub(r"\n{2,}", f" {_PARAGRAPH} ", text).split()
    tokens = [token for word in words for token in _peeled(word)]
    return [_joined(sentence) for sentence in _divided(tokens)]


def _peeled(word: str) -> Iterator[str]:
    """A word without the punctuation around it, with the punctuation before and after it."""
    bare = word.lstrip(_PUNCTUATION)
    yield from word[: len(word) - len(bare)]
    tail: list[str] = []
    while bare.endswith(_MARKS):
        word, bare = bare, bare.rstrip(_PUNCTUATION)
        tail.extend(reversed(word[len(bare) :]))
        if bare.endswith("..."):
            tail.append("...")
            bare = bare.rstrip(".")
        elif bare.endswith("."):
            if bare in _ABBREVIATIONS or _ABBREVIATION.match(bare):
                break
            tail.append(".")
            bare = bare[:-1]
    if bare:
        yield bare
    yield from reversed(tail)


def _divided(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Sentences with their end marks; a token after such marks belongs to the next one."""
    begin = place = 0
    while place < len(tokens):
        if tokens[place] in _ENDS:
            while place < len(tokens) and tokens[place] in _AFTER_ENDS:
                place += 1
            yield [token for token in tokens[begin:place] if token != _PARAGRAPH]
            begin = place
        place += 1
    yield list(tokens[begin:])


def _joined(sentence: Sequence[str]) -> list[str]:
    """Sentence with each emoticon as one token."""
    text = _SARCASM.sub("(!)", " ".join(sentence))
    text = _EMOTICON.sub(lambda match: match[1].replace(" ", "") + match[2], text)
    return text.split(" ") if text else []
