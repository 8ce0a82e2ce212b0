"""Instructions in natural wording: openers, paraphrased facts, and options without their groups' names.

Held-out openers and paraphrases occur in goals of the test split only.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentgym_envs.webshop.generator.draw import Draw
from agentgym_envs.webshop.generator.families import Family
from agentgym_envs.webshop.generator.vocabulary import Fact, listed

OPENERS = listed(
    """i am looking for; i need; i would like; i want to buy; please find me; can you find; show me;
    i'm searching for; i want; get me; i am interested in; find me""",
    ";",
)
HELD_OUT_OPENERS = listed(
    """do you sell; my sister asked me for; help me choose; i would love to own; where can i get;
    today i am shopping for""",
    ";",
)
_PHRASES = {
    "color": "in {}; {} color",
    "wear": "size {}; in size {}",
    "shoe": "size {}; in size {}",
    "fit": "with a {} fit; in {} fit",
    "volume": "in the {} size; {}",
    "weight": "in the {} size; {}",
    "scent": "with {} scent; that comes in {} scent",
    "flavor": "{} flavor; with {} flavor",
    "kit": "the {} version; as {}",
    "bundle": "the {} version; as {}",
    "length": "{} in length; with a length of {}",
    "model": "the {} version; for {}",
    "storage": "with {}; with {} of space",
    "dims": "in size {}; size {}",
    "pieces": "{}; i want {}",
    "shape": "in {} shape; with {} shape",
    "bed": "in {} size; size {}",
}
_TYPOS = {"looking": "lookng", "would": "woud", "please": "plese", "with": "wiht", "that": "taht"}
_TYPO = 0.04
_WITHOUT_USE = {"small": 0.4, "medium": 0.6, "large": 0.8}
_WITHOUT_ADJECTIVE = {"small": 0.0, "medium": 0.4, "large": 0.4}
"""Probability without an adjective if the use is stated: one of both leads a search to the family."""
_LABELED = 0.3
"""Share of the facts of medium goals that are stated in the catalogue's words."""
_VOWELS = (*"aeiou", "hdmi", "hour")
_NAMED = ("{attribute} {noun}", "{noun} labeled {attribute}", "{noun} with label {attribute}")
"""Templates close to the catalogue's words."""


class Asked(NamedTuple):
    """Requirements of a goal."""

    difficulty: str
    facts: tuple[Fact, ...]
    options: Mapping[str, str]
    """Kind of a group -> value."""


class Written(NamedTuple):
    """Text and the name of its template."""

    text: str
    template: str


def written(family: Family, asked: Asked, split: str, draw: Draw) -> Written:
    """An instruction without its price clause."""
    held_out = split == "test"
    openers = HELD_OUT_OPENERS if held_out and (asked.difficulty == "large" or draw.chance(0.5)) else OPENERS
    opener = draw.pick(openers)
    noun, facts, words = _wording(family, asked, held_out, draw)
    use = "" if draw.chance(_WITHOUT_USE[asked.difficulty]) else f" for {family.use}"
    adjective = "" if use and draw.chance(_WITHOUT_ADJECTIVE[asked.difficulty]) else f"{family.adjective} "
    noun = _with_article(family.kind.article, adjective + noun)
    phrases = [(_PHRASES[kind], value) for kind, value in draw.shuffled(list(asked.options.items()))]
    options = [draw.pick(listed(phrase, ";")).format(value) for phrase, value in phrases]
    turned = bool(facts and options) and draw.chance(0.4)
    clauses = " and ".join(", ".join(facts).rsplit(", ", 1))
    parts = [*options, clauses] if turned else [clauses, *options]
    text = _joined(f"{opener} {noun}{use}", parts, turned)
    typo = draw.chance(_TYPO)
    names = (opener, *words, *options, f"{turned:d}{bool(use):d}{bool(adjective):d}{typo:d}")
    return Written(_misspelt(text) if typo else text, "|".join(names))


def clause(bound: int) -> str:
    """The price clause of a bound."""
    return f", and price lower than {bound:.2f} dollars"


def plain(instruction: str) -> str:
    """The instruction without the price clause.

    >>> plain("a rug, and price lower than 20.00 dollars")
    'a rug'
    """
    return instruction.rpartition(", and price lower than ")[0] or instruction


def _wording(
    family: Family, asked: Asked, held_out: bool, draw: Draw
) -> tuple[str, list[str], Sequence[str]]:
    """The noun, clauses for facts, and the names of both templates."""
    if asked.difficulty == "small":
        form = draw.pick(_NAMED)
        return form.format(attribute=asked.facts[0].attribute, noun=family.kind.label), [], [form]
    clauses = [_clause(fact, asked.difficulty, held_out, draw) for fact in draw.shuffled(asked.facts)]
    return family.kind.label, clauses, clauses


def _with_article(article: str, noun: str) -> str:
    if article in {"a", "an"}:
        article = "an" if noun.startswith(_VOWELS) and not noun.startswith(("us", "uni")) else "a"
    return f"{article} {noun}".strip()


def _clause(fact: Fact, difficulty: str, held_out: bool, draw: Draw) -> str:
    if difficulty == "large":
        return draw.pick(fact.held_out if held_out else fact.paraphrases)
    return f"labeled {fact.attribute}" if draw.chance(_LABELED) else draw.pick(fact.paraphrases)


def _joined(head: str, parts: Sequence[str], apart: bool) -> str:
    """Parts joined with commas, except those that belong to the noun."""
    said = [part for part in parts if part]
    return ", ".join([head, *said] if apart or not parts[0] else [f"{head} {said[0]}", *said[1:]])


def _misspelt(text: str) -> str:
    """The text with the first commonly misspelt word misspelt."""
    words = text.split(" ")
    place = next((i for i, word in enumerate(words) if word in _TYPOS), None)
    if place is not None:
        words[place] = _TYPOS[words[place]]
    return " ".join(words)
