"""Words of replies in thinking modes: a tag with its line breaks is one, and so is a digit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentevol.models.word_tokenizer import word_tokenizer
from agentgym_envs.thinking import HEADERS, opening, render

REPLIES = {
    mode: render(mode, [f"note {mode}"] * len(headers), "I offer it. [OFFER 118.50]")
    for mode, headers in HEADERS.items()
}
TEXTS = [
    *REPLIES.values(),
    'Turn #3: Bo said: "Why? [OFFER me: hat=2]"',
    *("0123456789", " 0 1 2 3 4 5 6 7 8 9"),
]
TOKENIZER = word_tokenizer(TEXTS, tagged=True)


def pieces(text: str) -> list[str]:
    return [TOKENIZER.decode([number]) for number in TOKENIZER.encode(text, add_special_tokens=False)]


def test_tags_and_headers_are_one_word_each_and_numbers_are_digits() -> None:
    assert pieces(REPLIES[2]) == [
        "Thinking Level: 2",
        "\n<|begin_of_thinking|>\nIntent:\n",
        *("note", " 2"),
        "\n\nStyle:\n",
        *("note", " 2"),
        "\n\nResponse:\n",
        *("note", " 2"),
        '\n<|end_of_thinking|>\n<|begin_of_answer|>\n"',
        *("I", " offer", " it", ".", " [", "OFFER", " 1", "1", "8", ".", "5", "0", "]"),
        '"\n<|end_of_answer|>',
    ]
    assert pieces(REPLIES[1])[:2] == ["Thinking Level: 1", '\n<|begin_of_answer|>\n"']


@pytest.mark.parametrize("mode", HEADERS)
def test_a_forced_beginning_is_the_first_word_of_its_mode(mode: int) -> None:
    beginning = TOKENIZER.encode(opening(mode), add_special_tokens=False)
    rest = TOKENIZER.encode(REPLIES[mode].removeprefix(opening(mode)), add_special_tokens=False)
    assert len(beginning) == 1
    assert beginning + rest == TOKENIZER.encode(REPLIES[mode], add_special_tokens=False)


@given(text=st.text(max_size=60) | st.sampled_from([one[:40] + one[50:] for one in REPLIES.values()]))
def test_no_text_is_changed(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    numbers = TOKENIZER.encode(clean, add_special_tokens=False)
    assert TOKENIZER.decode(numbers, skip_special_tokens=False) == clean


def test_without_tags_a_tag_is_many_words() -> None:
    plain = word_tokenizer(TEXTS)
    assert len(plain.encode(REPLIES[4])) > 1.5 * len(TOKENIZER.encode(REPLIES[4]))
