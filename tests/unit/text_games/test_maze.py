"""Maze: AgentGym's layout and texts by hand, generated layouts, splits, limits."""

from itertools import chain

import pytest
from support.hash_seeds import printed

from agentgym_envs.core import TaskNotFound
from agentgym_envs.maze import Maze, agentgym, generator
from agentgym_envs.maze.layouts import Layout

TWO_TS = """
#############
#.....#.....#
###.#####.###
###.#####.###
###.#####.###
###.......###
######.######
######.######
######.######
#############
"""


@pytest.fixture
def world() -> Maze:
    return Maze()


@pytest.fixture
def original() -> Maze:
    return Maze(variant="agentgym")


def test_the_layout_of_agentgym_is_two_corridors_that_meet():
    assert "\n".join(agentgym.LAYOUT.rows) == TWO_TS.strip()
    starts = agentgym.STARTS
    assert len(starts) == len(set(starts)) == 26
    assert set(starts) == set(agentgym.LAYOUT.free)
    assert starts[:6] == ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 7))
    assert starts[10:18] == ((2, 3), (3, 3), (4, 3), (5, 3), (5, 4), (5, 5), (5, 6), (6, 6))
    assert starts[18:] == ((7, 6), (5, 7), (5, 8), (5, 9), (4, 9), (3, 9), (2, 9), (8, 6))


def test_texts_and_the_shortest_path_of_a_game(original: Maze):
    task = original.task("agentgym/0")
    assert original.reset(task, 0).text == (
        "The goal is at position 8, 6. Your current position is at position 1, 1."
        " There are walls to your left, above you, below you."
    )
    plan = original.expert(task)
    assert plan == [*["move right"] * 2, *["move down"] * 4, *["move right"] * 3, *["move down"] * 3]
    results = [original.step(move) for move in plan]
    assert results[1].observation.text.endswith("position 1, 3. There is a wall above you.")
    assert results[0].observation.text.endswith("There are walls above you, below you.")
    assert [one.reward for one in results] == [0.0] * 11 + [1.0]
    assert results[-1].observation.text == "Success"
    assert results[-1].terminated
    assert original.step("move up").reward == 0


def test_the_move_after_fifty_fails(original: Maze):
    original.reset(original.task("agentgym/0"), 0)
    for _ in range(50):
        result = original.step("move up")
        assert (result.terminated, result.reward) == (False, 0)
        assert result.observation.text.startswith("The goal is at")
    last = original.step("move down")
    assert (last.observation.text, last.terminated, last.truncated, last.reward) == (
        "Failure",
        True,
        False,
        0,
    )


def test_every_game_of_agentgym_is_won_on_the_shortest_path(original: Maze):
    for task in original.tasks("agentgym"):
        original.reset(task, 0)
        assert [original.step(move) for move in original.expert(task)][-1].reward == 1, task.id


def test_walls_are_told_in_order_and_a_cell_may_have_none():
    crossing = Layout(("#####", "##.##", "#...#", "##.##", "#####"))
    assert sorted(crossing.free) == [(1, 2), (2, 1), (2, 2), (2, 3), (3, 2)]
    world = Maze(view="walls")
    task = world.tasks("train")[0].model_copy(
        update={"rows": crossing.rows, "start": (2, 2), "goal": (3, 2), "most_moves": 15}
    )
    assert world.reset(task, 0).text == "There are no walls near you."
    assert world.step("move up").observation.text == "There are walls to your right, to your left, above you."


def test_bumps_and_unknown_actions_cost_a_move_and_change_nothing(world: Maze):
    task = world.tasks("train", "small")[0]
    before = world.reset(task, 0).text
    wall = next(
        move
        for move, (down, right) in {"move up": (-1, 0), "move down": (1, 0), "move left": (0, -1)}.items()
        if task.rows[task.start[0] + down][task.start[1] + right] == "#"
    )
    bump = world.step(wall)
    assert (bump.observation.text, bump.info) == (before, {"variant": "default"})
    unknown = world.step("Move Up!")
    assert unknown.observation.text == before
    assert unknown.info["invalid_action"]


