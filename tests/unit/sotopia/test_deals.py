"""Moves of published goals, and agreements by them."""

import pytest
from support.sotopia_profiles import CUPS, LAMP, PARTY, scene_of, talk

from agentgym_envs.sotopia.moves import utterance
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.verification.deals import agreed_offer, both_move, moves
from agentgym_envs.sotopia.verification.friends import FriendsGoal
from agentgym_envs.sotopia.verification.verifier import Goal, verifiable


def goal(environment: dict[str, object]) -> Goal:
    found = verifiable(scene_of(environment))
    assert found is not None
    return found


SALE, DIVISION, FRIENDS = goal(LAMP), goal(CUPS), goal(PARTY)


@pytest.mark.parametrize(
    ("of", "said", "move"),
    [
        (SALE, "I can do that. [OFFER 72.50]", ("OFFER", 72.5)),
        (SALE, "[OFFER $1,200]", ("OFFER", 1200)),
        (SALE, "No. [REJECT]", ("REJECT", True)),
        (SALE, "[OFFER 5] or rather [OFFER 6]", ("OFFER", 6)),
        (SALE, "[ACCEPT] [OFFER cheap]", ("ACCEPT", True)),
        (SALE, "[OFFER 5] [OFFER me: cup=1 plate=0 vase=0]", ("OFFER", 5)),
        (SALE, "[OFFER 0]", None),
        (SALE, "[OFFER 5.125]", None),
        (SALE, "[OFFER 9999999999999]", None),
        (SALE, "[ACCEPT 5]", None),
        (SALE, "[SELECT Olga]", None),
        (SALE, "[accept]", None),
        (SALE, "", None),
        (DIVISION, "[OFFER me: vase=1 cup=2 plate=0]", ("OFFER", (2, 0, 1))),
        (DIVISION, "[OFFER me: cup=2 plate=1]", None),  # a kind is missing
        (DIVISION, "[OFFER me: cup=4 plate=0 vase=0]", None),  # there are three
        (DIVISION, "[OFFER me: cup=1 cup=1 plate=0 vase=0]", None),
        (DIVISION, "[OFFER me: ]", None),
        (DIVISION, "[OFFER 5]", None),
        (FRIENDS, "[SELECT Olga]", ("SELECT", "Olga")),
        (FRIENDS, "[SELECT  olga]", ("SELECT", "Olga")),
        (FRIENDS, "[SELECT Nobody]", None),
        (FRIENDS, "[SELECT ]", None),
        (FRIENDS, "[ASK school]", ("ASK", "School")),
        (FRIENDS, "[ASK Shoe]", None),
        (FRIENDS, "[TELL Hobby=Sailing; School=Hill College]",
         ("TELL", {"Hobby": "sailing", "School": "hill college"})),
        (FRIENDS, "[TELL Hobby=Sailing; Hobby=Judo]", None),
        (FRIENDS, "[TELL Hobby]", None),
        (FRIENDS, "[TELL Hobby=]", None),
    ],
)  # fmt: skip
def test_the_last_move_that_the_goal_knows_counts(
    of: Goal, said: str, move: tuple[str, object] | None
) -> None:
    found = utterance(Action(action_type="speak", argument=said), of.read).move
    assert (None if found is None else (found.name, found.value)) == move


def test_only_attributes_that_all_friends_have_are_asked_for() -> None:
    assert isinstance(FRIENDS, FriendsGoal)
    assert FRIENDS.keys == ("Hobby", "School")
    first = {"Don": {"Hobby": "Chess", "Town": "Oslo"}}
    assert FriendsGoal(friends=(first, {"Don": {"Hobby": "Chess"}}), common="Don").keys == ("Hobby",)


def price(*words: str) -> float | None:
    found = agreed_offer(talk(*words), SALE.read)
    return found[1] if found else None


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
    assert agreed_offer([(ten, accept)], SALE.read) is None
    assert agreed_offer([(ten, ten), (accept, accept)], SALE.read) is None
    assert agreed_offer([(ten, ten), (accept, ten)], SALE.read) == (1, 10)


def test_only_words_carry_moves() -> None:
    gesture = Action(action_type="action", argument="[ACCEPT]")
    assert moves([(gesture, gesture)], SALE.read) == [{}]
    assert not both_move(talk("[OFFER 5]", "fine"), SALE.read)
    assert both_move(talk("[OFFER 5]", "[REJECT]"), SALE.read)
