"""Generated problems: their solutions, splits and players."""

from itertools import combinations
from random import Random

import pytest

from agentgym_envs.questions import Questions
from agentgym_envs.questions.generator import COUNTS, LEVELS, problem
from agentgym_envs.questions.generator.problems import SPLITS, residue
from agentgym_envs.questions.generator.steps import LARGEST, Step, careless, worked
from agentgym_envs.questions.mathematics import Scalar, read, same

DRAWN = [(split, level, number) for split in COUNTS for level in LEVELS for number in range(60)]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step(47, "+", 38), "47 + 38 = 77 + 8 = 85."),
        (Step(85, "-", 38), "85 - 38 = 55 - 8 = 47."),
        (Step(12, "*", 7), "12 * 7 = 70 + 14 = 84."),
        (Step(84, "/", 7), "84 / 7 = 12."),
        (Step(7, "+", 5), "7 + 5 = 12."),
        (Step(40, "+", 30), "40 + 30 = 70."),
        (Step(10, "*", 9), "10 * 9 = 90."),
    ],
)
def test_a_worked_step(step: Step, text: str):
    assert worked(step) == text


def test_every_equation_of_a_solution_is_true():
    for place in DRAWN:
        sentences = problem(*place).solution.rstrip(".").split(". ")
        for sentence in sentences[:-1]:
            first, *others = [read(side) for side in sentence.split(" = ")]
            assert all(same(first, other) for other in others), sentence
        assert sentences[-1] == f"The answer is {problem(*place).answer}"


def test_a_calculation_has_the_value_that_our_reader_finds():
    found = [problem(*place) for place in DRAWN if problem(*place).kind == "calculation"]
    assert len(found) > 100
    for one in found:
        expression = one.text.removeprefix("Calculate ").removeprefix("What is ").rstrip(".?")
        value = read(expression)
        assert isinstance(value, Scalar)
        assert value.ratio.rational == one.answer, one.text


def test_levels_are_numbers_of_operations_on_small_numbers():
    for split, level, number in DRAWN:
        drawn = problem(split, level, number)
        least, most = LEVELS[level]
        assert least <= len(drawn.steps) <= most
        assert all(
            0 <= number <= LARGEST for step in drawn.steps for number in (step.left, step.right, step.result)
        )
        assert drawn.answer > 0


def test_no_content_is_in_two_splits():
    contents = {split: {problem(*one).content for one in DRAWN if one[0] == split} for split in COUNTS}
    for one in DRAWN:
        assert residue(problem(*one)) in SPLITS[one[0]]
    for one, other in combinations(COUNTS, 2):
        assert not contents[one] & contents[other]


def test_the_sets_have_real_sizes_and_are_made_on_access():
    world = Questions()
    assert [len(world.tasks(split)) for split in world.splits] == [80_000, 1_000, 1_000, 80_000]
    assert len(world.tasks("train", "3")) == 20_000
    assert world.tasks("train")[5].id == "train/2/1"
    assert world.task("test/2/4") == world.tasks("test", "2")[4]


def test_another_machine_would_draw_the_same_problem():
    assert problem("test", "2", 3).text == (
        "A cup costs 4 dollars. Leo buys 6 of them and pays with 40 dollars. "
        "How many dollars does he get back?"
    )
    assert problem("test", "2", 3).solution == "6 * 4 = 24. 40 - 24 = 20 - 4 = 16. The answer is 16."


def test_a_careless_player_goes_on_with_a_wrong_result():
    steps, links = (Step(4, "+", 3), Step(7, "*", 2)), ((-1, -1), (0, -1))
    assert careless(steps, links, Random(0), 1.0) == "4 + 3 = 7. 7 * 2 = 14. The answer is 14."
    slips = {careless(steps, links, Random(seed), 0.5) for seed in range(50)}
    assert "4 + 3 = 8. 8 * 2 = 16. The answer is 16." in slips


def test_care_is_the_share_of_right_steps():
    world = Questions()
    tasks = [world.task(f"train/3/{number}") for number in range(200)]
    for care, least, most in ((1.0, 200, 200), (0.9, 125, 165), (0.0, 0, 20)):
        won = 0
        for seed, task in enumerate(tasks):
            world.reset(task, seed)
            won += world.step(world.demonstrate(task, seed, care)[0]).reward == 1
        assert least <= won <= most  # 0.9 ** 3 = 0.73: 146 of 200, standard deviation 6
