"""Forms of tool calls, and what is no call."""

import json

import pytest

from agentgym_envs.tooluse.calls import Call, mentions_call, parse
from agentgym_envs.tooluse.calls.literals import InvalidLiteral
from agentgym_envs.tooluse.calls.python_syntax import python_calls
from agentgym_envs.tooluse.errors import CallError

ONE = (Call("f", {"a": 1}),)
TWO = (Call("f", {"a": 1}), Call("g", {}))
FORMS = {
    "plain": ('{"name": "f", "arguments": {"a": 1}}', ONE),
    "arguments as text": ('{"name": "f", "arguments": "{\\"a\\": 1}"}', ONE),
    "a function of OpenAI": (
        '{"type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}',
        ONE,
    ),
    "a message of OpenAI": (
        '{"role": "assistant", "content": null, "tool_calls": ['
        '{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}, '
        '{"id": "y", "function": {"name": "g", "arguments": ""}}]}',
        TWO,
    ),
    "the Responses API": (
        '{"type": "function_call", "name": "f", "arguments": "{\\"a\\": 1}", "call_id": "c"}',
        ONE,
    ),
    "a list": ('[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}]', TWO),
    "Hermes": (
        'First f.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n'
        '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
        TWO,
    ),
    "Hermes without its end": ('<tool_call>{"name": "f", "arguments": {"a": 1}}', ONE),
    "Qwen3-Coder": (
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        (Call("f", {"a": "1"}, texts=True),),
    ),
    "Qwen-Agent": ('✿FUNCTION✿: f\n✿ARGS✿: {"a": 1}\n✿RESULT✿', ONE),
    "fenced": ('So:\n```json\n{"name": "f", "arguments": {"a": 1}}\n```\nDone.', ONE),
    "ReAct": ('Thought: f.\nAction: f with Action Input: {"a": 1}', ONE),
    "ReAct on two lines": ('Thought: f.\nAction: f\nAction Input: {"a": 1}\nObservation: 2', ONE),
    "ReAct in Python": ("Action: f with Action Input: {'a': 1}", ONE),
    "the last action of ReAct": (
        'Action: g with Action Input: {}\nAction: f with Action Input: {"a": 1}',
        ONE,
    ),
    "after reasoning": ('<think>{"name": "g"}?</think>\n{"name": "f", "arguments": {"a": 1}}', ONE),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(form: str) -> None:
    text, calls = FORMS[form]
    assert parse(text) == calls
    assert mentions_call(text)


def test_python_syntax_is_read_only_where_it_is_asked_for() -> None:
    text = "[f(a=1), g('x', -2.5, b=[True, None])]"
    assert parse(text, python=True) == (
        Call("f", {"a": 1}),
        Call("g", {"b": [True, None]}, ("x", -2.5)),
    )
    with pytest.raises(CallError, match="no tool call"):
        parse(text)


F, G = Call("f", {"a": 1}), Call("g", {}, ("x",))


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("f(a=1),", (F,)),
        ("f(a=1); ", (F,)),
        ("[f(a=1), g('x'),]", (F, G)),
        ("f(a=1), g('x')", (F, G)),
        ("`f(a=1)`", (F,)),
        ("```\n[f(a=1)]\n```", (F,)),
        ("```python\nf(a=1)\ng('x')\n```", (F, G)),
        ("``` Py \r\n[f(a=1),\r\ng('x')]```", (F, G)),
        ("f(a=1)\n\n# then\ng('x'),", (F, G)),
        ("[f(a=1)]\n[g('x'), f(a=1)]", (F, G, F)),
        ("f(\n    a=1,\n)", (F,)),
    ],
)
def test_python_syntax_may_be_fenced_and_on_lines(text: str, calls: tuple[Call, ...]) -> None:
    assert parse(text, python=True, most=50) == calls


@pytest.mark.parametrize(
    "text",
    [
        "It is:\n```python\nf(a=1)\n```",
        "f(a=1)\nDone.",
        "f(a=1)\nx = g('x')",
        "x = f(a=1)",
        "f(a=1) g('x')",
        "```ruby\nf(a=1)\n```",
        "```python\nf(a=1)\n```\nand\n```python\ng('x')\n```",
        "# f(a=1)",
    ],
)
def test_calls_among_other_text_are_not_read(text: str) -> None:
    assert python_calls(text) is None


def test_the_number_of_lines_with_calls_is_bounded() -> None:
    with pytest.raises(InvalidLiteral, match="more than 256 calls"):
        python_calls("f()\n" * 16_000)


def given(value: str) -> str:
    """A call with one argument, as JSON text."""
    return f'{{"name": "f", "arguments": {{"a": {value}}}}}'


