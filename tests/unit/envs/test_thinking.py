"""Replies in modes of thinking: what is written is read, and whatever else is said has a reason."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.testing import HOSTILE
from agentgym_envs.thinking import HEADERS, Fault, Reply, check, extract, length_factor, render

SECTIONS = {mode: tuple(f"about {header.lower()}" for header in headers) for mode, headers in HEADERS.items()}
TEXTS = {mode: render(mode, sections, "Half, then.") for mode, sections in SECTIONS.items()}
PIECES = [
    *("Thinking Level: ", "1", "2", "3", "4", "\n", "\n\n", '"', "Half", ":"),
    *("<|begin_of_thinking|>", "<|end_of_thinking|>", "<|begin_of_answer|>", "<|end_of_answer|>"),
    *HEADERS[4],
]


def test_the_template_is_the_specifications():
    assert TEXTS[1] == 'Thinking Level: 1\n<|begin_of_answer|>\n"Half, then."\n<|end_of_answer|>'
    assert TEXTS[2] == (
        "Thinking Level: 2\n<|begin_of_thinking|>\nIntent:\nabout intent\n\nStyle:\nabout style\n\n"
        "Response:\nabout response\n<|end_of_thinking|>\n"
        '<|begin_of_answer|>\n"Half, then."\n<|end_of_answer|>'
    )


@pytest.mark.parametrize("mode", HEADERS)
@pytest.mark.parametrize("strict", [True, False])
def test_what_is_written_is_read(mode: int, strict: bool):
    assert check(TEXTS[mode], strict=strict) == Reply(mode, '"Half, then."', SECTIONS[mode])


def test_white_space_at_the_end_is_no_fault():
    assert check(TEXTS[3] + " \n\n", strict=True).ok


FAULTY: list[tuple[str, Fault]] = [
    ("", "no_level"),
    (TEXTS[2].replace("Thinking", "Reasoning"), "no_level"),
    (TEXTS[2].replace("Level: 2", "Level: 5"), "no_level"),
    (TEXTS[1].replace("\n<|end_of_answer|>", ""), "missing_tag"),
    (TEXTS[2].replace("\n<|end_of_thinking|>", ""), "missing_tag"),
    (TEXTS[1] + TEXTS[1], "repeated_tag"),
    ("\n<|end_of_answer|>" + TEXTS[1].removesuffix("\n<|end_of_answer|>"), "tag_order"),
    (TEXTS[1].replace('"', ""), "answer_quotes"),
    (TEXTS[1].replace("Half", '"Half"'), "answer_quotes"),
    (TEXTS[1].replace('"Half, then."', 'I say "half"'), "answer_quotes"),
    ("Thinking Level: 1\n<|begin_of_answer|>\n<|end_of_answer|>", "answer_quotes"),
    (TEXTS[2].replace("Style:\n", ""), "missing_header"),
    (TEXTS[3].replace("Level: 3", "Level: 4"), "missing_header"),
    (TEXTS[2].replace("\n\nStyle", "\nStyle"), "missing_header"),
    (TEXTS[2].replace("about intent", "my Style:\nis plain"), "repeated_header"),
    (
        TEXTS[2].replace("Style:", "X:").replace("Response:", "Style:").replace("X:", "Response:"),
        "header_order",
    ),
]
ONLY_STRICT: list[tuple[str, Fault]] = [
    ("Sure. " + TEXTS[2], "outside_template"),
    (TEXTS[2] + "\nbye", "outside_template"),
    (TEXTS[2].replace("Intent:", "Well.\nIntent:"), "outside_template"),
    (TEXTS[2].replace('<|begin_of_answer|>\n"', '<|begin_of_answer|>\n "'), "outside_template"),
    (TEXTS[2].replace("<|end_of_thinking|>\n", "<|end_of_thinking|>\nSo:\n"), "outside_template"),
    (TEXTS[4].replace("Level: 4", "Level: 3"), "extra_header"),
    (TEXTS[2].replace("about intent", "she asks\n\nPlan:\nwait"), "extra_header"),
    (TEXTS[1].replace("Half", "<|begin_of_thinking|>Half"), "tag_in_answer"),
    (TEXTS[2].replace("Half", "<|end_of_thinking|>Half"), "tag_in_answer"),
    (TEXTS[4].replace("Half", "<|begin_of_answer|>Half"), "tag_in_answer"),
    (TEXTS[3].replace("then.", "then.<|end_of_answer|>"), "tag_in_answer"),
]


@pytest.mark.parametrize(("text", "fault"), FAULTY)
def test_a_malformed_reply_has_a_reason(text: str, fault: Fault):
    for strict in (True, False):
        assert check(text, strict=strict) == Reply(mode=-1, fault=fault)


@pytest.mark.parametrize(("text", "fault"), ONLY_STRICT)
def test_what_only_the_strict_check_rejects(text: str, fault: Fault):
    assert check(text, strict=True) == Reply(mode=-1, fault=fault)
    assert check(text).ok


THOUGHT_WITHIN = "<|begin_of_thinking|>\nI can pay 90.\n<|end_of_thinking|>"


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ('"Half, then."', "Half, then."),
        ('"Half, th＜|en.|＞"', "Half, th＜|en.|＞"),  # look-alikes are no tags
        (f'{THOUGHT_WITHIN}\n"Half, then."', "Half, then."),
        (f'"{THOUGHT_WITHIN}Half, then."', "Half, then."),
        (f'"Half, {THOUGHT_WITHIN}then."', "Half, then."),
        ('"Half, then.<|begin_of_thinking|> I can pay 90."', "Half, then."),
        ('"I can pay 90. <|end_of_thinking|> Half, then."', "Half, then."),
        (f'"{THOUGHT_WITHIN[:-1]}{THOUGHT_WITHIN} Half, then."', "Half, then."),
        ('"Half, <|begin_of_answer|>then."', "Half, then."),
    ],
)
@pytest.mark.parametrize("mode", [1, 3])
def test_no_thought_and_no_tag_within_an_answer_is_heard(mode: int, answer: str, heard: str):
    text = TEXTS[mode].replace('"Half, then."', answer)
    assert extract(text) == heard


def test_every_reason_has_an_example():
    assert {fault for _, fault in FAULTY + ONLY_STRICT} == set(get_args(Fault))


@given(text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)), strict=st.booleans())
def test_no_text_raises(text: str, strict: bool):
    got = check(text, strict=strict)
    assert got.ok is (got.mode in HEADERS) is (got.answer is not None)


@given(
    mode=st.sampled_from(list(HEADERS)),
    cuts=st.lists(st.integers(0, 400), min_size=2, max_size=2),
    piece=st.sampled_from(PIECES),
)
def test_a_damaged_reply_does_not_raise_and_strict_accepts_no_more(mode: int, cuts: list[int], piece: str):
    low, high = sorted(cuts)
    text = TEXTS[mode][:low] + piece + TEXTS[mode][high:]
    assert check(text, strict=True).ok <= check(text).ok


@given(
    mode=st.sampled_from(list(HEADERS)),
    words=st.lists(st.text("abc XYZ.,", min_size=1), min_size=9, max_size=9),
)
def test_any_plain_words_are_read_as_written(mode: int, words: list[str]):
    sections = tuple(words[: len(HEADERS[mode])])
    assert check(render(mode, sections, "x"), strict=True) == Reply(mode, '"x"', sections)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_have_no_mode(text: str):
    assert check(text).mode == check(text, strict=True).mode == -1


def test_the_length_factor_falls_from_target_less_span_to_target_plus_span():
    assert [length_factor(n, target=6, span=4) for n in (0, 2, 4, 6, 8, 10, 99)] == [
        1,
        1,
        0.75,
        0.5,
        0.25,
        0,
        0,
    ]
