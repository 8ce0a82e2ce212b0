"""Reading games from strangers: exact where they are sound, one clear line where they are not."""

import json
from pathlib import Path

import pytest

from agentgym_envs.alfworld.game import Game, GameError, read_compact_line, read_official, write_compact_line

GOAL = "(:goal (and (exists (?r - receptacle) (exists (?o - object) (inReceptacle ?o ?r)))))"
KITCHEN = (Path(__file__).parent / "alfworld_kitchen.json").read_text()


def official(**changes: object) -> str:
    problem = (
        "(define (problem plan_1)\n(:domain alfred)\n(:objects agent1 - agent)\n"
        "(:init ; a comment (with a fact)\n  (receptacleType Desk_bar_1   DeskType)\n"
        "\t(openable Desk_bar_1)\n (openable Desk_bar_1) )\n"
        f"  {GOAL.replace(' ', chr(10) + ' ')}\n)"
    )
    grammar = '{"task": [{"rhs": "Your task is to: put a mug in desk."}]}'
    game: dict[str, object] = {
        "grammar": grammar,
        "pddl_problem": problem,
        "walkthrough": ["look"],
        "solvable": True,
    }
    return json.dumps(game | changes)


def line(**changes: object) -> str:
    game: dict[str, object] = {
        "id": "a/b",
        "task": "put a mug in desk",
        "walk": [],
        "goal": GOAL,
        "facts": [],
    }
    return json.dumps(game | changes)


def test_an_official_file_is_read_without_its_comments_and_line_breaks() -> None:
    assert read_official(official(), "task/trial") == Game(
        id="task/trial",
        sentence="put a mug in desk",
        facts=("receptacleType Desk_bar_1 DeskType", "openable Desk_bar_1", "openable Desk_bar_1"),
        goal=GOAL + " )",
        walkthrough=("look",),
    )


def test_an_official_file_may_lack_its_walkthrough() -> None:
    text = official(walkthrough=None, solvable=None)
    assert read_official(text, "task/trial").walkthrough == ()


def test_a_grammar_that_would_run_code_is_only_text() -> None:
    grammar = '{"task": [{"rhs": "Your task is to: {__import__(\'os\').abort()}."}]}'
    assert read_official(official(grammar=grammar), "a/b").sentence == "{__import__('os').abort()}"


def test_a_compact_line_is_read_and_written_back_unchanged() -> None:
    game = read_compact_line(KITCHEN)
    assert (game.id, game.sentence) == (
        "pick_and_place_simple-Mug-None-Cabinet-1/trial_T1",
        "put a mug in cabinet",
    )
    assert read_compact_line(write_compact_line(game)) == game


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a compact game line"),
        ("{", "not a compact game line"),
        ("[" * 100_000, "not a compact game line"),
        ("[]", "not a compact game line"),
        (line(id=7), "not a compact game line: id: Input should be a valid string"),
        (line(facts=["a", 1]), r"not a compact game line: facts\.1: Input should be a valid string"),
        (line(id=""), "1 to 256 characters"),
        (line(id="a\nb"), "no control character"),
        (line(task="put\x1b[2J"), "goal sentence must have 1 to 500 characters and no control character"),
        (line(task="x" * 501), "goal sentence"),
        (line(facts=["openable x_bar_1"] * 20_001), "the game has 20,001 facts; at most 20,000 are read"),
        (line(goal="(" * 5_000), "5,000 characters in its goal"),
        (line(walk=["look"] * 1_001), "1,001 commands in its walkthrough"),
        (" " * 1_000_001, "the game has 1,000,001 characters; at most 1,000,000 are read"),
    ],
)
def test_a_bad_compact_line_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason) as error:
        read_compact_line(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not JSON", "not a game.tw-pddl file"),
        ("{}", "not a game.tw-pddl file: grammar: Field required"),
        (official(solvable=False), "marked unsolvable"),
        (official(grammar="{}"), 'no "Your task is to: ..." sentence'),
        (official(pddl_problem="(define)"), r"no \(:init ...\)"),
        (official(pddl_problem="(:goal x) (:init (openable a))"), r"no \(:goal ...\) after"),
        ("x" * 1_000_001, "1,000,001 characters"),
    ],
)
def test_a_bad_official_file_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason) as error:
        read_official(text, "task/trial")
    assert "\n" not in str(error.value)
