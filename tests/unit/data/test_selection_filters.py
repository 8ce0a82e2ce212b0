from support.trajectories import trajectory

from agentevol.config.sections.selection import SelectConfig
from agentevol.data.selection.filters import (
    accepted,
    at_most_per_task,
    best,
    distinct,
    learnt_turns,
    select,
    top_ratio,
)
from agentevol.data.selection.rescoring import rescored
from agentgym_store.records import Cancelled, Ending, Failed, Terminated, Truncated, Turn


def episode(name: str, reward: float, *, task: str = "t", actions: str = "ab", ending: Ending | None = None):
    turns = tuple(Turn(action=a, observation="", reward=0.0) for a in actions[:-1])
    last = Turn(action=actions[-1], observation="", reward=reward)
    return trajectory(id=name, task_id=task, turns=(*turns, last), ending=ending or Terminated())


def names(trajectories):
    return [t.id for t in trajectories]


def test_success_keeps_the_won_episodes_in_the_order_of_their_ids():
    found = [episode("c", 1.0, actions="c"), episode("a", 1.0, actions="a"), episode("b", 0.0)]
    assert names(select(found, SelectConfig(), seed=0)) == ["a", "c"]


def test_what_infrastructure_broke_is_never_selected_whatever_it_had_earned():
    broken = [episode("a", 1.0, ending=Failed(failure="worker-lost")), episode("b", 1.0, ending=Cancelled())]
    for rule in ("succeeded", "threshold", "top_k_ratio", "best_of", "rejection", "all"):
        assert select(broken, SelectConfig(rule=rule, threshold=0.0), seed=0) == []


def test_a_truncated_episode_counts_with_what_it_earned():
    cut = episode("a", 0.4, ending=Truncated(limit="max_turns"))
    assert names(select([cut], SelectConfig(rule="threshold", threshold=0.4), seed=0)) == ["a"]
    assert select([cut], SelectConfig(rule="threshold", threshold=0.5), seed=0) == []


def test_the_top_quarter_prefers_shorter_episodes_among_equals():
    found = [
        episode("a", 1.0, actions="abc"),
        episode("b", 1.0, actions="ab"),
        episode("c", 0.2),
        episode("d", 0.1),
    ]
    assert names(top_ratio(found, 0.25)) == ["b"]
    assert names(top_ratio(found, 0.5)) == ["a", "b"]


def test_the_best_of_a_task_excludes_those_that_earned_nothing():
    found = [episode("a", 0.5), episode("b", 0.9), episode("c", 0.0, task="u")]
    assert names(best(found, 1)) == ["b"]


def test_rejection_sampling_takes_all_of_return_one_and_none_of_return_zero():
    sure = [episode(f"s{i}", 1.0) for i in range(50)]
    never = [episode(f"n{i}", 0.0) for i in range(50)]
    assert accepted([*sure, *never], 1.0, seed=3) == sure


def test_rejection_sampling_takes_about_half_of_return_one_half_and_the_same_ones_for_equal_seeds():
    found = [episode(f"e{i}", 0.5) for i in range(1000)]
    once = names(accepted(found, 1.0, seed=3))
    assert 430 < len(once) < 570  # five standard deviations of a binomial with n = 1000, p = 1/2
    assert names(accepted(found, 1.0, seed=3)) == once
    assert names(accepted(found, 1.0, seed=4)) != once


def test_equal_actions_count_once_in_a_task_but_again_in_another():
    found = [
        episode("a", 1.0),
        episode("b", 1.0),
        episode("c", 1.0, task="u"),
        episode("d", 1.0, actions="ba"),
    ]
    assert names(distinct(found)) == ["a", "c", "d"]


def test_a_task_gives_at_most_so_many_episodes_shorter_ones_first():
    found = [
        episode("a", 1.0, actions="abcd"),
        episode("b", 1.0, actions="abc"),
        episode("c", 1.0, actions="ab"),
    ]
    assert names(at_most_per_task(found, 2)) == ["b", "c"]


