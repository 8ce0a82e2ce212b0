"""TextCraft: loading rules and texts by hand, the project's own books, plans, splits."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.hash_seeds import printed

from agentgym_envs.core import TaskNotFound
from agentgym_envs.textcraft import TextCraft, importing
from agentgym_envs.textcraft.book import invented, values, village
from agentgym_envs.textcraft.crafting import Crafter
from agentgym_envs.textcraft.planner import Planner
from agentgym_envs.textcraft.recipes import Ingredient, RecipeBook, RecipeError, read, text_of


def shapeless(output: str, *inputs: dict[str, str], count: int = 1, group: str = "") -> dict[str, Any]:
    result = {"item": f"m:{output}", "count": count}
    return {"type": "m:crafting_shapeless", "ingredients": list(inputs), "result": result, "group": group}


def item(name: str) -> dict[str, str]:
    return {"item": f"m:{name}"}


def tag(name: str) -> dict[str, str]:
    return {"tag": f"m:{name}"}


def book(**recipes: dict[str, Any]) -> RecipeBook:
    return RecipeBook(read((f"{name}.json", value) for name, value in recipes.items()))


SMALL = book(
    ash_planks=shapeless("ash_planks", item("ash_log"), count=4, group="planks"),
    fir_planks=shapeless("fir_planks", item("fir_log"), count=4, group="planks"),
    stick=shapeless("stick", tag("planks"), tag("planks"), count=4),
    table=shapeless("table", *[item("ash_planks")] * 4, *[item("stick")] * 2, tag("planks")),
    sign={
        "type": "other:crafting_shaped",
        "pattern": ["###", "#P#", " S "],
        "key": {
            "#": {"tag": "m:logs"},
            "S": {"item": "m:stick"},
            "P": [{"item": "m:iron"}, {"item": "m:tin"}],
        },
        "result": "m:sign",
    },
)


def test_recipes_are_read_by_the_rules_of_the_data():
    recipe = SMALL.of["m:sign"][0]
    assert recipe.inputs == (Ingredient("m:logs", 5, True), Ingredient("m:stick", 1), Ingredient("m:iron", 1))
    assert (recipe.count, recipe.line) == (1, "craft 1 sign using 5 logs, 1 stick, 1 iron")
    assert SMALL.of["m:table"][0].line == "craft 1 table using 4 ash planks, 2 stick, 1 planks"
    assert SMALL.members == {"m:planks": ("m:ash_planks", "m:fir_planks")}
    assert SMALL.base == {"m:ash_log", "m:fir_log", "m:logs", "m:iron"}  # no member of logs can be crafted
    assert SMALL.goals == ("m:ash_planks", "m:fir_planks", "m:stick", "m:sign", "m:table")
    assert [SMALL.depths[goal] for goal in SMALL.goals] == [1, 1, 2, 3, 3]


def test_recipes_that_unpack_or_go_in_circles_are_left_out():
    found = book(
        a_iron=shapeless("iron", item("iron_block"), count=9),
        b_block=shapeless("iron_block", *[item("iron")] * 9),
        c_dust=shapeless("dust", item("iron_block"), item("hammer")),
        d_iron=shapeless("iron", item("dust")),
        e_smelt={"type": "m:smelting", "ingredient": item("ore"), "result": "m:iron"},
    )
    assert [recipe.output for recipe in found.recipes] == ["m:iron_block", "m:dust"]
    assert found.base == {"m:iron", "m:hammer"}


def test_the_order_of_files_does_not_matter():
    named = [(f"{one['result']['item']}.json", one) for one in values()]
    assert read(named) == read(reversed(named))


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"type": "m:crafting_shapeless", "ingredients": [], "result": "m:a"},
        {"type": "m:crafting_shapeless", "ingredients": [{}], "result": "m:a"},
        {"type": "m:crafting_shaped", "pattern": ["#"], "key": {"#": item("b")}, "result": {"count": 1}},
    ],
)
def test_a_bad_recipe_is_named(value: Any):
    with pytest.raises(RecipeError, match=r"^x\.json: no recipe: "):
        read([("x.json", value)])


SESSION = [
    ("inventory", "Inventory: You are not carrying anything."),
    ("get 2 ash log", "Got 2 ash log"),
    ("get 1 planks", "Could not find planks"),  # a class
    ("get 1 stick", "Could not find stick"),  # it can be crafted
    ("get 1 gold", "Could not find gold"),
    ("get 0 iron", "Could not find iron"),
    ("craft 4 ash planks using 1 ash log", "Crafted 4 m:ash_planks"),
    ("craft ash planks using 1 ash log", "Crafted 4 m:ash_planks"),
    ("craft 1 stick using 2 planks", "Could not find enough items to craft m:stick"),
    ("craft 9 stick using 2 ash planks", "Crafted 4 m:stick"),  # whatever number was asked
    ("craft 1 stick using 3 ash planks", "Could not find a valid recipe for 1 m:stick"),
    ("craft stick using ash planks", "Wrong item format: ash planks"),
    ("craft 1 crown using 1 ash planks", "Could not find a valid recipe for 1 m:crown"),
    ("craft 1 stick using 4 ash planks, 4 ash planks", "Could not find enough items to craft m:stick"),
    ("inventory please", "Inventory: [ash planks] (6) [stick] (4) "),
    ("Get 1 ash log", "Could not execute Get 1 ash log"),
    ("", "Could not execute "),
    ("get 1 fir log", "Got 1 fir log"),
    ("craft 4 fir planks using 1 fir log", "Crafted 4 m:fir_planks"),
    ("craft 1 table using 4 ash planks, 2 stick, 1 fir planks", "Crafted 1 m:table"),
    ("inventory", "Inventory: [ash planks] (2) [stick] (2) [fir planks] (3) [table] (1) "),
]


def test_a_session_by_hand():
    crafter = Crafter(SMALL)
    for command, told in SESSION:
        assert crafter.do(command) == told
        assert crafter.failed == told.startswith(("Could not", "Wrong"))


def test_agentgyms_server_checks_an_input_that_is_named_twice_twice():
    twice = book(pair=shapeless("pair", item("sock"), item("sock"), item("box")))
    for strict, told in ((True, "Could not find enough items to craft m:pair"), (False, "valid recipe")):
        crafter = Crafter(twice, strict=strict)
        crafter.do("get 1 sock")
        assert told in crafter.do("craft 1 pair using 1 sock, 1 sock")


def test_a_kind_of_a_class_may_stand_beside_an_item_of_it():
    crafter = Crafter(SMALL)
    for command in ("get 9 ash log", *["craft 4 ash planks using 1 ash log"] * 3):
        crafter.do(command)
    crafter.do("craft 4 stick using 2 ash planks")
    # the class may not take the same planks, since equal inputs are one
    assert "valid recipe" in crafter.do("craft 1 table using 5 ash planks, 2 stick")


def test_hostile_commands_are_answered():
    crafter = Crafter(SMALL)
    for command in (
        "get 99999 iron",
        f"get {'9' * 5000} iron",
        "craft  using ",
        "craft a using 1 b,",
        "get 1 \n",
    ):
        assert crafter.do(command).startswith(("Could not", "Wrong"))
    assert crafter.held == {}


@pytest.mark.parametrize("own", [village, invented])
def test_an_own_book_has_many_goals_of_all_depths(own: Any):
    recipes: RecipeBook = own().recipes
    depths = Counter(recipes.depths[goal] for goal in recipes.goals)
    assert len(recipes.goals) >= 400
    assert set(depths) == {1, 2, 3, 4, 5, 6}
    assert len(recipes.recipes) == len(list(values()))  # none is left out, for a cycle or another reason
    assert len(recipes.base) >= 60
    assert len(recipes.members) >= 15
    assert len(recipes.named) == len(recipes.of) + len(recipes.base) + len(recipes.members)


def test_every_goal_of_both_books_is_crafted_by_plans_of_equal_length():
    lengths: list[dict[str, Counter[int]]] = []
    for name in ("village", "invented"):
        world, found = TextCraft(book=name), dict[str, Counter[int]]()
        for split in world.splits:
            for task in world.tasks(split):
                plan = world.expert(task)
                assert len(plan) <= world.max_turns
                world.reset(task, 0)
                assert [world.step(command) for command in plan][-1].reward == 1, task.id
                found.setdefault(task.difficulty, Counter())[len(plan)] += 1
        lengths.append(found)
    assert lengths[0] == lengths[1]


def test_plans_are_as_short_as_the_shortest_of_all_choices():
    recipes, compared = village().recipes, 0
    planner = Planner(recipes)
    for goal in recipes.goals[::7]:
        uses = {
            (recipe.output, one.name): recipes.members[one.name]
            for recipe in recipes.reachable(goal)
            for one in recipe.inputs
            if recipes.has_class(one.name)
        }
        count = 1
        for members in uses.values():
            count *= len(members)
        if not 1 < count <= 2000:
            continue
        compared += 1
        plans = (
            planner._commands(goal, dict(zip(uses, chosen, strict=True)), {})
            for chosen in product(*uses.values())
        )
        assert len(planner.plan(goal)) == min(map(len, plans)), goal
    assert compared >= 10


def test_goals_of_splits_are_disjoint_and_unseen_classes_are_unseen():
    world = TextCraft()
    goals = {split: {task.goal for task in world.tasks(split)} for split in world.splits}
    assert sum(map(len, goals.values())) == len(set().union(*goals.values())) == len(village().recipes.goals)
    classes = village().recipes.classes_of
    unseen = {name for goal in goals["unseen_classes"] for name in classes[goal]}
    assert {text_of(name) for name in unseen} == {
        "cloaks",
        "gloves",
        "lanterns",
        "sickles",
        "stools",
        "tarts",
    }
    assert not any(classes.get(goal, frozenset()) & unseen for goal in goals["train"])
    for split in ("train", "valid", "test"):
        assert {task.difficulty for task in world.tasks(split)} == {"1", "2", "3", "4", "5", "6"}


def test_the_first_observation_has_what_the_goal_needs_and_at_most_ten_others():
    world = TextCraft()
    task = world.task("gold_lantern")
    text = world.reset(task, 0).text
    lines = text.partition("\n\nGoal: ")[0].split("\n")
    assert lines[0] == "Crafting commands:"
    assert text.endswith("\n\nGoal: craft gold lantern.")
    needed = {recipe.line for recipe in village().recipes.reachable(task.goal)}
    assert needed <= set(lines)
    assert 0 < len(lines) - 1 - len(needed) <= 10
    assert world.reset(task, 1).text != text
    assert world.reset(task, 0).text == text
    assert set(text.split("\n")) != set(world.reset(task, 1).text.split("\n"))


def test_players_win_and_careless_ones_need_more_commands():
    world = TextCraft()
    tasks = world.tasks("valid")
    lengths = []
    for care in (1.0, 0.7):
        won = total = 0
        for task in tasks:
            said = world.demonstrate(task, 1, care)
            world.reset(task, 0)
            won += int([world.step(command) for command in said][-1].reward)
            total += len(said)
        assert won >= (len(tasks) if care == 1 else 0.7 * len(tasks))
        lengths.append(total)
    assert lengths[1] > 1.1 * lengths[0]


def test_an_episode_ends_with_the_goal_and_pays_once():
    world = TextCraft()
    world.reset(world.task("alder_planks"), 0)
    assert world.step("get 1 alder log").info == {"variant": "default"}
    assert world.step("get 1 gold").info["invalid_action"]
    won = world.step("craft 6 alder planks using 1 alder log")
    assert (won.observation.text, won.reward, won.terminated) == ("Crafted 6 village:alder_planks", 1.0, True)
    assert world.step("craft 6 alder planks using 1 alder log").reward == 0


def test_the_variant_of_agentgym_numbers_all_goals_by_depth_and_name():
    world = TextCraft(variant="agentgym")
    tasks = world.tasks("agentgym")
    assert [task.goal for task in tasks] == list(village().recipes.goals)
    assert world.reset(tasks[0], 0)
    assert world.step("inventory").info == {"variant": "agentgym"}


def test_unknown_tasks_and_options_are_told():
    world = TextCraft()
    with pytest.raises(TaskNotFound, match="textcraft has no task 'gold_crown'"):
        world.task("gold_crown")
    with pytest.raises(TaskNotFound, match="textcraft has no split 'agentgym'"):
        world.tasks("agentgym")
    with pytest.raises(ValueError, match="no book 'x'"):
        TextCraft(book="x")  # pyright: ignore[reportArgumentType]


def test_episodes_are_equal_under_other_hash_seeds():
    program = (
        "from agentgym_envs.textcraft import TextCraft; import hashlib; found = []\n"
        "for book in ('village', 'invented'):\n"
        "    w = TextCraft(book=book)\n"
        "    found += [(t, w.reset(t, 1), w.expert(t), w.demonstrate(t, 2, 0.6))\n"
        "              for s in w.splits for t in w.tasks(s)[::9]]\n"
        "print(hashlib.sha256(repr(found).encode()).hexdigest())"
    )
    assert len(printed(program)) == 1


def folder_of(path: Path, **recipes: Any) -> Path:
    path.mkdir()
    for name, value in recipes.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (path / f"{name}.json").write_text(text)
    return path


def test_a_folder_of_recipes_is_imported_and_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    monkeypatch.setenv("AGENTEVOL_HOME", str(home))
    with pytest.raises(RecipeError, match="no recipes were imported"):
        TextCraft(book="imported")
    made = [shapeless(f"thing_{number}", item("ash_log"), item(f"part_{number}")) for number in range(30)]
    source = folder_of(
        tmp_path / "recipes",
        planks=shapeless("ash_planks", item("ash_log"), count=4, group="planks"),
        many=made,
        smelt={"type": "m:smelting", "result": "m:a"},
        broken="{",
        odd={"type": "m:crafting_shaped"},
    )
    report = importing.import_official(source, home)
    assert [one.name for one in report.refused] == ["broken.json", "odd.json"]
    assert report.warnings == ("1 are no crafting recipes, unpack a block, or go in circles",)
    assert sum(report.counts.values()) == 31
    assert importing.counts(home) == report.counts
    assert importing.verify(home) == []
    world = TextCraft(book="imported")
    assert world.splits == ("train", "valid", "test")
    assert {split: len(world.tasks(split)) for split in world.splits} == report.counts
    task = world.task("ash_planks")
    world.reset(task, 0)
    assert [world.step(command).reward for command in world.expert(task)] == [0, 1]
    (next((home / "textcraft").glob("recipes-*")) / "recipes.json").write_text("[]")
    assert "has changed since it was imported" in importing.verify(home)[0]


def test_a_folder_without_a_recipe_changes_nothing(tmp_path: Path):
    source = folder_of(tmp_path / "recipes", odd={"type": "m:crafting_shaped"})
    with pytest.raises(RecipeError, match=r"has no recipe by which anything can be crafted; odd\.json"):
        importing.import_official(source, tmp_path / "home")
    assert not (tmp_path / "home").exists()
