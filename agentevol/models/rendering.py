"""Rendering of conversations into token ids, without re-encoding sampled text.

The first prompt comes from the tokenizer's chat template. Every later prompt is the exact ids of the previous
turn (prompt and sample) plus the tokens which the template puts after an assistant's message; only the new
observation is tokenised. With a ChatML template, for example, `extend` adds

    [<|im_end|>] \\n <|im_start|> user \\n  ...observation...  <|im_end|> \\n <|im_start|> assistant \\n

where the first token is left out when the model has sampled it. A template may rewrite earlier messages
(Qwen3's leaves earlier reasoning out, Llama 3's strips white space): here the ids that were read and sampled
stay.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentevol.core.errors import ConfigError, one_line
from agentevol.core.protocols import Conversation, Message
from agentevol.models.chat_templates import check_arguments, today

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ACTION_MARK = "ACTION-3b1f"  # placeholder of the assistant's text in a rendered template


def load_tokenizer(path: Path) -> "PreTrainedTokenizerBase":
    """Tokenizer of a checkpoint's folder, exactly as its tokenizer.json specifies. Raises `ConfigError`.

    `AutoTokenizer` is not used: for some model types (qwen2 among them) it replaces the file's splitting and
    normalising by those of the original family, and silently encodes other ids.
    """
    from transformers import PreTrainedTokenizerFast

    if not (path / "tokenizer.json").is_file():
        raise ConfigError(f"{path} is not a checkpoint: it has no tokenizer.json")
    try:
        return PreTrainedTokenizerFast.from_pretrained(path, local_files_only=True)
    except Exception as cause:  # tokenizers raises plain `Exception`
        reason = (str(cause).splitlines() or [""])[0][:200]
        raise ConfigError(f"the tokenizer of {path} cannot be read: {reason}") from cause


class ChatRenderer:
    """Renderer for one tokenizer and its chat template.

    `end_id` is the token with which the template ends an assistant's message, and an action token: the
    policy has to learn to stop. `arguments` are the template's own variables, such as `enable_thinking`;
    `ends` are further tokens that end a message, as generation_config.json names them. Raises `ConfigError`
    where there is no template, where it has no such token, and for arguments that it does not read.
    """

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        arguments: Mapping[str, Any] | None = None,
        ends: Collection[int] = (),
    ) -> None:
        if not tokenizer.chat_template:
            raise ConfigError("the tokenizer has no chat template; add one to the checkpoint's folder")
        self.tokenizer = tokenizer
        self._arguments = dict(arguments or {})
        check_arguments(tokenizer, self._arguments)
        self.end_id = self._find_end_id()
        self.stop_ids = frozenset({self.end_id, *_eos_ids(tokenizer), *ends})
        """Token ids that end sampling."""

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a whole conversation up to the assistant's next message, by the chat template."""
        return self._encode(self._render(messages))

    def extend(self, previous_ids: Sequence[int], observation: str) -> list[int]:
        """Ids to append to `previous_ids` (which end with a sampled turn) for the assistant's next message.

        Where the sample has no end token (it ended by length), the end token comes first.
        """
        added = self._encode(self._after_action(observation))
        return added[1:] if previous_ids and previous_ids[-1] == self.end_id else added

    def action_ids(self, text: str) -> list[int]:
        """Ids of a demonstrator's action, the end token included."""
        return [*self._encode(text), self.end_id]

    def beginning_ids(self, text: str) -> list[int]:
        """Ids of the beginning of a message that the policy continues."""
        return self._encode(text)

    def conversation_ids(self, conversation: Conversation) -> list[int]:
        """Prompt ids of the next turn; they extend the latest sample's ids wherever it has any.

        Raises `ValueError` unless the conversation ends with exactly one user message since the last sample.
        """
        messages = conversation.messages
        if not messages or messages[-1].role != "user":
            raise ValueError("it is not the policy's turn: the conversation does not end with a user message")
        if not conversation.samples or not conversation.samples[-1].prompt_ids:
            return self.prompt(messages)
        if len(messages) < 2 or messages[-2].role != "assistant":
            raise ValueError("the latest observation does not follow an assistant message")
        sample = conversation.samples[-1]
        previous_ids = [*sample.prompt_ids, *sample.token_ids]
        return previous_ids + self.extend(previous_ids, messages[-1].content)

    def text(self, token_ids: Sequence[int]) -> str:
        """Text of sampled ids without the end token and without special tokens, which are not part of an
        action; never encoded again.
        """
        spoken = token_ids[:-1] if token_ids and token_ids[-1] in self.stop_ids else token_ids
        text = self.tokenizer.decode(
            list(spoken), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text if isinstance(text, str) else "".join(text)

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _render(self, messages: Sequence[Message]) -> str:
        from jinja2 import TemplateError  # takes as long to load as all of this module

        chat = [{"role": message.role, "content": message.content} for message in messages]
        try:
            text = self.tokenizer.apply_chat_template(
                chat, add_generation_prompt=True, tokenize=False, strftime_now=today, **self._arguments
            )
        except TemplateError as cause:
            raise ConfigError(f"the chat template cannot render {len(chat)} messages: {cause}") from cause
        if not isinstance(text, str):
            raise TypeError(f"the chat template gave {type(text).__name__}, not text")
        return text

    def _after_action(self, observation: str) -> str:
        """Text of the template between an assistant's message and the next one."""
        exchange = [Message("user", "?"), Message("assistant", ACTION_MARK), Message("user", observation)]
        return self._render(exchange).partition(ACTION_MARK)[2]

    def _find_end_id(self) -> int:
        """Special token right after an assistant's text.

        It has to be a separate token: only then does the text after it tokenise independently of the text
        before.
        """
        added = self._encode(self._after_action("?"))
        if not added or added[0] not in _special_ids(self.tokenizer):
            raise ConfigError(
                "the chat template does not end an assistant's message with a special token to stop at"
            )
        return added[0]


def _special_ids(tokenizer: "PreTrainedTokenizerBase") -> set[int]:
    """Tokens at which text is split; the unknown token is excluded, though it is listed as one."""
    added: Mapping[int, object] = tokenizer.added_tokens_decoder
    return {token_id for token_id in added if token_id != tokenizer.unk_token_id}


def _eos_ids(tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    eos = tokenizer.eos_token_id
    return [eos] if isinstance(eos, int) else []


def renderer_of(path: Path, chat_template_kwargs: Mapping[str, Any] | None = None) -> ChatRenderer:
    """Chat renderer of a checkpoint, with all token ids that end a sample."""
    return ChatRenderer(load_tokenizer(path), chat_template_kwargs, _generation_stop_ids(path))


def _generation_stop_ids(path: Path) -> frozenset[int]:
    """Further end tokens named in generation_config.json."""
    file = path / "generation_config.json"
    if not file.is_file():
        return frozenset()
    try:
        eos = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id")
    except (ValueError, AttributeError) as cause:
        raise ConfigError(f"{file} cannot be read: {one_line(cause)}") from cause
    return frozenset(eos if isinstance(eos, list) else [eos] if isinstance(eos, int) else [])
