"""Partners: they concede as their temperament says, react to what is said, and keep to their limits."""

from random import Random

import pytest

from agentgym_envs.social.content import SPLITS
from agentgym_envs.social.families.price.partner import PricePartner
from agentgym_envs.social.families.price.side import Side
from agentgym_envs.social.families.schedule.partner import SchedulePartner
from agentgym_envs.social.families.schedule.week import SLOTS, Calendar
from agentgym_envs.social.family import LEAVE, LEVELS, TURNS
from agentgym_envs.social.partners.temperament import EXPONENTS, Temperament, drawn_temperament, rounded
from agentgym_envs.sotopia.moves import Move, Utterance, number
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action

BUYER = Side(sells=False, limit=300.0, target=200.0, listed=400.0)
LINEAR = Temperament(kind="linear", exponent=1, greed=0.1, patience=4, rounding=1, bluff=0)


def offers_of(temperament: Temperament, *theirs: float | None, side: Side = BUYER) -> list[str]:
    """What a partner answers to offers in turn; None says nothing of use."""
    heard: list[float] = []
    partner = PricePartner(side, heard, temperament, Random(0), "train")
    replies: list[str] = []
    for offer in theirs:
        said = Utterance(NOTHING)
        if offer is not None:
            heard.append(offer)
            said = Utterance(Action(action_type="speak", argument="-"), Move("OFFER", offer))
        reply = partner.reply(said)
        replies.append("LEAVE" if reply == LEAVE else reply.argument.rpartition("[")[2].rstrip("]"))
    return replies


@pytest.mark.parametrize(
    ("exponent", "turn", "share"),
    [(1, 0, 0), (1, 3, 1 / 3), (1, 9, 1), (0.5, 3, 1 / 9), (2, 3, (1 / 3) ** 0.5), (0.2, 9, 1), (1, 20, 1)],
)
def test_concession_is_the_share_of_turns_to_the_power_of_one_over_b(
    exponent: float, turn: int, share: float
) -> None:
    temperament = LINEAR.model_copy(update={"exponent": exponent})
    assert temperament.concession(turn, TURNS, 0.0, Random(0)) == pytest.approx(share)


def test_a_mirror_mixes_in_what_the_other_conceded() -> None:
    mirror = LINEAR.model_copy(update={"kind": "mirror", "mirroring": 0.75})
    assert mirror.concession(9, TURNS, 0.0, Random(0)) == pytest.approx(0.25)
    assert mirror.concession(0, TURNS, 0.4, Random(0)) == pytest.approx(0.3)
    assert mirror.concession(9, TURNS, 1.0, Random(0)) == 1


def test_a_late_jump_comes_in_the_last_quarter() -> None:
    stubborn = LINEAR.model_copy(update={"kind": "stubborn", "exponent": 0.12, "jump": True})
    before, after = (stubborn.concession(turn, TURNS, 0.0, Random(0)) for turn in (6, 7))
    assert (before < 0.05, after) == (True, pytest.approx(0.35))


@pytest.mark.parametrize(
    ("price", "rounding", "written"), [(137.4, 1, 137), (137.4, 5, 135), (137.4, 0.99, 136.99)]
)
def test_a_price_is_rounded_by_style(price: float, rounding: float, written: float) -> None:
    assert rounded(price, rounding) == written
    assert rounded(12.345, rounding) == 12.35 or rounded(12.345, rounding) == 12.34


def test_a_buyer_begins_below_its_target_and_rises_to_its_limit() -> None:
    # Start 200 * (1 - 0.1) = 180, limit 300: a ninth of 120 in each turn. The seventh offer is its own ask.
    said = offers_of(LINEAR, 400, 355, 320, 295, 280, 270, 260)
    assert said == [*(f"OFFER {price}" for price in (180, 193, 207, 220, 233, 247)), "ACCEPT"]


def test_it_accepts_what_is_as_good_as_its_next_offer_and_nothing_less() -> None:
    assert offers_of(LINEAR, 180) == ["ACCEPT"]
    assert offers_of(LINEAR, 180.01) == ["OFFER 180"]
    assert offers_of(LINEAR, 301, 301)[-1] == "OFFER 193"


def test_it_reacts_to_concessions_if_it_mirrors() -> None:
    mirror = LINEAR.model_copy(update={"kind": "mirror", "mirroring": 0.8})
    hard = offers_of(mirror, 400, 399, 398)
    soft = offers_of(mirror, 400, 350, 300)
    prices = [number(reply[-1].removeprefix("OFFER ")) for reply in (hard, soft)]
    assert prices[0] is not None
    assert prices[1] is not None
    assert prices[1] > prices[0] + 30


