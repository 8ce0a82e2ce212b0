"""Comparison of several models with each other, by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.evaluations import record

from agentevol.cli import main
from agentevol.core.errors import ConfigError
from agentevol.loop.report.document import as_markdown
from agentevol.loop.report.evaluations.model_comparison import (
    check_equal_tasks,
    check_settings,
    model_comparison,
    pairwise_document,
)
from agentevol.loop.report.evaluations.paired import paired_test
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.hypothesis_tests import sign_flip_test
from agentevol.rollout.dimensions.clusters import clustered_mean


def played(rewards: str, **fields: Any) -> list[EvaluationRecord]:
    """An episode of each task; `1` is won, `5` half, `0` lost, `x` failed."""
    known = {"1": 1.0, "5": 0.5, "0": 0.0, "x": None}
    return [
        record(
            task=f"t{number}",
            reward=known[reward],
            seed=number,
            ending="failed(judge)" if reward == "x" else "terminated",
            **fields,
        )
        for number, reward in enumerate(rewards)
    ]


MODELS = {"a": played("00000000"), "b": played("11111111"), "c": played("11115000")}


def test_every_two_models_are_compared_with_holms_correction() -> None:
    found = model_comparison({"": MODELS})
    told = {(one.first, one.second): (one.score.p, one.p_holm) for one in found.pairs["success"]}
    # sign tests of 8, 4 and 4 changes to one side: 2 / 2^8 and 2 / 2^4; Holm: times 3, 2 and 1
    assert told == {
        ("a", "b"): (2 / 256, 6 / 256),
        ("a", "c"): (2 / 16, 4 / 16),
        ("b", "c"): (2 / 16, 4 / 16),
    }
    assert found.performance[""]["c"].success.mean == 0.5


def test_returns_are_a_family_of_their_own() -> None:
    found = model_comparison({"": MODELS}).pairs["reward"]
    changes = [1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0]
    assert found[1].score.p == sign_flip_test(changes) == 2 / 32
    assert found[1].score.difference == clustered_mean(changes, range(8))
    assert found[1].p_holm == 4 / 32


def test_the_correction_is_over_all_environments() -> None:
    found = model_comparison({"one": MODELS, "two": MODELS}).pairs["success"]
    assert [one.environment for one in found] == ["one"] * 3 + ["two"] * 3
    assert [one.p_holm for one in found][:1] == [6 * 2 / 256]


def test_repeats_are_averaged_and_clusters_are_summed() -> None:
    ones = [record(task=t, attempt=n, scenario="s", reward=0.0) for t in "ab" for n in range(2)]
    others = [record(task=t, attempt=n, scenario="s", reward=float(n)) for t in "ab" for n in range(2)]
    found = paired_test(ones, others, "success")
    assert found is not None
    # one cluster: both signs of its sum are as far
    assert (found.first, found.second, found.p, found.difference.clusters) == (0.0, 0.5, 1.0, 1)


def test_a_failed_episode_is_in_no_pair() -> None:
    found = model_comparison({"": {"a": played("00x"), "b": played("1x1")}}).pairs["success"]
    assert (found[0].score.difference.n, found[0].score.p) == (1, 1.0)
    assert model_comparison({"": {"a": played("x"), "b": played("1")}}).pairs["success"] == []


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (played("0000000"), "1 of 8 episodes differ, the first of task 't7'"),
        ([one.model_copy(update={"seed": 9}) for one in MODELS["a"]], "8 of 8 episodes differ"),
        ([*MODELS["a"], record(task="t0", attempt=1)], "1 of 9 episodes differ, the first of task 't0'"),
    ],
)
def test_unequal_tasks_seeds_or_repeats_are_refused(others: list[EvaluationRecord], told: str) -> None:
    with pytest.raises(ConfigError, match=f"a and z did not play equal tasks and seeds: {told}"):
        check_equal_tasks({**MODELS, "z": others})


def test_other_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match='b and c differ in split: "test" and "hard"'):
        check_settings({"b": played("1"), "c": played("1", split="hard")})


def test_the_report_has_a_row_for_each_pair() -> None:
    page = as_markdown(pairwise_document(model_comparison({"": MODELS})))
    assert "1 of 3 differences in success is significant at 5 % after Holm's correction." in page
    assert "| a | b | 0.000 | 1.000 | +1.000 | +1.000 to +1.000 | 0.008 | 0.023 | 8 |" in page
    assert "| c | 8 | 8 | 50.0 % | 21.5 – 78.5 % |" in page


def test_files_are_compared_pairwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, records in MODELS.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(one.model_dump_json() + "\n" for one in records))
        files.append(str(file))
    with pytest.raises(SystemExit) as ended:
        main(["compare", *files, "--pairwise", "--json"])
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert [one["p_holm"] for one in found["pairs"]["success"]] == [6 / 256, 4 / 16, 4 / 16]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a.jsonl"], "at least two files"),
        (["a.jsonl", "a.jsonl"], "each named once"),
        (["a.jsonl", "."], "files of `agentevol eval --records` alone"),
        (["a.jsonl", "b.jsonl", "--by", "kind"], "--by has no effect"),
        (["a.jsonl", "b.jsonl", "--force"], "--force has no effect"),
    ],
)
def test_a_wrong_use_is_one_line(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(f"{name}.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in MODELS[name]))
    with pytest.raises(SystemExit) as ended:
        main(["compare", *arguments, "--pairwise", "--report", "out.html"])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not Path("out.html").exists()
