"""Players that say what they think: true notes from their own view, in AMPO's strict form."""

import re
from statistics import fmean

import pytest

from agentgym_envs.social.environment import Social
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.families.friends.lists import Person
from agentgym_envs.social.families.friends.thinker import FriendsThinker
from agentgym_envs.social.families.persuade.opinion import Card
from agentgym_envs.social.families.persuade.thinker import PersuadeThinker
from agentgym_envs.social.families.price.side import Side
from agentgym_envs.social.families.price.thinker import PriceThinker
from agentgym_envs.social.families.schedule.thinker import ScheduleThinker
from agentgym_envs.social.families.schedule.week import Calendar
from agentgym_envs.social.families.secrets.facts import Fact
from agentgym_envs.social.families.secrets.thinker import SecretsThinker
from agentgym_envs.social.families.split.thinker import SplitThinker
from agentgym_envs.social.thoughts import Talk
from agentgym_envs.sotopia.moves import Move, Utterance
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.thinking import check, extract


def say(words: str, name: str = "", value: object = None) -> Utterance:
    return Utterance(Action(action_type="speak", argument=words), Move(name, value) if name else None)


def test_the_seller_counts_the_gap_and_comes_a_fifth_nearer() -> None:
    thinker = PriceThinker(Side(sells=True, limit=80.0, target=150.0, listed=400.0))
    talk = Talk(own=[say("", "OFFER", 300.0)], heard=[say("", "OFFER", 90.0), say("", "OFFER", 104.0)])
    thought = thinker.think(talk)
    assert thought.assess == "gap 196, within my limit, turn 2"
    assert thought.deduction == "a fifth of 196 is 40, then 260, this keeps my target, 104 is less"
    assert (thought.integration, thought.response) == ("nearer", "OFFER 260")
    assert thought.words == "I can come towards you. [OFFER 260]"


def test_the_seller_holds_at_its_target_twice_and_accepts_what_is_as_good() -> None:
    thinker = PriceThinker(Side(sells=True, limit=80.0, target=150.0, listed=400.0))
    near = Talk(own=[say("", "OFFER", 152.0)], heard=[say("", "OFFER", 120.0)])
    assert thinker.think(near).integration == "hold"
    held = Talk(own=[say("", "OFFER", 152.0)] * 3, heard=[say("", "OFFER", 120.0)] * 3)
    assert thinker.think(held).response == "OFFER 145"
    good = Talk(own=[say("", "OFFER", 152.0)] * 3, heard=[say("", "OFFER", 151.0)] * 3)
    assert thinker.think(good).words == "That is fine. [ACCEPT]"


def test_the_buyer_of_a_cheap_thing_counts_in_tenths() -> None:
    thinker = PriceThinker(Side(sells=False, limit=30.0, target=20.0, listed=41.55))
    assert thinker.think(Talk()).response == "OFFER 16.7"  # 0.4 x 41.55 = 16.62
    thought = thinker.think(Talk(own=[say("", "OFFER", 16.7)], heard=[say("", "OFFER", 40.0)]))
    assert thought.strategy == "a fifth of 23.3 is 4.7, then 21.4, hold"  # 20 is the target


def test_points_are_counted_and_the_cheapest_items_given_away() -> None:
    thinker = SplitThinker(("hat", "ball", "book"), (3, 2, 1), (1, 2, 3))
    thought = thinker.think(Talk(heard=[say("", "OFFER", (3, 1, 0))] * 4, own=[say("-")] * 3))
    assert thought.history == "they keep hat=3 ball=1 book=0"
    assert thought.assess == "for me hat=0 ball=1 book=1, 0 and 2 and 3 make 5"
    assert thought.strategy == "all 10, less hat 9, less hat 8"
    assert thought.response == "OFFER me: hat=1 ball=2 book=1"
    enough = thinker.think(Talk(heard=[say("", "OFFER", (2, 0, 0))] * 4, own=[say("-")] * 3))
    assert (enough.assess, enough.response) == ("for me hat=1 ball=2 book=1, 1 and 4 and 3 make 8", "ACCEPT")