def test_it_leaves_when_nothing_new_came_as_often_as_its_patience() -> None:
    assert offers_of(LINEAR, None, None, None, None)[2:] == ["OFFER 207", "LEAVE"]
    assert offers_of(LINEAR, 400, 400, 400, 400, 400)[-2:] == ["OFFER 220", "LEAVE"]
    assert offers_of(LINEAR, 400, 399, 398, 397, 396)[-1] == "LEAVE"  # a dollar is not a fifth of the gap
    assert "LEAVE" not in offers_of(LINEAR, 400, 355, 315, 290, 270)
    assert offers_of(LINEAR, 900, 800, 700, 600)[-1] == "LEAVE"  # above the list price: not serious


def test_a_buyer_never_offers_more_than_its_limit() -> None:
    for seed in range(200):
        draws = Random(seed)
        temperament = drawn_temperament(draws, SPLITS[seed % 3], LEVELS[seed % 3])
        replies = offers_of(temperament, *(400 * 0.95**turn for turn in range(TURNS)))
        prices = [number(reply.removeprefix("OFFER ")) for reply in replies if reply.startswith("OFFER")]
        assert all(price is not None and price <= 300 for price in prices)
        assert prices == sorted(price for price in prices if price is not None)  # it takes nothing back


def test_held_out_temperaments_have_ranges_of_their_own() -> None:
    drawn = {split: [drawn_temperament(Random(seed), split, "2") for seed in range(300)] for split in SPLITS}
    for one in drawn["train"]:
        low, high = EXPONENTS[one.kind][0]
        assert low - 1e-4 <= one.exponent <= high + 1e-4
    for one in drawn["test"]:
        low, high = EXPONENTS[one.kind][1]
        assert low - 1e-4 <= one.exponent <= high + 1e-4
    assert {one.kind for one in drawn["train"]} == {"boulware", "linear", "conceder", "mirror", "stubborn"}
    assert {one.kind for one in drawn["test"]} - {one.kind for one in drawn["train"]} == {"impatient"}
    assert all(one.patience == 3 for one in drawn["test"] if one.kind == "impatient")


CALENDAR = Calendar(free={"Mon 9": 3, "Tue 9": 1, "Tue 14": 1}, busy={}, private="", reasons=("x",))


def meeting(*slots: str, terse: bool = False) -> list[str]:
    heard: list[str] = []
    partner = SchedulePartner(CALENDAR, heard, LINEAR, terse=terse, curious=0, draws=Random(0), split="valid")
    replies: list[str] = []
    for slot in slots:
        move = Move("NOSLOT", True) if slot == "NOSLOT" else Move("PROPOSE", slot)
        if slot != "NOSLOT":
            heard.append(slot)
        replies.append(partner.reply(Utterance(Action(action_type="speak", argument="-"), move)).argument)
    return replies


def test_a_partner_takes_its_best_slot_at_once_and_a_poor_one_late() -> None:
    assert meeting("Mon 9") == ["Perfect, noted. [ACCEPT]"]
    late = meeting(*["Tue 9", "Tue 14"] * 4)
    assert late[0].startswith("I could, but I do not like it.")
    assert late[6] == "Perfect, noted. [ACCEPT]"  # its seventh turn
    assert "[ACCEPT]" not in " ".join(late[:6])


def test_a_partner_never_takes_a_busy_slot_and_says_what_it_has_instead() -> None:
    busy = [slot for slot in SLOTS if slot not in CALENDAR.free]
    assert "[ACCEPT]" not in " ".join(meeting(*busy[:10]))
    assert "Tue leaves me Tue 9 and Tue 14." in meeting("Tue 11")[0]
    assert "Wed is hopeless." in meeting("Wed 9")[0]
    assert "Wed" not in meeting("Wed 9", terse=True)[0]


def test_a_partner_agrees_that_there_is_no_slot_only_after_a_search() -> None:
    assert "[NOSLOT]" not in meeting("NOSLOT")[0]
    assert "[NOSLOT]" not in meeting("Wed 9", "Thu 9", "NOSLOT")[-1]
    assert meeting("Wed 9", "Thu 9", "Fri 9", "NOSLOT")[-1] == "No common time, then. [NOSLOT]"
    assert "[NOSLOT]" not in meeting("Wed 9", "Thu 9", "Tue 9", "NOSLOT")[-1]  # it is free on Tuesday
