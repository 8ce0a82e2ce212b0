"""Of which worlds and tasks a starter's demonstrations come."""

from collections.abc import Sequence
from typing import Any

import pytest

from agentevol.starter import recipe
from agentevol.starter.recipe import Demonstrator, StarterRecipe
from agentgym_envs.guess import Guess, GuessTask


class Hint(Guess):
    """Its player says its own `name`, then the number."""

    def __init__(self, name: str = "plain") -> None:
        self.said = name

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        return super().tasks(split)

    def demonstrate(self, task: GuessTask, seed: int, care: float = 1.0) -> list[str]:
        return [self.said, str(task.secret)]


@pytest.fixture(autouse=True)
def worlds(monkeypatch: pytest.MonkeyPatch) -> list[Hint]:
    """Those that were made."""
    made: list[Hint] = []

    def make(_: str, **options: Any) -> Hint:
        made.append(Hint(**options))
        return made[-1]

    monkeypatch.setattr(recipe, "make", make)
    return made


def shown(count: int, **settings: Any) -> list[tuple[str, str]]:
    """Task and first action of each demonstration."""
    play = Demonstrator(StarterRecipe("guess", {"small": count}, care=0.5, **settings))
    found = [(name, episode.actions[0]) for name, episode in (play("small", n) for n in range(count))]
    play.close()
    return found


def test_one_world_shows_its_tasks_in_order_and_again():
    said = [("guess-1", "plain"), ("guess-2", "plain"), ("guess-5", "plain"), ("guess-7", "plain")]
    assert shown(5) == [*said, said[0]]


def test_several_worlds_take_turns_and_each_shows_all_of_its_tasks():
    found = shown(12, worlds=({"name": "a"}, {"name": "b"}, {"name": "c"}))
    assert [said for _, said in found] == ["a", "b", "c"] * 4
    assert [task for task, said in found if said == "b"] == ["guess-1", "guess-2", "guess-5", "guess-7"]


def test_every_world_gets_the_recipes_turns(worlds: list[Hint]):
    shown(1, worlds=({"name": "a"}, {"name": "b"}), max_turns=7)
    assert [(world.said, world.max_turns) for world in worlds] == [("a", 7), ("b", 7)]
