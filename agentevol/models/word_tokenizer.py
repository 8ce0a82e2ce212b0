"""Word-level tokenizer of an environment: short sequences for a small model, and lossless on any text.

Whole words of the environment (with the space before them) are single tokens; all other text is split into
bytes, so that encoding loses nothing. It is an ordinary `tokenizer.json`, which transformers and vLLM read
unchanged.

    "go to cabinet 12" -> ["go", " to", " cabinet", " 12"]

Where case has no meaning, as in a shop's titles and the wishes of its customers, `FOLDED` reads all text in
lower case and splits long numbers into three digits, after the common prefix of product ids:

    "B047193862 [SEP] $35.99" -> ["b0", "471", "938", "62", " [sep]", " $", "35", ".", "99"]
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from agentevol.models.tokenizer_checks import SPELLED

SPACE = "Ġ"
"""The space before a word, as byte-level vocabularies write it."""
PAD, AGENT, END = "<|pad|>", "<|agent|>", "<|end|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}" + AGENT + "{{ message['content'] }}" + END + "{% else %}"
    "{{ message['content'] }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}" + AGENT + "{% endif %}"
)
"""Chat template: texts of the environment are bare, those of the agent between two special tokens: two tokens
for a turn.
"""


LONGEST_NUMBER = 4
"""Most digits of a number that is one token, unless a tokenizer has its own limit."""
FOLDED = r"</?think>| ?\[sep\]| ?b0(?=[0-9]{8})| ?[a-z]+| ?[0-9]{1,3}| ?[^\sa-z0-9]|\s+"
"""Pattern that splits a text in lower case."""
TAGGED = (
    r"Thinking Level: [1-4]|\n<\|begin_of_thinking\|>\n(?:History|Intent):\n|\n\n[A-Z][a-z]+:\n"
    r"|(?:\n<\|end_of_thinking\|>)?\n<\|begin_of_answer\|>\n\"|\"\n<\|end_of_answer\|>"
    r"| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}\"]+| ?\"|\s+(?!\S)|\s+"
)
"""Pattern that splits replies in thinking modes (`agentgym_envs.thinking`), whose tags and headers are one
word each, and numbers into digits.
"""


def word_tokenizer(
    texts: Iterable[str],
    *,
    folded: bool = False,
    most: int | None = None,
    always: Iterable[str] = (),
    digits: int = LONGEST_NUMBER,
    tagged: bool = False,
) -> PreTrainedTokenizerFast:
    """Tokenizer that has as one token each of the `most` words that the largest numbers of texts contain
    (None: all), and every word of `always`, but for numbers of more than `digits` digits, which seldom recur;
    equal sets of words give equal tokenizers. `folded` and `tagged` choose the pattern that splits texts.
    """
    words = frequent_words(texts, most, folded=folded, digits=digits, tagged=tagged)
    words |= frequent_words(always, folded=folded, digits=digits, tagged=tagged)
    return tokenizer_of(words, folded=folded, tagged=tagged)


def frequent_words(
    texts: Iterable[str],
    most: int | None = None,
    *,
    folded: bool = False,
    digits: int = LONGEST_NUMBER,
    tagged: bool = False,
) -> set[str]:
    """The `most` words, as tokens, that the largest numbers of texts contain (None: all of them)."""
    splitter = _splitter(folded, tagged)
    counts = Counter(word for text in texts for word in _words(splitter, text, folded, digits))
    return set(sorted(counts, key=lambda word: (-counts[word], word))[:most])


def tokenizer_of(
    words: Iterable[str], *, folded: bool = False, tagged: bool = False, spelled: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """Tokenizer with these words as tokens (`frequent_words`), and the bytes of all other text; `spelled` are
    environments whose words are read in bytes on purpose.
    """
    splitter = _splitter(folded, tagged)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [PAD, AGENT, END, *alphabet, *sorted(set(words).difference(alphabet))]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    # Without merges and with `ignore_merges`, a word is either known as a whole or split into bytes.
    tokenizer = Tokenizer(BPE(vocabulary, [], ignore_merges=True))
    tokenizer.pre_tokenizer = splitter
    if folded:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[AGENT],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    if spelled:
        fast.init_kwargs[SPELLED] = list(spelled)  # a part of tokenizer_config.json
    return fast


def _splitter(folded: bool, tagged: bool) -> Any:
    pattern = FOLDED if folded else TAGGED if tagged else None
    splitter: Any = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    if pattern is None:
        return splitter
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), splitter])


def _words(splitter: Any, text: str, folded: bool, digits: int) -> set[str]:
    pieces = splitter.pre_tokenize_str(text.lower() if folded else text)
    return {word for word, _ in pieces if not _is_long_number(word, digits)}


def _is_long_number(word: str, most: int) -> bool:
    digits = word.removeprefix(SPACE)
    return digits.isdigit() and len(digits) > most
