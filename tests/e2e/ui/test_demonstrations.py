"""The commands of docs/ui.md under "Won demonstrations are learnt by", after a person has won some games."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.ui.test_browser import served
from support.playing import Person
from support.tiny_models import GUESS_RUN

from agentgym_store.store import Store, Where

pytestmark = pytest.mark.slow


def play(base: str) -> None:
    """Win the four tasks of `train`, lose one of them, win one of `test`, and give one up."""
    person = Person(base)
    person.start("guess")
    for index in range(4):
        person.see("/play", env="guess")
        person.begin(index=str(index), name="Ann")
        number = guessed(person)
        assert f"Won after {number} turn" in person.end
    person.see("/play", env="guess")
    person.begin(index="0", name="Ann")
    for turn in range(1, 5):
        person.act(turn, "8")
    assert "Not won" in person.end
    person.see("/play", env="guess", split="test")
    person.begin(index="0", name="Ann")
    guessed(person)
    assert "purpose evaluate" in person.end
    person.see("/play", env="guess")
    person.begin(index="1", name="Ann")
    person.act(1, "8")
    person.send(f"{person.address}/end")
    assert "No return" in person.end


def guessed(person: Person) -> int:
    """Guess by bisection; the number of turns."""
    least, most = 1, 8
    for turn in range(1, 5):
        guess = (least + most) // 2
        page = person.act(turn, str(guess))
        if "Won after" in page:
            return turn
        if f"Go higher than {guess}." in page:
            least = guess + 1
        else:
            most = guess - 1
    raise AssertionError(person.page)


def agentevol(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentevol", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_what_a_person_won_is_learnt_by_an_update_and_by_a_run(tmp_path: Path, tiny_model: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    with served(runs) as base:
        play(base)
    human = runs / "human"
    played = list(Store.open(human).trajectories())
    assert len(played) == 7
    won = {t.id for t in played if t.purpose == "demonstrate" and t.total_reward == 1.0}
    assert len(won) == 4

    cloned = tmp_path / "cloned"
    told = agentevol(
        *("train", str(human), "algorithm=sft", f"base={tiny_model}", "learn.threads=1"),
        *("--purpose", "demonstrate", "--out", str(cloned), "--json"),
    )
    metrics = json.loads(told.stdout)["metrics"]
    assert (metrics["sequences"], metrics["tasks_solved_guess"]) == (4, 4)
    assert {one["episode"] for one in lines(cloned / "sequences.jsonl")} == won
    weights = [(folder / "model.safetensors").read_bytes() for folder in (tiny_model, cloned)]
    assert weights[0] != weights[1]

    out = runs / "replayed"
    agentevol(
        *("run", "--iters", "1", "--out", str(out), f"base={tiny_model}", *GUESS_RUN, "engine.workers=1"),
        *(f"retained.data={human}", "select.merge=replay"),
    )
    retained = list(Store.open(out / "trajectories").trajectories(Where(purpose="retain")))
    assert {t.id for t in retained} == {f"evolve/retain/{name}" for name in won}
    assert {t.policy for t in retained} == {"human:Ann"}
    learnt = [one for one in lines(out / "checkpoints" / "0001" / "sequences.jsonl") if one.get("replayed")]
    assert learnt
    assert {one["episode"] for one in learnt} <= {t.id for t in retained}
    figures = json.loads((out / "iterations" / "0001.json").read_text())
    assert (
        figures["learn"]["replay_sequences"] == figures["data"]["guess"]["sequences_earlier"] == len(learnt)
    )
    assert 0 < figures["learn"]["replay_fraction"] < 1
