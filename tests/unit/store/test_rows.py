"""Trajectory to Arrow row and back."""

import copy
import math
import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from support.trajectories import trajectory

from agentgym_store.arrow import SCHEMA
from agentgym_store.errors import StoreError
from agentgym_store.purposes import PURPOSES
from agentgym_store.records import (
    Cancelled,
    Failed,
    Sample,
    Terminated,
    Trajectory,
    Truncated,
    Turn,
)
from agentgym_store.rows import from_batch, shared_prefix, to_batch

EPISODE = trajectory(
    id="a/1/train-7/0",
    run="a",
    env="alfworld",
    env_version="1.0.0",
    data_version="builtin:1.0.0",
    task_id="train-7",
    instruction="put a mug in shelf.",
    seed=7,
    policy="checkpoint-0",
    initial_observation="You see a shelf 1.",
    started_at="2025-01-01T00:00:00Z",
    wall_s=0.5,
)


def sample(prompt_ids: tuple[int, ...], token_ids: tuple[int, ...]) -> Sample:
    logprobs = tuple(-0.5 for _ in token_ids)
    return Sample(text="t", prompt_ids=prompt_ids, token_ids=token_ids, logprobs=logprobs, policy_version=1)


def turn(prompt_ids: tuple[int, ...], token_ids: tuple[int, ...]) -> Turn:
    return Turn(action="a", observation="o", reward=0.0, sample=sample(prompt_ids, token_ids))


def with_turns(*turns: Turn) -> Trajectory:
    return EPISODE.model_copy(update={"turns": turns})


@pytest.mark.parametrize(
    ("previous", "ids", "shared"),
    [
        ((), (), 0),
        ((), (1, 2), 0),
        ((1, 2), (), 0),
        ((1, 2), (1, 2), 2),
        ((1, 2), (1, 2, 3, 4), 2),
        ((1, 2, 3, 4), (1, 2), 2),
        ((1, 2, 3), (1, 2, 4), 2),
        ((1, 2, 3), (9, 2, 3), 0),
        ((1, 2, 3, 4, 5, 6), (1, 2, 3, 9, 5, 6), 3),
    ],
)
def test_the_shared_prefix_ends_at_the_first_difference(previous, ids, shared):
    assert shared_prefix(previous, ids) == shared


@given(st.lists(st.integers(0, 2), max_size=20), st.lists(st.integers(0, 2), max_size=20))
def test_the_shared_prefix_is_what_a_loop_counts(previous, ids):
    counted = 0
    while counted < min(len(previous), len(ids)) and previous[counted] == ids[counted]:
        counted += 1
    assert shared_prefix(tuple(previous), tuple(ids)) == counted


def test_a_prompt_that_extends_the_previous_turn_is_stored_as_its_new_ids_only():
    batch = to_batch([with_turns(turn((1, 2), (3,)), turn((1, 2, 3, 7, 8), (4,)), turn((1, 9), (5,)))])
    samples = [stored["sample"] for stored in batch.column("turns").to_pylist()[0]]
    assert [(stored["prompt_shared"], stored["prompt_new"]) for stored in samples] == [
        (0, [1, 2]),
        (3, [7, 8]),
        (1, [9]),
    ]


def test_the_first_prompt_of_an_episode_shares_nothing_with_the_episode_before():
    first = with_turns(turn((1, 2), (3,)))
    second = first.model_copy(update={"id": "b"})
    stored = to_batch([first, second]).column("turns").to_pylist()[1][0]["sample"]
    assert (stored["prompt_shared"], stored["prompt_new"]) == (0, [1, 2])


def test_a_turn_without_a_sample_does_not_break_the_chain_of_prompts():
    scripted = Turn(action="look", observation="o", reward=0.0)
    episode = with_turns(turn((1,), (2,)), scripted, turn((1, 2, 3), ()))
    batch = to_batch([episode])
    stored = batch.column("turns").to_pylist()[0]
    assert [s["sample"] and s["sample"]["prompt_new"] for s in stored] == [[1], None, [3]]
    assert from_batch(batch) == [episode]


