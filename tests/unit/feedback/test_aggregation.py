"""Several sources as one: means, reliability, labels and comparisons."""

from math import exp, log, sqrt

import numpy as np
import pytest

from agentevol.config.self_evolution.feedback import FeedbackConfig
from agentevol.data.feedback.aggregation import means
from agentevol.data.feedback.aggregation.aggregate import labels, preferences, scores
from agentevol.data.feedback.aggregation.crowd_bt import Votes, crowd_bt, responsibilities, sigmoid
from agentevol.data.feedback.aggregation.dawid_skene import dawid_skene, expected, majority, maximised
from agentevol.data.feedback.aggregation.ratings import Ratings, of_scores, ratings
from agentevol.data.feedback.aggregation.reliability import reliability
from agentevol.data.feedback.aggregation.sources import identity, weight_of
from agentgym_store.feedback.records import Feedback, feedback

SOURCES = ("human", "judge")


def score(episode: str, source: str, value: float, low: float = 0.0, high: float = 1.0) -> Feedback:
    opinion = {"kind": "score", "value": value, "low": low, "high": high}
    return feedback({"trajectory_id": episode, "source": source, "opinion": opinion})


def compared(
    episode: str, other: str, source: str, verdict: str = "better", probability: float | None = None
) -> Feedback:
    opinion = {"kind": "comparison", "other": other, "verdict": verdict, "probability": probability}
    return feedback({"trajectory_id": episode, "source": source, "opinion": opinion})


def by_all(values_IJ: np.ndarray) -> Ratings:
    items, sources = values_IJ.shape
    item_N, source_N = (one.ravel() for one in np.indices((items, sources)))
    names = tuple(f"human:{number}" for number in range(sources))
    return Ratings(tuple(range(items)), names, item_N, source_N, values_IJ.ravel())


def simulated(
    offsets: list[float], sigmas: list[float], items: int = 600, seed: int = 0
) -> tuple[np.ndarray, Ratings]:
    random = np.random.default_rng(seed)
    truth_I = random.uniform(0.2, 0.8, items)
    noise_IJ = random.normal(size=(items, len(offsets))) * np.array(sigmas)
    return truth_I, by_all(truth_I[:, None] + np.array(offsets) + noise_IJ)


def error(score_I: np.ndarray, truth_I: np.ndarray) -> float:
    return float(np.std(score_I - truth_I))


def test_scores_are_compared_by_their_scales() -> None:
    found = of_scores([score("a", "human:A", 4, 1, 5), score("a", "judge:m", 0.5), score("b", "judge:m", 1)])
    assert found.items == ("a", "b")
    assert found.value_N.tolist() == [0.75, 0.5, 1.0]


def test_two_names_of_one_model_are_one_source_whose_last_opinion_counts() -> None:
    names = ["judge:gpt-4.1", "judge:openai:gpt-4.1", "judge:GPT-4.1@http://127.0.0.1:8000/v1"]
    assert {identity(name) for name in names} == {"judge:gpt-4.1"}
    assert identity("human:Ann@home") == "human:Ann@home"
    found = ratings([("a", names[0], 0.2), ("a", names[1], 0.8), ("a", "human:A", 0.5)])
    assert (len(found.sources), found.value_N.tolist()) == (2, [0.8, 0.5])


def test_weights_are_of_a_source_then_of_its_kind_then_one() -> None:
    weights = {"human:A": 3.0, "human": 2.0}
    assert [weight_of(name, weights) for name in ("human:A", "human:B", "judge:m")] == [3.0, 2.0, 1.0]


def test_means_by_hand() -> None:
    found = by_all(np.array([[0.4, 0.8]]))
    assert means.mean(found).tolist() == pytest.approx([0.6])
    assert means.weighted(found, np.array([3.0, 1.0])).tolist() == pytest.approx([0.5])
    spread = sqrt(2 * 0.2**2 / 1)
    assert means.pessimistic(found, 2.0, np.array([9.0, 9.0])).tolist() == pytest.approx([0.6 - 2 * spread])


def test_an_item_with_one_source_is_pessimistic_by_what_was_learnt_of_that_source() -> None:
    found = ratings([("a", "human:A", 0.4), ("a", "human:B", 0.8), ("b", "human:B", 0.9)])
    values = means.pessimistic(found, 0.5, np.array([0.1, 0.3]))
    assert values[1] == pytest.approx(0.9 - 0.5 * 0.3)


def test_an_item_that_only_sources_without_weight_rated_has_no_score() -> None:
    found = of_scores([score("a", "human:A", 0.5), score("b", "judge:m", 0.5)])
    how = FeedbackConfig(sources=SOURCES, aggregate="weighted", weights={"judge": 0})
    assert scores(found, how).values == {"a": 0.5}


