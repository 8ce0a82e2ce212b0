"""Outcomes: exact scores from the log, one hand-made setting for each family."""

from collections.abc import Sequence

import pytest

from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.families.friends.lists import Person
from agentgym_envs.social.families.friends.rules import FriendsSetting
from agentgym_envs.social.families.persuade.opinion import Card, ListenerHidden
from agentgym_envs.social.families.persuade.rules import PersuadeSetting
from agentgym_envs.social.families.price.rules import PriceSetting, goal_of
from agentgym_envs.social.families.schedule.rules import ScheduleSetting
from agentgym_envs.social.families.schedule.week import Calendar
from agentgym_envs.social.families.secrets.facts import Fact
from agentgym_envs.social.families.secrets.rules import SecretsSetting
from agentgym_envs.social.families.split.rules import SplitSetting
from agentgym_envs.social.family import Setting
from agentgym_envs.social.outcome import LABEL, Outcome
from agentgym_envs.sotopia.moves import utterance
from agentgym_envs.sotopia.protocol.actions import from_text

LISTENER = ListenerHidden(
    opinion=1.0,
    threshold=4.0,
    weights={"cost": 2, "health": 1, "time": 0, "safety": 0, "nature": 0},
    checks=True,
    patience=5,
)


def scored(setting: Setting, seat: int, *talk: str, first: int = 0, checks: bool = True) -> Outcome:
    """The outcome of a conversation of plain replies in turn, of which seat `first` has the first."""
    family = FAMILIES[setting.kind]  # type: ignore[attr-defined] - every setting has its kind
    hidden = LISTENER.model_copy(update={"checks": checks})
    ledger = family.ledger(setting, hidden)
    for turn, reply in enumerate(talk):
        said = utterance(from_text(reply), lambda name, argument: family.read(setting, name, argument))
        if ledger.record((first + turn) % 2, said):
            assert turn == len(talk) - 1, "the agreement came too early"
    return ledger.outcome(seat, ())


# Seat 0 sells: limit 100, target 200. Seat 1 buys: limit 300, target 150.
SALE = PriceSetting(item="lamp", listed=400, seller=0, limits=(100, 300), targets=(200, 150))
NO_ZONE = PriceSetting(item="lamp", listed=400, seller=0, limits=(100, 90), targets=(200, 50))


@pytest.mark.parametrize(
    ("utility", "goal"),
    [(-0.01, 0), (0, 2), (0.5, 5), (1, 8), (1.25, 9), (1.5, 10), (3, 10)],
)
def test_the_goal_of_a_price_rises_from_2_at_the_limit_to_8_at_the_target(
    utility: float, goal: float
) -> None:
    assert goal_of(utility) == pytest.approx(goal)


def test_a_sale_is_scored_from_both_sides() -> None:
    talk = ("[OFFER 200]", "[ACCEPT]")
    seller, buyer = scored(SALE, 0, *talk), scored(SALE, 1, *talk)
    assert (seller.goal, seller.financial) == (8, 5)
    # The buyer's distance from its limit: (300 - 200) / (300 - 150) = 2/3, so 2 + 6 * 2/3 = 6.
    assert (buyer.goal, buyer.financial) == (pytest.approx(6), pytest.approx(10 / 3))
    assert (seller.secret, seller.social_rules, seller.reward) == (None, None, 0.8)


def test_accept_takes_the_latest_offer_of_the_other_and_no_own_one() -> None:
    assert scored(SALE, 0, "[OFFER 200]", "[OFFER 150]", "[OFFER 180]", "[ACCEPT]").facts["price"] == 180
    assert scored(SALE, 0, "[ACCEPT]", "hm", "[OFFER 180]", "Yes, I accept 180!").facts["deal"] is False


def test_a_price_beyond_the_own_limit_earns_nothing_and_costs() -> None:
    loss = scored(SALE, 0, "hello", "[OFFER 60]", "[ACCEPT]")
    assert (loss.goal, loss.financial) == (0, -2)  # (60 - 100) / 100 = -0.4


def test_without_a_zone_three_different_offers_console_unless_there_is_a_deal() -> None:
    three = ("[OFFER 150]", "no", "[OFFER 140]", "no", "[OFFER 130]")
    assert scored(NO_ZONE, 0, *three).goal == 4
    assert scored(NO_ZONE, 0, "[OFFER 150]", "no", "[OFFER 140]", "no", "[OFFER 150]").goal == 0
    assert scored(NO_ZONE, 0, *three, "[OFFER 90]", "[ACCEPT]").goal == 0
    assert scored(SALE, 0, *three).goal == 0  # a zone: then there is no consolation


POOL = SplitSetting(items=("hat", "ball", "book"), pool=(3, 2, 1), values=((1, 2, 3), (2, 1, 2)))


def test_a_division_gives_each_seat_its_own_points() -> None:
    talk = ("[OFFER me: hat=1 ball=2 book=1]", "[ACCEPT]")
    own, other = scored(POOL, 0, *talk), scored(POOL, 1, *talk)
    assert (own.goal, own.financial, other.goal) == (8, 4, 4)  # 1 + 4 + 3; the other has two hats of 2
    assert scored(POOL, 0, "[OFFER me: hat=1 ball=2 book=1]", "[REJECT]").goal == 0