texts = st.text(max_size=8)
ids = st.lists(st.integers(0, 3) | st.integers(-(2**31), 2**31 - 1), max_size=6).map(tuple)
numbers = st.floats(allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def samples(draw) -> Sample:
    token_ids = draw(ids)
    logprobs = draw(st.lists(numbers, min_size=len(token_ids), max_size=len(token_ids)))
    return Sample(
        text=draw(texts),
        prompt_ids=draw(ids),
        token_ids=token_ids,
        logprobs=tuple(logprobs),
        policy_version=draw(st.integers(0, 2**40)),
        finish_reason=draw(st.sampled_from(["stop", "length", "abort"])),
        loss_mask=draw(
            st.none() | st.lists(st.sampled_from([0, 1]), min_size=len(token_ids), max_size=len(token_ids))
        ),
    )


turns = st.builds(
    Turn,
    action=texts,
    observation=texts,
    reward=numbers,
    sample=st.none() | samples(),
    info=st.dictionaries(texts, json_values, max_size=2),
    costs=st.dictionaries(texts, st.none() | st.floats(0, allow_infinity=False), max_size=2),
    policy_s=st.none() | st.floats(0, allow_infinity=False),
    environment_s=st.none() | st.floats(0, allow_infinity=False),
)
endings = st.one_of(
    st.just(Terminated()),
    st.builds(Truncated, limit=texts),
    st.just(Cancelled()),
    st.builds(Failed, failure=texts, detail=texts),
)
episodes = st.builds(
    Trajectory,
    id=texts,
    run=texts,
    iteration=st.integers(0, 100),
    purpose=st.sampled_from(PURPOSES),
    env=texts,
    env_version=texts,
    data_version=texts,
    task_id=texts,
    split=texts,
    kind=texts,
    difficulty=texts,
    instruction=texts,
    seed=st.integers(-(2**63), 2**63 - 1),
    attempt=st.integers(0, 100),
    policy=texts,
    initial_observation=texts,
    turns=st.lists(turns, max_size=4).map(tuple),
    ending=endings,
    started_at=texts,
    wall_s=numbers,
    parent=st.none() | texts,
    temperature=st.none() | st.floats(0, allow_infinity=False),
    episode_id=st.none() | texts,
    seat=st.integers(0, 3),
).map(lambda episode: episode.model_copy(update={"given_turns": len(episode.turns) // 2}))


@settings(max_examples=50, deadline=None)
@given(st.lists(episodes, max_size=4), st.integers(0, 3))
def test_a_trajectory_survives_the_row_exactly(originals, start):
    batch = to_batch(originals)
    read = from_batch(batch)
    assert read == originals
    assert [one.model_dump_json() for one in read] == [one.model_dump_json() for one in originals]
    assert from_batch(batch.slice(start)) == originals[start:]  # readers hand out parts of batches


def test_the_identity_would_notice_a_changed_token():
    changed = with_turns(turn((1, 2), (3,)), turn((1, 2, 3, 7), (4,)))
    assert from_batch(to_batch([with_turns(turn((1, 2), (3,)), turn((1, 2, 3, 8), (4,)))])) != [changed]


def test_what_is_read_back_has_the_records_own_types():
    episode = from_batch(to_batch([with_turns(turn((1, 2), (3,)))]))[0]
    read = episode.turns[0].sample
    assert (type(episode.turns), type(read.prompt_ids), type(read.token_ids)) == (tuple, tuple, tuple)
    assert type(read.logprobs[0]) is float
    assert Trajectory.model_validate_json(episode.model_dump_json()) == episode
    assert pickle.loads(pickle.dumps(episode)) == copy.deepcopy(episode) == episode
    assert episode.model_copy(update={"seed": 8}).seed == 8
    with pytest.raises(ValidationError, match="frozen"):
        episode.turns[0].reward = 2.0
    assert episode.model_fields_set == set(Trajectory.model_fields)


def test_a_loss_mask_is_kept_where_it_is_given_and_absent_where_it_is_not():
    given = sample((1,), (2, 3)).model_copy(update={"loss_mask": (0, 1)})
    none = sample((1,), (2, 3))
    forced = [Turn(action="", observation="", reward=0.0, sample=said) for said in (none, given, none)]
    read = from_batch(to_batch([with_turns(*forced)]))[0]
    assert [turn.sample.loss_mask for turn in read.turns] == [None, (0, 1), None]
    assert type(read.turns[1].sample.loss_mask) is tuple


@pytest.mark.parametrize(
    ("mask", "message"), [((1,), "2 token ids but a loss_mask of 1"), ((1, 2), "Input should be 0 or 1")]
)
def test_a_loss_mask_has_0_or_1_for_every_token(mask, message):
    with pytest.raises(ValueError, match=message):
        Sample(text="", prompt_ids=(), token_ids=(1, 2), logprobs=(-1, -1), policy_version=0, loss_mask=mask)


@settings(max_examples=50, deadline=None)
@given(episodes)
def test_written_read_and_written_again_is_the_same_to_the_byte(episode):
    samples = [turn.sample for turn in episode.turns if turn.sample is not None]
    numbers = [episode.wall_s, *(turn.reward for turn in episode.turns)]
    numbers += [logprob for said in samples for logprob in said.logprobs]
    assume(all(math.isfinite(number) for number in numbers))  # the export refuses others: JSON has none
    text = episode.model_dump_json()
    assert Trajectory.model_validate_json(text).model_dump_json() == text


def test_a_log_probability_that_is_not_a_number_stays_so():
    broken = Sample(text="", prompt_ids=(1,), token_ids=(2,), logprobs=(math.nan,), policy_version=0)
    stored = from_batch(to_batch([with_turns(Turn(action="", observation="", reward=0.0, sample=broken))]))
    assert math.isnan(stored[0].turns[0].sample.logprobs[0])


@pytest.mark.parametrize(
    ("ending", "reward", "succeeded"),
    [
        (Terminated(), 1.0, True),
        (Truncated(limit="max_turns"), 1.0, True),
        (Cancelled(), None, None),
        (Failed(failure="worker-lost"), None, None),
    ],
)
def test_only_a_scored_episode_has_a_return_in_the_table(ending, reward, succeeded):
    won = Turn(action="", observation="", reward=1.0)
    row = to_batch([with_turns(won).model_copy(update={"ending": ending})]).to_pylist()[0]
    assert (row["total_reward"], row["succeeded"], row["ending"]) == (reward, succeeded, ending.kind)


@pytest.mark.parametrize(
    "episode",
    [
        EPISODE.model_copy(update={"seed": 2**63}),
        with_turns(turn((2**31,), ())),
        with_turns(Turn(action="", observation="", reward=0.0, info={"x": object()})),
    ],
    ids=["seed", "token", "info"],
)
def test_a_value_that_no_column_holds_is_one_clear_error(episode):
    with pytest.raises(StoreError, match="a/1/train-7/0") as error:
        to_batch([episode])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"purpose": "play"}, "Input should be 'explore', 'evaluate'"),
        ({"given_turns": 1}, "1 given turns but 0 turns"),
        ({"given_turns": -1}, "greater than or equal to 0"),
        ({"seat": -1}, "greater than or equal to 0"),
        ({"temperature": -0.5}, "greater than or equal to 0"),
        ({"temperature": math.inf}, "finite number"),
    ],
)
def test_a_field_out_of_its_range_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Trajectory.model_validate({**EPISODE.model_dump(), **fields})


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (-0.5, "greater than or equal to 0"),
        (math.nan, "greater than or equal to 0|finite number"),
        (math.inf, "finite number"),
        ("1", "valid number"),
        (True, "valid number"),
    ],
)
def test_a_cost_is_a_finite_number_of_at_least_0(cost, message):
    with pytest.raises(ValueError, match=message):
        Turn(action="", observation="", reward=0.0, costs={"harm": cost})


