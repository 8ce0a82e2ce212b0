"""Action formats: what is found in an agent's message."""

import pytest

from agentgym_envs.formats import FORMATS, render_react, split_react


@pytest.mark.parametrize(
    ("message", "thought", "action"),
    [
        ("Thought:\nLook around.\n\nAction:\nlook", "Look around.", "look"),
        ("Thought: a Action: one Action: two", "a Action: one", "two"),
        ("Action: look</s>", "", "look"),
        ("I think.\nAction:look", "I think.", "look"),
        ("Thought: a Thought: b Action: c", "a", "c"),
        ("Thought:\nNo action here", "No action here", ""),
        ("search[red shoes]", "search[red shoes]", "search[red shoes]"),
        (" click[Buy Now] </s>", "click[Buy Now]", "click[Buy Now]"),
        ("Action:", "", ""),
        ("", "", ""),
        ("action: look", "action: look", ""),
    ],
)
def test_react_splits_at_the_last_action(message: str, thought: str, action: str):
    assert split_react(message) == (thought, action)
    assert FORMATS["react"].parse(message) == action


def test_react_renders_what_it_splits():
    assert render_react("Why?", "look") == "Thought:\nWhy?\n\nAction:\nlook"
    assert split_react(render_react("Why?\nWell.", "go to desk 1")) == ("Why?\nWell.", "go to desk 1")


def test_plain_is_the_whole_message():
    assert FORMATS["plain"].parse(" Action: look \n") == "Action: look"
    assert FORMATS["plain"].instruction("alfworld") is None


@pytest.mark.parametrize(
    ("message", "plain", "react"),
    [
        ("<think>\nAction: a\n</think>\n\nlook", "look", ""),
        ("<think>\nAction: a\n</think>\n\nAction: look", "Action: look", "look"),
        ("Action: a</think>Action: look", "Action: look", "look"),  # the template began to think
        ("<think>\n\n</think>\n\nAction: look", "Action: look", "look"),
        ("<think>a</think>b<think>c</think>Action: look", "Action: look", "look"),
        ("<think>\nAction: a", "", ""),  # ended by length: it has not answered
        ("</think>", "", ""),
    ],
)
def test_what_a_model_thinks_is_no_action(message: str, plain: str, react: str):
    assert FORMATS["plain"].parse(message) == plain
    assert FORMATS["react"].parse(message) == react


@pytest.mark.parametrize(
    ("name", "action"),
    [("plain", " look"), ("plain", "a</think>b"), ("react", "Action: look"), ("react", "look</s>")],
)
def test_an_action_that_no_message_has_is_not_rendered(name: str, action: str):
    with pytest.raises(ValueError, match=f"no {name} message has the action"):
        FORMATS[name].render(action)


def test_actions_are_rendered_as_messages():
    assert FORMATS["plain"].render("look") == "look"
    assert FORMATS["react"].render("look") == "Thought:\n\n\nAction:\nlook"


def test_react_says_how_to_answer():
    instruction = FORMATS["react"].instruction("alfworld")
    assert instruction is not None
    assert "alfworld" in instruction
    assert "Thought:\nyour thoughts.\n\nAction:\nyour next action" in instruction


MODE_2 = """Thinking Level: 2
<|begin_of_thinking|>
Intent:
She wants it.

Style:
kind

Response:
offer "half"
<|end_of_thinking|>
<|begin_of_answer|>
"I offer 5."
<|end_of_answer|>"""


@pytest.mark.parametrize(
    ("message", "action"),
    [
        (MODE_2, "I offer 5."),
        (f"<think>hm</think>{MODE_2}", "I offer 5."),
        ('Thinking Level: 1\n<|begin_of_answer|>\n"Hello"\n<|end_of_answer|>', "Hello"),
        ('Thinking Level: 7\n<|begin_of_answer|>\n"He said "no"."\n<|end_of_answer|>', 'He said "no".'),
        (
            "<|begin_of_answer|>\nfirst\n<|end_of_answer|>\n<|begin_of_answer|>\nlast\n<|end_of_answer|>",
            "last",
        ),
        ("Intent:\nx\n\nResponse:\nsay yes\n<|end_of_thinking|>", "say yes"),
        ("I offer 5.", ""),
        ("<|begin_of_answer|>\ncut", ""),
        ("", ""),
    ],
)
def test_modes_reads_the_answer_alone(message: str, action: str):
    assert FORMATS["modes"].parse(message) == action


def test_modes_says_what_each_level_holds():
    instruction = FORMATS["modes"].instruction("social")
    assert instruction is not None
    assert "Level 2: Intentional Analysis (Intent, Style, Response)" in instruction
    assert FORMATS["modes"].render("go") == 'Thinking Level: 1\n<|begin_of_answer|>\n"go"\n<|end_of_answer|>'