def test_of_equally_short_ones_those_come_first_whose_actions_the_world_could_carry_out():
    refused = episode("a", 1.0, actions="ab")
    turns = (refused.turns[0].model_copy(update={"info": {"invalid_action": True}}), refused.turns[1])
    found = [refused.model_copy(update={"turns": turns}), episode("b", 1.0, actions="cd")]
    assert names(at_most_per_task(found, 1)) == ["b"]
    assert names(at_most_per_task([refused, found[1]], 1)) == ["a"]


def test_an_environment_can_have_a_threshold_of_its_own_and_tasks_of_the_same_name():
    one, other = episode("a", 0.5), episode("b", 0.5).model_copy(update={"env": "chat"})
    config = SelectConfig(rule="threshold", threshold=0.9, thresholds={"chat": 0.5})
    assert names(select([one, other], config, seed=0)) == ["b"]
    both = SelectConfig(rule="threshold", threshold=0.5, per_task=1)
    assert names(select([one, other], both, seed=0)) == ["a", "b"]  # equal actions, equal task, another world


def test_long_episodes_are_left_out_when_asked():
    found = [episode("a", 1.0, actions="abcd"), episode("b", 1.0, actions="ab")]
    assert names(select(found, SelectConfig(max_turns=3), seed=0)) == ["b"]


def test_the_selection_does_not_depend_on_the_order_in_which_episodes_finished():
    found = [episode(f"e{i}", (i % 3) / 2, task=str(i % 4), actions="ab"[: 1 + i % 2]) for i in range(12)]
    config = SelectConfig(rule="top_k_ratio", ratio=0.5, per_task=2)
    assert names(select(found, config, 0)) == names(select(found[::-1], config, 0))


def looped(*steps: tuple[str, str, bool]):
    """An episode of (action, answer, whether the world refused it)."""
    turns = tuple(
        Turn(action=a, observation=o, reward=0.0, info={"invalid_action": True} if refused else {})
        for a, o, refused in steps
    )
    return episode("a", 1.0).model_copy(update={"turns": turns})


def test_refused_actions_and_repeated_turns_of_a_won_episode_are_not_learnt():
    won = looped(
        ("go to desk 1", "On the desk 1, you see nothing.", False),
        ("take mug 1 from desk 1", "Nothing happens.", True),
        ("go to desk 1", "On the desk 1, you see nothing.", False),
        ("go to bed 1", "On the bed 1, you see a mug 1.", False),
        ("go to desk 1", "On the desk 1, you see a mug 1.", False),
    )
    assert learnt_turns(won, "all") == [True] * 5
    assert learnt_turns(won, "valid") == [True, False, True, True, True]
    assert learnt_turns(won, "fresh") == [True, False, False, True, True]  # the last one is answered anew


def test_short_episodes_are_left_out_by_a_minimum_of_turns():
    found = [
        episode("a", 1.0, actions="a"),
        episode("b", 1.0, actions="bc"),
        episode("c", 1.0, actions="cde"),
    ]
    assert names(select(found, SelectConfig(min_turns=2), seed=0)) == ["b", "c"]
    assert names(select(found, SelectConfig(min_turns=2, max_turns=2), seed=0)) == ["b"]


def test_a_score_stands_for_the_return_and_episodes_without_one_are_left_out():
    found = [episode("a", 1.0, actions="ab"), episode("b", 0.0), episode("c", 1.0)]
    again = rescored(found, {"a": 0.25, "b": 0.75})
    assert [(t.id, t.total_reward, [turn.reward for turn in t.turns]) for t in again] == [
        ("a", 0.25, [0.0, 0.25]),
        ("b", 0.75, [0.0, 0.75]),
    ]
    assert names(select(again, SelectConfig(rule="threshold", threshold=0.5), seed=0)) == ["b"]
    broken = episode("d", 1.0, ending=Failed(failure="worker-lost"))
    assert rescored([broken], {"d": 1.0}) == []


def test_rejection_keeps_an_episode_with_the_probability_of_its_score():
    found = rescored(
        [episode(f"e{n}", 1.0, task=f"t{n}") for n in range(1000)], {f"e{n}": 0.3 for n in range(1000)}
    )
    kept = select(found, SelectConfig(rule="rejection"), seed=0)
    assert 250 < len(kept) < 350
