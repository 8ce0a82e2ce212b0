"""What others' models are shown and say, to the letter."""

import json

import pytest

from agentgym_envs.webshop.dialects import Available, agentbench, agentgym, verl_agent

START = "WebShop [SEP] Instruction: [SEP] i need shorts [SEP] Search"
RESULTS = (
    "Instruction: [SEP] i need shorts [SEP] Back to Search [SEP] Page 1 (Total results: 1) [SEP] Next > "
    "[SEP] B0 [SEP] Men's Shorts [SEP] $5.0"
)
FIRST: Available = {"has_search_bar": True, "clickables": ["search"]}
THEN: Available = {"has_search_bar": False, "clickables": ("back to search", "next >", "b0")}


def test_agentbench_tells_the_page_and_what_may_be_done():
    assert agentbench.first_message(START, FIRST) == (
        "The initial observation:\n"
        "WebShop [SEP] Instruction: [SEP] i need shorts [SEP] Search\n"
        "\n"
        "Available Actions:\n"
        "{'has_search_bar': True, 'clickables': ['search']}"
    )
    assert agentbench.tool_message("search[shorts]", RESULTS, THEN) == (
        "Action: search[shorts]\n"
        "\n"
        "Observation:\n"
        "Instruction: [SEP] i need shorts [SEP] Back to Search [SEP] Page 1 (Total results: 1) [SEP] Next > "
        "[SEP] B0 [SEP] Men's Shorts [SEP] $5.0\n"
        "\n"
        "Available Actions:\n"
        "{'has_search_bar': False, 'clickables': ['back to search', 'next >', 'b0']}"
    )
    assert agentbench.NO_CALL == (
        "Observation:\nNo executable tool calls found! You should call a tool instead."
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "action"),
    [
        ("search_action", {"keywords": "red shorts"}, "search[red shorts]"),
        ("click_action", {"value": "< Prev"}, "click[< Prev]"),
        ("click_action", {"keywords": "< Prev"}, None),
        ("click_action", {"value": 3}, None),
        ("click_action", {"value": "a", "now": True}, None),
        ("click_action", {}, None),
        ("buy_action", {"value": "b0"}, None),
        ("", {"": "x"}, None),
    ],
)
def test_agentbench_calls_are_actions(tool, arguments, action):
    assert agentbench.action(tool, arguments) == action


def test_agentbench_tools_are_told_with_the_arguments_they_take():
    told = [tool["function"] for tool in agentbench.tools()]
    calls = {tool["name"]: dict.fromkeys(tool["parameters"]["required"], "x") for tool in told}
    assert [agentbench.action(*call) for call in calls.items()] == ["search[x]", "click[x]"]
    assert all(set(tool["parameters"]["properties"]) == set(calls[tool["name"]]) for tool in told)


def test_verl_agent_shows_what_follows_the_instruction():
    instruction = verl_agent.task(START)
    assert instruction == "i need shorts"
    assert verl_agent.shown(START, instruction) == "'Search'"
    assert verl_agent.shown(RESULTS, instruction) == (
        "'Back to Search' [SEP] 'Page 1 (Total results: 1)' [SEP] 'Next >' "
        "[SEP] 'B0' [SEP] 'Men's Shorts' [SEP] '$5.0'"
    )
    done = "Thank you for shopping with us! [SEP] Your code:"
    assert verl_agent.shown(done, instruction) == done


def test_verl_agent_lists_an_action_in_a_line():
    assert verl_agent.admissible(FIRST) == "'search[<your query>]',\n'click[search]',"
    assert verl_agent.admissible(THEN) == "'click[back to search]',\n'click[next >]',\n'click[b0]',"
    assert verl_agent.admissible({"has_search_bar": False, "clickables": []}) == ""


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("<think>So.</think>\n<action>search[Red Shorts]</action>", ("search[red shorts]", True)),
        ("<think>x</think><ACTION> click[b0] </ACTION>", ("click[b0]", True)),
        ("<think>x</think><action>a</action><action>b</action>", ("a", True)),
        ("</action><think>x</think><action>click[b0]", ("", True)),
        ("<action>click[b0]</action>", ("click[b0]", False)),
        ("<THINK>x</THINK><action>click[b0]</action>", ("click[b0]", False)),
        ("<think>短裤</think><action>click[b0]</action>", ("click[b0]", False)),
        ("<think>x</think> I would say: click[B0SHORTS01]", ("y: click[b0shorts01]", False)),
        ("<think>x</think><action>click[b0]", ("nk><action>click[b0]", False)),
        ("", ("", False)),
    ],
)
def test_verl_agent_replies(reply, told):
    assert verl_agent.parsed(reply) == told


def test_verl_agent_pays_for_success_alone():
    assert [verl_agent.reward(score) for score in (0.0, 0.99, 1.0)] == [0.0, 0.0, 10.0]


@pytest.mark.parametrize(
    ("call", "action"),
    [
        ({"thought": "", "function_name": "search", "arguments": {"keywords": "a b"}}, "search[a b]"),
        ({"thought": "", "function_name": "click", "arguments": {"item": "buy now"}}, "click[buy now]"),
        ({"function_name": "click", "arguments": {"item": "buy now"}}, None),
        ({"thought": "", "function_name": "click", "arguments": {"keywords": "a"}}, None),
        ({"thought": "", "function_name": "click", "arguments": {"item": "a", "x": 1}}, None),
        ({"thought": "", "function_name": "buy", "arguments": {}}, None),
        ({"thought": "", "function_name": ["click"], "arguments": {"item": "a"}}, None),
        ({"thought": "", "function_name": "click", "arguments": "a"}, None),
        ([], None),
    ],
)
def test_agentgym_function_calls(call, action):
    assert agentgym.from_function_call(f"I say:\n```json\n{json.dumps(call, indent=2)}\n```</s>") == action


@pytest.mark.parametrize("reply", ["", "search[a]", "{", "}{", "{'a': 1}", "{" * 100_000 + "}"])
def test_agentgym_replies_without_a_call_are_none(reply):
    assert agentgym.from_function_call(reply) is None
    assert agentgym.from_code(reply) is None


def test_a_call_may_hold_line_ends_inside_its_strings():
    told = '{"thought": "a\nb", "function_name": "click", "arguments": {"item": "x"}}'
    assert agentgym.from_function_call(told) == "click[x]"


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ('# A thought.\nsearch(keywords="red shorts")', "search[red shorts]"),
        ("click('buy now')", "click[buy now]"),
        ("click('a', 'b')", None),
        ("click('a', item='b')", None),
        ("click(item=input())", None),
        ("click(keywords='a')", None),
        ("click(**{'item': 'a'})", None),
        ("click(item=3)", None),
        ("click('a'); click('b')", None),
        ("x = click('a')", None),
        ("shop.click('a')", None),
        ("buy()", None),
        ("buy('a')", None),
        ("", None),
        ("click(", None),
        ("click('\0')", None),
    ],
)
def test_agentgym_code(code, action):
    assert agentgym.from_code(f"Now:\n```python\n{code}\n```") == action


def test_of_several_blocks_none_is_taken():
    block = "```python\nclick('a')\n```\n"
    assert agentgym.from_code(block) == "click[a]"
    assert agentgym.from_code(block * 2) is None
