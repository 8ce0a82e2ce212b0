"""Recorded judgements beside the rules, on an invented bargain."""

import json
from pathlib import Path

import pytest
from support.sotopia_profiles import LAMP, scene_of, talk, write_lines, write_profiles

from agentgym_envs.sotopia.protocol.conversation import Conversation
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_envs.sotopia.protocol.views import background
from benchmarks.goals import main, summary

SCORES = {one.name: one.high for one in SOTOPIA}


def episode(pk: str, *words: str) -> dict[str, object]:
    scene = scene_of(LAMP)
    conversation = Conversation(
        scene.names, (background(scene, 0, "relationship"), background(scene, 1, "relationship"))
    )
    for turn, both in enumerate(talk(*words)):
        conversation.apply({turn % 2: both[turn % 2]})
    return episode_log(
        conversation,
        Judgement(scores=(SCORES, {**SCORES, "goal": 4}), reasons=({}, {})),
        pk=pk,
        environment="lamp",
        agents=("ana", "bo"),
        models=("judge", "one", "two"),
    )


def test_the_table_has_a_row_for_each_seat_and_leaves_undecided_ones_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_profiles(tmp_path / "profiles")
    file = tmp_path / "episodes.jsonl"
    write_lines(file, [episode("one", "$24?", "Deal!"), episode("two", "$24?", "Hm.")])
    main([str(file), "--profiles", str(folder), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [(row["episode"], row["judge"], row["rule"]) for row in found["rows"]] == [
        ("one", 10, pytest.approx(4)),
        ("one", 4, pytest.approx(4.8)),
        ("two", 10, None),
        ("two", 4, None),
    ]
    assert found["summary"]["all"] == {
        "seats": 4,
        "undecided": 2,
        "compared": 2,
        "equal": 0,
        "within_1": 1,
        "judge": 7,
        "rule": pytest.approx(4.4),
        "difference": pytest.approx(3.4),
    }
    assert found["replay"] == {"messages": 20, "ended where recorded": 2}
    main([str(file), "--profiles", str(folder)])
    assert "nobody explicitly accepts" in capsys.readouterr().out


def test_nothing_to_compare_has_no_means() -> None:
    assert summary([]) == {"seats": 0, "undecided": 0, "compared": 0, "equal": 0, "within_1": 0}