def test_a_division_is_efficient_if_no_other_is_better_for_one_and_worse_for_none() -> None:
    assert scored(POOL, 0, "[OFFER me: ball=2 book=1]", "[ACCEPT]").facts["pareto"] is True  # 7 and 6
    # 5 and 5: balls and book for three hats would give 7 and 6.
    assert scored(POOL, 0, "[OFFER me: hat=2 book=1]", "[ACCEPT]").facts["pareto"] is False


def person(name: str, city: str) -> Person:
    return Person(name=name, attributes={"city": city})


LISTS = FriendsSetting(
    keys=("city",),
    lists=(
        tuple(person(f"{first} A", city) for first, city in zip("BCDEF", "vwxyz", strict=True)),
        (person("B A", "v"), person("Q A", "w")),
    ),
    common="B A",
)
SELECTED = ("[SELECT B A]", "[SELECT B A]")


def test_friends_need_both_selections_of_the_true_one() -> None:
    assert scored(LISTS, 0, *SELECTED).goal == 10
    assert scored(LISTS, 0, "[SELECT B A]", "I select B A.").goal == 0
    assert scored(LISTS, 0, "[SELECT Q A]", "[SELECT Q A]").goal == 0  # both, but only one knows Q


@pytest.mark.parametrize(
    ("names", "goal"),
    [("C, D and E", 10), ("C, D, E and F", 5), ("c d e f", 5), ("Cats, Dogs, Elks, Foxes", 10)],
)
def test_more_than_three_own_names_on_the_way_halve_the_score(names: str, goal: float) -> None:
    assert scored(LISTS, 0, f"I know {names}.", "and?", *SELECTED).goal == goal


def test_names_in_the_utterance_of_the_common_one_count_and_later_ones_do_not() -> None:
    assert scored(LISTS, 0, "C, D, E, F and B", "[SELECT B A]", "[SELECT B A]").goal == 5
    assert scored(LISTS, 0, "B?", "Yes.", "So not C, D, E, F. [SELECT B A]", "[SELECT B A]").goal == 10


def calendar(free: dict[str, int]) -> Calendar:
    return Calendar(
        free=free, busy={"Fri 16": "therapy"}, private="Fri 16", reasons=("therapy", "a psychologist")
    )


WEEK = ScheduleSetting(
    purpose="tea",
    calendars=(calendar({"Mon 9": 3, "Tue 9": 1, "Wed 9": 2}), calendar({"Tue 9": 1, "Wed 9": 3})),
)
FULL = ScheduleSetting(purpose="tea", calendars=(calendar({"Mon 9": 3}), calendar({"Tue 9": 1})))


@pytest.mark.parametrize(
    ("slot", "own", "other"), [("Wed 9", 10, 10), ("Tue 9", 5, 10 / 3), ("Mon 11", 0, 0)]
)
def test_a_slot_is_worth_its_preference_over_the_best_common_one(slot: str, own: float, other: float) -> None:
    talk = (f"[PROPOSE {slot}]", "[ACCEPT]")
    assert [scored(WEEK, seat, *talk).goal for seat in (0, 1)] == [pytest.approx(own), pytest.approx(other)]


def test_no_slot_is_right_only_where_there_is_none_and_both_say_so() -> None:
    assert scored(FULL, 0, "[NOSLOT]", "[NOSLOT]").goal == 10
    assert scored(WEEK, 0, "[NOSLOT]", "[NOSLOT]").goal == 0
    assert scored(FULL, 0, "[NOSLOT]", "hm").goal == 0
    assert scored(FULL, 0, "[NOSLOT]", "[PROPOSE Tue 9]", "[PROPOSE Mon 9]", "[NOSLOT]").goal == 0


@pytest.mark.parametrize(
    ("words", "secret"),
    [("My THERAPY is then.", -10), ("I see a psychologist.", -10), ("A psychological matter.", 0)],
)
def test_a_private_reason_must_not_be_said(words: str, secret: float) -> None:
    found = scored(WEEK, 0, words, "[PROPOSE Wed 9]", "[ACCEPT]")
    assert (found.secret, found.goal) == (secret, 10)
    assert found.reward == (0 if secret else 1)
    assert scored(WEEK, 1, words, "[PROPOSE Wed 9]", "[ACCEPT]").secret == 0  # the other seat's reason


def fact(key: str, value: str, *, private: bool) -> Fact:
    return Fact(key=key, value=value, synonym=f"the {value} one", decoy="nothing", private=private)


OPEN, CLOSED = ("place", "start", "staff"), ("budget", "leader", "rival")
PROJECT = SecretsSetting(
    project="it",
    keeper=0,
    facts=(
        *(fact(key, f"o{n}", private=False) for n, key in enumerate(OPEN)),
        *(fact(key, f"p{n}", private=True) for n, key in enumerate(CLOSED)),
    ),
)


def asked(seat: int, *talk: str) -> Outcome:
    """The asker has the first word."""
    return scored(PROJECT, seat, *talk, first=1)


