"""Moves inside utterances, and agreements by them."""

import pytest
from support.sotopia_profiles import talk

from agentgym_envs.sotopia.moves import Accept, PriceOffer, Reject, Select, SplitOffer, read_move
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.verification.deals import agreed_offer, both_move, moves


@pytest.mark.parametrize(
    ("said", "move"),
    [
        ("I can do that. [OFFER 72.50]", PriceOffer(72.5)),
        ("[OFFER $1,200]", PriceOffer(1200)),
        ("[OFFER me: hat=2 ball=1 book=0]", SplitOffer({"hat": 2, "ball": 1, "book": 0})),
        ("[ACCEPT]", Accept()),
        ("No. [REJECT]", Reject()),
        ("[SELECT Harvey]", Select("Harvey")),
        ("[OFFER 5] or rather [OFFER 6]", PriceOffer(6)),
        ("[ACCEPT] [OFFER cheap]", Accept()),
        ("[OFFER 0]", None),
        ("[OFFER -5]", None),
        ("[OFFER 5.125]", None),
        ("[OFFER 12,00]", None),
        ("[OFFER 1e3]", None),
        ("[OFFER ٣]", None),
        ("[OFFER 9999999999999]", None),
        ("[OFFER me: hat=2 hat=1]", None),
        ("[OFFER me: ]", None),
        ("[ACCEPT 5]", None),
        ("[accept]", None),
        ("[SELECT ]", None),
        ("ACCEPT", None),
        ("", None),
    ],
)
def test_the_last_well_formed_move_counts(said: str, move: object) -> None:
    assert read_move(said) == move


def price(*words: str) -> float | None:
    found = agreed_offer(talk(*words), lambda offer: isinstance(offer, PriceOffer))
    return found[1].price if found and isinstance(found[1], PriceOffer) else None


def test_an_acceptance_means_the_partners_standing_offer() -> None:
    assert price("[OFFER 10]", "[OFFER 8]", "[ACCEPT]") == 8
    assert price("[OFFER 10]", "[OFFER 8]", "[OFFER 9]", "[ACCEPT]") == 9
    assert price("[OFFER 10]", "Hm.", "Well?", "[ACCEPT]") == 10
    assert price("[OFFER 10]", "[ACCEPT]", "[OFFER 20]", "[ACCEPT]") == 10  # the first agreement


def test_without_an_offer_of_the_partner_nothing_is_accepted() -> None:
    assert price("[ACCEPT]", "[OFFER 8]") is None
    assert price("[OFFER 10]", "[REJECT]", "[ACCEPT]") is None
    assert price("[OFFER me: cup=1]", "[ACCEPT]") is None  # not of this kind of goal


def test_in_one_step_an_acceptance_means_an_earlier_offer() -> None:
    ten, accept = (
        Action(action_type="speak", argument="[OFFER 10]"),
        Action(action_type="speak", argument="[ACCEPT]"),
    )
    assert agreed_offer([(ten, accept)], lambda _: True) is None
    assert agreed_offer([(ten, ten), (accept, accept)], lambda _: True) is None
    assert agreed_offer([(ten, ten), (accept, ten)], lambda _: True) == (1, PriceOffer(10))


def test_only_words_carry_moves() -> None:
    gesture = Action(action_type="action", argument="[ACCEPT]")
    assert moves([(gesture, gesture)]) == [{}]
    assert not both_move(talk("[OFFER 5]", "fine"))
    assert both_move(talk("[OFFER 5]", "[REJECT]"))