def test_one_round_of_reliability_by_hand() -> None:
    # Two sources, two items: x = [[0.2, 0.4], [0.6, 1.0]]; by symmetry both keep equal variances.
    # theta = 0.3, 0.8; mean residuals b = -0.15, 0.15; residuals +-0.05, each squared 0.0025.
    # Each score determines half of theta: n_j = 2 * (1 - 1/2) = 1; s^2 = 0.01 / 2 = 0.005
    # sigma^2 = (2 * 0.0025 + 4 * 0.005) / (1 + 4) = 0.005
    found = reliability(by_all(np.array([[0.2, 0.4], [0.6, 1.0]])))
    assert found.offset_J.tolist() == pytest.approx([-0.15, 0.15])
    assert found.sigma_J.tolist() == pytest.approx([sqrt(0.005)] * 2)
    assert found.score_I.tolist() == pytest.approx([0.3, 0.8])


def test_known_offsets_and_noises_are_found() -> None:
    truth_I, found = simulated([0.1, -0.1, 0.0, 0.0], [0.05, 0.1, 0.3, 0.1])
    learnt = reliability(found)
    assert learnt.offset_J == pytest.approx([0.1, -0.1, 0.0, 0.0], abs=0.02)
    assert learnt.sigma_J == pytest.approx([0.05, 0.1, 0.3, 0.1], abs=0.02)
    assert error(learnt.score_I, truth_I) < 0.05


def test_equal_sources_keep_equal_weights() -> None:
    # with the plain number of scores in place of what they leave free, one of three would get it all
    _, found = simulated([0.0] * 3, [0.1] * 3, items=2000)
    assert reliability(found).sigma_J == pytest.approx([0.1] * 3, abs=0.01)


def test_the_plain_mean_is_worse_where_one_of_three_says_nothing_but_noise() -> None:
    truth_I, found = simulated([0.0] * 3, [0.08, 0.08, 0.5])
    assert error(reliability(found).score_I, truth_I) < 0.5 * error(means.mean(found), truth_I)


def test_outcomes_fix_the_common_offset_and_without_them_offsets_sum_to_zero() -> None:
    truth_I, found = simulated([0.3, 0.2], [0.05, 0.05])
    alone, anchored = reliability(found), reliability(found, truth_I)
    assert alone.offset_J.sum() == pytest.approx(0)
    assert alone.offset_J == pytest.approx([0.05, -0.05], abs=0.01)
    assert anchored.offset_J == pytest.approx([0.3, 0.2], abs=0.01)
    assert np.mean(anchored.score_I - truth_I) == pytest.approx(0)


def test_sources_that_rated_nothing_in_common_have_offsets_of_their_own() -> None:
    found = ratings([("a", "human:A", 0.9), ("b", "human:B", 0.1)])
    assert reliability(found).offset_J.tolist() == [0, 0]
    assert reliability(found, np.array([0.5, np.nan])).offset_J.tolist() == pytest.approx([0.4, 0])


def test_an_inverted_rater_has_no_weight_and_is_named() -> None:
    truth_I, straight = simulated([0.0] * 3, [0.08] * 3)
    values_IJ = straight.value_N.reshape(-1, 3).copy()
    values_IJ[:, 2] = 1 - values_IJ[:, 2]
    found = by_all(values_IJ)
    learnt = reliability(found)
    assert learnt.below_chance_J.tolist() == [False, False, True]
    assert learnt.weight[2] == 0
    assert error(learnt.score_I, truth_I) == pytest.approx(0.08 / sqrt(2), abs=0.01)  # of the other two
    how = FeedbackConfig(sources=SOURCES, aggregate="reliability")
    assert scores(found, how).below_chance == {"human:2"}
    assert not scores(straight, how).below_chance


def test_of_two_raters_outcomes_alone_say_which_one_is_inverted() -> None:
    truth_I, straight = simulated([0.0] * 2, [0.08] * 2)
    values_IJ = straight.value_N.reshape(-1, 2).copy()
    values_IJ[:, 0] = 1 - values_IJ[:, 0]
    assert not reliability(by_all(values_IJ)).below_chance_J.any()
    assert reliability(by_all(values_IJ), truth_I).below_chance_J.tolist() == [True, False]


def test_a_few_scores_condemn_nobody() -> None:
    found = by_all(np.array([[0.1, 0.2, 0.9], [0.9, 0.8, 0.1], [0.5, 0.5, 0.5]]))
    assert not reliability(found).below_chance_J.any()