def test_an_episode_is_cut_at_twice_the_shortest_path(world: Maze):
    for task in chain(world.tasks("test", "small")[:5], world.tasks("test", "large")[:5]):
        shortest = len(world.expert(task))
        assert task.most_moves == max(15, 2 * shortest)
        world.reset(task, 0)
        results = [world.step("") for _ in range(task.most_moves)]
        assert [one.truncated for one in results] == [False] * (task.most_moves - 1) + [True]
        assert not any(one.terminated for one in results)


def test_all_tasks_are_won_by_the_expert_and_are_far_apart(world: Maze):
    for split in world.splits:
        for task in world.tasks(split):
            plan = world.expert(task)
            assert len(task.rows) - 2 <= len(plan) <= task.most_moves / 2 or len(plan) <= 7, task.id
            world.reset(task, 0)
            assert [world.step(move) for move in plan][-1].reward == 1, task.id


def test_no_split_has_a_layout_of_another_turned_or_mirrored(world: Maze):
    seen: dict[str, str] = {}
    for split in world.splits:
        for task in world.tasks(split):
            assert seen.setdefault(Layout(task.rows).digest, split) == split, task.id
    assert {len(task.rows) for task in world.tasks("unseen_sizes")} == {19, 21}
    others = (task for split in ("train", "valid", "test") for task in world.tasks(split))
    assert {len(task.rows) for task in others} == {7, 9, 11, 13, 15, 17}


def test_symmetric_layouts_have_one_digest_and_others_do_not():
    made = generator.layout(9, 3)
    mirrored = Layout(tuple(row[::-1] for row in made.rows))
    turned = Layout(tuple("".join(column) for column in zip(*made.rows, strict=True)))
    assert made.rows != mirrored.rows
    assert made.digest == mirrored.digest == turned.digest
    assert made.digest != generator.layout(9, 4).digest


def test_each_layout_is_a_connected_maze_of_odd_size():
    for size in (7, 13, 21):
        for number in range(20):
            made = generator.layout(size, number)
            assert {*made.rows[0], *made.rows[-1], *(row[0] + row[-1] for row in made.rows)} == {"#", "##"}
            assert len(made.distances(made.free[0])) == len(made.free)
            rooms = ((size - 1) // 2) ** 2
            assert 2 * rooms - 1 <= len(made.free) <= 2 * rooms - 1 + rooms // 8


def test_the_explorer_wins_most_small_mazes_and_care_matters(world: Maze):
    def wins(care: float) -> int:
        won = 0
        for task in world.tasks("train", "small")[:200]:
            world.reset(task, 0)
            won += any(world.step(move).reward for move in world.demonstrate(task, 5, care))
        return won

    assert wins(1.0) > 150
    assert wins(1.0) > wins(0.5) + 20


def test_unknown_tasks_splits_and_options_are_told(world: Maze, original: Maze):
    for name in (
        "train/7/399/0",
        "train/8/0/0",
        "train/7/0/4",
        "test/7/0/0/0",
        "agentgym/0",
        "",
        "train/7/00/0",
    ):
        with pytest.raises(TaskNotFound, match="maze has no task"):
            world.task(name)
    with pytest.raises(TaskNotFound):
        original.task("agentgym/26")
    with pytest.raises(TaskNotFound, match="there are: agentgym"):
        original.tasks("train")
    with pytest.raises(ValueError, match="no variant 'x'"):
        Maze(variant="x")  # pyright: ignore[reportArgumentType]


def test_mazes_are_equal_under_other_hash_seeds():
    program = (
        "from agentgym_envs.maze import Maze; import hashlib; w = Maze();"
        "print(hashlib.sha256(repr([[t for t in w.tasks(s)[::37]] for s in w.splits]).encode()).hexdigest())"
    )
    assert len(printed(program)) == 1
