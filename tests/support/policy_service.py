"""Test support of the service: a scripted engine over a byte tokenizer."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from agentevol.core.errors import PolicyFault
from agentevol.core.protocols import Checkpoint, Conversation, Sampling
from agentevol.engines.interfaces import TokenEngine
from agentevol.models.limits import check_room, check_sampling
from agentevol.models.rendering import ChatRenderer
from agentevol.service.app import App
from agentevol.service.service import Service
from agentevol.service.sessions.writer import Table
from agentevol.service.settings import ServiceSettings
from agentgym_store.records import Sample

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HERMES = (
    "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n"
    "{% endif %}{% for message in messages %}"
    "<|im_start|>{{ 'user' if message.role == 'tool' else message.role }}\n"
    "{% if message.role == 'tool' %}<tool_response>{{ message.content }}</tool_response>"
    "{% else %}{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>\n"
    "{{ call.function | tojson }}\n</tool_call>{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML with tools, in the format of Hermes and Qwen."""


def byte_tokenizer(template: str = HERMES) -> "PreTrainedTokenizerFast":
    """Tokenizer with a token per byte, and ChatML's special ones."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(t, special=True) for t in ("<|im_start|>", "<|im_end|>")])
    return PreTrainedTokenizerFast(tokenizer_object=core, chat_template=template, eos_token="<|im_end|>")


class ScriptedPolicy:
    """Policy that replies as its engine's script states."""

    def __init__(self, engine: "ScriptedEngine", version: int, sampling: Sampling) -> None:
        self._engine, self._sampling = engine, sampling
        self.name, self.version = f"scripted-{version}", version

    @property
    def renderer(self) -> ChatRenderer:
        """Renderer of the engine's tokenizer."""
        return self._engine.renderer

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """See `Policy.act`."""
        return await self.complete(conversation.id, self.renderer.conversation_ids(conversation), seed)

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """The script's reply, cut at the token limit; each token has the log-probability -0.5."""
        engine = self._engine
        if engine.broken is not None:
            raise PolicyFault(engine.broken)
        if conversation_id in engine.acting:
            raise PolicyFault(f"the conversation {conversation_id} has two calls at once")
        check_room(len(prompt_ids), self._sampling, engine.context)
        engine.asked.append((conversation_id, seed))
        engine.heard.set()
        released = engine.acting[conversation_id] = asyncio.Event()
        waits = [asyncio.ensure_future(event.wait()) for event in (engine.free, released)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del engine.acting[conversation_id]
            for wait in waits:
                wait.cancel()
        if released.is_set():
            raise PolicyFault("the conversation was released while it acted")
        return self._said(prompt_ids)

    def _said(self, prompt_ids: Sequence[int]) -> Sample:
        text = self._engine.script(str(self.renderer.tokenizer.decode(list(prompt_ids))))
        ids = self.renderer.action_ids(text)[: self._sampling.max_new_tokens]
        return Sample(
            text=self.renderer.text(ids),
            prompt_ids=tuple(prompt_ids),
            token_ids=tuple(ids),
            logprobs=(-0.5,) * len(ids),
            policy_version=self.version,
            finish_reason="stop" if ids[-1] == self.renderer.end_id else "length",
        )

    def release(self, conversation_id: str) -> None:
        """Record the release, and cancel the conversation's pending call."""
        self._engine.released.append(conversation_id)
        if conversation_id in self._engine.acting:
            self._engine.acting[conversation_id].set()


class ScriptedEngine:
    """Engine whose `script` maps the text of a prompt to a reply. While `free` is not set, calls wait."""

    lost = False

    def __init__(self, script: Callable[[str], str], *, template: str = HERMES, context: int = 4096) -> None:
        self.script, self.context = script, context
        self.renderer = ChatRenderer(byte_tokenizer(template))
        self.free = asyncio.Event()
        self.free.set()
        self.broken: str | None = None
        self.acting: dict[str, asyncio.Event] = {}
        self.asked: list[tuple[str, int]] = []
        """Conversation and seed of every call."""
        self.heard = asyncio.Event()
        """Set at every call."""
        self.released: list[str] = []
        self._version = 0

    def serve(self, sampling: Sampling) -> ScriptedPolicy:
        """A policy over the current script."""
        check_sampling(sampling)
        return ScriptedPolicy(self, self._version, sampling)

    async def asked_for(self, count: int) -> None:
        """Wait until this many calls have come, at most five seconds."""
        async with asyncio.timeout(5):
            while len(self.asked) < count:
                self.heard.clear()
                await self.heard.wait()

    def update(self, checkpoint: Checkpoint) -> None:
        """Increase the version."""
        self._version = checkpoint.version

    def close(self) -> None:
        """Do nothing."""


@asynccontextmanager
async def running(
    engine: TokenEngine,
    out: Path | None = None,
    settings: ServiceSettings | None = None,
    now: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[tuple[Service, httpx.AsyncClient]]:
    """An in-process service and a client of it; the service is shut down at exit."""
    chosen = settings or ServiceSettings()
    table = None if out is None else Table(out, chosen.run)
    service = Service(engine, Checkpoint(Path("scripted"), 0), table, chosen, now)
    transport = httpx.ASGITransport(App(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        yield service, client
        await service.abandon()


def save_tokenizer(folder: Path, template: str = HERMES) -> Path:
    """Folder that a scripted engine can be updated with: tokenizer, and an empty configuration."""
    byte_tokenizer(template).save_pretrained(folder)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder
