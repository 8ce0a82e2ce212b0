"""ALFWorld as an environment: tasks, episodes, options, and what an agent never sees."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym_envs.alfworld import ALFWorld, generator
from agentgym_envs.alfworld.game import read_compact_line, write_compact_line
from agentgym_envs.alfworld.importing import import_official
from agentgym_envs.core import Task, TaskNotFound

KITCHEN = read_compact_line((Path(__file__).parent / "alfworld_kitchen.json").read_text())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two imported games: one in train, one in valid_unseen."""
    source = tmp_path_factory.mktemp("source")
    for name, trial in (("train", "trial_T1"), ("valid_unseen", "trial_T2")):
        game = replace(
            KITCHEN, id=f"pick_and_place_simple-Mug-None-Cabinet-1/{trial}", sentence=f"put a mug {name}"
        )
        with lzma.open(source / f"compact_{name}.jsonl.xz", "wt", encoding="utf-8") as file:
            file.write(write_compact_line(game) + "\n")
    home = tmp_path_factory.mktemp("home")
    import_official(source, home)
    return home


@pytest.fixture
def world(tmp_path: Path) -> ALFWorld:
    return ALFWorld(home=tmp_path)


def test_generated_splits_are_there_without_any_import(world: ALFWorld) -> None:
    assert world.splits == tuple(generator.COUNTS)
    assert world.data_version == f"generated:{generator.VERSION}"


def test_imported_splits_and_their_digest_appear_with_the_import(home: Path) -> None:
    world = ALFWorld(home=home)
    assert world.splits[-2:] == ("official_train", "valid_unseen")
    assert world.data_version.startswith(f"generated:{generator.VERSION}+imported:")
    assert world.data_version == ALFWorld(home=home).data_version


def test_levels_take_turns_and_each_level_can_be_had_alone(world: ALFWorld) -> None:
    tasks = world.tasks("train")
    assert len(tasks) == 3 * generator.COUNTS["train"]
    assert [task.id for task in tasks[:4]] == [
        "train/small/0",
        "train/medium/0",
        "train/large/0",
        "train/small/1",
    ]
    assert tasks[-1].id == f"train/large/{generator.COUNTS['train'] - 1}"
    medium = world.tasks("valid", "medium")
    assert len(medium) == generator.COUNTS["valid"]
    assert (medium[5].id, medium[5].difficulty) == ("valid/medium/5", "medium")
    with pytest.raises(IndexError):
        _ = medium[len(medium)]


def test_a_task_is_found_by_its_id_and_says_what_to_do(world: ALFWorld) -> None:
    task = world.task("test/small/3")
    game = generator.game("test", "small", 3)
    assert task == world.tasks("test", "small")[3]
    assert (task.instruction, task.split, task.env) == (game.sentence, "test", "alfworld")
    assert task.kind in {
        "pick_and_place_simple", "look_at_obj_in_light", "pick_clean_then_place_in_recep",
        "pick_heat_then_place_in_recep", "pick_cool_then_place_in_recep", "pick_two_obj_and_place",
    }  # fmt: skip


