"""Final answers in the environments that have them, and the majority of a task's samples."""

import pytest
from support.trajectories import trajectory

from agentevol.data.final_answers import answer_in, final_answer, final_answers, majority, majority_scores
from agentgym_envs.registry import make
from agentgym_store.records import Terminated, Trajectory, Truncated, Turn


def episode(
    *actions: str, task: str = "t", name: str = "e", reward: float = 0.0, **info: object
) -> Trajectory:
    turns = [Turn(action=action, observation="", reward=0.0) for action in actions[:-1]]
    last = Turn(action=actions[-1], observation="", reward=reward, info=info)
    return trajectory(id=name, task_id=task, turns=(*turns, last), ending=Terminated())


@pytest.mark.parametrize(
    ("environment", "one_turn", "answer"),
    [
        ("academia", False, "no"),
        ("movie", False, "1997-09-05"),
        ("weather", False, "[-1.6, 1.0, 2.7]"),
        ("sql", False, "SELECT name FROM expeditions WHERE language = 'Belmar'"),
        ("sqlgym", True, "SELECT name FROM expeditions WHERE language = 'Belmar'"),
        ("deliberate", True, "4"),
        ("sheet", False, None),  # ends with `finish` without an answer
        ("alfworld", False, None),
        ("guess", False, None),
    ],
)
def test_the_experts_first_episode_ends_with_this_answer(
    environment: str, one_turn: bool, answer: str | None
):
    world = make(environment)
    actions = world.expert(world.tasks(world.splits[0])[0])
    assert actions is not None
    assert final_answer(episode(*actions), one_turn=one_turn) == answer
    world.close()


def test_an_answer_to_the_assistants_question_is_one_and_a_submission_without_is_none():
    assert answer_in('{"name":"submit","arguments":{"status":"answer","answer":{"b": 2, "a":1}}}') == (
        '{"a": 1, "b": 2}'
    )
    assert answer_in('{"name":"submit","arguments":{"status":"done"}}') is None
    assert answer_in('{"name":"search","arguments":{"answer":"x"}}') is None
    assert answer_in("go north") is None


def test_replies_in_thinking_modes_answer_in_every_mode_and_surface():
    for surface in ("compact", "full"):
        for mode in (1, 2, 3, 4):
            world = make("deliberate", surface=surface, expert_mode=mode)
            (reply,) = world.expert(world.task("test/medium/2")) or [""]
            assert final_answer(episode(reply), one_turn=True) == "4"


def test_what_the_environment_tells_comes_first_and_broken_or_cut_off_episodes_have_no_answer():
    assert final_answer(episode("say 7", answer=" 8  9 ")) == "8 9"
    assert final_answer(episode("say 7")) is None
    assert final_answer(episode("The answer is: 12", name="e"), one_turn=True) == "12"
    assert final_answer(episode("nonsense", invalid_action=True), one_turn=True) is None
    cut = episode("7").model_copy(update={"ending": Truncated(limit="context")})
    assert final_answer(cut, one_turn=True) is None


def test_a_message_is_an_answer_only_where_all_episodes_have_one_turn():
    one, two = episode("7", name="a"), episode("7", "8", name="b")
    assert final_answers([one]) == {"a": "7"}
    assert final_answers([one, two]) == {"a": None, "b": None}


def test_the_majority_is_of_all_samples_and_ties_go_to_the_first_in_order():
    assert majority(["7", "7", "8", None]) == ("7", 0.5)
    assert majority(["b", "a"]) == ("a", 0.5)
    assert majority([None, None]) == (None, 0.0)


def task(name: str, *said: tuple[str, float]) -> list[Trajectory]:
    return [
        episode(answer, task=name, name=f"{name}{number}", reward=reward)
        for number, (answer, reward) in enumerate(said)
    ]


def test_samples_of_the_majority_earn_1_where_its_share_is_in_the_band():
    right = task("a", ("7", 1.0), ("7", 1.0), ("7", 1.0), ("8", 0.0))
    wrong = task("b", ("1", 0.0), ("1", 0.0), ("2", 1.0), ("3", 0.0))
    agreed = task("c", ("5", 1.0), ("5", 1.0), ("5", 1.0), ("5", 1.0))
    spread = task("d", ("1", 0.0), ("2", 0.0), ("3", 1.0), ("4", 0.0))
    explored = [*right, *wrong, *agreed, *spread]
    scores, figures = majority_scores(explored, final_answers(explored), least=0.3, most=0.9)
    assert scores == {"a0": 1, "a1": 1, "a2": 1, "a3": 0, "b0": 1, "b1": 1, "b2": 0, "b3": 0}
    assert figures == {
        "majority_tasks": 2.0,
        "majority_share": pytest.approx((0.75 + 0.5 + 1.0 + 0.25) / 4),
        "majority_answered": 1.0,
        "majority_right": 0.5,
    }
    everything, _ = majority_scores(explored, final_answers(explored), least=0.0, most=1.0)
    assert everything.keys() == {t.id for t in explored}
