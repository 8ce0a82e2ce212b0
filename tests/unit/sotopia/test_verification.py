"""Goals that a program can check: what profiles say, what is decided, and what is left undecided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sotopia_profiles import CUPS, LAMP, PARTY, TALK, scene_of, talk

from agentgym_envs.sotopia.protocol.actions import NOTHING, Action
from agentgym_envs.sotopia.verification.friends import FriendsGoal
from agentgym_envs.sotopia.verification.price import PriceGoal
from agentgym_envs.sotopia.verification.split import SplitGoal
from agentgym_envs.sotopia.verification.verdict import Verdict
from agentgym_envs.sotopia.verification.verifier import verifiable, verify

LEAVE = Action(action_type="leave")
NOD = Action(action_type="non-verbal communication", argument="nods")


def lamp(*words: str) -> Verdict:
    return verify(scene_of(LAMP), talk(*words))


def cups(*words: str) -> Verdict:
    return verify(scene_of(CUPS), talk(*words))


def party(*words: str) -> Verdict:
    return verify(scene_of(PARTY), talk(*words))


def goals(verdict: Verdict) -> tuple[float, float] | None:
    return None if verdict.scores is None else (verdict.scores[0].goal, verdict.scores[1].goal)


def test_goals_are_read_from_the_profiles() -> None:
    assert verifiable(scene_of(LAMP)) == PriceGoal(list_price=40, buyer=1, targets=(32, 20))
    assert verifiable(scene_of(CUPS)) == SplitGoal(
        pool={"cup": 3, "plate": 2, "vase": 1},
        values=({"cup": 1, "plate": 2, "vase": 5}, {"cup": 4, "plate": 1, "vase": 2}),
    )
    goal = verifiable(scene_of(PARTY))
    assert isinstance(goal, FriendsGoal)
    assert (goal.common, list(goal.friends[0]), list(goal.friends[1])) == (
        "Olga",
        ["Don", "Mia", "Pat", "Kim", "Olga"],
        ["Olga", "Ivo", "Ute"],
    )
    assert goal.friends[0]["Don"] == {"Hobby": "Chess", "School": "Hill College"}
    assert verifiable(scene_of(TALK)) is None


def test_amounts_may_have_thousands_and_cents() -> None:
    dear = {
        "scenario": "A car for $ 12,500, not $1.",
        "agent_goals": [
            "You are the buyer. The target price is set at $9,999.50. Pay no $7.",
            "Your target price is $11000.",
        ],
    }
    assert verifiable(scene_of({**LAMP, **dear})) == PriceGoal(
        list_price=12500, buyer=0, targets=(9999.5, 11000)
    )


@pytest.mark.parametrize(
    "environment",
    [
        {**LAMP, "scenario": "A lamp is for sale."},
        {**LAMP, "agent_goals": [LAMP["agent_goals"][1]] * 2},  # two buyers
        {**LAMP, "agent_goals": ["Sell it.", LAMP["agent_goals"][1]]},  # no target
        {**CUPS, "scenario": "They divide 3 cups and 1 fork."},  # no value of a fork
        {**PARTY, "scenario": '<p viewer="environment">They have 1 common friends: Ivo.</p>'},
        {**PARTY, "agent_goals": [PARTY["agent_goals"][0]] * 2},  # five common friends
        {**LAMP, "source": "normbank"},
    ],
)
def test_a_goal_that_cannot_be_read_is_not_verifiable(environment: dict[str, object]) -> None:
    scene = scene_of(environment)
    assert verifiable(scene) is None
    with pytest.raises(ValueError, match="no program can check the goals of"):
        verify(scene, [])


@pytest.mark.parametrize(
    ("price", "seller", "buyer", "financial"),
    [
        (32.0, 8.0, 0.0, (0.0, -5.0)),  # the seller's target; 60 % above the buyer's
        (20.0, 2.0, 8.0, (-3.75, 0.0)),  # x = -12 / 32: 8 - 16 * 0.375
        (40.0, 10.0, 0.0, (2.5, -5.0)),  # x = 0.25
        (15.0, 0.0, 10.0, (-5.0, 2.5)),  # 8 - 16 * 0.53 < 0; the buyer 25 % better
        (24.0, 4.0, 4.8, (-2.5, -2.0)),  # both a quarter and a fifth worse
    ],
)
def test_a_price_is_scored_relative_to_the_targets(
    price: float, seller: float, buyer: float, financial: tuple[float, float]
) -> None:
    verdict = lamp(f"[OFFER {price}]", "[ACCEPT]")
    assert goals(verdict) == pytest.approx((seller, buyer))
    assert verdict.scores is not None
    assert [one.financial_and_material_benefits for one in verdict.scores] == pytest.approx(financial)


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_a_better_price_never_scores_lower(first: int, second: int) -> None:
    goal = PriceGoal(list_price=40, buyer=1, targets=(32, 20))
    low, high = goal.scores(min(first, second) / 100), goal.scores(max(first, second) / 100)
    assert low[0].goal <= high[0].goal
    assert low[1].goal >= high[1].goal


def test_dimensions_without_a_rule_are_none() -> None:
    verdict = cups("[OFFER me: cup=0 plate=2 vase=1]", "[ACCEPT]")
    assert verdict.scores is not None
    assert verdict.scores[0].by_dimension == {
        "believability": None,
        "relationship": None,
        "knowledge": None,
        "secret": None,
        "social_rules": None,
        "financial_and_material_benefits": None,
        "goal": 7.5,  # (2 * 2 + 5) / 12
    }
    assert verdict.scores[1].goal == pytest.approx(10 * 12 / 16)


@pytest.mark.parametrize(
    "offer",
    ["me: cup=4 plate=0 vase=0", "me: cup=1 plate=1", "me: cup=1 plate=1 vase=1 fork=1", "12"],
)
def test_an_impossible_division_is_no_offer(offer: str) -> None:
    assert goals(verify(scene_of(CUPS), talk(f"[OFFER {offer}]", "[ACCEPT]"), "moves")) == (0, 0)


@pytest.mark.parametrize("environment", [LAMP, CUPS, PARTY])
def test_silence_is_decided_and_scores_nothing(environment: dict[str, object]) -> None:
    scene = scene_of(environment)
    for log in ([], [(NOTHING, NOTHING)], [(LEAVE, NOTHING)], talk("$20, Olga, deal!", "", "Deal!")):
        for reading in ("words", "moves"):
            verdict = verify(scene, log, reading)
            assert (goals(verdict), verdict.agreed) == ((0, 0), False)


@pytest.mark.parametrize("environment", [LAMP, CUPS, PARTY])
def test_small_talk_is_undecided_in_words_and_nothing_by_moves(environment: dict[str, object]) -> None:
    scene, log = scene_of(environment), talk("Hello!", "Lovely weather.")
    if environment is not PARTY:  # nobody spoke of the friend, which is a fact
        assert goals(verify(scene, log)) is None
        assert not verify(scene, log).decided
    assert goals(verify(scene, log, "moves")) == (0, 0)


def test_moves_of_both_decide_whatever_the_words() -> None:
    said = ("[OFFER 30] That is $30.", "[REJECT] I mean deal at $30.")
    assert goals(lamp(*said)) == (0, 0)
    assert goals(lamp("That is $30.", "Deal at $30.")) == pytest.approx((7.0, 0.0))


@pytest.mark.parametrize(
    "said",
    [
        ("It is $40.", "Would you take $24?", "$24 sounds fair to me."),
        ("Say $24?", "Deal!"),
        ("Say $24?", "Okay, deal."),
        ("It is $40. For you it is $24.", "$24 works for me."),
        ("I want $24 for the Q7.", "I accept."),
        ("How about $24.00?", "I like it. Let's settle on 24."),
        ("$24?", "Deal!", "Thanks! I pack the Q7 lamp.", "Great, see you at the shop."),
        ("$30?", "$24?", "$24, agreed. We have a deal at $24!", "Perfect."),
    ],
)
def test_an_explicit_agreement_in_words_is_found(said: tuple[str, ...]) -> None:
    assert lamp(*said).reason == "deal at $24.00"


@pytest.mark.parametrize(
    "said",
    [
        ("It is $24.", "That sounds great! Tell me more."),  # no acceptance of the price
        ("It is $24.", "Deal?"),
        ("How about $24?", "Let's settle on something in between."),
        ("How about $24?", "I accept cash and cheques."),
        ("How about $24 on Friday?", "Friday works for me."),
        ("How about $24?", "I'll take it to a dealer."),
        ("How about $24?", "$24 sounds fair. Let me ask my wife."),
        ("A new one costs $24.", "Deal!"),
        ("I paid $24.", "$24 works for me."),
        ("It is $24.", "Deal!", "Great.", "Sorry, I can't afford it."),
        ("It is $24.", "Deal, but only with a bulb."),
        ("It is $24.", "If you add a bulb, we have a deal."),
        ("It is $24.", "I can't say deal at $24."),
        ("It is $24.", "$22 works for me."),  # another amount
        ("It is $24 or $26 with a bulb.", "Deal!"),  # which?
        ("It is $40, but for you $24.", "$24 works for me."),  # two in one sentence
        ("I would not sell for $24.", "Deal at $24!"),
        ("It is $40.", "Hm.", "I could do 24.", "Deal!"),  # a bare number may be a price
        ("It is $40.", "Hm.", "Or twenty-four.", "Deal!"),
        ("It is $40.", "Let's say half.", "Deal!"),
        ("Make me an offer.", "Deal!"),
        ("It is $24.", "Deal!", "Fine, $26 then.", "Hm."),
        ("It is $24.", "Deal!", "Sorry, I changed my mind.", "Oh."),
        ("It is $24.", "Deal!", "And 5 for the bulb.", "Hm."),
        ("My friend paid $24.", "Nice.", "So?", "$24 sounds fair."),  # not the latest utterance
        ("[OFFER 24]", "Hm."),  # moves of one seat only
    ],
)
def test_what_is_not_clearly_agreed_is_undecided(said: tuple[str, ...]) -> None:
    verdict = lamp(*said)
    assert (verdict.scores, verdict.agreed) == (None, False)
    assert verdict.reason


def test_an_acceptance_after_a_gesture_of_the_partner_is_undecided() -> None:
    log = talk("$24?", "Hm.", "", "Deal!")
    assert lamp("$24?", "Hm.", "", "Deal!").agreed  # nothing came between
    log[2] = (NOD, NOTHING)
    assert goals(verify(scene_of(LAMP), log)) is None


def test_one_cannot_accept_in_the_step_of_the_offer() -> None:
    offer, deal = Action(action_type="speak", argument="$24?"), Action(action_type="speak", argument="Deal!")
    assert goals(verify(scene_of(LAMP), [(offer, deal)])) is None
    assert goals(verify(scene_of(LAMP), [(offer, NOTHING), (NOTHING, deal)])) == pytest.approx((4, 4.8))


@pytest.mark.parametrize(
    ("said", "shares"),
    [
        (
            ("How about I take the vase and two plates, and you take the 3 cups?", "That sounds fair to me."),
            "cup 0 plate 2 vase 1 / cup 3 plate 0 vase 0",
        ),
        (
            (
                "Hm.",
                "I'll keep all the cups. You can have both plates and the vase.",
                "I accept. A vase, lovely!",
            ),
            "cup 0 plate 2 vase 1 / cup 3 plate 0 vase 0",
        ),
        (
            ("I get a plate and one cup, you get 2 cups, one plate and the vase.", "Deal!"),
            "cup 1 plate 1 vase 0 / cup 2 plate 1 vase 1",
        ),
    ],
)
def test_a_complete_division_that_is_accepted_is_found(said: tuple[str, ...], shares: str) -> None:
    assert cups(*said).reason == f"agreed on {shares}"


@pytest.mark.parametrize(
    "said",
    [
        ("I take the vase.", "That sounds fair."),  # the rest is nobody's
        ("I take the vase and two plates, and you take 2 cups.", "Deal!"),  # a cup is left
        ("I take the vase and some plates, and you take the cups.", "Deal!"),
        ("I take the vase and two plates, and you take the cups.", "Sure, and I keep one plate."),
        (
            "I take the vase and two plates, and you take the cups.",
            "That sounds fair, with one plate for me.",
        ),
        ("I take the vase and two plates, and you take the cups.", "Sounds good?"),
        ("I take most of the cups, and you take both plates and the vase.", "Deal!"),
        ("I take the cups but not a vase, you get both plates.", "Deal!"),
        ("I take the vase and two plates or you take the 3 cups.", "Deal!"),
        (
            "I take the vase and two plates, and you take the cups.",
            "Deal!",
            "Well, you get one plate.",
            "Hm.",
        ),
    ],
)
def test_an_incomplete_division_is_undecided(said: tuple[str, ...]) -> None:
    assert cups(*said).scores is None


def test_a_friend_is_found_if_both_know_the_name() -> None:
    assert goals(party("Do you know Olga?", "Yes, Olga is my friend!")) == (10, 10)
    assert goals(party("I know Olga.", "Oh, I know Olga too.")) == (10, 10)
    assert goals(party("[SELECT Olga]", "Hi. [SELECT olga]")) == (10, 10)
    assert goals(party("[SELECT Olga]", "[SELECT Ivo]")) == (0, 0)


def test_listing_more_than_three_names_first_halves_the_goal() -> None:
    three = "I know Don, Mia, Pat and Olga."
    four = "I know Don, Mia, Pat, Kim and Olga."
    assert goals(party(three, "Yes, I know Olga!")) == (10, 10)
    assert goals(party(four, "Yes, I know Olga!")) == (5, 10)
    assert goals(party("I know Olga, Don, Mia, Pat and Kim.", "Yes, I know Olga!")) == (10, 10)
    assert goals(party("Don't, Mia, Pat, kim, Ivo! Olga!", "Yes, I know Olga!")) == (10, 10)  # no Don, no Kim


@pytest.mark.parametrize(
    "said",
    [
        ("Do you know Olga?", "Yes."),  # the name once
        ("Do you know Olga?", "Olga? Which one?"),
        ("Do you know Olga?", "I don't know any Olga."),
        ("Do you know Olga?", "Olga!"),  # no word of knowing
        ("I know no Olga.", "I know Olga."),
        ("My friend Olga sails.", "I'd like to know Olga!"),
        ("My friend Olga sails.", "Yes, please introduce me to Olga."),
        ("olga?", "Yes, olga!"),
        ("Somebody at Hill who sails? Hill College and sailing.", "Yes, my friend!"),  # singled out by values
    ],
)
def test_a_friend_who_may_be_meant_is_undecided(said: tuple[str, ...]) -> None:
    assert party(*said).scores is None


def test_a_friend_whom_nobody_speaks_of_is_not_found() -> None:
    assert goals(party("Chess?", "My friend Ivo plays poker.")) == (0, 0)
    assert goals(party("Do you know anyone from Hill College?", "Yes!")) == (0, 0)  # three of the first list


def test_a_friend_with_the_name_of_a_speaker_is_undecided() -> None:
    text = str(PARTY["agent_goals"])
    environment = {**PARTY, "agent_goals": [goal.replace("Olga", "Ana") for goal in PARTY["agent_goals"]]}
    environment["scenario"] = PARTY["scenario"].replace("Olga", "Ana")
    assert "Ana" not in text
    verdict = verify(scene_of(environment), talk("I am Ana. Do you know Ana?", "Yes, I know Ana."))
    assert (verdict.scores, verdict.reason) == (None, "Ana is also the name of a speaker")


@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_text_is_read_without_an_error(words: list[str]) -> None:
    for environment in (LAMP, CUPS, PARTY):
        verdict = verify(scene_of(environment), talk(*words))
        assert verdict.agreed <= verdict.decided
