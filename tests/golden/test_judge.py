"""The rule judge on 20 real episodes, beside the judgements that they were recorded with."""

from pathlib import Path

import pytest

from agentevol.data.judgements.batch import judge_entries
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.files import read_entries
from agentevol.data.judgements.judges.replay import ReplayJudge
from agentevol.data.judgements.judges.rules import RuleJudge
from agentevol.data.judgements.panel import Asked, Panel
from agentevol.data.judgements.summary import summary

pytestmark = pytest.mark.golden


@pytest.fixture
def episodes(shared_data: Path) -> Path:
    file = shared_data / "sotopia" / "real_episodes_20.jsonl"
    if not file.is_file():
        pytest.skip(f"no data/sotopia/{file.name} in the shared folder")
    return file


def test_the_rules_score_what_can_be_checked(episodes: Path, tmp_path: Path) -> None:
    entries = read_entries(str(episodes))
    panel = Panel([RuleJudge(Conversations(episodes.parent))])
    found = judge_entries(entries, panel, Asked(), tmp_path / "out.jsonl")
    recorded = {place: one.recorded for place, one in enumerate(entries) if one.recorded is not None}
    figures = summary(found, recorded)
    assert figures.outcomes == {"ok": 6, "failed(undecided)": 1, "failed(unsupported)": 13}
    means = {one.dimension: (round(one.mean, 2), one.n) for one in figures.scores}
    assert means == {"goal": (6.33, 12), "financial_and_material_benefits": (1.68, 6)}
    (goal,) = [one for one in figures.agreement if one.dimension == "goal"]
    assert goal.mean_absolute_difference is not None
    assert (goal.raters, goal.n, round(goal.mean_absolute_difference, 2), goal.exact) == (
        ("recorded", "rule"),
        12,
        3.42,
        0.25,
    )


def test_the_recorded_judgements_are_repeated(episodes: Path, tmp_path: Path) -> None:
    entries = read_entries(str(episodes))
    found = judge_entries(entries, Panel([ReplayJudge(episodes)]), Asked(), tmp_path / "out.jsonl")
    figures = summary(found)
    assert figures.outcomes == {"ok": 20}
    means = {one.dimension: one.mean for one in figures.scores}
    overall = [seat for one in found if one.status == "ok" for seat in one.overall]
    assert (len(overall), means["goal"]) == (40, pytest.approx(8.825))
    assert sum(score for score in overall if score is not None) / 40 == pytest.approx(3.736, abs=0.0005)