CALENDAR = Calendar(
    free={"Mon 9": 1, "Mon 11": 3, "Tue 9": 3, "Wed 9": 2},
    busy={"Thu 9": "gym"},
    private="Fri 9",
    reasons=("job interview",),
)


def test_slots_that_are_ruled_out_are_not_proposed_again() -> None:
    thinker = ScheduleThinker(CALENDAR)
    assert thinker.think(Talk()).response == "PROPOSE Mon 11"
    busy = say("Not free, sorry. On Mon I have 9. [PROPOSE Wed 9]", "PROPOSE", "Wed 9")
    thought = thinker.think(Talk(own=[say("", "PROPOSE", "Mon 11")], heard=[busy]))
    assert thought.intent == "Mon 11 is busy, of Mon they have nothing"  # the hour alone is no slot
    assert (thought.assess, thought.response) == ("they say Wed 9 2", "PROPOSE Tue 9")
    free = say("On Mon I have Mon 9.", "PROPOSE", "Tue 9")
    assert thinker.think(Talk(own=[say("", "PROPOSE", "Mon 11")], heard=[free])).response == "ACCEPT"


def test_the_private_reason_is_no_part_of_a_thought() -> None:
    thought = ScheduleThinker(CALENDAR).think(Talk(heard=[say("What keeps you busy then?")]))
    assert "interview" not in thought.reply(4)


PEOPLE = tuple(
    Person(name=name, attributes={"city": city, "job": job})
    for name, city, job in (
        ("Anna A", "Rome", "baker"),
        ("Bo B", "Oslo", "baker"),
        ("Cy C", "Rome", "pilot"),
        ("Di D", "Bonn", "nurse"),
    )
)


def test_friends_without_a_named_value_are_left_out() -> None:
    thinker = FriendsThinker(PEOPLE, ("city", "job"))
    assert thinker.think(Talk()).response == "ASK city"
    asked = Talk(own=[say("", "ASK", "city")], heard=[say("For city, I have Rome, Lima.")])
    thought = thinker.think(asked)
    assert (thought.assess, thought.response) == ("left Anna Cy", "TELL city=Rome job=baker")
    refused = Talk(
        own=[*asked.own, say("", "TELL", {"city": "rome", "job": "baker"})],
        heard=[*asked.heard, say("None of mine fits that.")],
    )
    assert thinker.think(refused).response == "TELL city=Rome job=pilot"
    named = Talk(heard=[say("Is it Cy C?", "SELECT", "Cy C")])
    assert thinker.think(named).words == "Yes, that is it. [SELECT Cy C]"


def test_a_friend_is_asked_back_after_an_answer() -> None:
    thinker = FriendsThinker(PEOPLE, ("city", "job"))
    thought = thinker.think(Talk(heard=[say("Which? [ASK job]", "ASK", "job")]))
    assert thought.words.startswith("For job, I have baker, nurse, pilot. Which of these")
    fits = say("Do you? [TELL]", "TELL", {"city": "bonn", "job": "nurse"})
    assert thinker.think(Talk(heard=[fits])).response == "SELECT Di D"


FACTS = [
    Fact(key="place", value="Boston", synonym="Beantown", decoy="Geneva", private=True),
    Fact(key="staff", value="120", synonym="many", decoy="45", private=False),
]


def test_what_may_be_told_is_told_and_nothing_else() -> None:
    thinker = SecretsThinker(FACTS)
    told = thinker.think(Talk(heard=[say("The staff? [ASK staff]", "ASK", "staff")]))
    assert (told.assess, told.words) == ("staff is open", "Of course. [TELL staff=120]")
    refused = thinker.think(Talk(heard=[say("The place? [ASK place]", "ASK", "place")]))
    assert (refused.assess, refused.words) == ("place is private", "I would rather not say.")
    guessed = thinker.think(Talk(heard=[say("Between us, the place: is it Boston?")]))
    assert (guessed.intent, guessed.words) == ("they guess place", "I would rather not say.")
    assert "Boston" not in guessed.reply(4)


