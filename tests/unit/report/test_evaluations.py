"""Records of evaluations: what they hold, their figures, and the paired comparison of two."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.evaluations import record
from support.trajectories import trajectory

from agentevol.cli.console.evaluations import print_scores
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import MeanScore, ModeFigures, ThinkingSummary
from agentevol.loop.report.evaluations.paired import differing, paired
from agentevol.loop.report.evaluations.records import (
    Agent,
    EvaluationRecord,
    Setting,
    append_to,
    missing,
    read_records,
    record_of,
)
from agentevol.loop.report.evaluations.summary import figures_of, groups_of
from agentevol.loop.report.evaluations.tables import group_rows, lines, paired_rows, score_rows
from agentevol.rollout.dimensions.clusters import clustered_mean
from agentgym_envs import thinking
from agentgym_store.records import Failed, Sample, Trajectory, Truncated, Turn

SETTING = Setting(requested=3, partner="idle", options={"view": "plain"}, max_turns=None)
INFO: dict[str, Any] = {
    "dimensions": {"goal": 5, "charm": None},
    "overall_score": None,
    "scenario": "s",
    "source": "books",
    "relationship": 0,
    "end_reasons": ["left", "too_long"],
    "view": "plain",
    "judge": {"model": "j"},
    "protocol": "ampo",
    "seat": 1,
    "state": "text of the state",
    "facts": {"deal": False},
    "conversation": {"log": [], "status": "judged"},
}


def sampled(text: str, **fields: Any) -> Turn:
    said = Sample(text=text, prompt_ids=(1,), token_ids=(2, 3), logprobs=(-1.0, -1.0), policy_version=0)
    return Turn(**{"action": "a", "observation": "o", "reward": 0.25, "sample": said, **fields})


def played(*turns: Turn, **fields: Any) -> Trajectory:
    return trajectory(
        **{"id": "e/seat-1", "episode_id": "e", "seat": 1, "purpose": "evaluate", "turns": turns, **fields}
    )


def test_a_record_has_what_the_last_step_told_and_what_the_agent_spent() -> None:
    given = Turn(action="g", observation="o", reward=0.0)
    one = played(given, sampled("x"), sampled("y", info=INFO), given_turns=1)
    found = record_of(one, Agent("folder", "plain", 0.7, 4), SETTING)
    assert found == EvaluationRecord(
        id="e/seat-1", episode="e", requested=3, role="policy", model="folder", partner="idle",
        action_format="plain", temperature=0.7, env="guess", env_version="1", data_version="1",
        options={"view": "plain"}, max_turns=None, split="train", task="t", attempt=0, kind="",
        difficulty="", seed=0, seat=1, ending="terminated", detail="", reward=0.5, turns=2, tokens=4,
            invalid_actions=0, invalid_in_a_row=0, state_visits=1,
        levels={}, dimensions={"goal": 5.0, "charm": None}, overall=None, scenario="s", source="books",
        relationship="0", end_reasons=["left", "too_long"], view="plain", judge={"model": "j"},
        protocol="ampo", info={"seat": 1, "facts": {"deal": False}},
        conversation={"log": [], "status": "judged"},
    )  # fmt: skip


def test_a_failed_episode_has_a_record_without_scores() -> None:
    one = played(sampled("x"), ending=Failed(failure="judge", detail="no reply"), purpose="partner")
    found = record_of(one, Agent("b", "plain", None, None), SETTING)
    assert (found.role, found.ending, found.detail, found.reward) == (
        "partner",
        "failed(judge)",
        "no reply",
        None,
    )
    assert (found.dimensions, found.scores, found.scenario) == (None, None, "t")


@pytest.mark.parametrize(("told", "expected"), [({"seat": 1}, 1), ({}, None), ({"seat": True}, None)])
def test_the_seat_of_a_single_agent_is_the_one_that_is_told(
    told: dict[str, Any], expected: int | None
) -> None:
    one = trajectory(id="e", turns=(sampled("x", info=told),))
    assert record_of(one, Agent("m", "plain", None, None), SETTING).seat == expected


def test_thinking_modes_are_those_of_the_environment_or_of_the_format() -> None:
    two = thinking.render(2, ("a", "b", "c"), "yes")
    turns = (sampled(two), sampled("no template"), sampled(two, info={"mode": 4}), sampled(two, sample=None))
    assert record_of(played(*turns), Agent("m", "modes", None, None), SETTING).levels == {
        "-1": 1,
        "2": 1,
        "4": 1,
    }
    assert record_of(played(*turns), Agent("m", "plain", None, None), SETTING).levels == {"4": 1}


def test_records_are_lines_that_are_there_as_soon_as_they_are_written(tmp_path: Path) -> None:
    path, ones = (
        tmp_path / "r.jsonl",
        [record(task="b", requested=3), record(task="a", requested=3, reward=None)],
    )
    with path.open("x", encoding="utf-8") as file:
        for one in ones:
            append_to(file, one)
            assert json.loads(path.read_text().splitlines()[-1])["task"] == one.task
    assert read_records(path) == [ones[1], ones[0]]
    assert missing(read_records(path)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.jsonl has no records"),
        ("{}", "r.jsonl, line 1: no record of an evaluation: id: Field required"),
        ("nonsense", "r.jsonl, line 1: no record of an evaluation: Invalid JSON"),
        ("RECORD\nRECORD", "r.jsonl, line 2: .* is there twice"),
        (
            "RECORD\n" + '{"format": "agentevol.evaluation/2"}',
            "line 2: no record of an evaluation: format: Input should",
        ),
    ],
)
def test_a_file_that_holds_something_else_is_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text.replace("RECORD", record().model_dump_json()))
    with pytest.raises(ConfigError, match=message):
        read_records(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*r\.jsonl"):
        read_records(tmp_path / "r.jsonl")


def pair(task: str, left: float | None, right: float | None, **fields: Any) -> list[EvaluationRecord]:
    """Both seats of an episode of self-play, scored in `goal`; None is a failure."""
    return [
        record(
            id=f"{task}/{seat}", episode=task, task=task, seat=seat, requested=4, tokens=6, turns=2,
            reward=None if goal is None else goal / 10,
            ending="failed(policy)" if goal is None else "terminated",
            dimensions=None if goal is None else {"charm": None, "goal": goal}, end_reasons=["left"],
            source="books" if task < "c" else "films", levels={"1": 1, "2": 1}, **fields,
        )
        for seat, goal in ((0, left), (1, right))
    ]  # fmt: skip


# Self-play of four tasks of two scenarios, the last failed: goals s = (2, 4), (6, 8), u = (1, 9).
SELF = [
    *pair("a", 2.0, 4.0, scenario="s"),
    *pair("b", 6.0, 8.0, scenario="s"),
    *pair("c", 1.0, 9.0, scenario="u"),
    *pair("d", None, None, scenario="d"),
]


def test_both_seats_are_averaged_and_shown_one_by_one() -> None:
    found = figures_of(SELF, ["source"])
    assert found.scores["goal"] == clustered_mean([2, 4, 6, 8, 1, 9], list("ssssuu"))
    assert found.scores["goal"].mean == 5.0
    assert {seat: means["goal"].mean for seat, means in found.by_seat.items()} == {"0": 3.0, "1": 7.0}
    assert {name: means["goal"].mean for name, means in found.by["source"].items()} == {
        "books": 5.0,
        "films": 5.0,
    }
    assert {name: means["goal"].n for name, means in found.by["source"].items()} == {"books": 4, "films": 2}
    assert found.scores["charm"] == MeanScore()
    assert (found.tokens_per_turn, found.levels) == (3.0, {"1": 8, "2": 8})


def test_every_requested_episode_has_one_ending_and_the_sum_is_printed() -> None:
    found = figures_of(SELF)
    assert (found.episodes, found.played, found.agents) == (4, 4, 8)
    assert found.endings == {"failed(policy)": 2, "terminated": 6}
    assert found.failures == {"policy": 1}
    told = list(lines(found))
    assert told[0] == "endings: 2 failed(policy) + 6 terminated = 4 episodes x 2 seats"
    assert told[1:] == [
        "failed episodes by cause: policy 1",
        "end reasons: left 8",
        "turns by thinking mode: 1 8, 2 8",
        "tokens per turn: 3.0",
    ]
    assert (
        next(lines(figures_of(SELF[:4]))) == "endings: 4 terminated = 2 episodes x 2 seats; 2 unaccounted for"
    )


def test_modes_that_stand_above_are_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    def told(thinking: ThinkingSummary | None) -> list[str]:
        print_scores(figures_of(SELF), "self", thinking)
        return capsys.readouterr().out.splitlines()

    modes, tokens = "turns by thinking mode: 1 8, 2 8", "tokens per turn: 3.0"
    without = told(ThinkingSummary(all=ModeFigures(turns=16, tokens=3.0), malformed=0.0))
    of_an_endpoint = told(ThinkingSummary(all=ModeFigures(turns=16, tokens=None), malformed=0.0))
    assert modes not in without
    assert told(None) == [*without, modes, tokens]
    assert of_an_endpoint == [*without, tokens]


def test_episodes_that_a_limit_cut_before_they_were_scored_are_counted() -> None:
    cut = record(id="x", ending="truncated(max_turns)", reward=0.0)
    found = figures_of([cut, record(id="y", dimensions={"goal": 1.0})])
    assert (found.unscored, found.scores["goal"].n) == (1, 1)
    assert "cut by a limit before they were scored: 1" in list(lines(found))
    assert len(list(lines(figures_of([cut])))) == 1  # an environment without scores lacks none


def test_tokens_of_failed_episodes_are_not_counted_as_their_last_message_has_no_turn() -> None:
    lost = record(id="x", ending="failed(judge)", reward=None, turns=1, tokens=20)
    assert figures_of([lost, record(id="y", turns=2, tokens=10)]).tokens_per_turn == 5.0
    assert figures_of([lost]).tokens_per_turn is None


def test_a_partner_is_beside_the_figures_and_not_in_them() -> None:
    mine = record(id="e/0", episode="e", seat=0, dimensions={"goal": 2.0}, tokens=5, turns=1)
    theirs = record(
        id="e/1", episode="e", seat=1, dimensions={"goal": 8.0}, tokens=500, role="partner", model="idle"
    )
    found = figures_of([mine, theirs])
    assert (found.scores["goal"].mean, found.partner["goal"].mean, found.tokens_per_turn) == (2.0, 8.0, 5.0)
    assert (found.agents, found.endings, list(found.by_seat)) == (1, {"terminated": 1}, ["0"])
    header, rows = score_rows(found, "idle")
    assert header == ("dimension", "mean", "95 % interval", "n", "beside: idle")
    assert rows == [("goal", "2.00", "–", "1", "8.00"), ("overall", "–", "–", "0", "–")]


def test_the_cause_of_a_failure_may_be_the_partner() -> None:
    lost = [
        record(id="e/0", episode="e", seat=0, ending="failed(partner)", reward=None),
        record(id="e/1", episode="e", seat=1, ending="failed(policy)", reward=None, role="partner"),
        record(id="f/0", episode="f", seat=0, ending="failed(partner)", reward=None),
        record(id="f/1", episode="f", seat=1, ending="failed(judge)", reward=None, role="partner"),
    ]
    assert figures_of(lost).failures == {"judge": 1, "policy of the partner": 1}


def test_views_judges_and_labels_are_told() -> None:
    judge = {"model": "j", "dimensions": ["goal", "secret"], "prompt_sha256": 64 * "f"}
    found = figures_of([record(view="ampo", judge=judge, info={"label": "by rule"})])
    assert list(lines(found))[1:] == [
        "view: ampo (agents read their partner's secret: the dimension `secret` says little)",
        "judge: model j, dimensions 2, prompt_sha256 " + 40 * "f",
        "by rule",
    ]


def test_groups_have_rows_for_what_was_scored() -> None:
    header, rows = group_rows("source", figures_of(SELF, ["source"]).by["source"])
    assert header == ("source", "dimension", "mean", "95 % interval", "n")
    assert rows == [("books", "goal", "5.00", "–", "4"), ("films", "goal", "5.00", "–", "2")]
    with pytest.raises(ConfigError, match="no scores by 'mood'; there are: source, relationship, kind"):
        groups_of(["mood"])


# First against second in goal, by task and seat; scenario s has two tasks:
#   a: 2 -> 3, b: 6 -> 9 (mean of repeats 8 and 10), c: 1 -> 1, d only in the first
#   differences s = (1, 3), u = (0); mean 4 / 3, residual sums s = 4 - 8 / 3 = 4 / 3 and u = -4 / 3
#   variance = 2 / 1 * (2 * 16 / 9) / 9 = 0.790123, t of 1 degree 12.706205, half width 11.294404
FIRST = [
    record(task="a", seat=0, scenario="s", dimensions={"goal": 2.0}, overall=1.0),
    record(task="b", seat=0, scenario="s", dimensions={"goal": 6.0}),
    record(task="c", seat=1, scenario="u", dimensions={"goal": 1.0}, overall=2.0),
    record(task="d", seat=1, scenario="u", dimensions={"goal": 9.0}),
]
SECOND = [
    record(task="a", seat=0, scenario="s", dimensions={"goal": 3.0}, overall=3.0),
    record(task="b", seat=0, scenario="s", dimensions={"goal": 8.0}),
    record(task="b", seat=0, scenario="s", dimensions={"goal": 10.0}, attempt=1),
    record(task="c", seat=1, scenario="u", dimensions={"goal": 1.0}, overall=None),
    record(task="d", seat=0, scenario="u", dimensions={"goal": 0.0}),
]


def test_differences_are_paired_by_task_and_seat_with_clustered_intervals() -> None:
    goal = paired(FIRST, SECOND)["goal"]
    assert (goal.first, goal.second) == (3.0, pytest.approx(13 / 3))
    difference = goal.difference
    assert (difference.mean, difference.n, difference.clusters) == (pytest.approx(4 / 3), 3, 2)
    assert (difference.low, difference.high) == (
        pytest.approx(4 / 3 - 11.294404, abs=1e-5),
        pytest.approx(4 / 3 + 11.294404, abs=1e-5),
    )


def test_an_unpaired_or_unclustered_difference_is_another_one() -> None:
    means = [
        sum((one.dimensions or {})["goal"] or 0.0 for one in ones) / len(ones) for ones in (FIRST, SECOND)
    ]
    found = paired(FIRST, SECOND)["goal"].difference
    assert means[1] - means[0] == pytest.approx(-0.1)
    naive = clustered_mean([1.0, 3.0, 0.0], range(3))
    assert naive.low is not None
    assert naive.low != pytest.approx(found.low, abs=1.0)


def test_scores_that_only_one_has_are_in_no_pair() -> None:
    found = paired(FIRST, SECOND)
    assert list(found) == ["reward", "goal", "overall"]
    assert (found["overall"].first, found["overall"].second, found["overall"].difference.n) == (1.0, 3.0, 1)
    assert paired_rows({"goal": found["goal"]})[1] == [
        ("goal", "3.000", "4.333", "+1.333", "-9.961 to +12.628", "3", "2")
    ]
    with pytest.raises(ConfigError, match="no task was scored in the same seat by both"):
        paired(FIRST, [record(task="a", seat=1)])
    partners = [one.model_copy(update={"role": "partner"}) for one in SECOND]
    with pytest.raises(ConfigError, match="nothing to compare"):
        paired(FIRST, partners)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("view", "ampo", '"ampo"'),
        ("judge", {"model": "j", "prompt_tokens": 17}, '{"model": "j"}'),
        ("environment's partner", {"model": "k"}, '{"model": "k"}'),
        ("protocol", "ampo", '"ampo"'),
        ("partner", "idle", '"idle"'),
        ("max_turns", 3, "3"),
        ("data_version", "2", '"2"'),
        ("split", "hard", '"hard"'),
    ],
)
def test_settings_that_differ_are_named(name: str, value: Any, shown: str) -> None:
    told = (
        {"info": {"partner": {"kind": "openai", **value, "requests": 3}}} if "'s" in name else {name: value}
    )
    other = [one.model_copy(update=told) for one in SECOND]
    found = differing(FIRST, other)
    assert {key: pair[1] for key, pair in found.items()} == {name: shown}
    assert differing(FIRST, SECOND) == {}


def test_mappings_differ_by_member() -> None:
    judge = {"model": "j", "host": "h", "samples": 1}
    ones = [one.model_copy(update={"judge": judge, "options": {"view": "lite", "seat": 0}}) for one in FIRST]
    others = [
        one.model_copy(
            update={"judge": {**judge, "model": "k"}, "options": {"view": "lite", "order": "random"}}
        )
        for one in SECOND
    ]
    assert differing(ones, others) == {
        "options.seat": ("0", "null"),
        "options.order": ("null", '"random"'),
        "judge.model": ('"j"', '"k"'),
    }


def test_figures_of_a_judge_and_hidden_parameters_of_a_partner_are_no_settings() -> None:
    told = [
        record(
            task=f"{tokens}", judge={"model": "j", "prompt_tokens": tokens}, info={"partner": {"kind": kind}}
        )
        for tokens, kind in ((3, "linear"), (5, "stubborn"))
    ]
    assert differing(told[:1], told[1:]) == {}


def test_requests_of_judge_and_partner_are_summed_once_for_each_episode() -> None:
    judge = {"model": "j", "requests": 2, "prompt_tokens": 100, "cost": 0.25, "latency_s": 3.5}
    records = [
        record(
            id=f"{episode}/{seat}", episode=episode, seat=seat, judge=judge, info={"partner": {"requests": 5}}
        )
        for episode in "ab"
        for seat in (0, 1)
    ]
    found = figures_of(records)
    assert found.requests == {
        "judge": {"requests": 4, "prompt_tokens": 200, "cost": 0.5},
        "partner": {"requests": 10},
    }
    counts = "requests 4, prompt tokens 200, cost 0.5"
    assert f"endpoint of the judge: {counts}" in list(lines(found))
    broken = found.model_copy(update={"failures": {"judge": 1}})
    assert f"endpoint of the judge, without failed episodes: {counts}" in list(lines(broken))
    assert found.judges == [{"model": "j"}]


def test_an_episode_that_failed_says_nothing_of_the_settings() -> None:
    lost = record(task="z", reward=None, ending=f"truncated({Truncated(limit='context').limit})")
    assert differing(FIRST, [*SECOND, lost.model_copy(update={"view": "other"})]) == {}