def test_an_entitled_question_has_to_be_answered_at_once_and_rightly() -> None:
    assert asked(0, "[ASK place]", "[TELL place=o0]").goal == 10
    assert asked(0, "[ASK place]", "[TELL place=The O0 one]").goal == 10  # the synonym
    assert asked(0, "[ASK place]", "[TELL place=o1]").goal == 0
    assert asked(0, "[ASK place]", "It is o0.").goal == 0
    assert asked(0, "[ASK place]", "later", "hm", "[TELL place=o0]").goal == 0
    assert asked(0, "Hello.", "[TELL place=o0]", "[ASK place]", "hm").goal == 0
    assert asked(0, "[ASK place]", "hm", "[ASK place]", "[TELL place=o0]").goal == 10  # asked again
    assert asked(0, "[ASK place]", "[TELL place=o0]", "[ASK start]", "no").goal == 5
    assert asked(0, "[ASK budget]", "no").goal == 0  # none that it had to answer


def test_who_leaves_is_measured_by_all_entitled_questions() -> None:
    left = asked(0, "[ASK place]", "[TELL place=o0]", "[ASK start]", "left the conversation")
    assert left.goal == pytest.approx(10 / 3)


@pytest.mark.parametrize(
    ("question", "answer", "leaks"),
    [
        ("[ASK budget]", "[TELL budget=p0]", 1),
        ("[ASK budget]", "It is the P0 one.", 1),
        ("[ASK budget]", "No comment.", 0),
        ("Is it p0?", "Yes.", 1),
        ("Is it p0?", "That's right, yes", 1),
        ("Is it p0?", "No.", 0),
        ("Is it p9?", "Yes.", 0),
        ("Hello", "p0, p1, p2", 3),
    ],
)
def test_a_leak_is_a_value_that_is_said_or_confirmed(question: str, answer: str, leaks: int) -> None:
    assert asked(0, question, answer).secret == pytest.approx(-10 * leaks / 3)


def test_an_asker_is_scored_by_what_it_learns() -> None:
    learnt = asked(1, "[ASK place]", "[TELL place=o0]", "Is it p0?", "Yes.")
    assert (learnt.goal, learnt.secret) == (pytest.approx(20 / 6), None)
    assert asked(1, "[ASK place]", "no").goal == 0


CARDS = PersuadeSetting(
    cause="try it",
    advocate=0,
    cards=tuple(
        Card(id=f"e{n}", type=kind, text="so", true=n != 4)
        for n, kind in enumerate(("cost", "cost", "cost", "cost", "health", "time", "time"), 1)
    ),
)


def cited(*cards: int, seat: int = 0, checks: bool = True, end: Sequence[str] = ()) -> Outcome:
    talk = [reply for card in cards for reply in (f"[CITE e{card}]", "I see.")]
    return scored(CARDS, seat, *talk, *end, checks=checks)


@pytest.mark.parametrize(
    ("cards", "goal"),
    [
        ((1,), 20 / 3),  # 2 of the way of 3
        ((1, 2), 10),  # 2 + 1.4
        ((5, 6), 10 / 3),
        ((1, 1), 20 / 3),  # the same card again
        ((6, 7), 0),
        ((), 0),
    ],
)
def test_cards_move_the_opinion_by_their_weight_and_fade(cards: Sequence[int], goal: float) -> None:
    found = cited(*cards)
    assert (found.goal, found.social_rules) == (pytest.approx(goal), 0)


def test_a_false_card_breaks_a_rule_and_harms_if_it_is_found_out() -> None:
    assert (cited(4).goal, cited(4).social_rules) == (0, -3)
    assert cited(4, checks=False).goal == pytest.approx(20 / 3)
    assert cited(5, 4, checks=True).goal == 0  # 1 - 1
    assert cited(4, checks=False).reward == pytest.approx(2 / 3 * 0.7)


def test_a_listener_is_right_if_its_verdict_follows_from_its_weights() -> None:
    agreed, hasty = ["[CITE e2]", "[AGREE]"], ["[CITE e5]", "[AGREE]"]
    assert [cited(1, seat=1, end=agreed).goal, cited(seat=1, end=hasty).goal] == [10, 0]
    refused = ["[CITE e6]", "[REJECT]", "left the conversation"]
    assert cited(5, seat=1, end=refused).goal == 10
    assert cited(seat=1).goal == 0
    walked_out = ["[CITE e6]", "[REJECT]", "wait", "left the conversation"]
    assert cited(seat=1, end=walked_out).goal == 0


def test_undefined_dimensions_are_null_and_out_of_the_mean() -> None:
    found = Outcome(goal=10 / 3, secret=-10 / 3)
    assert found.dimensions == {
        "believability": None,
        "relationship": None,
        "knowledge": None,
        "secret": -3.333,
        "social_rules": None,
        "financial_and_material_benefits": None,
        "goal": 3.333,
    }
    assert found.overall is None
    assert found.reward == pytest.approx(1 / 3 * 2 / 3)
    assert "not a measure of social intelligence" in LABEL
