"""The generated catalogue: the same bytes everywhere, the benchmark's statistics, and goals that can be
solved but not without reading.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import combinations, islice, pairwise
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop import generator
from agentgym_envs.webshop.generator import checks, instructions, measures, names
from agentgym_envs.webshop.generator.asins import asin
from agentgym_envs.webshop.generator.options import shown
from agentgym_envs.webshop.generator.rules import RULES, rule
from agentgym_envs.webshop.generator.units import units
from agentgym_envs.webshop.generator.vocabulary import CATEGORIES, Fact
from agentgym_envs.webshop.nouns import nouns
from agentgym_envs.webshop.official.goals import human
from agentgym_envs.webshop.products import Product, cleaned
from agentgym_envs.webshop.rewards import ENOUGH, Goal, earned, ratio
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State
from agentgym_envs.webshop.wishes import Wish

SIZE = 1200


class Catalogue:
    """The generated catalogue, made when a test asks for it, since that takes seconds."""

    @cached_property
    def raw(self) -> generator.Generated:
        """The generator's own result."""
        return generator.generate(SIZE)

    @cached_property
    def products(self) -> dict[str, Product]:
        return {product.asin: product for product in cleaned(self.raw.rows, self.raw.annotations)}

    @cached_property
    def shop(self) -> Shop:
        return Shop(MemoryCatalogue(self.products.values()))

    @property
    def wishes(self) -> Sequence[Wish]:
        return self.raw.wishes

    @cached_property
    def members(self) -> dict[str, list[Product]]:
        """Products of each family, the centre first."""
        return {
            unit.family.name: [self.products[row["asin"]] for row, _ in unit.rows]
            for unit in units(SIZE, 0)
            if unit.family
        }

    @cached_property
    def places(self) -> dict[str, int]:
        return {row["asin"]: place for place, row in enumerate(self.raw.rows)}

    @cached_property
    def checked(self) -> Wish:
        """A wish for the centre of its family that asks for much."""
        centres = {members[0].asin for members in self.members.values()}
        return next(one for one in self.wishes if one.difficulty == "large" and one.goal.asin in centres)


MADE = Catalogue()
_WRITE = """
import hashlib, sys
from pathlib import Path
from random import Random
from agentgym_envs.webshop import generator
made, folder = generator.generate(300), Path(sys.argv[1])
generator.write(made, folder)
files = b"".join((folder / name).read_bytes() for name in sorted(generator.FILES))
print(hashlib.sha256(files + repr((made.prices, made.wishes, made.dropped)).encode()).hexdigest())
"""


def shares(counts: Counter[str]) -> dict[str, float]:
    return {name: count / counts.total() for name, count in counts.items()}


def test_the_same_bytes_in_every_process(tmp_path: Path):
    def made(seed: str) -> str:
        command = [sys.executable, "-c", _WRITE, str(tmp_path / seed)]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    assert made("1") == made("2")


