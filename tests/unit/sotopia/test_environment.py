"""The environment `sotopia` with rules: tasks, options, turns of all orders, seats, ends, snapshots."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sotopia_models import act, say
from support.sotopia_profiles import (
    AGENTS,
    CUPS_TASK,
    LAMP_2_TASK,
    LAMP_TASK,
    PARTY_TASK,
    TALK_TASK,
    write_profiles,
)

from agentgym_envs.core import StepResult, TaskUnplayable
from agentgym_envs.social import Social
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.outcome import LABEL
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.environment import SEATS, Sotopia
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.tasks import SotopiaTask
from agentgym_envs.thinking import extract

NAMES = [one.name for one in SOTOPIA]


def play(world: Sotopia, task: SotopiaTask, messages: list[str], seed: int = 0) -> list[StepResult]:
    world.reset(task, seed)
    results: list[StepResult] = []
    for message in messages:
        result = world.step(message)
        assert isinstance(result, StepResult)
        results.append(result)
        if result.terminated or result.truncated:
            break
    return results


def first_text(world: Sotopia, task: SotopiaTask, seed: int = 0) -> str:
    return world.reset(task, seed).text  # type: ignore[union-attr] - nothing is waited for


@pytest.mark.parametrize("family", FAMILIES)
def test_a_generated_task_is_played_and_scored_as_in_social(family: str) -> None:
    world, other = Sotopia(), Social(actions="json")
    for number in range(3):
        task, social = world.task(f"test/{family}/2/{number}"), other.task(f"test/{family}/2/{number}")
        plan = world.demonstrate(task, number)
        results = play(world, task, plan, number)
        other.reset(social, number)
        expected = [other.step(message) for message in plan]
        assert [one.observation for one in results] == [one.observation for one in expected]
        assert [one.reward for one in results] == [one.reward for one in expected]
        last, theirs = results[-1].info, expected[-1].info
        for name in ("label", "view", "seat", "end_reasons", "dimensions", "overall_score", "facts"):
            assert last[name] == theirs[name]
        assert last["partner"] == {"kind": "rule", "hidden": theirs["partner"]}


def test_the_thinking_player_of_the_social_worlds_plays_generated_tasks_in_plain_words(home: Path) -> None:
    world, other = Sotopia(home=home, actions="text"), Social()
    for number, task in enumerate(world.tasks("train")[:6]):
        replies = world.demonstrate_in_modes(task, number)
        assert replies == other.demonstrate_in_modes(other.task(task.id), number)
        results = play(world, task, [extract(one) or "" for one in replies], number)
        assert results[-1].terminated or results[-1].truncated
    with pytest.raises(NotImplementedError, match="nor for JSON"):
        Sotopia(home=home).demonstrate_in_modes(world.tasks("train")[0], 0)


def test_the_last_info_has_scores_sources_and_the_conversation(home: Path) -> None:
    world = Sotopia(home=home)
    last = play(world, world.task(LAMP_TASK), [say("[OFFER 32]"), act("leave")])[-1]
    info = last.info
    assert (last.terminated, last.truncated, last.reward) == (True, False, 0.0)
    assert info["label"] == LABEL
    assert (info["scenario"], info["source"], info["relationship"]) == ("lamp", "craigslist_bargains", 0)
    assert (info["view"], info["seat"], info["end_reasons"]) == ("relationship", 0, ["left"])
    assert list(info["dimensions"]) == list(info["normalised"]) == NAMES
    assert info["dimensions"] == dict.fromkeys(NAMES) | {"goal": 0, "financial_and_material_benefits": 0}
    assert info["normalised"]["financial_and_material_benefits"] == 0.5  # 0 on a scale of -5 to 5
    assert info["overall_score"] is None
    assert (info["judge"], info["reward_mix"]) == ({"kind": "verify"}, "goal")
    record = info["conversation"]
    assert record["log"][0] == [["speak", "[OFFER 32]"], ["none", ""]]
    assert record["log"][-1] == [["leave", ""], ["none", ""]]
    assert (record["task_id"], record["agents"], record["names"]) == (
        LAMP_TASK,
        ["ana", "bo"],
        ["Ana Reed", "Bo Lind"],
    )
    assert "judge_background" not in record
    json.dumps(info)


def test_a_published_bargain_beside_the_rule_based_partner(home: Path) -> None:
    world = Sotopia(home=home, actions="text")
    text = first_text(world, world.task(LAMP_TASK))
    assert "[OFFER 72.50] offers a price, [ACCEPT] takes the other's latest offer" in text
    assert text.endswith("Conversation Starts:")
    offered = world.step("[OFFER 39]").observation.text  # type: ignore[union-attr] - nothing is waited for
    assert offered.startswith('Turn #1: Bo Lind said: "')
    price = float(offered.partition("[OFFER ")[2].partition("]")[0])
    end = world.step("Fine. [ACCEPT]")
    assert isinstance(end, StepResult)
    assert end.info["facts"] == {"deal": True, "outcome": f"deal at ${price:,.2f}"}
    gain = (price - 32) / 32
    assert end.info["dimensions"]["goal"] == pytest.approx(max(0, 8 + 16 * gain), abs=1e-3)
    assert end.reward == pytest.approx(max(0, 8 + 16 * gain) / 10)
    hidden = end.info["partner"]["hidden"]
    assert 0.15 <= hidden["yields"] <= 0.4
    assert price <= 20 * (1 + hidden["yields"])  # a buyer with a target of 20


def test_a_published_partner_yields_to_its_limit_and_takes_what_is_good_enough(home: Path) -> None:
    world = Sotopia(home=home, actions="text")
    task = world.task(LAMP_TASK)
    highest = []
    for seed in range(12):
        results = play(world, task, [f"[OFFER {40 - step}]" for step in range(10)], seed)
        said = [both[1][1] for both in results[-1].info["conversation"]["log"]]
        offers = [float(text.partition("[OFFER ")[2].rstrip("]")) for text in said if "[OFFER" in text]
        limit = 20 * (1 + results[-1].info["partner"]["hidden"]["yields"])
        assert max(offers) <= limit + 0.005  # a buyer with a target of 20
        highest.append(max(offers))
    assert max(highest) > 20.5  # beyond its target
    (sold,) = play(world, task, ["[OFFER 5]"])
    assert sold.info["facts"]["outcome"] == "deal at $5.00"


@pytest.mark.parametrize("seat", [0, 1])
def test_published_divisions_and_friends_can_be_won(home: Path, seat: int) -> None:
    world = Sotopia(home=home, actions="text", seat=seat)
    cups = world.task(CUPS_TASK)
    keeps = "cup=3 plate=0 vase=0" if seat else "cup=0 plate=0 vase=1"
    ends = [play(world, cups, [f"[OFFER me: {keeps}]"] * 9, seed)[-1] for seed in range(12)]
    agreed = [one.info["dimensions"]["goal"] for one in ends if one.info["facts"]["deal"]]
    assert set(agreed) == {7.5 if seat else 4.167}  # 12 of 16, 5 of 12 points
    party = world.task(PARTY_TASK)
    found = play(world, party, ["[TELL Hobby=Sailing; School=Hill College]", "It is Olga. [SELECT Olga]"])[-1]
    assert (found.reward, found.info["facts"]["deal"]) == (1.0, True)


@pytest.mark.parametrize("task_id", [LAMP_TASK, CUPS_TASK, LAMP_2_TASK, PARTY_TASK])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "message", [act("none"), say("Nice weather."), act("leave"), say("Deal! I accept."), "?"]
)
def test_who_makes_no_move_earns_exactly_nothing(home: Path, task_id: str, seat: int, message: str) -> None:
    world = Sotopia(home=home, seat=seat)
    results = play(world, world.task(task_id), [message] * 40, 3)
    assert sum(one.reward for one in results) == 0
    assert results[-1].terminated or results[-1].truncated


def test_hidden_parameters_are_drawn_from_the_seed_and_shown_at_the_end_only(home: Path) -> None:
    world = Sotopia(home=home)

    def hidden(task_id: str, seed: int) -> object:
        (last,) = play(world, world.task(task_id), [act("leave")], seed)
        return last.info["partner"]["hidden"]

    assert hidden(LAMP_TASK, 5) == hidden(LAMP_2_TASK, 5)
    assert len({json.dumps(hidden(LAMP_TASK, seed)) for seed in range(12)}) == 12
    results = play(world, world.task(LAMP_TASK), [say("Hello.")] * 10)
    assert all(one.info == {} for one in results[:-1])


def test_the_partners_secret_is_nowhere_before_the_end(tmp_path: Path) -> None:
    secrets = [{**agent, "secret": f"{agent['first_name']} robbed a bank."} for agent in AGENTS]
    source = write_profiles(tmp_path / "source")
    (source / "agents.json").write_text(json.dumps(secrets))
    import_official(source, tmp_path / "home")
    for view in ("package", "relationship", "lite"):
        world = Sotopia(home=tmp_path / "home", view=view)
        for task in world.tasks("verifiable"):
            shown = [first_text(world, task)]
            results = play(world, task, [say("[ASK Hobby] [OFFER 30]")] * 30)
            shown += [one.observation.text for one in results]
            other = task.content.agents[1]  # type: ignore[union-attr] - a published task
            assert f"{other.first_name} robbed" not in "".join(shown)
            assert all("robbed" not in json.dumps(one.info) for one in results[:-1])
    world = Sotopia(home=tmp_path / "home", view="ampo")
    assert "Bo robbed a bank." in first_text(world, world.task(LAMP_TASK))
    assert (
        play(world, world.task(LAMP_TASK), [act("leave")])[-1]
        .info["label"]
        .endswith("the agent reads its partner's secret")
    )


def test_a_malformed_message_may_be_repeated_once_and_costs_no_turn() -> None:
    world = Sotopia(families="price")
    task = next(one for one in world.tasks("train")[:30] if one.generated and one.generated.seat == 0)
    retry, offer, again, lost = play(world, task, ["[OFFER 20]", say("Hello."), "{}", '{"action_type": 1}'])
    assert "the reply is not JSON" in retry.observation.text
    assert retry.info == again.info == {"parse": "retry", "invalid_action": True}
    assert (offer.info, offer.observation.text[:9]) == ({}, "Turn #1: ")
    assert lost.info == {"parse": "failed", "invalid_action": True}
    assert lost.observation.text.startswith("Turn #3: ")  # the turn does nothing, and the partner goes on
    results = play(world, task, [message for _ in range(10) for message in ("?", act("none"))])
    log = results[-1].info["conversation"]["log"]
    own = sum(turn % 2 == 0 for turn in range(len(log)))
    assert len(results) == 2 * own  # a malformed message is no turn
    assert world.max_turns == 20


def test_thoughts_are_neither_said_nor_malformed() -> None:
    world = Sotopia(families="price", actions="text")
    task = next(one for one in world.tasks("train")[:30] if one.generated and one.generated.seat == 0)
    world.reset_seats(task, 0)
    heard = world.step_seats({"first": "<think>I would pay 90.</think>\nI pay 60."})["second"]  # type: ignore[index]
    assert heard.observation.text.endswith('said: "I pay 60."')
    json_world = Sotopia(families="price")
    (result,) = play(json_world, task, [f"<think>cheap </think> {say('Hello.')}"])
    assert result.info == {}
    kept = Sotopia(families="price")
    kept.reset_seats(task, 0)
    said = kept.step_seats({"first": say("I wrote </think> once")})["second"]  # type: ignore[index]
    assert "I wrote </think> once" in said.observation.text


def test_ten_utterances_of_both_are_truncated_and_scored() -> None:
    world = Sotopia(families="secrets")
    task = next(one for one in world.tasks("train", "3")[:40] if one.generated and one.generated.seat == 1)
    last = next(
        results[-1]
        for seed in range(40)
        if (results := play(world, task, [say("No.")] * 20, seed))[-1].truncated
    )
    assert (last.terminated, last.info["truncation_reason"]) == (False, "max_turns")
    assert last.info["end_reasons"] == ["too_long"]
    assert len(last.info["conversation"]["log"]) == 20
    short = Sotopia(families="secrets", max_turns=4)
    assert short.max_turns == 4
    assert len(play(short, task, [say("No.")] * 20)[-1].info["conversation"]["log"]) == 4


def test_a_partner_that_ends_it_before_the_agents_first_turn_ends_the_first_step() -> None:
    world = Sotopia(families="price", max_turns=1)
    task = next(one for one in world.tasks("train")[:30] if one.generated and one.generated.seat == 1)
    text = first_text(world, task)
    assert text.endswith("The conversation is too long.")
    (result,) = play(world, task, ["whatever"])
    assert (result.truncated, result.reward, result.info["dimensions"]["goal"]) == (True, 0, 0)
    over = world.step(say("more"))
    assert isinstance(over, StepResult)
    assert (over.observation.text, over.terminated, over.reward) == ("It is over.", True, 0)


def test_one_agent_in_simultaneous_and_random_order() -> None:
    for order in ("simultaneous", "random"):
        world = Sotopia(families="price", order=order)
        assert world.max_turns == 40
        for seed in range(8):
            task = world.task(f"train/price/1/{seed}")
            results = play(world, task, [say("Well.")] * 40, seed)
            log = results[-1].info["conversation"]["log"]
            assert results[-1].terminated or results[-1].truncated
            assert len(log) <= 20
            assert results == play(world, task, [say("Well.")] * 40, seed)
            if order == "simultaneous":
                assert all(both[seat][0] != "none" for both in log[:-1] for seat in (0, 1))
    drawn = Sotopia(families="price", order="random")
    waits = [
        action
        for seed in range(20)
        for both in play(drawn, drawn.task("train/price/1/0"), [say("Well.")] * 40, seed)[-1].info[
            "conversation"
        ]["log"]
        for action in both
    ]
    assert ["non-verbal communication", "waits for an answer"] in waits


def test_recorded_actions_are_repeated(home: Path, tmp_path: Path) -> None:
    world = Sotopia(home=home, actions="text", judge="none", order="round-robin")
    world.reset_seats(world.task(TALK_TASK), 0)
    for turn, words in enumerate(("Hush!", "Sorry.", "Thanks.", "left the conversation")):
        end = world.step_seats({SEATS[turn % 2]: words})
    from agentgym_envs.sotopia.play.records import conversation_of

    talk = conversation_of(end["first"].info["conversation"])  # type: ignore[index]
    log = episode_log(
        talk, None, pk="one", environment="talk", agents=("cy", "ana"), models=("env", "gpt-4", "gpt-4")
    )
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps([log]))
    again = Sotopia(home=home, actions="text", judge="none", replay=str(file))
    texts = [one.observation.text for one in play(again, again.task(TALK_TASK), ["Hm!", "Well."])]
    assert texts == [
        'Turn #1: Ana Reed said: "Sorry."',
        "Turn #3: Ana Reed left the conversation\nToo few active agents.",
    ]
    with pytest.raises(TaskUnplayable, match="has no episode of 'sotopia/0'"):
        again.reset(again.task(LAMP_TASK), 0)
    other = Sotopia(home=home, actions="text", judge="none", replay=str(file), seat=1)
    assert first_text(other, other.task(TALK_TASK)).endswith('Turn #0: Cy Moss said: "Hush!"')


MESSAGES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            *(
                say("[ACCEPT]"),
                say("[OFFER 70]"),
                say("[OFFER me: cup=1 plate=1 vase=0]"),
                say("[SELECT Olga]"),
            ),
            *(say("[ASK Hobby]"), say("[TELL Hobby=Sailing]"), say("yes"), act("none"), act("leave")),
            *(
                act("action", "waves"),
                "{}",
                "[]",
                '{"action_type": "speak"}',
                say("[AGREE]"),
                say("[NOSLOT]"),
            ),
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([*(f"train/{family}/2/1" for family in FAMILIES), LAMP_TASK, CUPS_TASK, PARTY_TASK]),
    st.lists(MESSAGES, min_size=40, max_size=40),
    st.integers(0, 10**6),
    st.sampled_from(["round-robin", "simultaneous", "random"]),
)
def test_any_messages_lead_to_an_end_and_a_snapshot_goes_on_equally(
    home: Path, task_id: str, messages: list[str], seed: int, order: str
) -> None:
    world, other = Sotopia(home=home, order=order), Sotopia(home=home, order=order)
    task = world.task(task_id)
    results = play(world, task, messages, seed)
    assert len(results) <= world.max_turns
    assert results[-1].terminated or results[-1].truncated
    assert all(one.reward == 0 for one in results[:-1])
    assert 0 <= results[-1].reward <= 1
    assert list(results[-1].info["dimensions"]) == NAMES
    half = len(results) // 2
    world.reset(task, seed)
    for message in messages[:half]:
        world.step(message)
    snapshot = world.snapshot()
    for instance in (other, world):
        instance.restore(snapshot)
        assert [instance.step(message) for message in messages[half : len(results)]] == results[half:]
