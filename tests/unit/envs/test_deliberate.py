"""The world of the counter: its puzzles, replies and rewards."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.core import StepResult
from agentgym_envs.deliberate import Deliberate
from agentgym_envs.deliberate.puzzles import DEPTHS, EVENTS, NUMBERS, Puzzle, after, puzzle
from agentgym_envs.deliberate.replies import read, write
from agentgym_envs.testing import check_environment
from agentgym_envs.thinking import HEADERS, check

# 3 + 4 = 7; 7 * 7 = 49, so 9; 9 + 5 = 14, so 4; then it waits.
PUZZLE = Puzzle(3, (("plus", 4), ("times", 7), ("plus", 5), *(("wait", n) for n in (4, 0, 9, 9, 1, 2, 3))))


def test_a_counter_of_one_digit():
    assert PUZZLE.digits == (7, 9, 4, 4, 4, 4, 4, 4, 4, 4)
    assert PUZZLE.text == "Counter 3 plus 4 times 7 plus 5 wait 4 wait 0 wait 9 wait 9 wait 1 wait 2 wait 3"
    assert [after(8, what, 3) for what in NUMBERS] == [1, 4, 8]


@pytest.mark.parametrize("difficulty", DEPTHS)
def test_only_the_first_events_of_a_puzzle_count(difficulty: str):
    least, most = DEPTHS[difficulty]
    depths = set()
    for number in range(50):
        kinds = [what for what, _ in puzzle("train", difficulty, number).events]
        depth = len(kinds) - kinds.count("wait")
        assert len(kinds) == EVENTS
        assert "wait" not in kinds[:depth]
        depths.add(depth)
    assert depths == set(range(least, most + 1))


def test_no_puzzle_is_in_two_splits_or_twice_in_one():
    world = Deliberate()
    tasks = [world.tasks(split)[n] for split in world.splits for n in range(2000)]
    assert len({task.puzzle for task in tasks}) == len(tasks) == 6000


def test_answers_are_spread_evenly():
    ends = [puzzle("train", "deep", number).digits[-1] for number in range(1000)]
    # 100 of each expected, 9.5 standard deviation: no constant answer earns much
    assert all(60 <= ends.count(digit) <= 140 for digit in range(10))


def test_a_modes_sections_and_answer_hold_as_many_digits_as_its_difficulty_needs():
    assert [len(headers) + 1 for headers in HEADERS.values()] == [most for _, most in DEPTHS.values()]


def played(action: str, number: int = 0, **options: Any) -> StepResult:
    world = Deliberate(**options)
    world.reset(world.tasks("train", "medium")[number], seed=0)
    return world.step(action)


MEDIUM = puzzle("train", "medium", 0).digits  # (0, 0, 5, 9, 9, 9, 9, 9, 9, 9)


@pytest.mark.parametrize("surface", ["compact", "full"])
@pytest.mark.parametrize("mode", HEADERS)
def test_the_expert_is_right_in_every_mode_and_says_which(surface: Any, mode: int):
    world = Deliberate(surface, expert_mode=mode)
    for difficulty in world.difficulties:
        task = world.tasks("valid", difficulty)[0]
        world.reset(task, seed=0)
        result = world.step(world.expert(task)[0])
        assert (result.reward, result.terminated, result.info) == (1.0, True, {"mode": mode})


def test_the_expert_takes_modes_in_turn():
    world = Deliberate()
    replies = [world.expert(task)[0] for task in world.tasks("train", "deep")[:8]]
    assert [reply.split()[1] for reply in replies] == list("12341234")
    assert [world.expert(task)[0].split()[1] for task in world.tasks("train")[:8]] == list("11112222")


def test_a_mode_notes_the_first_digits_and_answers_with_the_last():
    texts = {
        mode: write(mode, list(map(str, MEDIUM[: len(HEADERS[mode])])), "9", "compact") for mode in HEADERS
    }
    assert texts[1] == "Level 1 Answer 9"
    assert texts[2] == "Level 2 Intent 0 Style 0 Response 5 Answer 9"
    world = Deliberate(expert_mode=2)
    assert world.expert(world.tasks("train", "medium")[0]) == [texts[2]]
    assert played(texts[4]).reward == 1.0


def test_the_full_surface_is_ampos():
    world = Deliberate("full", expert_mode=3)
    task = world.tasks("train", "medium")[0]
    assert check(world.expert(task)[0], strict=True).mode == 3
    text = world.reset(task, seed=0).text
    assert text.endswith(task.puzzle.text)
    assert all(header in text for header in HEADERS[4])


def test_a_wrong_answer_earns_nothing_and_ends_the_episode():
    result = played("Level 1 Answer 8")
    assert (result.reward, result.terminated, result.info) == (0.0, True, {"mode": 1})


def test_nobody_looks_at_the_sections():
    assert played("Level 2 Intent 1 Style well Response 1 Answer 9").reward == 1.0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no_level"),
        ("9", "no_level"),
        ("Level 5 Answer 9", "no_level"),
        ("Level 1", "missing_tag"),
        ("Level 1 Answer", "missing_tag"),
        ("Level 1 Intent 9", "missing_tag"),
        ("Level 2 Answer 9", "header_order"),
        ("Level 1 Intent 0 Answer 9", "header_order"),
        ("Level 2 Style 0 Intent 0 Response 5 Answer 9", "header_order"),
        ("Level 1 Answer 9 9", "header_order"),
        ("Level 1 Answer 9 Answer 9", "header_order"),
        ("Level 1 Answer 9" + " " * 5000, "outside_template"),
    ],
)
def test_a_malformed_reply_is_invalid_and_says_why(text: str, fault: str):
    result = played(text)
    assert (result.reward, result.terminated) == (0.0, True)
    assert result.info == {"mode": -1, "invalid_action": True, "fault": fault}


def test_a_section_of_the_full_surface_is_one_word():
    ok = write(2, ["0", "0", "5"], "9", "full")
    assert played(ok, surface="full").reward == 1.0
    for changed in (ok.replace("Style:\n0", "Style:\n0 plus"), ok.replace('"9"', '"it is 9"')):
        assert played(changed, surface="full").info["fault"] == "outside_template"
    assert played("Level 1 Answer 9", surface="full").info["fault"] == "no_level"


@given(
    text=st.one_of(
        st.text(), st.lists(st.sampled_from(["Level", "Answer", *"1234", *HEADERS[4]])).map(" ".join)
    )
)
def test_any_text_is_read(text: str):
    for surface in ("compact", "full"):
        reply = read(text, surface)
        assert reply.ok is (reply.mode in HEADERS)


def test_the_length_factor_pays_less_for_longer_replies():
    # digits 1, 4, 8, 10; target 8, span 4: 1 up to 4, 1/2 at 8, 1/4 at 10
    paid = {
        mode: played(
            write(mode, ["0"] * len(HEADERS[mode]), "9", "compact"), length_target=8, length_span=4
        ).reward
        for mode in HEADERS
    }
    assert paid == {1: 1.0, 2: 1.0, 3: 0.5, 4: 0.25}
    assert played("Level 1 Answer 8", length_target=8.0).reward == 0.0


def test_it_is_over_after_one_reply():
    world = Deliberate()
    world.reset(world.tasks("train", "medium")[0], seed=0)
    world.step("Level 1 Answer 8")
    assert world.step("Level 1 Answer 9").reward == 0.0
    world.close()
    with pytest.raises(RuntimeError, match="before reset"):
        world.step("Level 1 Answer 9")


def test_a_careful_walker_is_right_and_a_careless_one_keeps_the_form():
    world = Deliberate()
    results: dict[float, list[StepResult]] = {1.0: [], 0.5: []}
    for care, found in results.items():
        for number in range(40):
            task = world.tasks("train", "deep")[number]
            world.reset(task, seed=0)
            found.append(world.step(world.demonstrate(task, seed=number, care=care)[0]))
    assert {result.reward for result in results[1.0]} == {1.0}
    assert {result.info["mode"] for result in results[1.0]} == set(HEADERS)
    assert 0 < sum(result.reward for result in results[0.5]) < 20
    assert not any("invalid_action" in result.info for result in results[0.5])
    task = world.tasks("train", "deep")[0]
    assert world.demonstrate(task, seed=3, care=0.5) == world.demonstrate(task, seed=3, care=0.5)


@pytest.mark.parametrize(
    "options", [{"surface": "short"}, {"expert_mode": 5}, {"length_target": -1.0}, {"length_span": 0.0}]
)
def test_unknown_options_are_refused(options: dict[str, Any]):
    with pytest.raises(ValueError, match=str(next(iter(options.values())))):
        Deliberate(**options)


@pytest.mark.parametrize(
    "options", [{"surface": "full"}, {"expert_mode": 4}, {"expert_mode": 1, "length_target": 6.0}]
)
def test_it_keeps_the_contract_with_other_options(options: dict[str, Any]):
    report = check_environment(lambda: Deliberate(**options), tasks_per_split=2, rows_per_split=12)
    assert report.passed, report.lines()
