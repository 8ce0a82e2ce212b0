"""Which episodes are better, which pairs and labels they make; hand-made episodes, then random ones."""

from dataclasses import replace
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trajectories import trajectory

from agentevol.data.preference_pairs import (
    Bands,
    Strategy,
    balance,
    compare,
    labels,
    pair_up,
    ranked,
    shared_turns,
)
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Truncated, Turn

Kind = Literal["terminated", "truncated", "failed"]
ENDINGS = {
    "terminated": Terminated(),
    "truncated": Truncated(limit="max_turns"),
    "failed": Failed(failure="transport"),
}


def turn(action: str, reward: float = 0.0, tokens: int = 0, **info: Any) -> Turn:
    sample = None
    if tokens:
        ids = tuple(hash_free(action) + number for number in range(tokens))
        sample = Sample(
            text=action, prompt_ids=(1,), token_ids=ids, logprobs=(-1.0,) * tokens, policy_version=0
        )
    return Turn(action=action, observation=f"after {action}", reward=reward, sample=sample, info=info)


def hash_free(text: str) -> int:
    """A number of a text that is the same in every process."""
    return sum(100 * ord(letter) for letter in text)


def episode(
    name: str,
    ret: float = 0.0,
    turns: int = 1,
    *,
    task: str = "t",
    kind: Kind = "terminated",
    says: str | None = None,
    tokens: int = 0,
    info: dict[str, Any] | None = None,
) -> Trajectory:
    """An episode of `turns` turns whose last one has the return and `info`."""
    said = says or name
    played = [turn(f"{said}{number}", tokens=tokens) for number in range(turns - 1)]
    played.append(turn(f"{said} end", ret, tokens, **(info or {})))
    return of_turns(name, played, task=task, kind=kind)


def of_turns(name: str, turns: list[Turn], *, task: str = "t", kind: Kind = "terminated") -> Trajectory:
    return trajectory(
        id=name,
        task_id=task,
        instruction="Guess.",
        initial_observation="Start.",
        turns=tuple(turns),
        ending=ENDINGS[kind],
        started_at="2025-01-01T00:00:00Z",
        wall_s=1.0,
    )


def said(trajectory: Trajectory) -> list[Any]:
    return [(turn.action, turn.sample and turn.sample.token_ids) for turn in trajectory.turns]


def names(found: Any) -> list[tuple[str, str]]:
    return [(pair.chosen.id, pair.rejected.id) for pair in found.pairs]


@pytest.mark.parametrize(
    ("better", "worse", "by"),
    [
        ({"ret": 1.0, "turns": 30}, {"ret": 0.95}, "success"),
        ({"ret": 0.6, "turns": 30}, {"ret": 0.5}, "outcome"),
        ({"ret": 0.9}, {"ret": 0.8}, "outcome"),  # a gap of 0.1, though 0.9 - 0.8 < 0.1 in binary
        ({"ret": 0.5, "turns": 9}, {"ret": 0.55, "info": {"costs": {"harm": 0.5}}}, "cost"),
        ({"turns": 9}, {"info": {"costs": {"harm": 0.25, "leak": 0.25}}}, "cost"),
        ({"turns": 9}, {"info": {"invalid_action": True}}, "invalid"),
        ({"turns": 8, "tokens": 9}, {"turns": 10, "tokens": 1}, "turns"),  # 2 of 10 are 20 %
        ({"tokens": 8}, {"tokens": 10}, "tokens"),
    ],
)
def test_what_decides(better: dict, worse: dict, by: str):
    first, second = episode("a", **better), episode("b", **worse)
    assert compare(first, second) == (1, by)
    assert compare(second, first) == (-1, by)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"ret": 0.59}, {"ret": 0.5}),
        ({"turns": 9}, {"turns": 11}),
        ({"tokens": 9}, {"tokens": 10}),
        ({"info": {"costs": {"harm": None}}}, {"info": {"costs": {"harm": 0.5}}}),  # nobody could judge it
        ({"tokens": 9}, {"tokens": 0}),  # nobody knows what a scripted episode would have cost
    ],
)
def test_what_is_tied(one: dict, other: dict):
    assert compare(episode("a", **one), episode("b", **other)) == (0, None)


def test_bands_are_settings():
    one, other = episode("a", 0.59, 8), episode("b", 0.5, 10)
    assert compare(one, other) == (1, "turns")
    assert compare(one, other, Bands(outcome=0.05)) == (1, "outcome")
    assert compare(one, other, Bands(turns=0.3)) == (0, None)


def test_episodes_that_beat_each_other_in_a_circle_still_have_one_order():
    # a to b and b to c are ties of the return, and fewer turns win; c beats a by return
    a, b, c = episode("a", 0.0, 1), episode("b", 0.08, 5), episode("c", 0.16, 25)
    assert [compare(a, b)[0], compare(b, c)[0], compare(c, a)[0]] == [1, 1, 1]
    assert [t.id for t in ranked([b, a, c])] == [t.id for t in ranked([c, b, a])] == ["c", "b", "a"]