# Three items, two labels, sources A, B, C. A and B say 1, 1, 0; C says 1, 0, 0.
# Majorities: P(1) = 1, 2/3, 0. Shares of labels: P(1) = 5/9.
# Confusion of A where 1 is true: 5/3 of 5/3 said 1 -> 1. Where 0 is true: 1/3 of 4/3 said 1 -> 1/4.
# Confusion of C where 1 is true: 1 of 5/3 said 1 -> 3/5; where 0 is true: 0 of 4/3 said 1 -> 0.
LABELS = by_all(np.array([[1.0, 1, 1], [1, 1, 0], [0, 0, 0]]))


def test_one_round_of_dawid_and_skene_by_hand() -> None:
    begun_IK = majority(LABELS, 2)
    assert begun_IK[:, 1].tolist() == pytest.approx([1, 2 / 3, 0])
    prior_K, confusion_JKL = maximised(LABELS, begun_IK, 0.0)
    assert prior_K.tolist() == pytest.approx([4 / 9, 5 / 9])
    assert confusion_JKL[0].tolist() == [pytest.approx([3 / 4, 1 / 4]), pytest.approx([0, 1])]
    assert confusion_JKL[2].tolist() == [pytest.approx([1, 0]), pytest.approx([2 / 5, 3 / 5])]
    # item 2: 1 is 5/9 * 1 * 1 * 2/5 = 2/9; 0 is 4/9 * 1/4 * 1/4 * 1 = 1/36
    told_I = expected(LABELS, prior_K, confusion_JKL)[:, 1]
    assert told_I[1] == pytest.approx((2 / 9) / (2 / 9 + 1 / 36))


def test_labels_of_many_are_found_and_an_inverted_source_has_no_weight() -> None:
    random = np.random.default_rng(1)
    truth_I = random.integers(0, 2, 2000)
    right_IJ = random.random((2000, 4)) < np.array([0.9, 0.8, 0.7, 0.1])
    found = by_all(np.where(right_IJ, truth_I[:, None], 1 - truth_I[:, None]).astype(float))
    learnt = dawid_skene(found, 2)
    assert learnt.below_chance_J.tolist() == [False, False, False, True]
    assert learnt.accuracy[:3] == pytest.approx([0.9, 0.8, 0.7], abs=0.05)
    assert learnt.accuracy[3] < 0.25  # beside labels of which some are wrong
    right = np.mean((learnt.probability_IK[:, 1] > 0.5) == truth_I)
    assert right > np.mean((majority(found, 2)[:, 1] > 0.5) == truth_I) + 0.03


def test_what_a_source_says_is_weighed_by_its_accuracy() -> None:
    # a source that is right in 4 of 5 says that the first is better, which has probability 3/4 before:
    # 0.8 * 0.75 / (0.8 * 0.75 + 0.2 * 0.25) = 12/13
    one = np.zeros(1, np.int64)
    vote = Votes(2, 1, one, one + 1, one, np.ones(1))
    better_N, right_N = responsibilities(vote, sigmoid(np.array([log(3)])), np.array([0.8]))
    assert (better_N[0], right_N[0]) == (pytest.approx(12 / 13), pytest.approx(12 / 13))
    against = Votes(2, 1, one, one + 1, one, np.zeros(1))
    better_N, right_N = responsibilities(against, sigmoid(np.array([log(3)])), np.array([0.8]))
    # says that the second is better: right if it is, 0.8 * 0.25 / (0.8 * 0.25 + 0.2 * 0.75) = 4/7
    assert (better_N[0], right_N[0]) == (pytest.approx(3 / 7), pytest.approx(4 / 7))


