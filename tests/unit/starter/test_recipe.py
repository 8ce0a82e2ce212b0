"""Of which worlds and tasks a starter's demonstrations come."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentevol.core.protocols import Checkpoint, LearnReport
from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import word_tokenizer
from agentevol.runs.starter import demonstrations as module
from agentevol.runs.starter.card import card, evaluation_command
from agentevol.runs.starter.demonstrations import CAREFUL, Demonstrator, demonstrations
from agentevol.runs.starter.general_recipe import MOST_WORDS, general_recipe, recipe_for
from agentevol.runs.starter.mode_recipes import MODE_RECIPES
from agentevol.runs.starter.recipe import StarterRecipe
from agentevol.runs.starter.shipped_recipes import RECIPES
from agentgym_envs.guess import Guess, GuessTask


class Hint(Guess):
    """Its player says its own `name`, then the number."""

    def __init__(self, name: str = "plain") -> None:
        self.said = name

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        return super().tasks(split)

    def demonstrate(self, task: GuessTask, seed: int, care: float = 1.0) -> list[str]:
        thought = f"<think> care {100 * care:.0f}</think>"
        return [self.said, f"{thought}{min(9, task.secret + 1)}", f"{thought}{task.secret}"]


@pytest.fixture(autouse=True)
def worlds(monkeypatch: pytest.MonkeyPatch) -> list[Hint]:
    """Those that were made."""
    made: list[Hint] = []

    def make(_: str, **options: Any) -> Hint:
        made.append(Hint(**options))
        return made[-1]

    monkeypatch.setattr(module, "make", make)
    return made


def shown(count: int, **settings: Any) -> list[tuple[str, str]]:
    """Task and first message of each demonstration."""
    play = Demonstrator(StarterRecipe("guess", {"small": count}, care=0.5, **settings))
    found = [play("small", number) for number in range(count)]
    play.close()
    return [(one.id, one.turns[0].said) for one in found]


def test_one_world_shows_its_tasks_in_order_and_again():
    said = [("guess-1", "plain"), ("guess-2", "plain"), ("guess-5", "plain"), ("guess-7", "plain")]
    assert shown(6) == [*said, ("guess-1/1", "plain"), ("guess-2/1", "plain")]
    assert shown(6, by_task=True) == [*said, *said[:2]]


def test_several_worlds_take_turns_and_each_shows_all_of_its_tasks():
    found = shown(12, worlds=({"name": "a"}, {"name": "b"}, {"name": "c"}))
    assert [said for _, said in found] == ["a", "b", "c"] * 4
    assert [task for task, said in found if said == "b"] == ["guess-1", "guess-2", "guess-5", "guess-7"]


def test_every_world_gets_the_recipes_turns(worlds: list[Hint]):
    shown(1, worlds=({"name": "a"}, {"name": "b"}), max_turns=7)
    assert [(world.said, world.max_turns) for world in worlds] == [("a", 7), ("b", 7)]


def test_a_thought_is_no_action_of_the_world_and_stays_in_the_message():
    play = Demonstrator(StarterRecipe("guess", {"small": 1}, care=0.5))
    demonstration = play("small", 0)
    said = [turn.said for turn in demonstration.turns]
    assert said == ["plain", "<think> care 50</think>2", "<think> care 50</think>1"]
    assert demonstration.turns[2].heard == "Go lower than 2."
    assert demonstration.last == "Right."


def test_a_demonstration_is_played_beside_the_partner_that_the_player_met(monkeypatch: pytest.MonkeyPatch):
    begun: list[int] = []
    monkeypatch.setattr(
        Hint, "reset", lambda self, task, seed: begun.append(seed) or Guess.reset(self, task, seed)
    )
    seeds: list[int] = []
    monkeypatch.setattr(
        Hint, "demonstrate", lambda _, task, seed, care: seeds.append(seed) or [str(task.secret)]
    )
    play = Demonstrator(StarterRecipe("guess", {"small": 3}, care=0.5, seed=40))
    for number in range(3):
        play("small", number)
    assert begun == seeds == [40, 41, 42]
    play.close()


def test_a_share_of_the_demonstrations_is_careful():
    play = Demonstrator(StarterRecipe("guess", {"small": 1}, care=0.5, careful=0.25))
    thoughts = [play("small", number).turns[1].said.partition("</think>")[0] for number in range(400)]
    assert set(thoughts) == {"<think> care 50", f"<think> care {100 * CAREFUL:.0f}"}
    assert 60 < thoughts.count(f"<think> care {100 * CAREFUL:.0f}") < 140


def test_studies_excerpts_and_drills_are_of_further_careful_episodes():
    further: dict[str, Any] = {name: {"small": 1} for name in ("studies", "excerpts", "drills")}
    made = StarterRecipe("guess", {"small": 1}, care=0.5, **further)
    play = Demonstrator(made)
    tokenizer = word_tokenizer(["<think> care 50 100 Go lower than 2."], folded=True)
    sequences = list(demonstrations(play, made, ChatRenderer(tokenizer)))
    texts = [tokenizer.decode(list(sequence.token_ids)) for sequence in sequences]
    assert [sequence.trajectory_id for sequence in sequences] == [
        "guess-1",
        "guess-2",
        *["guess-5"] * 2,
        *["guess-7"] * 2,
    ]
    assert ["care 100" in text for text in texts] == [False] + [True] * 5
    assert [text.count("<|agent|>") for text in texts] == [3, 3, 1, 1, 1, 1]
    play.close()


def test_of_what_was_lost_only_thoughts_are_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Hint, "demonstrate", lambda *_: ["plain", "<think> care</think>0", "0", "0"])
    made = StarterRecipe("guess", {}, care=0.5, studies={"small": 1}, drills={"small": 1})
    play = Demonstrator(made)
    sequences = list(demonstrations(play, made, ChatRenderer(word_tokenizer(["<think> care"], folded=True))))
    assert [(sequence.trajectory_id, int(sequence.mask[:-1].sum()) > 0) for sequence in sequences] == [
        ("guess-2", True)
    ]
    play.close()


def test_finds_are_of_further_episodes_of_the_careless_player(monkeypatch: pytest.MonkeyPatch):
    def demonstrate(_: Hint, __: GuessTask, seed: int, care: float) -> list[str]:
        return [f"go {100 * care:.0f}", f"take {seed}"]

    monkeypatch.setattr(Hint, "demonstrate", demonstrate)
    made = StarterRecipe("guess", {"small": 1}, care=0.5, drills={"small": 1}, finds={"small": 2})
    play = Demonstrator(made)
    tokenizer = word_tokenizer(["go take 0 1 2 3 50 100"], folded=True)
    sequences = list(demonstrations(play, made, ChatRenderer(tokenizer)))
    said = [tokenizer.decode(list(sequence.token_ids)).split("<|agent|>")[1:] for sequence in sequences]
    assert [sequence.trajectory_id for sequence in sequences] == ["guess-1", "guess-5", "guess-7"]
    assert [one[0].partition("<")[0] for one in said] == ["go 50"] * 3
    assert [one[1].partition("<")[0] for one in said] == ["take 0", "take 2", "take 3"]
    play.close()


def test_a_starter_learns_messages_of_its_action_format():
    made = StarterRecipe("guess", {"small": 1}, care=0.5, action_format="react")
    play = Demonstrator(made)
    assert [turn.said for turn in play("small", 0).turns] == [
        "Thought:\n\n\nAction:\nplain",
        "<think> care 50</think>Thought:\n\n\nAction:\n2",
        "<think> care 50</think>Thought:\n\n\nAction:\n1",
    ]
    tokenizer = word_tokenizer(["<think> care 50 Thought: Action: plain"])
    (row,) = demonstrations(play, made, ChatRenderer(tokenizer))
    read = str(tokenizer.decode(row.token_ids.tolist()))
    assert read.startswith("You are an agent in the environment guess.")
    learnt = str(tokenizer.decode(row.token_ids[row.mask].tolist()))
    assert learnt.startswith("Thought:\n\n\nAction:\nplain<|end|><think> care 50</think>Thought:")
    play.close()


def test_the_general_recipe_shows_what_a_run_shows_and_bounds_the_vocabulary():
    recipe = general_recipe("sql")
    assert recipe.worlds == ({"tools_in": "text"},)
    assert recipe.vocabulary_most == MOST_WORDS
    assert general_recipe("guess").worlds == ({},)
    assert list(general_recipe("maze").demonstrations) == ["small", "medium", "large"]  # huge is held out


def test_the_card_says_how_careful_the_players_were():
    figures = dict.fromkeys(("sequences", "tokens_read", "steps", "seconds", "loss_last"), 1.0)
    report = LearnReport(Checkpoint(Path("starter"), 0), figures)
    mixed = card(StarterRecipe("guess", {"": 20}, care=0.1, careful=0.35), report, ["1"])
    assert "20 episodes of the demonstrating player, care 0.1 (0.95 in 35% of them), in split" in mixed
    assert "care 0.1, in split" in card(StarterRecipe("guess", {"": 20}, care=0.1), report, ["1"])


def test_a_starter_is_measured_in_the_action_format_of_its_recipe():
    own = evaluation_command(RECIPES["assistant"], "starter")
    assert own == "agentevol eval --env assistant --model starter"
    alone = evaluation_command(replace(RECIPES["guess"], environment="social"), "starter")
    assert alone == "agentevol eval --env social --model starter --partner environment"
    react = StarterRecipe("guess", {}, care=0.5, action_format="react")
    assert evaluation_command(react, "F") == "agentevol eval --env guess --model F --format react"


def test_a_shipped_recipe_is_of_plain_messages_and_others_are_general():
    assert recipe_for("guess") is RECIPES["guess"]
    other = recipe_for("guess", "react")
    assert (other.environment, other.action_format, other.studies) == ("guess", "react", {})
    assert RECIPES["guess"].action_format == "plain"
    assert recipe_for("social", "modes") is MODE_RECIPES["social"]
    assert recipe_for("social", "modes") is not recipe_for("social")