FOUR = [
    episode("won-fast", 1.0, 2),
    episode("won-slow", 1.0, 8),
    episode("half", 0.5),
    episode("lost", 0.0),
]


def test_best_and_worst_make_a_pair():
    found = pair_up(FOUR)
    assert names(found) == [("won-fast", "lost")]
    assert found.pairs[0].margin == 1.0
    assert found.pairs[0].shared_turns == 0


def test_adjacent_ranks_make_pairs():
    assert names(pair_up(FOUR, strategy="adjacent")) == [
        ("won-fast", "won-slow"),
        ("won-slow", "half"),
        ("half", "lost"),
    ]


def test_adjacent_ties_make_none():
    again = episode("lost-too", 0.0, says="b")
    assert names(pair_up([*FOUR[2:], again], strategy="adjacent")) == [("half", "lost")]


def test_all_pairs_up_to_a_cap_are_drawn_without_replacement():
    everything = pair_up(FOUR, strategy="all_capped")
    assert len(everything.pairs) == 6
    some = pair_up(FOUR, strategy="all_capped", per_task=3, seed=1)
    assert len(set(names(some))) == 3
    assert set(names(some)) < set(names(everything))
    others = {tuple(names(pair_up(FOUR, strategy="all_capped", per_task=3, seed=seed))) for seed in range(9)}
    assert len(others) > 1


def test_pairs_that_begin_alike_say_how_long():
    start = [turn("look"), turn("open")]
    won = of_turns("won", [*start, turn("take", 1.0)])
    lost = of_turns("lost", [*start, turn("eat", 0.0)])
    other = of_turns("other", [turn("wait"), turn("eat", 0.0)])
    prefix = of_turns("prefix", start)  # nothing of its own after what is shared
    found = pair_up([won, lost, other, prefix], strategy="same_prefix")
    assert names(found) == [("won", "lost")]
    assert found.pairs[0].shared_turns == 2


@pytest.mark.parametrize(
    ("change", "shared"),
    [
        ({}, 2),
        ({"action": "shut"}, 1),
        ({"observation": "A storm."}, 1),
        ({"sample": turn("open", tokens=3).sample}, 1),  # another thought before the same action
    ],
)
def test_turns_are_shared_to_the_token(change: dict, shared: int):
    first = of_turns("a", [turn("look"), turn("open"), turn("take")])
    second = of_turns("b", [turn("look"), turn("open").model_copy(update=change), turn("eat")])
    assert shared_turns(first, second) == shared


def test_tasks_are_never_mixed():
    found = pair_up([episode("a", 1.0, task="one"), episode("b", 0.0, task="two")])
    assert (found.pairs, found.tasks, found.one_sided) == ((), 2, 2)


def test_another_opening_is_another_task():
    # a world that starts at random: the prompts differ, and with them what the actions mean
    elsewhere = episode("b", 0.0).model_copy(update={"initial_observation": "Elsewhere."})
    assert pair_up([episode("a", 1.0), elsewhere]).pairs == ()


def test_one_sided_tasks_are_counted():
    trajectories = [
        episode("a", 1.0, task="all won"),
        episode("b", 1.0, task="all won"),
        episode("c", 0.0, task="alone"),
        episode("d", 1.0, task="mixed"),
        episode("e", 0.0, task="mixed"),
    ]
    found = pair_up(trajectories)
    assert names(found) == [("d", "e")]
    assert (found.tasks, found.one_sided) == (3, 2)


def test_a_failure_of_infrastructure_is_neither_side():
    found = pair_up([episode("a", 1.0), episode("b", 0.0, kind="failed")])
    assert (found.pairs, found.tasks, found.one_sided) == ((), 1, 1)


def test_an_episode_that_a_limit_ended_is_not_rejected_for_it():
    won, cut = episode("won", 1.0), episode("cut", 0.0, 9, kind="truncated")
    found = pair_up([won, cut])
    assert (found.pairs, found.only_cut_off, found.one_sided) == ((), 1, 0)
    assert names(pair_up([won, cut], truncated_is_loss=True)) == [("won", "cut")]


def test_an_episode_that_a_limit_ended_is_rejected_for_what_it_did():
    lost = episode("lost", 0.0)
    cut = episode("cut", 0.0, 9, kind="truncated", info={"costs": {"harm": 1.0}})
    assert names(pair_up([lost, cut])) == [("lost", "cut")]


def test_an_episode_that_a_limit_ended_can_be_chosen():
    cut, lost = episode("cut", 0.5, kind="truncated"), episode("lost", 0.0)
    assert names(pair_up([cut, lost])) == [("cut", "lost")]


def test_the_worst_that_may_be_rejected_takes_the_place_of_one_that_may_not():
    cut = episode("cut", 0.0, 9, kind="truncated")
    assert names(pair_up([*FOUR[:3], cut])) == [("won-fast", "half")]


def test_sides_that_say_the_same_are_no_pair():
    lucky, unlucky = episode("lucky", 1.0, says="x"), episode("unlucky", 0.0, says="x")
    found = pair_up([lucky, unlucky])
    assert (found.pairs, found.identical) == ((), 1)


