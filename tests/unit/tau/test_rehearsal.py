"""Rehearsals with the scripted user, which decide on the tasks that it is offered for."""

from typing import Any, cast

import pytest
from support.tau import call, played

from agentgym_envs.core import StepResult
from agentgym_envs.tau.airline import TauAirline
from agentgym_envs.tau.data.domain import Domain, Tasks
from agentgym_envs.tau.desk import DeskEnvironment
from agentgym_envs.tau.rehearsal import CONFIRM, WHO_BY_MAIL, rehearsed
from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.tasks import Action, Scenario, TauTask
from agentgym_envs.tau.users.scripted import ScriptedUser

BUILTIN = TauRetail.builtin()
CANCEL = next(one for one in BUILTIN.tasks("test") if one.kind == "cancel")
OTHER = next(one for one in BUILTIN.tasks("test") if one.kind == "cancel" and one.user_id != CANCEL.user_id)
QUESTION = next(one for one in BUILTIN.tasks("test") if one.kind == "question")


def shop_with(task: TauTask) -> TauRetail:
    """The scripted mode over one task, without what other tests have rehearsed."""
    domain = BUILTIN.domain(task.source)
    fresh = Domain(domain.tables, policies=domain.policies)
    return TauRetail(user="scripted", sources=(Tasks({task.split: [task]}, {task.source: fresh}, "one"),))


def is_offered(task: TauTask) -> bool:
    return shop_with(task).tasks(task.split) != []


@pytest.mark.parametrize("kind", [TauRetail, TauAirline])
def test_every_offered_built_in_task_is_won_in_a_dialogue_that_the_user_ends(
    kind: type[DeskEnvironment],
) -> None:
    environment, stage = kind(user="scripted"), kind(user="scripted")
    for split in environment.splits:
        tasks = environment.tasks(split)
        assert [task.id for task in tasks] == [task.id for task in kind().tasks(split)]
        for task in tasks:
            end = played(environment, task, rehearsed(stage, task).actions)
            assert (end.reward, end.terminated, end.observation.text) == (1.0, True, "###STOP###"), task.id


def test_the_player_asks_who_calls_and_has_each_change_confirmed() -> None:
    environment = shop_with(CANCEL)
    actions, won = rehearsed(environment, CANCEL)
    assert (actions[0], won) == (WHO_BY_MAIL, True)
    (change,) = [place for place, action in enumerate(actions) if "cancel_pending_order" in action]
    assert actions[change - 1] == CONFIRM
    assert actions[change] == call(CANCEL.gold[-1].name, **CANCEL.gold[-1].arguments)


def changed(task: TauTask, **parts: Any) -> TauTask:
    return task.model_copy(update=parts)


def knowing(task: TauTask, known: str) -> TauTask:
    return changed(task, scenario=task.scenario.model_copy(update={"known": known}))


def named(task: TauTask) -> str:
    """What a customer knows whose address is out of date."""
    user = BUILTIN.domain(task.source).tables["users"][task.user_id]
    name, code = user["name"], user["address"]["zip"]
    return f"You are {name['first_name']} {name['last_name']}, {code}, e-mail old@example.org."


STRANGERS_ORDER = (*CANCEL.gold[:2], OTHER.gold[-1])
READS = tuple(Action(name="calculate", arguments={"expression": f"{one} + 1"}) for one in range(60))


@pytest.mark.parametrize(
    ("task", "offered"),
    [
        (CANCEL, True),
        (QUESTION, True),
        (knowing(CANCEL, named(CANCEL)), True),  # by name and zip code, where the address finds nobody
        (knowing(CANCEL, ""), False),  # nobody knows who calls
        (
            knowing(CANCEL, "You are Ann Lee, e-mail ann@example.org."),
            False,
        ),  # no such customer
        (changed(CANCEL, gold=STRANGERS_ORDER), False),  # an order of which nobody has spoken
        (changed(CANCEL, gold=READS + CANCEL.gold), False),  # more calls than turns
        (changed(QUESTION, communicate=("x" * 601,)), False),  # no short message tells it
    ],
)
def test_a_task_that_no_dialogue_solves_is_not_offered(task: TauTask, offered: bool) -> None:
    assert is_offered(task) == offered
    assert TauRetail(sources=(Tasks({task.split: [task]}, {}, "one"),)).tasks(task.split) == [task]


def test_a_change_of_mind_is_not_offered_though_its_rehearsal_is_won() -> None:
    reason = f"{CANCEL.scenario.reason} If the agent asks why, you change your mind."
    task = changed(CANCEL, scenario=CANCEL.scenario.model_copy(update={"reason": reason}))
    assert rehearsed(shop_with(task), task).won
    assert not is_offered(task)


def test_a_user_that_never_stops_wins_no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_offered(CANCEL)
    monkeypatch.setattr(ScriptedUser, "answer", lambda self, message: "Go on.")
    assert not is_offered(CANCEL)


def test_a_rehearsal_leaves_the_current_episode_alone() -> None:
    environment = shop_with(CANCEL)
    environment.reset(CANCEL, 0)
    environment.step(call("calculate", expression="1"))
    assert environment.tasks(CANCEL.split) != []
    assert (environment.turns, [one.name for one in environment.state.calls]) == (1, ["calculate"])
    assert not cast("StepResult", environment.step("Hm.")).terminated


@pytest.mark.parametrize(
    ("known", "answer"),
    [
        ("Your email is ann.lee@shop.example.org.", "My email is ann.lee@shop.example.org."),
        ("You're Ann Lee, zip 12345.", "My zip code is 12345. My name is Ann Lee."),
        ("You name is Ann Lee and your zip code is 12345.", "My zip code is 12345. My name is Ann Lee."),
    ],
)
def test_the_user_tells_who_it_is_in_the_words_of_the_published_scenarios(known: str, answer: str) -> None:
    said = ScriptedUser(Scenario(reason="Help.", known=known)).answer(WHO_BY_MAIL)
    assert said.removeprefix("I do not remember my email. ") == answer
