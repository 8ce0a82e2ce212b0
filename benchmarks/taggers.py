"""Agreement of taggers on the `r_type` of purchases: ours, and a model of spaCy's where one is named.

    agentevol data import webshop DIR
    python -m benchmarks taggers [MODEL ...]

A purchase is of a product on the first page of hits for an instruction, one for each wanted product.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations

from agentgym_envs.home import data_home
from agentgym_envs.webshop.official.library import opened
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal, earned
from agentgym_envs.webshop.shop import HITS
from agentgym_envs.webshop.taggers import TAGGERS, nouns_by

Nouns = Callable[[str], Sequence[str]]


def spacy_nouns(model: str) -> Nouns:
    """As the original finds them."""
    import spacy  # pyright: ignore[reportMissingImports]

    tagged = spacy.load(model, disable=["parser", "ner", "lemmatizer"])
    return cache(
        lambda title: [word.text.lower() for word in tagged(title) if word.pos_ in ("NOUN", "PROPN")]
    )


def purchases() -> Iterator[tuple[Goal, Product]]:
    """Of the small set."""
    catalogue = opened(data_home(), "1k")
    goals = {wish.goal.asin: wish.goal for wish in reversed(catalogue.wishes("synthetic"))}
    for goal in goals.values():
        for asin in catalogue.search(goal.instruction.partition(", and price lower")[0])[:HITS]:
            yield goal, catalogue.products[asin]


def main(given: Sequence[str]) -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks taggers", description="Agreement of taggers.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a model of spaCy's")
    models: list[str] = parser.parse_args(given).models
    finders: dict[str, Nouns] = {name: partial(nouns_by, name) for name in TAGGERS}
    finders |= {model: spacy_nouns(model) for model in models}
    types: list[Mapping[str, float]] = [
        {name: earned(goal, bought, (), 0.0, nouns).r_type for name, nouns in finders.items()}
        for goal, bought in purchases()
    ]
    print(f"{len(types):,} purchases; r_type is the same by")
    for pair in combinations(finders, 2):
        print(f"  {' and '.join(pair)}: {share(types, pair):.1%}")
    agreed = [each for each in types if len({each[name] for name in TAGGERS}) == 1]
    other = [each for each in types if each not in agreed]
    for model in models:
        same = share(agreed, (TAGGERS[0], model)), share(other, (TAGGERS[0], model))
        print(f"  {TAGGERS[0]} and {model}: {same[0]:.1%} where ours agree, {same[1]:.1%} where not")


def share(types: Sequence[Mapping[str, float]], names: Sequence[str]) -> float:
    """Of purchases that have one type by all of these."""
    return sum(len({each[name] for name in names}) == 1 for each in types) / len(types)
