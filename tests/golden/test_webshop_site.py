"""Episodes that others recorded at the web site, on its catalogue of 1.18 million products.

Of their products none that was bought is among the 1,000 of the small set, so that neither their searches nor
their rewards can be had again. What can be is told here: the catalogue is what the recorded pages show of it,
a search finds what it found, and every page and every answer has to come out to the letter.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.webshop.catalogues.catalogue import Label
from agentgym_envs.webshop.dialects import site
from agentgym_envs.webshop.dialects.site import LATS, REACT, Wording
from agentgym_envs.webshop.products import Product, cleaned
from agentgym_envs.webshop.rules import COMPAT
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State

pytestmark = pytest.mark.golden

HIT = re.compile(r"\n\[(B[0-9A-Z]{9})\] (?:\n(.+) \n(\$.+?) (?=\n|$))?")
TOTAL = re.compile(r"Total results: ([0-9]+)")
GROUP = re.compile(r"\n([^\[\n]+) ((?:\[[^\n]*\])+)(?=\n)")
NODE = re.compile(
    r"NEW NODE: Node\(depth=(\d), value=[^,]*, visits=\d+, action=(.*?), observation=(.*?)\)\n(?=\d{4}-)",
    re.S,
)
FRAGMENT = "#, which ends the address that this client asked for: the site answered nothing"
WARNING = "a warning of Python that the notebook printed into the page"


def product(asin: str, title: str = "", price_tag: str = "", **changes: Any) -> Product:
    plain: dict[str, Any] = {"description": "", "bullets": (), "prices": (0.0,), "options": {}, "query": ""}
    plain |= {"category": "", "product_category": ""}
    return Product(asin=asin, title=title, price_tag=price_tag, **(plain | changes))


class Recorded:
    """What pages showed: products with options as far as they were opened, and hits of searches."""

    def __init__(self, episodes: Iterable[Sequence[Mapping[str, str]]]) -> None:
        self.products: dict[str, Product] = {}
        self.found: dict[str, list[str]] = {}
        for steps in episodes:
            opened = ""
            for step in steps:
                action, told = step["action"], step["observation"]
                opened = action[6:-1] if HIT.match(f"\n[{action[6:-1]}] ") else opened
                if action.startswith("search[") and "Total results" in told:
                    self.found[action[7:-1]] = self._hits(told)
                elif "\nRating: N.A." in told:
                    self._item(opened, told)

    def search(self, text: str) -> Sequence[str]:
        return self.found.get(text, [])

    def labelled(self, kind: Label, label: str) -> Sequence[str]:
        raise AssertionError(f"nobody asked for {kind} {label}")

    def _hits(self, told: str) -> list[str]:
        hits = HIT.findall(told)
        for asin, title, price_tag in hits:
            if title and asin not in self.products:
                self.products[asin] = product(asin, title, price_tag)
        total = TOTAL.search(told)
        assert total
        unseen = [f"unseen{place}" for place in range(int(total[1]) - len(hits))]
        names = [asin for asin, _, _ in hits] + unseen
        self.products |= {name: product(name) for name in names if name not in self.products}
        return names

    def _item(self, asin: str, told: str) -> None:
        before = self.products[asin]
        options = {group: tuple(re.findall(r"\[([^\[\]]*)\]", line)) for group, line in GROUP.findall(told)}
        self.products[asin] = product(asin, before.title, before.price_tag, options=options)


def told(
    shop: Shop, state: State, step: Mapping[str, str], start: str, wording: Wording
) -> tuple[State, str]:
    """What a step comes to here; a purchase earns what it earned there."""
    reply = site.answer(shop, state, step["action"], wording)
    if reply.told is not None:
        return reply.state, reply.told
    theirs = step["observation"].rpartition(": ")[2]
    reward = float(theirs) if reply.state.page == "done" and theirs else 0.0
    return reply.state, site.page(shop, reply.state, start.split("\n")[3].strip(), reward, wording)


def different(shop: Shop, steps: Sequence[Mapping[str, str]]) -> Iterator[tuple[State, str, str]]:
    """States in which something else was told there, with what is told here and there."""
    state = State()
    for step in steps:
        state, ours = told(shop, state, step, steps[0]["observation"], REACT)
        if ours != step["observation"]:
            yield state, ours, step["observation"]


def reason(state: State, ours: str, theirs: str) -> str:
    """Why something else was told there; ''  where nobody knows."""
    if not theirs and any("#" in text for text in (*state.keywords, *state.options.values())):
        return FRAGMENT
    return WARNING if theirs.startswith(ours) and "DeprecationWarning" in theirs else ""


def test_pages_and_answers_are_those_that_react_had(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episodes = json.loads((shared_data / "webshop" / "react_500_episodes.json").read_text())
    shop = Shop(Recorded(episode["steps"] for episode in episodes))
    reasons: Counter[str] = Counter()
    same = 0
    for episode in episodes:
        found = list(different(shop, episode["steps"]))
        same += not found
        for state, ours, theirs in found:
            reasons[reason(state, ours, theirs)] += 1
            assert reason(state, ours, theirs), (episode["id"], ours, theirs)
    steps = sum(len(episode["steps"]) for episode in episodes)
    with capsys.disabled():
        report = f"{same} of {len(episodes)} episodes equal, {steps - reasons.total()} of {steps} answers"
        sys.stdout.write(f"\nReAct: {report}\n")
        for text, count in reasons.items():
            sys.stdout.write(f"  {count} differ by {text}\n")
    assert (len(episodes), steps, reasons) == (500, 3937, Counter({FRAGMENT: 7, WARNING: 1}))


def test_no_recorded_purchase_is_of_a_product_of_the_small_set(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared_data / "webshop"
    sold = cleaned(json.loads((folder / "items_shuffle_1000.reconstructed.json").read_text()))
    asins = {product.asin for product in sold}
    steps = [
        step
        for episode in json.loads((folder / "react_500_episodes.json").read_text())
        for step in episode["steps"]
    ]
    opened = {
        step["action"][6:-1] for step in steps if re.fullmatch(r"click\[B[0-9A-Z]{9}\]", step["action"])
    }
    shown = {hit for step in steps for hit, _, _ in HIT.findall(step["observation"])}
    people = (folder / "human_trajs_9").glob("*.jsonl")
    bought = {json.loads(path.read_text().splitlines()[-1])["content"]["asin"] for path in people}
    assert (len(opened & asins), len(bought), len(bought & asins)) == (0, 9, 0)
    with capsys.disabled():
        found = f"{len(opened)} opened, none of the 1,000; {len(shown)} shown, {len(shown & asins)} of them"
        sys.stdout.write(f"\nReAct's products: {found}\n")


def test_pages_and_answers_are_those_that_lats_had(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = (shared_data / "webshop" / "LATS_example.log").read_text()
    nodes = [{"action": found[2], "observation": found[3], "depth": found[1]} for found in NODE.finditer(log)]
    starts = {f"\n{found[0]}" for found in re.finditer(r"Webshop \nInstruction:  \n.+", log, re.IGNORECASE)}
    assert starts
    shop = Shop(Recorded([nodes]), replace(COMPAT, show_attributes=True))
    for number, node in enumerate(nodes):
        way = first_of_each_depth(nodes[:number], int(node["depth"]))
        state = State()
        for step in way:
            state, _ = told(shop, state, step, min(starts), LATS)
        assert told(shop, state, node, min(starts), LATS)[1] == node["observation"], node["action"]
    with capsys.disabled():
        sys.stdout.write(f"\nLATS: {len(nodes)} answers equal\n")
    assert len(nodes) == 60


def first_of_each_depth(nodes: Sequence[Mapping[str, str]], depth: int) -> list[Mapping[str, str]]:
    """The way to a node of the last search tree: all nodes of one depth that were opened lead to one page."""
    begins = [place for place, node in enumerate(nodes) if node["depth"] == "1"]
    tree = [place for place in begins if place == 0 or nodes[place - 1]["depth"] != "1"][-1:]
    last = nodes[tree[0] :] if tree else []
    return [next(node for node in last if node["depth"] == str(above)) for above in range(1, depth)]