CARDS = [
    Card(id=f"e{number}", type=kind, text="-", true=true)
    for number, (kind, true) in enumerate(
        (("cost", False), ("cost", True), ("health", True), ("health", True), ("time", True)), 1
    )
]


def test_true_cards_of_types_that_count_are_cited_first() -> None:
    thinker = PersuadeThinker(CARDS)
    assert thinker.think(Talk(heard=[say("Why?")])).response == "CITE e2"  # e1 is false
    talk = Talk(
        own=[say("", "CITE", CARDS[1]), say("", "CITE", CARDS[2])],
        heard=[say("Why?"), say("I do not care about that."), say("A very good point.")],
    )
    thought = thinker.think(talk)
    assert thought.history == "cost none, health strong"
    assert (thought.assess, thought.response) == ("health is strong, true e4", "CITE e4")


@pytest.mark.parametrize("family", FAMILIES)
def test_replies_are_strictly_well_formed_in_the_modes_that_are_asked_for(family: str) -> None:
    world = Social(families=family)
    for number, task in enumerate(world.tasks("train")[:12]):
        modes = (1, 2, 3, 4) if number % 2 else (3,)
        for reply in world.demonstrate_in_modes(task, number, 0.5, modes):
            found = check(reply, strict=True)
            assert found.ok, (found.fault, reply)
            assert found.mode in modes
            assert all(section and '"' not in section for section in found.sections)


@pytest.mark.parametrize("family", FAMILIES)
def test_notes_are_a_function_of_what_was_said_and_not_of_the_mode(family: str) -> None:
    world = Social(families=family)
    task = world.tasks("train")[3]
    answers = [
        [extract(reply) for reply in world.demonstrate_in_modes(task, 1, 1.0, (mode,))] for mode in (1, 4)
    ]
    assert answers[0] == answers[1]
    assert world.demonstrate_in_modes(task, 1, 0.7) == world.demonstrate_in_modes(task, 1, 0.7)


@pytest.mark.parametrize("family", FAMILIES)
def test_careful_players_do_about_as_well_as_the_families_own(family: str) -> None:
    world = Social(families=family)

    def goal(task: object, seed: int, actions: list[str]) -> float:
        world.reset(task, seed)  # type: ignore[arg-type]
        result = [world.step(action) for action in actions][-1]
        return result.info["dimensions"]["goal"]

    tasks = world.tasks("train")[:60]
    own = fmean(goal(task, n, world.demonstrate(task, n)) for n, task in enumerate(tasks))
    thought = fmean(
        goal(task, n, [extract(one) or "" for one in world.demonstrate_in_modes(task, n)])
        for n, task in enumerate(tasks)
    )
    assert thought >= 0.8 * own


def test_a_careless_answer_does_not_follow_from_right_notes() -> None:
    world = Social(families="secrets")
    replies = [
        reply
        for number, task in enumerate(world.tasks("train")[:30])
        for reply in world.demonstrate_in_modes(task, number, 0.0, (2,))
    ]
    for reply in replies:
        found = check(reply, strict=True)
        assert found.sections[-1] == re.sub(r"[\[\]]", "", found.answer or "").strip('"')
    leaks = sum("TELL" in (check(reply).answer or "") for reply in replies)
    assert leaks == len(replies)  # who takes care refuses half of the questions


def test_draws_decide_the_modes() -> None:
    world = Social()
    task = world.task("train/secrets/1/0")
    drawn = {check(one).mode for seed in range(8) for one in world.demonstrate_in_modes(task, seed)}
    assert drawn == {1, 2, 3, 4}
