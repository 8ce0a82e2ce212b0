"""A tokenizer whose tokens are the words of a world: short sequences for a small model, and any text still
fits.

Whole words of the world (with the space before them) are single tokens; everything else falls apart into
bytes, so that encoding loses nothing. It is an ordinary `tokenizer.json`: transformers and vLLM read it as it
is.

    "go to cabinet 12" -> ["go", " to", " cabinet", " 12"]

Where case means nothing, as in a shop's titles and the wishes of its customers, `FOLDED` reads all text in
lower case and long numbers by three digits, after what ids of products have in common:

    "B047193862 [SEP] $35.99" -> ["b0", "471", "938", "62", " [sep]", " $", "35", ".", "99"]
"""

from collections.abc import Iterable
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

PAD, AGENT, END = "<|pad|>", "<|agent|>", "<|end|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}" + AGENT + "{{ message['content'] }}" + END + "{% else %}"
    "{{ message['content'] }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}" + AGENT + "{% endif %}"
)
"""What the world says stands bare, what the agent says stands between two special tokens: two tokens for a
turn.
"""


FOLDED = r"</?think>| ?\[sep\]| ?b0(?=[0-9]{8})| ?[a-z]+| ?[0-9]{1,3}| ?[^\sa-z0-9]|\s+"
"""How a text is split after it was put into lower case."""


def word_tokenizer(texts: Iterable[str], *, folded: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer that has every word of `texts` as one token; equal sets of words give equal tokenizers."""
    splitter: Any = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not folded)
    if folded:
        splitter = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(FOLDED), "isolated"), splitter])
        texts = (text.lower() for text in texts)
    words = {word for text in texts for word, _ in splitter.pre_tokenize_str(text)}
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [PAD, AGENT, END, *alphabet, *sorted(words.difference(alphabet))]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    # Without merges and with `ignore_merges`, a word is either known as a whole or falls apart into bytes.
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
    return fast
