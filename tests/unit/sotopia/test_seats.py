"""Two agents in one episode of `sotopia`: turns of all orders, scores of both, and what each is told."""

from pathlib import Path
from typing import Any

import pytest
from support.sotopia_models import act, say
from support.sotopia_profiles import LAMP_TASK, TALK_TASK

from agentgym_envs.sotopia.environment import SEATS, Sotopia
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

NAMES = [one.name for one in SOTOPIA]


def test_the_package_counts_masked_seats_as_silent_and_our_own_rule_does_not(home: Path) -> None:
    def silent(**options: Any) -> int:
        world = Sotopia(home=home, actions="text", judge="none", **options)
        world.reset_seats(world.task(TALK_TASK), 0)
        world.step_seats({"first": "Hello."})
        for turn in range(10):
            results = world.step_seats({SEATS[(turn + 1) % 2]: ""})
            if "first" in results and results["first"].terminated:  # type: ignore[index]
                return turn + 1
        return 0

    assert silent() == 1  # [speak, none], [none, none]: three in a row
    assert silent(stale_rule="own") == 3
    assert silent(max_stale=5) == 3


def test_simultaneous_seats_act_together_and_one_that_is_malformed_alone_repeats() -> None:
    world = Sotopia(families="price", order="simultaneous")
    task = world.task("train/price/1/0")
    assert list(world.reset_seats(task, 0)) == ["first", "second"]
    alone = world.step_seats({"first": say("one"), "second": "?"})
    assert list(alone) == ["second"]  # type: ignore[call-overload] - nothing is waited for
    with pytest.raises(ValueError, match="it is the turn of second"):
        world.step_seats({"first": say("again")})
    both = world.step_seats({"second": say("two")})
    texts = {name: one.observation.text for name, one in both.items()}  # type: ignore[union-attr]
    names = task.generated.people if task.generated else ()
    assert texts == {
        "first": f'Turn #0: {names[1].name} said: "two"',
        "second": f'Turn #0: {names[0].name} said: "one"',
    }
    world.step_seats({"first": say("[OFFER 70]"), "second": say("[OFFER 90]")})
    goes_on = world.step_seats({"first": say("[ACCEPT]"), "second": say("[ACCEPT]")})
    assert not any(one.terminated for one in goes_on.values())  # type: ignore[union-attr] - both accepted: neither
    end = world.step_seats({"first": say("[ACCEPT]"), "second": say("[OFFER 91]")})
    assert {name: one.info["facts"]["price"] for name, one in end.items()} == dict.fromkeys(SEATS, 90.0)  # type: ignore[union-attr]


def test_an_acceptance_means_an_offer_of_an_earlier_step_in_both_seats() -> None:
    for accepting, offering in (SEATS, SEATS[::-1]):
        world = Sotopia(families="price", order="simultaneous")
        world.reset_seats(world.task("train/price/1/0"), 0)
        world.step_seats({accepting: say("Hm."), offering: say("[OFFER 90]")})
        end = world.step_seats({accepting: say("[ACCEPT]"), offering: say("[OFFER 70]")})
        assert end["first"].info["facts"]["price"] == 90.0  # type: ignore[index]


def test_a_seat_out_of_turn_is_refused() -> None:
    world = Sotopia()
    task = world.task("train/price/1/0")
    world.reset_seats(task, 0)
    with pytest.raises(ValueError, match="it is the turn of first"):
        world.step_seats({"second": say("hello")})
    world.step_seats({"first": act("leave")})
    with pytest.raises(ValueError, match="it is the turn of nobody"):
        world.step_seats({"first": say("hello")})


def test_what_a_seat_is_told_of_its_message_comes_with_its_next_result() -> None:
    world = Sotopia()
    task = world.task("train/price/1/0")
    world.reset_seats(task, 0)
    assert world.step_seats({"first": "?"})["first"].info["parse"] == "retry"  # type: ignore[index]
    passed = world.step_seats({"first": "?"})
    assert {name: one.info for name, one in passed.items()} == {"second": {}}  # type: ignore[union-attr]
    back = world.step_seats({"second": say("Hello?")})["first"]  # type: ignore[index]
    assert back.info == {"parse": "failed", "invalid_action": True}


def test_two_agents_are_scored_by_their_seats(home: Path) -> None:
    world = Sotopia(home=home)
    shown = world.reset_seats(world.task(LAMP_TASK), 0)
    assert "Ana Reed's goal: You are the seller" in shown["first"].text
    assert "[OFFER 72.50]" in shown["first"].text
    answer = world.step_seats({"first": say("[OFFER 24]")})["second"]  # type: ignore[index]
    assert "Bo Lind's goal: You are the buyer" in answer.observation.text
    end = world.step_seats({"second": say("[ACCEPT]")})
    goals = {name: one.info["dimensions"]["goal"] for name, one in end.items()}  # type: ignore[union-attr]
    assert goals == {"first": 4.0, "second": 4.8}
    assert all(one.info["partner"] == {"kind": "agent"} for one in end.values())  # type: ignore[union-attr]
    assert [one.info["seat"] for one in end.values()] == [0, 1]  # type: ignore[union-attr]


def test_nobody_judges_and_no_score_is_invented(home: Path) -> None:
    world = Sotopia(home=home, judge="none")
    world.reset_seats(world.task(TALK_TASK), 0)
    end = world.step_seats({"first": act("leave")})["first"]  # type: ignore[index]
    assert (end.reward, end.terminated) == (0.0, True)
    assert end.info["dimensions"] == dict.fromkeys(NAMES)
    assert (end.info["overall_score"], end.info["reward_mix"], end.info["trainable"]) == (None, None, False)
    assert end.info["conversation"]["status"] == "unjudged"
    assert "Scenario: A library." in end.info["conversation"]["judge_background"]
    assert "Note: only moves count" not in world.reset_seats(world.task(LAMP_TASK), 0)["first"].text
    alone = world.reset(world.task(LAMP_TASK), 0)  # a partner by rules reads moves, whoever judges
    assert "Note: only moves count" in alone.text  # type: ignore[union-attr] - nothing is waited for


def test_the_whole_prompt_of_the_package_can_be_observed(home: Path) -> None:
    world = Sotopia(home=home, observation="prompt", judge="none")
    text = world.reset_seats(world.task(TALK_TASK), 0)["first"].text
    assert text.startswith("Imagine you are Cy Moss, your task is to act/speak as Cy Moss would")
    assert "You are at Turn #0. Your available action types are\nnone speak" in text
    answer = world.step_seats({"first": say("Hush!")})["second"]  # type: ignore[index]
    assert 'Turn #0: Cy Moss said: "Hush!"' in answer.observation.text
    assert "You are at Turn #1." in answer.observation.text


def test_a_snapshot_of_two_seats_goes_on(home: Path) -> None:
    world, other = Sotopia(home=home, order="simultaneous"), Sotopia(home=home, order="simultaneous")
    world.reset_seats(world.task(LAMP_TASK), 0)
    world.step_seats({"first": say("[OFFER 24]"), "second": say("Hm.")})
    world.step_seats({"first": say("Well?"), "second": "?"})
    other.restore(world.snapshot())
    ends = [one.step_seats({"second": say("[ACCEPT]")}) for one in (world, other)]
    assert ends[0] == ends[1]
    assert ends[0]["first"].info["facts"]["deal"] is True  # type: ignore[index]
    with pytest.raises(TypeError, match="not a snapshot of sotopia: int"):
        world.restore(3)