def test_a_page_of_tasks_that_is_listed_again_makes_no_game_again(
    world: ALFWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = world.tasks("valid")[100:300]
    first = list(page)

    def again(*place: object) -> None:
        raise AssertionError(f"{place} is made again")

    monkeypatch.setattr(generator, "game", again)
    assert list(page) == first


@pytest.mark.parametrize(
    "task_id",
    ["", "x", "train/small/-1", "train/small/01", "train/huge/0", "nosplit/small/0", "train/small/999999999",
     "train/small/0\n", "../../etc/passwd", "a" * 10_000, "train/small/٣"],
)  # fmt: skip
def test_an_unknown_task_is_not_found(home: Path, task_id: str) -> None:
    with pytest.raises(TaskNotFound):
        ALFWorld(home=home).task(task_id)


def test_unknown_splits_levels_and_dialects_are_refused(world: ALFWorld) -> None:
    with pytest.raises(TaskNotFound, match="no split 'official_train'; there are: train, "):
        world.tasks("official_train")
    with pytest.raises(ValueError, match="no difficulty 'huge'; there are: small, medium, large, official"):
        world.tasks("train", "huge")
    with pytest.raises(ValueError, match="no dialect 'shove'; there are: move, put"):
        ALFWorld("shove")  # pyright: ignore[reportArgumentType] - the mistake is the point


def test_an_imported_task_keeps_its_own_id_and_is_official(home: Path) -> None:
    world = ALFWorld(home=home)
    (task,) = world.tasks("valid_unseen")
    assert task.id == "pick_and_place_simple-Mug-None-Cabinet-1/trial_T2"
    assert (task.difficulty, task.kind) == ("official", "pick_and_place_simple")
    assert task.instruction == "put a mug valid_unseen"
    assert world.task(task.id) == task
    assert len(world.tasks("valid_unseen", "official")) == 1
    assert len(world.tasks("valid_unseen", "small")) == 0
    assert len(world.tasks("train", "official")) == 0


def test_an_episode_ends_with_reward_1_at_the_first_win(home: Path) -> None:
    world = ALFWorld(home=home)
    task = world.tasks("official_train")[0]
    first = world.reset(task, seed=0)
    assert first.text.startswith("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room.")
    assert first.text.endswith("\n\nYour task is to: put a mug train.")
    assert first.actions is not None
    assert first.actions[0] == "go to cabinet 1"
    results = [world.step(action) for action in KITCHEN.walkthrough]
    assert [result.reward for result in results] == [0.0, 0.0, 0.0, 1.0]
    assert [result.terminated for result in results] == [False, False, False, True]
    assert results[-1].observation.text == "You move the mug 2 to the cabinet 1."


def test_after_the_end_nothing_happens_and_nothing_is_earned(home: Path) -> None:
    world = ALFWorld(home=home)
    world.reset(world.tasks("official_train")[0], seed=0)
    for action in KITCHEN.walkthrough:
        world.step(action)
    after = world.step("take mug 2 from cabinet 1")
    assert (after.observation.text, after.reward, after.terminated) == ("Nothing happens.", 0.0, True)


@pytest.mark.parametrize("action", ["", "go to mars 1", "x" * 1_000_000, "go to cabinet 1\x00", "Look"])
def test_what_is_not_admissible_is_marked_and_costs_nothing_else(home: Path, action: str) -> None:
    world = ALFWorld(home=home)
    before = world.reset(world.tasks("official_train")[0], seed=0)
    result = world.step(action)
    assert (result.observation.text, result.info, result.reward) == (
        "Nothing happens.",
        {"invalid_action": True},
        0.0,
    )
    assert result.observation.actions == before.actions
    assert world.step("look").info == {}


def test_the_old_dialect_hides_where_one_arrives_unless_told_otherwise(home: Path) -> None:
    stripped, plain = ALFWorld("put", home=home), ALFWorld("put", strip_arrival=False, home=home)
    new = ALFWorld(strip_arrival=True, home=home)
    answers: list[str] = []
    for world in (stripped, plain, new):
        world.reset(world.tasks("official_train")[0], seed=0)
        answers.append(world.step("go to cabinet 1").observation.text)
    assert answers == [
        "On the cabinet 1, you see nothing.",
        "You arrive at loc 7. On the cabinet 1, you see nothing.",
        "On the cabinet 1, you see nothing.",
    ]


@pytest.mark.parametrize(
    "said", ["put mug 2 in/on cabinet 1", "put mug 2 in cabinet 1", "put mug 2 on cabinet 1"]
)
def test_only_the_lenient_mode_takes_the_other_wording_and_says_so(home: Path, said: str) -> None:
    strict, lenient = ALFWorld(home=home), ALFWorld(lenient=True, home=home)
    for world in (strict, lenient):
        world.reset(world.tasks("official_train")[0], seed=0)
        for action in KITCHEN.walkthrough[:-1]:
            assert world.step(action).info == {}
    assert strict.step(said).info == {"invalid_action": True}
    result = lenient.step(said)
    assert (result.terminated, result.info) == (True, {"read_as": "move mug 2 to cabinet 1"})


def test_shuffled_names_follow_the_seed_and_the_expert_knows_them(home: Path) -> None:
    world = ALFWorld(shuffle_names=True, home=home)
    task = world.tasks("official_train")[0]
    assert world.expert(task) is None  # names are dealt by a reset
    assert world.reset(task, seed=1) == world.reset(task, seed=1)
    assert len({world.reset(task, seed=seed).text for seed in range(8)}) == 2
    plan = world.expert(task)
    assert plan is not None
    assert [world.step(action).reward for action in plan][-1] == 1.0


def test_the_expert_wins_generated_tasks_in_both_dialects(tmp_path: Path) -> None:
    for world in (ALFWorld(home=tmp_path), ALFWorld("put", home=tmp_path)):
        for task in world.tasks("valid")[:6]:
            world.reset(task, seed=0)
            plan = world.expert(task)
            assert plan is not None
            assert sum(world.step(action).reward for action in plan) == 1.0


def test_a_snapshot_is_untouched_by_what_follows_and_restores_into_any_instance(
    world: ALFWorld, home: Path
) -> None:
    task = world.task("valid/small/0")
    world.reset(task, seed=0)
    plan = world.expert(task)
    assert plan is not None
    world.step(plan[0])
    snapshot = world.snapshot()
    rest = [world.step(action) for action in plan[1:]]
    other = ALFWorld(home=home)
    for _ in range(2):
        other.restore(snapshot)
        assert [other.step(action) for action in plan[1:]] == rest
    with pytest.raises(TypeError, match="not a snapshot of alfworld: int"):
        world.restore(7)


def test_nothing_that_gives_the_solution_away_crosses_the_wire(home: Path) -> None:
    world = ALFWorld(home=home)
    task = world.tasks("official_train")[0]
    seen = [world.reset(task, seed=0).model_dump_json()]
    seen += [
        world.step(action).model_dump_json() for action in ("look", "help", "go to countertop 1", "nonsense")
    ]
    seen.append(task.model_dump_json())
    for secret in ("inReceptacle", "(:goal", "_bar_", 'take mug 2 from countertop 1", "go to', "walk"):
        assert secret not in json.dumps(seen)
    assert set(type(task).model_fields) - set(Task.model_fields) == {"digest"}


def test_using_an_episode_that_never_began_is_the_callers_mistake(world: ALFWorld) -> None:
    world.close()
    world.close()
    with pytest.raises(RuntimeError, match="step before reset"):
        world.step("look")
    with pytest.raises(RuntimeError, match="snapshot before reset"):
        world.snapshot()
