"""Runs in several environments: shares, summaries by environment, and a resume, without processes."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.run_processes import Killed, Processes, go_on
from support.runs import requested

from agentevol.config.run import load
from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import best
from agentevol.loop.report.environments import environments_table
from agentevol.loop.report.page import run_document
from agentevol.loop.report.rates import success_rows
from agentevol.loop.report.stage_matrix import stage_matrix
from agentevol.loop.stages import data_mixture
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Trajectory, Turn
from agentgym_store.store import Where

pytestmark = pytest.mark.usefixtures("tasks")
SMALL = ["explore.tasks=6", "explore.samples=2", "evaluate.episodes=4", "evaluate.validation_episodes=3"]


def begun(place: Path, *overrides: str) -> RunFolder:
    (place / "base").mkdir(parents=True)
    (place / "base" / "model.safetensors").write_text("base")
    named = [
        "name=now",
        "env=guess,textcraft,wordle",
        "mixture.textcraft.weight=2",
        "mixture.wordle.weight=0",
    ]
    config = load(None, [*named, *SMALL, "iterations=2", *overrides])
    return RunFolder.create(place / "run", config, Checkpoint(place / "base", 0))


def stored(folder: RunFolder, purpose: str, iteration: int = 1) -> list[Trajectory]:
    return [*folder.store.trajectories(Where(purpose=purpose, iteration=iteration))]


def test_each_environment_is_explored_by_its_weight_and_evaluated_alone(tmp_path: Path):
    folder, processes = begun(tmp_path, "algorithm=grpo"), Processes()
    go_on(folder, processes)
    explored = stored(folder, "explore")
    assert Counter(one.env for one in explored) == {"guess": 4, "textcraft": 8}
    # tasks of two environments may have one id: their episodes have not
    assert len({one.id for one in explored}) == 12
    assert {one.id.split("/")[3] for one in explored} == {"guess", "textcraft"}
    _, one, _ = folder.summaries.run().iterations
    assert (one.requested, one.explored) == (12, {"terminated": 12})
    assert {name: found["explored"] for name, found in one.data.items()} == {"guess": 4.0, "textcraft": 8.0}
    assert one.evaluation is not None
    assert one.validation is not None
    own = one.evaluation.environments
    assert {name: found.n for name, found in own.items()} == {"guess": 4, "textcraft": 4, "wordle": 4}
    assert one.evaluation.n == 12
    assert one.evaluation.success == pytest.approx(sum(found.successes / 4 for found in own.values()) / 3)
    assert {name: found.n for name, found in one.validation.environments.items()} == dict.fromkeys(own, 3)


def test_environments_alternate_among_the_requests_of_a_round(tmp_path: Path):
    folder, processes = begun(tmp_path), Processes()
    go_on(folder, processes)
    first = [name.split("/")[3] for name in processes.played if name.startswith("now/explore/0001/")]
    assert first == ["textcraft", "textcraft", "guess", "guess", *["textcraft"] * 4, "guess", "guess",
                     "textcraft", "textcraft"]  # fmt: skip


def test_the_report_has_a_line_and_a_curve_for_each_environment(tmp_path: Path):
    folder = begun(tmp_path)
    go_on(folder, Processes())
    summary = folder.summaries.run()
    table = environments_table(summary)
    leader = best(summary)
    assert leader is not None
    assert list(table.header[:2]) == ["environment", "tasks"]
    assert [row[0] for row in table.rows] == ["guess", "textcraft", "wordle"]
    assert [line.name for line in stage_matrix(summary).lines] == ["guess", "textcraft", "wordle"]
    groups = Counter(row.group for row in success_rows(summary))
    assert groups == {"": 3, "guess": 3, "textcraft": 3, "wordle": 3}
    titles = [table.title for table in run_document(summary).tables if table.rows]
    assert "Before and after, by environment" in titles


def test_a_mixed_run_that_was_killed_comes_to_the_same(tmp_path: Path):
    calm, rough = begun(tmp_path / "calm"), begun(tmp_path / "rough")
    go_on(calm, Processes())
    for left in (3, 12, 20, 9):
        with pytest.raises(Killed):
            go_on(rough, Processes(left))
    go_on(rough, Processes())
    again = [folder.summaries.run() for folder in (calm, rough)]
    facts = [
        [(one.evaluation, one.validation, one.explored, one.data) for one in run.iterations] for run in again
    ]
    assert facts[0] == facts[1]


def test_the_expert_of_each_environment_demonstrates_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = dict[str, int]()

    def demonstrate(environment: Any, _url: str, requests: Sequence[EpisodeRequest]) -> list[Trajectory]:
        asked[environment.name] = asked.get(environment.name, 0) + len(requests)
        return [requested(one, turns=(Turn(action="2", observation="o", reward=1.0),)) for one in requests]

    monkeypatch.setattr(data_mixture, "demonstrate", demonstrate)
    monkeypatch.setattr(data_mixture, "demonstration_sequences", lambda *_: [])
    shown = ["demonstrations.tasks=9", "demonstrations.clone=false", "select.merge=expert"]
    folder = begun(tmp_path, *shown)
    go_on(folder, Processes())
    assert asked == {"guess": 3, "textcraft": 6, "wordle": 0}
    assert Counter(one.env for one in stored(folder, "demonstrate", 0)) == {"guess": 3, "textcraft": 6}


def test_resampling_replaces_tasks_in_the_environment_that_lacks_them(tmp_path: Path):
    folder = begun(tmp_path, "algorithm=grpo", "explore.resample=3")
    go_on(folder, Processes())
    one = folder.summaries.run().iterations[1]
    explored = stored(folder, "explore")
    tasks = Counter(env for env, _ in {(one.env, one.task_id) for one in explored})
    assert one.requested == len(explored)
    assert tasks["guess"] >= 2
    assert tasks["textcraft"] >= 4
    assert tasks["wordle"] == 0


@pytest.mark.parametrize("rule", ["replay", "cumulative"])
def test_earlier_rounds_count_by_their_environment(tmp_path: Path, rule: str):
    folder = begun(tmp_path, f"select.merge={rule}", "select.rule=all", "algorithm=sft")
    go_on(folder, Processes())
    data = folder.summaries.run().iterations[2].data
    assert set(data) == {"guess", "textcraft"}
    assert sum(found["sequences_earlier"] for found in data.values()) > 0
    assert sum(found["token_share"] for found in data.values()) == pytest.approx(1.0)