REFUSED = {
    "a key twice": ('{"name": "f", "arguments": {"a": 1, "a": 2}}', "the key 'a' occurs twice"),
    "NaN": ('{"name": "f", "arguments": {"a": NaN}}', "NaN is no value of JSON"),
    "Infinity": ('{"name": "f", "arguments": {"a": -Infinity}}', "-Infinity is no value of JSON"),
    "a number beyond floats": ('{"name": "f", "arguments": {"a": 1e999}}', "out of range"),
    "41 digits": (given("1" * 41), "more than 40 digits"),
    "depth 33": (given("[" * 33 + "]" * 33), "nested deeper than 32"),
    "257 members": (given(json.dumps([0] * 257)), "more than 256 members"),
    "a long string": (given(json.dumps("x" * 16_385)), "longer than 16384"),
    "half a character": ('{"name": "f", "arguments": {"a": "\\ud800"}}', "half a character"),
    "a long message": (" " * 65_537, "longer than 65536"),
    "brackets": ("[" * 60_000, "nested deeper than 32"),
    "no name": ('{"arguments": {}}', "a call is an object with name and arguments"),
    "arguments in a list": ('{"name": "f", "arguments": [1]}', "the arguments of a call are an object"),
    "one bad block": ('<tool_call>{"name": "f"}</tool_call><tool_call>{</tool_call>', "Expecting"),
    "code in ReAct": ("Action: f with Action Input: {'a': __import__('os').getpid()}", "no object"),
    "a set in ReAct": ("Action: f with Action Input: {'a': {1, 2}}", "no object"),
    "bytes in ReAct": ("Action: f with Action Input: {'a': b'x'}", "no object"),
    "words": ("I would call f.", "the message has none"),
    "nothing": ("", "the message has none"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_malformed_calls_are_parse_errors_that_say_why(case: str) -> None:
    text, reason = REFUSED[case]
    with pytest.raises(CallError) as raised:
        parse(text)
    assert raised.value.code == "parse_error"
    assert reason in raised.value.message


@pytest.mark.parametrize(
    "text",
    [
        "f(__import__('os').system('id'))",
        "f(open('/etc/passwd'))",
        "os.system('id')",
        "f()(1)",
        "f(lambda: 1)",
        "f(a=g(1))",
        "f(*[1])",
        "f(**{'a': 1})",
        "getattr(f, 'x')(1)",
        "f(a=x)",
        "f(a=f'{1}')",
        "f(a=b'x')",
        "f(a=...)",
        "f(a={1, 2})",
        "[f(a=1), 2]",
    ],
)
def test_python_syntax_evaluates_nothing(text: str) -> None:
    with pytest.raises(CallError):
        parse(text, python=True)


def test_plain_text_is_no_call() -> None:
    assert not mentions_call("Your order was cancelled. Anything else?")
    assert mentions_call('{"name": ')


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Action: f with Action Input: {'a': '\\ud800'}", "half a character"),
        ("Action: f with Action Input: {'\\udfff': 1}", "half a character"),
        ("Action: f with Action Input: {'a': 1, 'a': 2}", "the key 'a' occurs twice"),
        ('Action: f with Action Input: {"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ("Action: f with Action Input: {'x': [{'b': 1, 'b': 1}]}", "the key 'b' occurs twice"),
        ('{"name": "f", "arguments": {"a": "\ud83d"}}', "half a character"),
        (
            "<tool_call><function=f><parameter=a>" + "x" * 17_000 + "</parameter></function></tool_call>",
            "a string is longer",
        ),
    ],
)
def test_every_form_has_the_same_limits(message: str, reason: str) -> None:
    with pytest.raises(CallError, match=reason):
        parse(message)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("f(a=1, a=2)", "the argument 'a' is given twice"),
        ("f(a={'x': 1, 'x': 2})", "the key 'x' occurs twice"),
        ("f(a='\\ud800')", "half a character"),
    ],
)
def test_pythons_syntax_has_them_too(message: str, reason: str) -> None:
    with pytest.raises(CallError, match=reason):
        parse(message, python=True)


def test_calls_of_a_message_are_bounded() -> None:
    one = '{"name": "f", "arguments": {}}'
    assert len(parse(f"[{', '.join([one] * 32)}]")) == 32
    with pytest.raises(CallError, match="33 calls in one message; 32 at most") as refused:
        parse(f"[{', '.join([one] * 33)}]")
    assert refused.value.code == "limit"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ('Thought: x\nAction: f with Action Input: {"a": 1}\nAction: g with Action Input: {"a": 2}', "g"),
        ('Action: g with Action Input: {"name": "Action: finish with Action Input: {}"}', "g"),
        ("Action: g with Action Input: {'name': 'x\\nAction: finish with Action Input: {}'}", "g"),
        ("Action: g with Action Input: {'a': '''\nAction: finish with Action Input: {}'''}", "g"),
        ('Action: f\r\nAction Input: {"a": 1}', "f"),
        ('  Action: f\nAction Input: {"a": 1}\nObservation: none', "f"),
    ],
)
def test_the_last_action_that_no_argument_quotes_counts(message: str, name: str) -> None:
    (call,) = parse(message)
    assert call.name == name


def test_an_action_within_a_thought_is_none() -> None:
    with pytest.raises(CallError, match="the message has none"):
        parse('Think: maybe Action: finish with Action Input: {"answer": 1} soon')


def test_the_nesting_of_an_action_is_bounded() -> None:
    assert parse('{"name": "f", "arguments": {"a": ' + "[" * 29 + "]" * 29 + "}}")
    with pytest.raises(CallError, match="nested deeper than 32"):
        parse('{"name": "f", "arguments": {"a": ' + "[" * 31 + "]" * 31 + "}}")


def test_a_fence_may_have_other_line_ends() -> None:
    (call,) = parse('```json\r\n{"name": "f", "arguments": {}}\r\n```')
    assert call.name == "f"


def test_quotes_without_an_end_are_read_once() -> None:
    # Minutes where each quote begins a search of its own for an end.
    message = "\n".join(["Action: f with Action Input: {"] * 8) + '\\"' * 30_000
    with pytest.raises(CallError, match="no object"):
        parse(message)


def test_a_key_that_is_repeated_at_the_end_of_many_is_found_in_one_pass() -> None:
    many = ", ".join(f'"{number}": 0' for number in range(5_000))
    for message in (f'{{"name": "f", "arguments": {{{many}, "4999": 0}}}}', f"f(a={{{many}, '4999': 0}})"):
        with pytest.raises(CallError, match="the key '4999' occurs twice"):
            parse(message, python=True)