def test_what_is_made_changes_with_the_version_alone():
    """A new figure here means a new `generator.VERSION`: catalogues on disk are kept by it."""
    text = json.dumps(
        [MADE.raw.rows, MADE.raw.annotations, MADE.raw.prices, [asdict(one) for one in MADE.wishes]]
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert (generator.VERSION, digest) == ("synth-1", "e82ae05d16bbf66e")


def test_rows_one_by_one_are_those_of_the_whole():
    assert list(generator.rows(SIZE)) == [(row, MADE.raw.annotations[row["asin"]]) for row in MADE.raw.rows]


def test_a_larger_catalogue_begins_with_the_smaller_one():
    larger = [row for row, _ in islice(generator.rows(100_000), SIZE)]
    assert (
        larger[: SIZE - 30] == MADE.raw.rows[: SIZE - 30]
    )  # a family without room gives way to single products


@pytest.mark.parametrize("seed", range(3))
def test_a_small_catalogue_has_goals_of_every_difficulty_in_every_split(seed: int):
    found = {(one.split, one.difficulty) for one in generator.generate(60, seed).wishes}
    assert found == {(split, difficulty) for split in names.SPLITS for difficulty in names.DIFFICULTIES}


def test_another_seed_makes_another_catalogue():
    others = {row["asin"] for row, _ in generator.rows(200, 1)}
    assert others.isdisjoint(row["asin"] for row in MADE.raw.rows)


def test_ids_are_a_permutation_without_order():
    made = [asin(0, number) for number in range(3000)]
    assert len(set(made)) == len(made)
    assert all(len(one) == 10 and one.startswith("B0") and one[2:].isalnum() for one in made)
    assert 0.45 < mean(one < other for one, other in pairwise(made)) < 0.55


def test_the_files_can_be_loaded_as_the_benchmark_does(tmp_path: Path):
    generator.write(MADE.raw, tmp_path)
    rows, annotations, people = (
        json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in generator.FILES
    )
    assert cleaned(rows, annotations) == list(MADE.products.values())
    goals = human(cleaned(rows, annotations), people, MADE.raw.prices, Random(0))
    kept = {
        (wish.goal.asin, instructions.plain(wish.goal.instruction), wish.goal.options) for wish in MADE.wishes
    }
    assert {(goal.asin, instructions.plain(goal.instruction), goal.options) for goal in goals} == kept


def test_statistics_are_those_of_the_benchmarks_small_set():
    products, rows = list(MADE.products.values()), {row["asin"]: row for row in MADE.raw.rows}
    categories = shares(Counter(product.category for product in products))
    expected = {"beauty": 0.24, "electronics": 0.23, "garden": 0.22, "fashion": 0.20, "grocery": 0.12}
    assert categories == pytest.approx(expected, abs=0.02)
    assert len({product.query for product in products}) >= 60
    assert {len(product.product_category.split(" › ")) for product in products} == {3, 4, 5, 6}
    titles = [len(product.title.split()) for product in products]
    assert 7 <= min(titles) <= 9
    assert max(titles) <= 31
    assert 17 <= median(titles) <= 21
    assert median(len(p.title.split()) for p in products if p.category == "fashion") == pytest.approx(
        13, abs=2
    )
    assert mean(not product.description for product in products) == pytest.approx(0.30, abs=0.05)
    assert 230 <= median(len(p.description) for p in products if p.description) <= 330
    assert mean(len(product.bullets) for product in products) == pytest.approx(4.6, abs=0.3)
    assert mean(len(product.attributes) for product in products) == pytest.approx(2.8, abs=0.3)
    assert mean(isinstance(row["small_description"], str) for row in MADE.raw.rows) == pytest.approx(
        0.016, abs=0.01
    )
    assert mean(not row["pricing"] for row in MADE.raw.rows) == pytest.approx(0.07, abs=0.03)
    null = [None in (row["customization_options"] or {"": ()}).values() for row in MADE.raw.rows]
    assert mean(null) == pytest.approx(0.10, abs=0.03)
    sizes = [len(values) for product in products for values in product.options.values()]
    assert 2 <= min(sizes) <= max(sizes) <= 16
    assert 3 <= median(sizes) <= 5
    optional = {"fashion": 0.79, "garden": 0.49, "beauty": 0.34, "grocery": 0.25, "electronics": 0.22}
    for category, share in optional.items():
        own = [product for product in products if product.category == category]
        assert mean(bool(product.options) for product in own) == pytest.approx(share, abs=0.07)
        ranged = mean(len(product.prices) == 2 for product in own)
        assert 0.33 < ranged < 0.55 if category == "fashion" else ranged < 0.04
        prices = [product.prices[0] for product in own if rows[product.asin]["pricing"]]
        middle = {"beauty": 17, "electronics": 30, "garden": 100, "fashion": 21, "grocery": 31}[category]
        assert 0.65 * middle < median(prices) < 1.5 * middle


def test_instructions_are_as_long_as_peoples():
    lengths = {
        difficulty: median(
            len(instructions.plain(wish.goal.instruction).split())
            for wish in MADE.wishes
            if wish.difficulty == difficulty
        )
        for difficulty in names.DIFFICULTIES
    }
    assert lengths["small"] <= 14 < lengths["medium"] < lengths["large"] <= 30
    assert all(wish.goal.instruction == wish.goal.instruction.lower() for wish in MADE.wishes)


def test_the_vocabulary_is_small():
    texts = [wish.goal.instruction for wish in MADE.wishes]
    for product in MADE.products.values():
        texts += [product.index_text, *product.bullets, *product.attributes, product.price_tag, product.query]
    words = {word for text in texts for word in text.lower().replace("|", " ").split()}
    bare = {word.strip(".,;:$()\"'-") for word in words}
    assert len(bare) < 3000


def test_splits_share_no_family_and_no_product():
    assert {(one.split, one.difficulty) for one in MADE.wishes} == {
        (split, difficulty) for split in names.SPLITS for difficulty in names.DIFFICULTIES
    }
    for one, other in combinations(names.SPLITS, 2):
        left, right = ([wish for wish in MADE.wishes if wish.split == split] for split in (one, other))
        assert {wish.family for wish in left}.isdisjoint(wish.family for wish in right)
        products = {product.asin for wish in left for product in MADE.members[wish.family]}
        assert products.isdisjoint(product.asin for wish in right for product in MADE.members[wish.family])
    assert len({wish.id for wish in MADE.wishes}) == len(MADE.wishes) == 1250


def test_held_out_words_occur_in_the_test_split_alone():
    phrases = [phrase for fact in _facts() for phrase in fact.held_out]
    openers = tuple(f"{opener} " for opener in instructions.HELD_OUT_OPENERS)
    seen = {
        split: [one.goal.instruction for one in MADE.wishes if (one.split == "test") == split]
        for split in (True, False)
    }
    assert not any(text.startswith(openers) for text in seen[False])
    assert not any(phrase in text for text in seen[False] for phrase in phrases)
    assert any(text.startswith(openers) for text in seen[True])
    assert any(phrase in text for text in seen[True] for phrase in phrases)


def test_difficulties_ask_for_more_and_more():
    for one in MADE.wishes:
        least, most = {"small": (1, 1), "medium": (1, 2), "large": (2, 3)}[one.difficulty]
        low, high = {"small": (0, 1), "medium": (1, 2), "large": (2, 3)}[one.difficulty]
        assert least <= len(one.goal.attributes) <= most
        assert low <= len(one.goal.options) <= high


def test_every_family_is_asked_for_what_each_sibling_misses_in_one_thing():
    centres = {family: members[0].asin for family, members in MADE.members.items()}
    missed = Counter(one.family for one in MADE.wishes if one.goal.asin == centres[one.family])
    assert len(missed) >= 0.95 * len(MADE.members)
    for one in (one for one in MADE.wishes[::25] if one.goal.asin == centres[one.family]):
        for sibling in MADE.members[one.family][1:]:
            values = [value for group in sibling.options.values() for value in group]
            found = earned(one.goal, sibling, values, MADE.raw.prices[sibling.asin], nouns, "fixed")
            requirements = len(one.goal.attributes) + len(one.goal.options) + 1
            assert found.attributes + found.options + found.price == requirements - 1
            assert found.r_type == 1.0


def test_families_are_near_duplicates():
    for members in MADE.members.values():
        assert 8 <= len(members) <= 30
        assert len({(one.query, one.product_category) for one in members}) == 1
        first = set(members[0].title.split())
        assert all(len(first & set(one.title.split())) >= 0.4 * len(first) for one in members)


def clicked(state: State, *clicks: str) -> State:
    for click in clicks:
        moved = MADE.shop.step(state, f"click[{click}]")
        assert moved is not None, click
        state = moved
    return state


def bought(goal: Goal, texts: list[str]) -> State:
    """A purchase by the actions that everybody has, along the first search that shows the item."""
    pages = (State("results", tuple(text.split(" ")), number) for text in texts for number in range(1, 6))
    seen = next(page for page in pages if goal.asin.lower() in MADE.shop.clickables(page))
    begin = MADE.shop.step(State(), f"search[{' '.join(seen.keywords)}]")
    assert begin is not None
    found = clicked(begin, *["next >"] * (seen.number - 1))
    return clicked(found, goal.asin.lower(), *goal.options, "buy now")


@pytest.mark.parametrize("place", range(0, 1250, 25))
def test_a_goal_can_be_reached_with_words_of_its_instruction_and_by_its_target_alone(place: int):
    one = MADE.wishes[place]
    goal, text = one.goal, instructions.plain(one.goal.instruction)
    chosen = list(bought(goal, [text, *text.split(", ")]).options.values())
    named = {next(g for g, v in MADE.products[goal.asin].options.items() if o in v): o for o in goal.options}
    for asked in (goal, replace(goal, options=named)):
        for matching in checks.MATCHINGS:
            assert (
                earned(
                    asked, MADE.products[goal.asin], chosen, MADE.raw.prices[goal.asin], nouns, matching
                ).total
                == 1.0
            )
            for other in MADE.members[one.family]:
                values = [value for group in other.options.values() for value in group]
                price = MADE.raw.prices[other.asin]
                assert (
                    other.asin == goal.asin
                    or earned(asked, other, values, price, nouns, matching).total <= 0.9
                )


@pytest.mark.parametrize(
    "measure",
    [
        lambda one: one.asin,
        lambda one: MADE.places[one.asin],
        lambda one: len(one.title),
        lambda one: one.title,
        lambda one: len(one.description),
        lambda one: len(" ".join(one.bullets)),
        lambda one: len(one.bullets),
        lambda one: sum(map(len, one.options.values())),
        lambda one: min(one.prices),
        lambda one: min(one.prices) % 1,
    ],
)
def test_nothing_but_its_facts_tells_a_target_from_those_who_look_right(measure: Callable[[Product], Any]):
    """0 if a target comes first of all that the goal's bound and options leave, 1 if it comes last."""
    places: list[float] = []
    for one in MADE.wishes:
        able = [
            member
            for member in MADE.members[one.family]
            if max(member.prices) <= one.goal.price_upper
            and all(any(value in group for group in member.options.values()) for value in one.goal.options)
        ]
        own = measure(MADE.products[one.goal.asin])
        others = [measure(member) for member in able if member.asin != one.goal.asin]
        places += [mean((other < own) + (other == own) / 2 for other in others)]
    assert mean(places) == pytest.approx(0.5, abs=0.07)


def test_price_tags_decide():
    for one in MADE.wishes:
        for member in MADE.members[one.family]:
            low, high = min(member.prices), max(member.prices)
            assert low <= MADE.raw.prices[member.asin] <= high
            assert high <= one.goal.price_upper or low > one.goal.price_upper
        assert max(MADE.products[one.goal.asin].prices) <= one.goal.price_upper


def test_most_goals_need_the_page_of_features():
    def needed(one: Wish) -> bool:
        target = MADE.products[one.goal.asin]
        seen = f"{target.index_text} {target.title}".lower()
        return any(attribute not in seen for attribute in one.goal.attributes)

    assert mean(needed(one) for one in MADE.wishes) >= 0.6


def test_rules_that_do_not_read_fail():
    index = Index.of({name: product.index_text for name, product in MADE.products.items()})
    for difficulty in names.DIFFICULTIES:
        asked = [one for one in MADE.wishes if one.difficulty == difficulty]
        found = measures.success(asked, index, MADE.products, MADE.raw.prices)
        assert found.keys() == RULES.keys()
        assert found["rule"] < 0.25
        assert found["page1_titles"] < 0.45


def corrupted(one: Wish, **changes: object) -> tuple[list[Product], dict[str, float]]:
    """The family with its last member made like the target, but for some changes."""
    members = [member for member in MADE.members[one.family] if member.asin != one.goal.asin]
    target = MADE.products[one.goal.asin]
    twin = replace(target, asin=members[-1].asin, **changes)  # type: ignore[arg-type]
    return [target, *members[:-1], twin], MADE.raw.prices | {twin.asin: MADE.raw.prices[target.asin]}


def test_a_second_member_that_earns_everything_is_noticed():
    assert checks.problem(MADE.checked, *corrupted(MADE.checked), None, False) == "not alone"


def test_a_second_member_is_noticed_by_its_text_too():
    told = tuple(f"not {attribute}" for attribute in MADE.checked.goal.attributes)
    family = corrupted(MADE.checked, attributes=(), bullets=told)
    assert checks.problem(MADE.checked, *family, None, False) == "not alone"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"query": "boats", "product_category": "Boats", "title": "boat"}, "type"),
        ({"attributes": (), "bullets": (), "options": {}}, "more than one missed"),
    ],
)
def test_members_that_are_no_near_duplicates_are_noticed(changes: dict[str, object], reason: str):
    assert checks.problem(MADE.checked, *corrupted(MADE.checked, **changes), None, True) == reason