@pytest.mark.parametrize("field", ["policy_s", "environment_s"])
@pytest.mark.parametrize("seconds", [-0.1, math.nan, math.inf])
def test_the_seconds_of_a_turn_are_a_finite_number_of_at_least_0(field, seconds):
    with pytest.raises(ValueError, match=r"greater than or equal to 0|finite number"):
        Turn(action="", observation="", reward=0.0, **{field: seconds})


def test_seconds_that_were_not_recorded_are_not_0():
    turns = [
        Turn(action="", observation="", reward=0.0, policy_s=policy_s, environment_s=environment_s)
        for policy_s, environment_s in ((None, 0.0), (0.25, None), (None, None), (0.1234, 3.0))
    ]
    (read,) = from_batch(to_batch([with_turns(*turns)]))
    assert [(turn.policy_s, turn.environment_s) for turn in read.turns] == [
        (None, 0.0),
        (0.25, None),
        (None, None),
        (0.1234, 3.0),
    ]


def test_a_cost_may_be_whole_or_not_judged():
    turn = Turn(action="", observation="", reward=0.0, costs={"harm": 2, "noise": None, "heat": 0.5})
    assert from_batch(to_batch([with_turns(turn)]))[0].turns[0].costs == {
        "harm": 2.0,
        "noise": None,
        "heat": 0.5,
    }


def test_every_column_says_what_it_holds():
    assert [field.name for field in SCHEMA if not field.metadata.get(b"comment")] == []