def test_the_margin_is_never_negative():
    brief, long = episode("brief", 0.5, 2), episode("long", 0.55, 20)
    (pair,) = pair_up([brief, long]).pairs
    assert (pair.chosen.id, pair.margin) == ("brief", 0.0)


EPISODES = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.05, 0.3, 0.5, 1.0]),
        st.integers(1, 12),
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["terminated", "truncated", "failed"]),
        st.integers(0, 5),
        st.booleans(),
        st.sampled_from([0.0, 1.0]),
    ),
    max_size=12,
).map(
    lambda sequences: [
        episode(
            f"e{number:02}",
            ret,
            turns,
            task=task,
            kind=kind,
            tokens=tokens,
            info={"invalid_action": invalid, "costs": {"harm": cost}},
            says="same" if number % 3 == 0 else None,
        )
        for number, (ret, turns, task, kind, tokens, invalid, cost) in enumerate(sequences)
    ]
)


@given(
    episodes=EPISODES, random=st.randoms(use_true_random=False), strategy=st.sampled_from(get_args(Strategy))
)
def test_the_order_of_the_input_changes_nothing(episodes: list, random: Any, strategy: Strategy):
    shuffled = list(episodes)
    random.shuffle(shuffled)
    assert pair_up(shuffled, strategy=strategy, per_task=2) == pair_up(
        episodes, strategy=strategy, per_task=2
    )
    assert labels(shuffled) == labels(episodes)


@given(
    episodes=EPISODES,
    strategy=st.sampled_from(get_args(Strategy)),
    truncated_is_loss=st.booleans(),
    per_task=st.integers(1, 4),
)
def test_every_pair_is_of_one_task_better_first_and_tells_something(
    episodes: list, strategy: Strategy, truncated_is_loss: bool, per_task: int
):
    found = pair_up(episodes, strategy=strategy, truncated_is_loss=truncated_is_loss, per_task=per_task)
    by_task: dict[str, int] = {}
    for pair in found.pairs:
        sign, by = compare(pair.chosen, pair.rejected)
        assert sign == 1
        assert pair.chosen.task_id == pair.rejected.task_id
        assert pair.chosen.ending.kind != "failed" != pair.rejected.ending.kind
        assert said(pair.chosen) != said(pair.rejected)
        assert pair.margin >= 0
        assert pair.shared_turns < min(len(pair.chosen.turns), len(pair.rejected.turns))
        assert (pair.shared_turns > 0) == (strategy == "same_prefix")
        if pair.rejected.ending.kind == "truncated" and not truncated_is_loss:
            assert pair.rejected.succeeded() or by in ("cost", "invalid")
        by_task[pair.chosen.task_id] = by_task.get(pair.chosen.task_id, 0) + 1
    most = {"best_worst": 1, "adjacent": 11}.get(strategy, per_task)
    assert max(by_task.values(), default=0) <= most
    assert len(by_task) <= found.tasks - found.one_sided


@given(episodes=EPISODES)
def test_the_better_of_two_is_the_better_whoever_is_named_first(episodes: list):
    for one in episodes:
        for other in episodes:
            (sign, by), (back, back_by) = compare(one, other), compare(other, one)
            assert (sign, by) == (-back, back_by)
            assert (sign == 0) == (by is None)


@given(desirable=st.integers(1, 500), undesirable=st.integers(1, 500))
def test_labels_are_balanced_within_a_third(desirable: int, undesirable: int):
    weights = balance(desirable, undesirable)
    ratio = weights[0] * desirable / (weights[1] * undesirable)
    assert 1 - 1e-12 <= ratio <= 4 / 3 + 1e-12
    assert min(weights) == 1.0


def test_weights_of_labels_by_hand():
    assert balance(10, 10) == (1.0, 1.0)
    assert balance(4, 3) == (1.0, 1.0)
    assert balance(2, 6) == (3.0, 1.0)  # 3 * 2 : 6
    assert balance(8, 3) == (1.0, pytest.approx(2.0))  # 8 : 2 * 3 = 4 : 3
    assert balance(0, 5) == balance(5, 0) == (1.0, 1.0)


def test_labels_go_by_success():
    given = [
        episode("c", 1.0),
        episode("a", 0.9),
        episode("b", 0.0, kind="truncated"),
        episode("d", 0.0, kind="failed"),
        episode("e", 0.0),
    ]
    found = labels(given)
    assert [(one.trajectory.id, one.desirable, one.weight) for one in found] == [
        ("a", False, 1.0),
        ("c", True, 2.0),
        ("e", False, 1.0),
    ]
    assert [one.trajectory.id for one in labels(given, truncated_is_loss=True)] == ["a", "b", "c", "e"]


def test_pairs_and_bands_are_values():
    (pair,) = pair_up(FOUR).pairs
    assert replace(pair, margin=1.0) == pair
    assert Bands() == Bands(outcome=0.1, turns=0.2, tokens=0.2)
