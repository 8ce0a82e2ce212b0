"""`social` as an environment: views, endings, hidden parameters, seats, malformed replies, snapshots."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_envs.core import StepResult, TaskNotFound
from agentgym_envs.social import Social, SocialTask
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.outcome import LABEL

WORLD = Social()
TASKS = [WORLD.task(f"train/{family}/2/{number}") for family in FAMILIES for number in range(4)]
HIDDEN = {
    "price": {"kind", "exponent", "mirroring", "jump", "greed", "patience", "rounding", "bluff", "noise"},
    "split": {"floor", "temperament"},
    "friends": {"open", "patience"},
    "schedule": {"terse", "curious", "temperament"},
    "secrets": {"questions", "order", "pushy", "knowing"},
    "persuade": {"opinion", "threshold", "weights", "checks", "patience"},
}


def play(world: Social, task: SocialTask, actions: list[str], seed: int = 0) -> list[StepResult]:
    world.reset(task, seed)
    results: list[StepResult] = []
    for action in actions:
        results.append(world.step(action))
        if results[-1].terminated or results[-1].truncated:
            break
    return results


def seated(family: str, seat: int) -> SocialTask:
    return next(
        task for task in map(WORLD.task, (f"train/{family}/1/{n}" for n in range(50))) if task.seat == seat
    )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_silence_earns_exactly_nothing_and_a_player_something(task: SocialTask) -> None:
    silent = play(WORLD, task, [""] * 10)
    assert sum(result.reward for result in silent) == 0
    assert silent[-1].terminated or silent[-1].truncated
    played = play(WORLD, task, WORLD.demonstrate(task, 0))
    assert all(result.reward == 0 for result in played[:-1])
    assert played[-1].info["dimensions"]["goal"] >= 0


@pytest.mark.parametrize("family", FAMILIES)
def test_players_win_reward_in_most_tasks(family: str) -> None:
    tasks = [WORLD.task(f"valid/{family}/{level}/{n}") for level in "123" for n in range(6)]
    rewards = [play(WORLD, task, WORLD.demonstrate(task, n), n)[-1].reward for n, task in enumerate(tasks)]
    assert sum(reward > 0 for reward in rewards) >= 12
    assert max(rewards) <= 1


def test_the_background_has_the_own_goal_and_nothing_of_the_partner() -> None:
    task = seated("price", 0)
    sale: Any = task.setting
    text = WORLD.reset(task, 0).text
    assert task.instruction in text
    assert "[OFFER 72.50]" in text
    assert "goal: Unknown" in text
    assert f"${sale.limits[0]:,.0f}" in text or f"${sale.limits[0]:,.2f}" in text
    assert f"${sale.limits[1]:,.0f}" not in text
    assert f"${sale.limits[1]:,.2f}" not in text


def test_the_seat_is_part_of_the_task_and_seat_1_hears_the_partner_first() -> None:
    first, second = seated("price", 0), seated("price", 1)
    assert WORLD.reset(first, 0).text.endswith("Conversation Starts:")
    assert "Turn #0:" in WORLD.reset(second, 0).text.splitlines()[-1]
    assert WORLD.step("Hello.").observation.text.startswith("Turn #2:")
    WORLD.reset(first, 0)
    assert WORLD.step("Hello.").observation.text.startswith("Turn #1:")


@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_parameters_come_after_the_end_only(family: str) -> None:
    task = WORLD.task(f"train/{family}/1/0")
    first = WORLD.reset(task, 3)
    results = play(WORLD, task, WORLD.demonstrate(task, 3), 3)
    assert set(results[-1].info["partner"]) == HIDDEN[family]
    assert results[-1].info["label"] == LABEL
    assert all(result.info == {} for result in results[:-1])
    hidden = json.dumps(results[-1].info["partner"])
    shown = "\n".join([first.text, *(result.observation.text for result in results)])
    for name in HIDDEN[family]:
        assert f'"{name}"' in hidden
        assert f'"{name}"' not in shown


def test_hidden_parameters_depend_on_the_seed_and_not_on_the_task() -> None:
    def partner(number: int, seed: int) -> object:
        return play(WORLD, WORLD.task(f"train/price/1/{number}"), ["left the conversation"], seed)[-1].info[
            "partner"
        ]

    assert partner(0, 5) == partner(1, 5) == partner(2, 5)
    assert len({json.dumps(partner(0, seed)) for seed in range(20)}) == 20


def test_leaving_ends_the_episode_and_is_scored() -> None:
    (result,) = play(WORLD, seated("split", 0), ["left the conversation", "hello"])
    assert (result.reward, result.terminated, result.truncated) == (0, True, False)
    assert result.info["end_reasons"] == ["left"]
    assert result.info["dimensions"]["financial_and_material_benefits"] == 0
    assert result.info["overall_score"] is None


def test_ten_replies_without_an_end_are_truncated_and_scored() -> None:
    task = next(task for task in map(WORLD.task, (f"train/secrets/3/{n}" for n in range(50))) if task.seat)
    long_talk = next(
        results for seed in range(40) if (results := play(WORLD, task, ["No."] * 10, seed))[-1].truncated
    )
    last = long_talk[-1]
    assert (len(long_talk), last.terminated, last.reward) == (10, False, 0)
    assert (last.info["truncation_reason"], last.info["end_reasons"]) == ("max_turns", ["too_long"])
    assert last.info["facts"]["asked"] == 3


def test_a_step_after_the_end_changes_nothing() -> None:
    task = seated("split", 0)
    play(WORLD, task, ["left the conversation"])
    again = WORLD.step("[ACCEPT]")
    assert (again.observation.text, again.reward, again.terminated) == ("It is over.", 0, True)


def test_json_actions_are_sotopias() -> None:
    world, task = Social("price", actions="json"), seated("price", 0)
    offer = json.dumps({"action_type": "speak", "argument": "Here. [OFFER 70]"})
    text = play(Social("price"), task, ["Here. [OFFER 70]"])[0].observation.text
    assert play(world, task, [offer])[0].observation.text == text
    assert play(world, task, world.demonstrate(task, 0))[-1].info["dimensions"]["goal"] > 0
    assert play(world, task, ['{"action_type": "leave", "argument": ""}'])[0].terminated


def test_a_malformed_reply_may_be_repeated_once_within_the_turn() -> None:
    world, task = Social(actions="json"), seated("price", 0)
    first, second, third = play(world, task, ["offer 70", "[OFFER 70]", "offer 70"])
    assert "the reply is not JSON" in first.observation.text
    assert (first.info, first.observation.text.count("Turn #")) == (
        {"parse": "retry", "invalid_action": True},
        0,
    )
    assert second.info == {"parse": "failed", "invalid_action": True}
    assert "Turn #1:" in second.observation.text  # the turn is lost, and the partner goes on
    assert third.info["parse"] == "retry"


def test_who_only_repeats_malformed_replies_comes_to_an_end() -> None:
    results = play(Social(actions="json"), seated("secrets", 0), ["?"] * 20)
    assert len(results) <= 10
    assert results[-1].terminated or results[-1].truncated
    assert results[-1].reward == 0


def test_half_a_character_does_not_reach_the_other_seat() -> None:
    world, task = Social(actions="json"), seated("price", 0)
    world.reset_seats(task, 0)
    results = world.step_seats({"first": '{"action_type": "speak", "argument": "\\ud83e [OFFER 70]"}'})
    results["second"].observation.text.encode("utf-8")
    assert "[OFFER 70]" in results["second"].observation.text


def test_two_agents_play_one_task_and_both_are_scored() -> None:
    world, task = Social(), seated("price", 1)
    sale: Any = task.setting
    opening = world.reset_seats(task, 0)
    assert list(opening) == ["first"]
    assert task.people[0].name + "'s goal: You" in opening["first"].text
    price = (sale.targets[0] + sale.limits[0]) / 2
    answer = world.step_seats({"first": f"[OFFER {price:.2f}]"})
    assert list(answer) == ["second"]
    assert task.instruction in answer["second"].observation.text
    assert answer["second"].observation.text.endswith(f'said: "[OFFER {price:.2f}]"')
    end = world.step_seats({"second": "[ACCEPT]"})
    assert {seat: result.terminated for seat, result in end.items()} == {"first": True, "second": True}
    assert end["first"].info["dimensions"]["goal"] == pytest.approx(5, abs=0.1)  # half-way to its target
    assert [end[seat].info["seat"] for seat in ("first", "second")] == [0, 1]
    assert [end[seat].info["partner"] for seat in ("first", "second")] == [None, None]


def test_a_listener_of_its_own_reads_the_weights_that_a_partner_hides() -> None:
    world, task = Social(), seated("persuade", 0)
    world.reset_seats(task, 7)
    text = world.step_seats({"first": "[CITE e1]"})["second"].observation.text
    end = world.step_seats({"second": "[AGREE]"})["second"]
    hidden = end.info["partner"]
    assert f"Your opinion is {hidden['opinion']:g}; agree once it is at least {hidden['threshold']:g}" in text
    assert ", ".join(f"{kind} {weight}" for kind, weight in hidden["weights"].items()) in text
    assert end.info["facts"]["deal"] is True
    with pytest.raises(ValueError, match="not the turn"):
        world.step_seats({"first": "hello"})


@pytest.mark.parametrize("family", FAMILIES)
def test_an_episode_goes_on_from_a_snapshot_in_another_instance(family: str) -> None:
    world, other, task = Social(), Social(), WORLD.task(f"test/{family}/2/3")
    plan = world.demonstrate(task, 1)
    results = play(world, task, plan, 1)
    world.reset(task, 1)
    for action in plan[: len(plan) // 2]:
        world.step(action)
    other.restore(world.snapshot())
    rest = [other.step(action) for action in plan[len(plan) // 2 :]]
    assert rest == results[len(plan) // 2 :]


def test_a_player_never_leaks_by_its_own_phrases() -> None:
    for split in WORLD.splits:
        for number in range(150):
            task = WORLD.task(f"{split}/secrets/{number % 3 + 1}/{number}")
            last = play(WORLD, task, WORLD.demonstrate(task, number), number)[-1]
            assert (last.info["dimensions"]["secret"], last.reward) == (0, 1)


def test_a_careless_player_wins_less() -> None:
    tasks = [WORLD.task(f"train/{family}/1/{n}") for family in FAMILIES for n in range(8)]
    means = [
        sum(play(WORLD, task, WORLD.demonstrate(task, 0, care), 0)[-1].reward for task in tasks) / len(tasks)
        for care in (1.0, 0.5)
    ]
    assert means[1] < means[0] - 0.1


def test_names_and_options_are_checked() -> None:
    assert len(Social("price").tasks("valid")) == 3_000
    assert {task.kind for task in Social("price, split").tasks("valid")[:6]} == {"price", "split"}
    assert [task.kind for task in WORLD.tasks("train")[:6]] == list(FAMILIES)
    rows = WORLD.tasks("valid")
    assert len({rows[place].id for place in range(180)}) == 180
    spaced = {rows[place * 3_000].kind for place in range(6)}  # as evaluations take them
    assert len(spaced) >= 3
    assert {task.difficulty for task in WORLD.tasks("test", "3")[:9]} == {"3"}
    with pytest.raises(ValueError, match="no family 'chess'"):
        Social("chess")
    with pytest.raises(ValueError, match="no view 'omniscient'"):
        Social(view="omniscient")
    with pytest.raises(TaskNotFound):
        Social("price").task("train/split/1/0")
    with pytest.raises(TaskNotFound):
        WORLD.task("valid/price/1/1000")


REPLIES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            *(
                "[ACCEPT]",
                "[REJECT]",
                "[NOSLOT]",
                "[AGREE]",
                "[OFFER 70]",
                "[OFFER 1,000.00]",
                "[PROPOSE Tue 14]",
            ),
            *(
                "[CITE e3]",
                "[ASK place]",
                "[TELL place=Geneva]",
                "yes",
                "[SELECT Anna Adler]",
                "[TELL city=Oslo]",
            ),
            *(
                "[OFFER me: hat=1]",
                "left the conversation",
                "[action] waves",
                "",
                "[[[",
                "[OFFER " + "9" * 100,
            ),
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TASKS), st.lists(REPLIES, min_size=10, max_size=10), st.integers(0, 10**6))
def test_any_replies_lead_to_an_end_with_a_reward_between_0_and_1(
    task: SocialTask, replies: list[str], seed: int
) -> None:
    results = play(WORLD, task, replies, seed)
    assert results[-1].terminated or results[-1].truncated
    assert all(result.reward == 0 for result in results[:-1])
    assert 0 <= results[-1].reward <= 1
    dimensions = results[-1].info["dimensions"]
    assert list(dimensions) == [
        "believability",
        "relationship",
        "knowledge",
        "secret",
        "social_rules",
        "financial_and_material_benefits",
        "goal",
    ]
    assert dimensions["believability"] is dimensions["relationship"] is dimensions["knowledge"] is None
    assert play(WORLD, task, replies, seed) == results
