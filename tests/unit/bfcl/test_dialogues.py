"""Tasks of the source become dialogues, and those that cannot be played are refused with the reason."""

from typing import Any

import pytest
from support.bfcl import ANSWER, CONFIG, DOCUMENTS, TASK

from agentgym_envs.bfcl.dialogues import (
    MORE_FUNCTIONS,
    Dialogue,
    DialogueError,
    GoldCall,
    SourceAnswer,
    SourceTask,
    dialogue_of,
)


def made(task: dict[str, Any], truth: list[list[str]], category: str = "base") -> Dialogue:
    source = SourceTask.model_validate({**TASK, **task})
    answer = SourceAnswer.model_validate({**ANSWER, "ground_truth": truth})
    return dialogue_of(source, answer, category, DOCUMENTS)


def test_a_task_becomes_a_dialogue() -> None:
    assert made({}, ANSWER["ground_truth"]) == Dialogue(
        says=("Show me ticket 1.", "Close it, and make one called 'Leak'."),
        classes=("TicketAPI",),
        config=CONFIG,
        gold=(
            (GoldCall(name="get_ticket", arguments={"ticket_id": 1}),),
            (
                GoldCall(name="close_ticket", arguments={"ticket_id": 1}),
                GoldCall(name="create_ticket", arguments={"title": "Leak", "priority": 2}),
            ),
        ),
    )


def test_a_turn_without_a_message_adds_the_withheld_functions() -> None:
    question = [TASK["question"][0], [], TASK["question"][1]]
    task = {
        "question": question,
        "missed_function": {"1": ["get_ticket"]},
        "excluded_function": ["close_ticket"],
    }
    dialogue = made(task, [[], ["get_ticket(1)"], []])
    assert dialogue.says[1] == MORE_FUNCTIONS
    assert dialogue.withheld == ((), ("get_ticket",), ())
    assert dialogue.hidden(0) == {"get_ticket", "close_ticket"}
    assert dialogue.hidden(1) == dialogue.hidden(2) == {"close_ticket"}


def test_only_the_category_of_long_contexts_has_them() -> None:
    assert made({}, [[], []], "long_context").long_context
    assert not made({}, [[], []], "miss_param").long_context


def test_ids_of_tickets_are_textual_where_the_world_has_them_so() -> None:
    config = {"TicketAPI": {"ticket_queue": [{"id": "t-1"}]}}
    assert made({"initial_config": config}, [["get_ticket('t-1')"], []]).textual_ids
    assert not made({}, [[], []]).textual_ids


@pytest.mark.parametrize(
    ("task", "truth", "reason"),
    [
        ({}, [[]], "2 turns, but 1 of the answer"),
        ({"involved_classes": ["WebSearchAPI"]}, [[], []], "there is no class 'WebSearchAPI'"),
        ({"involved_classes": []}, [[], []], "classes: Tuple should have at least 1 item"),
        ({}, [["send(to='a', text='b')"], []], "turn 0: 'send' is not offered"),
        ({}, [["unknown()"], []], "calls a function without a document"),
        ({}, [["get_ticket(ticket_id='x')"], []], "turn 0: argument 'ticket_id' must be of type integer"),
        ({}, [["get_ticket(get_ticket(1))"], []], "the arguments of a call are literals"),
        ({}, [["get_ticket(1), get_ticket(2)"], []], "is not one call"),
        ({}, [["__import__('os').getpid()"], []], "only calls of a tool by its name"),
        ({"excluded_function": ["get_ticket"]}, [["get_ticket(1)"], []], "'get_ticket' is not offered"),
        ({"missed_function": {"1": ["get_ticket"]}}, [["get_ticket(1)"], []], "'get_ticket' is not offered"),
        ({"missed_function": {"2": ["get_ticket"]}}, [[], []], "added in a turn that there is not"),
        ({"question": [[{"role": "system", "content": ""}], []]}, [[], []], "one message of the user"),
    ],
)
def test_a_task_that_cannot_be_played_is_refused(
    task: dict[str, Any], truth: list[list[str]], reason: str
) -> None:
    with pytest.raises(DialogueError, match=reason.replace("(", r"\(")):
        made(task, truth)
