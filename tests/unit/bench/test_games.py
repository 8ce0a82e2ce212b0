"""`agentevol bench env --env games`: scripts and rates."""

import json

import pytest

from agentevol.cli.benchmarks.env import games
from agentevol.cli.benchmarks.serve.loads import plans_of
from agentgym_envs.registry import make


def test_scripts_repeat_and_play_as_they_were_made():
    world = make("maze")
    scripts = games.scripted(world)
    assert scripts == games.scripted(world)
    assert len(scripts) == games.TASKS
    assert games.played(world, scripts[0]) == len(scripts[0].actions) == games.TURNS
    listless = games.scripted(make("textcraft"))
    assert list(listless[0].actions) == (make("textcraft").expert(listless[0].task) or [])[: games.TURNS]


def test_a_game_has_its_rate_and_what_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(games, "GAMES", ("maze",))
    monkeypatch.setattr(games, "SECONDS", 0.01)
    games.main(json=True)
    (figure,) = json.loads(capsys.readouterr().out)["figures"]
    assert figure["what"] == "maze"
    assert all(rate > 0 for rate in figure["runs"])
    monkeypatch.setattr(games, "ORIGINALS", {"maze": lambda _: 1.0})
    games.main(json=True)
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [one["what"] for one in figures] == ["maze", "maze, its package", "maze: ours above its package"]


def test_plans_are_those_of_the_expert():
    world = make("textcraft")
    plans = plans_of(world)
    assert len(plans) == 8
    assert all(plan == world.expert(world.task(name)) for name, plan in plans.items())