def test_values_that_cannot_be_clicked_and_goals_that_cannot_be_paid_are_noticed():
    family = MADE.members[MADE.checked.family]

    def problem(**changes: object) -> str:
        goal = replace(MADE.checked.goal, **changes)  # type: ignore[arg-type]
        return checks.problem(replace(MADE.checked, goal=goal), family, MADE.raw.prices, None, False)

    assert problem() == ""
    assert problem(options=("ultramarine",)) == "option not clickable"
    assert problem(price_upper=1.0) == "oracle"
    assert problem(attributes=("seaworthy hull",)) == "oracle"


def test_a_catalogue_that_is_too_easy_is_refused():
    index = Index.of({name: product.index_text for name, product in MADE.products.items()})
    everything = tuple(fact.attribute for fact in _facts())
    same = {name: replace(product, attributes=everything) for name, product in MADE.products.items()}
    with pytest.raises(ValueError, match="rule solves"):
        measures.demand(MADE.wishes, index, same, MADE.raw.prices)
    told = {name: replace(one, description=" ".join(one.attributes)) for name, one in MADE.products.items()}
    with pytest.raises(ValueError, match="page of features"):
        measures.demand(MADE.wishes, index, told, MADE.raw.prices)


def _facts() -> list[Fact]:
    return [fact for category in CATEGORIES for axis in category.facts.values() for fact in axis]


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda one: one.name)
def test_facts_of_a_type_do_not_pass_for_one_another(category):
    for kind in category.kinds:
        facts = [fact for axis in kind.axes for fact in category.facts[axis]]
        general = " ".join([*category.sentences, *category.bullets, *category.extras, *category.adjectives])
        for one, other in combinations(facts, 2):
            assert ratio(one.attribute, other.attribute) <= ENOUGH
            assert set(one.paraphrases + one.held_out).isdisjoint(other.paraphrases + other.held_out)
        for one in facts:
            assert one.attribute not in general
            assert all(one.attribute in text for text in one.features)
            assert not any(
                one.attribute in text for other in facts if other != one for text in other.features
            )
            assert set(one.paraphrases).isdisjoint(one.held_out)
            assert not any(one.attribute in text for text in one.paraphrases + one.held_out)
        assert all(len(category.facts[axis]) == 4 for axis in kind.axes)


def test_sellers_values_are_shown_as_the_shop_cleans_them():
    row = {"asin": "B0", "name": "", "full_description": "", "small_description": [], "pricing": ""}
    row |= {"customization_options": {"A": [{"value": "Navy/Gold"}]}, "query": "", "category": ""}
    assert cleaned([row | {"product_category": ""}])[0].options == {"a": (shown("Navy/Gold"),)}


def test_the_rule_takes_the_longest_value_that_is_named():
    options = {"color": ("blue", "light blue", "red"), "size": ("9",)}
    hit = replace(MADE.products[MADE.checked.goal.asin], options=options)
    goal = replace(MADE.checked.goal, instruction="a light blue cap, and price lower than 90.00 dollars")
    assert rule(goal, [hit]) == (hit, ["light blue"])
