"""The table of WebShop's baselines: which goals are played, and what is told of them."""

import json
from types import SimpleNamespace

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.rules import COMPAT
from agentgym_envs.webshop.wishes import Wish
from benchmarks import baselines


class Priced(MemoryCatalogue):
    def price(self, asin: str) -> float:
        return self.products[asin].prices[0]


def product(asin: str, color: str) -> Product:
    return Product(
        asin=asin,
        title="Abelor shorts",
        description="",
        bullets=(),
        prices=(5.0,),
        price_tag="$5.0",
        options={"color": (color,)},
        query="shorts",
        category="fashion",
        product_category="a › b",
        attributes=("light",),
    )


def wish(number: int, asin: str, color: str) -> Wish:
    text = f"find me light shorts with color: {color}, and price lower than 10.00 dollars"
    options = {"color": color}
    goal = Goal(asin, "Abelor shorts", "shorts", "a › b", text, ("light",), options, 10.0)
    return Wish(goal, str(number), "test")


SOLD = Priced([product("B0", "red"), product("B1", "black2626")])
GOALS = SimpleNamespace(
    name="1k-synthetic",
    imported=True,
    catalogue=SOLD,
    rules=COMPAT,
    wishes=[wish(0, "B0", "red"), wish(1, "B1", "black2626")],
    places={"1k-synthetic-test": [0, 1]},
)


def test_goals_are_spaced_over_a_split():
    assert baselines.spaced(range(7), most=10) == list(range(7))
    assert baselines.spaced(range(1000), most=4) == [0, 250, 500, 750]
    assert baselines.spaced([]) == []


def test_rates_have_intervals_of_their_own_kind():
    row = baselines.standing("test", "fixed", "rule", [1.0, 0.5, 0.5, 0.0])
    assert (row.goals, row.score, row.success) == (4, 50.0, 25.0)
    assert row.score_low < 50 < row.score_high
    assert (row.success_low, row.success_high) == pytest.approx((4.56, 69.94), abs=0.01)  # Wilson's
    assert str(row).startswith("| test | fixed | rule | 4 | 50.0 (")
    assert str(row).endswith(" | 25.0 (4.6 to 69.9) |")


def test_every_set_is_played_with_the_rewards_that_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("agentgym_envs.webshop.goal_sets.open_all", lambda *_: {"1k-synthetic": GOALS})
    baselines.main(["--json"])
    told = json.loads(capsys.readouterr().out)
    rows = {(row["reward"], row["player"]): row for row in told}
    names = ("do_nothing", "random_product", "first_hit", "rule", "rule_page1", "oracle")
    readers = ("reader, 15 turns", "reader, 30 turns")
    assert set(rows) == {(way, name) for way in ("upstream", "fixed") for name in (*names, *readers)}
    assert rows["upstream", "oracle"]["success"] == 50.0  # nothing that can be chosen is like that value
    assert rows["fixed", "oracle"]["success"] == 100.0
    assert rows["fixed", "do_nothing"]["score"] == 0.0
    assert {row["split"] for row in rows.values()} == {"1k-synthetic-test"}