def simulated_votes(
    accuracies: list[float], items: int, votes: int, seed: int = 0
) -> tuple[np.ndarray, Votes]:
    random = np.random.default_rng(seed)
    strength_I = 1.5 * random.normal(size=items)
    task_N = random.integers(0, items // 8, votes) * 8
    place_N = random.integers(0, 8, votes)
    first_N, second_N = task_N + place_N, task_N + (place_N + random.integers(1, 8, votes)) % 8
    source_N = random.integers(0, len(accuracies), votes)
    better_N = random.random(votes) < sigmoid(strength_I[first_N] - strength_I[second_N])
    right_N = random.random(votes) < np.array(accuracies)[source_N]
    share_N = np.where(right_N, better_N, ~better_N).astype(float)
    return strength_I, Votes(items, len(accuracies), first_N, second_N, source_N, share_N)


def test_strengths_and_accuracies_are_found_and_an_inverted_source_has_no_weight() -> None:
    strength_I, votes = simulated_votes([0.95, 0.85, 0.5, 0.15], items=160, votes=8000)
    learnt = crowd_bt(votes)
    assert learnt.below_chance_J.tolist() == [False, False, False, True]
    assert learnt.accuracy_J == pytest.approx([0.95, 0.85, 0.5, 0.15], abs=0.06)
    within_I = strength_I - strength_I.reshape(-1, 8).mean(axis=1).repeat(8)  # tasks are never compared
    assert np.corrcoef(learnt.strength_I, within_I)[0, 1] > 0.9


def test_few_comparisons_of_an_episode_do_not_make_every_source_right() -> None:
    # five comparisons of an episode: with its own comparison counted, the noise would seem to be right, too
    _, votes = simulated_votes([0.95, 0.85, 0.5], items=3200, votes=8000)
    assert crowd_bt(votes).accuracy_J[2] < 0.6


def test_votes_for_one_side_make_a_certain_pair_and_others_a_soft_one() -> None:
    given = [compared("a", "b", "human:A"), compared("b", "a", "human:B", "worse")]
    assert preferences(given).probability == {("a", "b"): 1.0}
    more = [*given, compared("b", "a", "judge:m")]
    found = preferences(more)
    assert found.probability == {("a", "b"): pytest.approx(2 / 3)}
    assert found.soft == 1


def test_the_probability_of_a_judge_is_its_vote() -> None:
    found = preferences([compared("b", "a", "judge:m", "worse", 0.3), compared("a", "b", "human:A")])
    assert found.probability == {("a", "b"): pytest.approx((0.7 + 1) / 2)}


def test_ties_and_equal_votes_make_no_pair() -> None:
    tie = compared("a", "b", "human:A", "tie")
    split = [compared("a", "c", "human:A"), compared("c", "a", "human:B")]
    found = preferences([tie, *split])
    assert (found.probability, found.undecided) == ({}, 2)
    assert preferences([tie, compared("a", "b", "human:B")]).probability == {("a", "b"): 1.0}


def test_weights_decide_between_two_sources() -> None:
    given = [compared("a", "b", "human:A"), compared("b", "a", "judge:m")]
    how = FeedbackConfig(sources=SOURCES, aggregate="weighted", weights={"human": 3})
    assert preferences(given, how).probability == {("a", "b"): 0.75}


def test_pessimism_takes_disagreement_from_a_preference() -> None:
    given = [compared("a", "b", f"human:{name}") for name in "ABC"] + [compared("b", "a", "judge:m")]
    spread = sqrt((3 * 0.25**2 + 0.75**2) / 3)  # of 1, 1, 1, 0
    how = FeedbackConfig(sources=SOURCES, aggregate="pessimistic", kappa=0.4)
    assert preferences(given, how).probability == {("a", "b"): pytest.approx(0.75 - 0.4 * spread)}
    assert preferences(given, how.model_copy(update={"kappa": 1.0})).undecided == 1


def test_reliable_sources_win_a_pair_against_a_majority() -> None:
    random = np.random.default_rng(3)
    given: list[Feedback] = []
    for number in range(60):
        first, second = f"{number}a", f"{number}b"
        given += [compared(first, second, f"human:{name}") for name in "AB"]
        given += [
            compared(first, second, f"judge:{name}", "better" if random.random() < 0.5 else "worse")
            for name in "xyz"
        ]
    wrong = [better for better, _ in preferences(given).probability if better.endswith("b")]
    learnt = preferences(given, FeedbackConfig(sources=SOURCES, aggregate="reliability"))
    assert len(wrong) > 3  # pairs of which all three judges are wrong
    assert not [better for better, _ in learnt.probability if better.endswith("b")]


def test_labels_by_the_mean_score_and_by_the_sources_own_labels() -> None:
    given = [score("a", "human:A", 0.9), score("a", "human:B", 0.6), score("b", "human:A", 0.1)]
    given += [score("c", "human:A", 0.5)]
    found = of_scores(given)
    how = FeedbackConfig(sources=SOURCES, high=0.7, low=0.3)
    assert labels(found, how).values == {"a": 1.0, "b": 0.0}
    learnt = how.model_copy(update={"aggregate": "reliability"})
    assert labels(found, learnt).values["b"] == 0.0
    assert "c" not in labels(found, learnt).values


def test_strengths_do_not_overflow() -> None:
    assert sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist() == [0.0, 0.5, 1.0]
    assert sigmoid(np.array([1.0]))[0] == pytest.approx(1 / (1 + exp(-1)))


@pytest.mark.parametrize("rule", ["mean", "pessimistic", "reliability"])
def test_nothing_said_is_no_score_and_no_preference(rule: str) -> None:
    how = FeedbackConfig.model_validate({"sources": SOURCES, "aggregate": rule})
    assert scores(of_scores([]), how).values == {}
    assert labels(of_scores([]), how).values == {}
    assert preferences([], how).probability == {}
