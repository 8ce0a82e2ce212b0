"""Records of feedback: what they may hold, and which ones stand."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_store.errors import StoreError
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Comparison, Feedback, Verdict, feedback
from agentgym_store.jsonl import records_in

SCORE = {"kind": "score", "value": 4, "low": 1, "high": 5}
LOOK = {"kind": "correction", "action": "look"}


def record(**fields: Any) -> Feedback:
    return feedback({"trajectory_id": "e", "source": "human:Anna", "opinion": SCORE, **fields})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"opinion": {**SCORE, "value": float("nan")}}, "finite"),
        ({"opinion": {**SCORE, "high": float("inf")}}, "finite"),
        ({"opinion": {**SCORE, "value": 5.1}}, "5.1 is not on the scale from 1 to 5"),
        ({"opinion": {**SCORE, "value": True}}, "valid number"),
        ({"opinion": {**SCORE, "value": "4"}}, "valid number"),
        ({"opinion": {**SCORE, "low": 5}}, "from a lower to a higher"),
        ({"opinion": {**SCORE, "value": 0, "low": -1e308, "high": 1e308}}, "too wide"),
        ({"opinion": {"kind": "dimensions", "values": {}}}, "at least 1"),
        ({"opinion": {"kind": "dimensions", "values": {"": 1}}}, "name of a dimension"),
        ({"opinion": {"kind": "dimensions", "values": {"a": float("nan")}}}, "finite"),
        ({"opinion": {"kind": "comparison", "other": "e", "verdict": "tie"}}, "compared with itself"),
        ({"opinion": {"kind": "comparison", "other": "f", "verdict": "tie"}, "turn": 0}, "whole episodes"),
        ({"opinion": {"kind": "comparison", "other": "f", "verdict": "good"}}, "verdict"),
        ({"opinion": LOOK}, "a correction is of a turn"),
        ({"opinion": {"kind": "correction", "action": " \n"}, "turn": 0}, "not empty"),
        ({"opinion": {"kind": "correction", "action": "x" * 20_001}, "turn": 0}, "at most 20000"),
        ({"opinion": {"kind": "flag", "reason": "ugly"}}, "reason"),
        ({"opinion": {"kind": "praise"}}, "praise"),
        ({"opinion": {**SCORE, "extra": 1}}, "extra"),
        ({"source": "Anna"}, "a source is one of"),
        ({"source": "human:"}, "a source is one of"),
        ({"source": "robot:Anna"}, "a source is one of"),
        ({"source": "human: Anna"}, "a source is one of"),
        ({"source": "human:A\u202eb"}, "a source is one of"),
        ({"source": "human:" + "x" * 201}, "a source is one of"),
        ({"turn": -1}, "turn"),
        ({"turn": 1.0}, "turn"),
        ({"trajectory_id": ""}, "trajectory_id"),
        ({"note": "x" * 10_001}, "note"),
        ({"note": "\ud800"}, "note"),
        ({"created_at": "yesterday"}, "a time is like"),
        ({"created_at": "2026-01-01T00:00:00"}, "a time is like"),
        ({"cost": -1}, "cost"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_is_not_valid_is_one_clear_line(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(StoreError) as caught:
        record(**fields)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_score_has_a_place_on_its_scale() -> None:
    assert record().opinion.share == 0.75  # pyright: ignore[reportAttributeAccessIssue]


def test_times_are_kept_in_utc() -> None:
    assert record(created_at="2026-01-01T02:00:00+02:00").created_at == "2026-01-01T00:00:00.000000+00:00"


def test_a_later_opinion_of_the_same_source_wins() -> None:
    first, later = record(created_at="2026-01-01T00:00:00Z"), record(created_at="2026-01-02T00:00:00Z")
    assert standing([first, later]) == standing([later, first]) == [later]


def test_of_equal_times_the_last_appended_wins() -> None:
    first, later = (record(created_at="2026-01-01T00:00:00Z", note=note) for note in "ab")
    assert standing([first, later]) == [later]
    assert standing([later, first]) == [first]


def test_other_things_stay() -> None:
    kept = [record(), record(turn=0), record(turn=1), record(source="human:Bob"), record(trajectory_id="f")]
    kept += [record(turn=0, opinion=LOOK), record(opinion={"kind": "flag", "reason": "unsafe"})]
    assert standing(kept) == kept


def test_a_withdrawal_leaves_nothing_and_a_new_opinion_returns() -> None:
    first, none, again = record(), record(withdrawn=True), record()
    assert standing([first, none]) == []
    assert standing([first, none, again]) == [again]


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["Anna", "Bob"]),
        st.sampled_from(["e", "f"]),
        st.sampled_from([None, 0, 1]),
        st.sampled_from(["score", "flag", "correction", "comparison"]),
        st.booleans(),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(ACTS)
def test_what_stands_is_what_a_dictionary_would_hold(acts: list[tuple[Any, ...]]) -> None:
    model: dict[Any, str] = {}
    records: list[Feedback] = []
    for place, (name, episode, turn, kind, withdrawn, day) in enumerate(acts):
        opinion = {
            "score": SCORE,
            "flag": {"kind": "flag", "reason": "broken"},
            "correction": LOOK,
            "comparison": {"kind": "comparison", "other": "f" if episode == "e" else "e", "verdict": "tie"},
        }[kind]
        at = {"score": turn, "flag": turn, "correction": turn or 0, "comparison": None}[kind]
        records.append(
            record(
                id=str(place),
                source=f"human:{name}",
                trajectory_id=episode,
                turn=at,
                opinion=opinion,
                withdrawn=withdrawn,
                created_at=f"2026-01-0{1 + day}T00:00:00Z",
            )
        )
    for one in sorted(records, key=lambda one: one.created_at):
        about = "both" if one.kind == "comparison" else one.trajectory_id
        key = (one.source, about, one.turn, one.kind)
        if one.withdrawn:
            model.pop(key, None)
        else:
            model[key] = one.id
    assert sorted(one.id for one in standing(records)) == sorted(model.values())


@pytest.mark.parametrize(
    ("verdict", "probability"),
    [("better", 0.5), ("worse", 0.25), ("tie", 0.75), ("tie", 0.0), ("worse", None)],
)
def test_a_verdict_fits_its_probability_and_is_seen_from_the_other_episode(
    verdict: Verdict, probability: float | None
) -> None:
    one = Comparison(other="f", verdict=verdict, probability=probability)
    seen = one.seen_from_other("e")
    assert (seen.other, seen.verdict) == ("e", {"better": "worse", "worse": "better", "tie": "tie"}[verdict])
    assert seen.probability == (None if probability is None else 1 - probability)
    assert seen.seen_from_other("f") == one


@pytest.mark.parametrize(("verdict", "probability"), [("better", 0.25), ("worse", 0.75)])
def test_a_verdict_against_its_probability_is_refused(verdict: str, probability: float) -> None:
    opinion = {"kind": "comparison", "other": "f", "verdict": verdict, "probability": probability}
    with pytest.raises(StoreError, match=f"an episode that is {verdict} has no probability of {probability}"):
        record(opinion=opinion)
    for wrong in (1.5, -0.1, float("nan"), "0.5"):
        with pytest.raises(StoreError, match="probability"):
            record(opinion={**opinion, "verdict": "tie", "probability": wrong})


def test_a_bad_line_of_a_file_is_told_by_its_number(tmp_path: Any) -> None:
    file = tmp_path / "opinions.jsonl"
    good = record().model_dump_json()
    bad = json.dumps({**json.loads(good), "source": "Anna"})
    file.write_text(f"{good}\n\n{bad}\n")
    with pytest.raises(StoreError, match="line 3: source"):
        list(records_in(file, Feedback))
    file.write_text(f"{good}\n")
    assert [one.model_dump_json() for one in records_in(file, Feedback)] == [good]
