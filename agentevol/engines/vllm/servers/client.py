"""Client of one vLLM server: weight updates over HTTP, and verification of the server's weights.

The server's weights carry a mark, `stamp/nonce`: the stamp identifies the checkpoint, the nonce the load. A
restarted server says "default", a server that another client changed has a different mark. Both answer on
another connection than before, or under another mark; so whenever there is a new connection, the mark is
checked before the samples are accepted.
"""

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from transformers import PreTrainedModel

from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Sampling
from agentevol.engines.endpoint import Endpoint, Garbled, Refused
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.policy import Served
from agentevol.engines.vllm.servers import protocol
from agentevol.engines.vllm.weights import verification
from agentevol.engines.vllm.weights.output_embeddings import is_tied, untied
from agentevol.models.causal_lm import DTYPES, load_model

ACT_S = 280.0
"""Seconds for a request, waits included: a bit less than an episode waits for its policy."""
LOAD_S = 1800.0
MODE_FLAG = "--logprobs-mode processed_logprobs"
CERTAIN = 1e-4
"""Rounding of the log-probability of the only token that may be drawn, which is 0."""


class RemoteVllm:
    """Client's state of a server. `updates` says that its weights may be replaced by ours; `dtype` is its
    precision.
    """

    def __init__(self, endpoint: Endpoint, *, vocabulary: int, dtype: str, updates: bool) -> None:
        self.endpoint = endpoint
        self.context = 0
        """Maximum tokens of a conversation that the engine sends."""
        self.conversations: set[str] = set()
        self.up = False
        """True if the server was reachable and held our weights at the last contact."""
        self.mark = ""
        """Mark of the weights that the server was verified to sample with."""
        self._vocabulary, self._dtype, self._updates = vocabulary, dtype, updates
        self._facts = protocol.ServerFacts("", "", None)
        self._proven = 0  # number of connections at the last verification
        self._changing, self._proving = asyncio.Lock(), asyncio.Lock()

    async def window(self) -> int | None:
        """Maximum tokens of a conversation that the server accepts. Raises `ConfigError` and
        `EndpointFault`.
        """
        self._facts = await protocol.facts(self.endpoint)
        if self._updates:
            await protocol.weight_mark(self.endpoint)
        return self._facts.window

    async def complete(
        self,
        conversation_id: str,
        prompt_ids: Sequence[int],
        sampling: Sampling,
        seed: int,
        stop_ids: Sequence[int],
        **more: object,
    ) -> Sampled:
        """Sample a completion of a prompt. Raises `EndpointFault`."""
        body = protocol.completion(self._facts.model, prompt_ids, sampling, seed, stop_ids) | more
        headers = protocol.session(conversation_id)
        path = protocol.COMPLETIONS
        answer = await self.endpoint.send("POST", path, body, timeout_s=ACT_S, headers=headers)
        return protocol.sampled(answer, body, self._vocabulary)

    async def still_holds(self, mark: str) -> bool:
        """Return whether all answers under the mark `mark` came from those weights."""
        if not self._updates:
            return True
        async with self._proving:  # one check covers all answers that came in before it
            connections = self.endpoint.connected
            if self.mark == mark and connections != self._proven:
                if await protocol.weight_mark(self.endpoint) != mark:
                    return False
                self._proven = max(self._proven, connections)
        return self.mark == mark

    async def take_in(
        self, served: Served, model: PreTrainedModel | None = None, *, unless_after: str | None = None
    ) -> None:
        """Ensure that the server holds the served weights and samples with them; it is up from then on.

        `model` is the transformers model of the weights; None loads it. Nothing is done where the mark
        differs from `unless_after`: another task was faster. Raises `ConfigError` for a server that cannot be
        used, `EndpointFault` for one that does not answer, and `RunStopped` for one that samples with other
        weights.
        """
        async with self._changing:
            if unless_after is not None and self.mark != unless_after:
                return
            if model is None:
                model = await asyncio.to_thread(load_model, served.folder, "eager", DTYPES[self._dtype])
            self._facts = await protocol.facts(self.endpoint)
            if self._updates:
                await self._give(served, model)
            await self._check_mode()
            await self._check(served, model)
            self.up = True

    async def _give(self, served: Served, model: PreTrainedModel) -> None:
        """Have the server load the weights unless it holds them already: another of our processes may have
        loaded them.
        """
        stamp, connections = _stamp(served.folder), self.endpoint.connected
        mark = await protocol.weight_mark(self.endpoint)
        if not mark.startswith(f"{stamp}/") or await protocol.is_paused(self.endpoint):
            mark = f"{stamp}/{uuid4().hex[:12]}"
            await self._load(served, model, mark)
        self.mark, self._proven = mark, connections

    async def _load(self, served: Served, model: PreTrainedModel, mark: str) -> None:
        folder = served.folder
        with tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=".vllm-", ignore_cleanup_errors=True
        ) as beside:
            if is_tied(model) and _is_untied(self._facts.root):
                folder = await asyncio.to_thread(untied, folder, model, Path(beside) / folder.name)
            try:
                await protocol.load(self.endpoint, folder, mark, LOAD_S)
            except (Refused, Garbled) as cause:
                raise RunStopped(
                    f"{self.endpoint.url} did not load the weights of {served.name}: it has to see {folder}"
                    f" under that path, and to serve a model of that architecture ({cause})"
                ) from cause

    async def _check_mode(self) -> None:
        """Raise `RunStopped` unless the server returns log-probabilities of the distribution that it draws
        from.
        """
        prompt, count = self._probes()[0], verification.new_tokens(self.context)
        only = await self.complete("probe", prompt, Sampling(max_new_tokens=count), 0, (), top_k=1)
        is_certain = bool(only.logprobs) and all(abs(logprob) <= CERTAIN for logprob in only.logprobs)
        if not is_certain:
            raise RunStopped(
                f"{self.endpoint.url} tells other log-probabilities than those of the distribution that it"
                f" draws from, over {len(only.logprobs)} tokens: start it with {MODE_FLAG}"
            )

    async def _check(self, served: Served, model: PreTrainedModel) -> None:
        """Raise `RunStopped` unless the server samples with the log-probabilities of `model`."""
        begun, sampling = self._probes(), Sampling(max_new_tokens=verification.new_tokens(self.context))
        drawn = await asyncio.gather(
            *(self.complete(f"probe/{row}", prompt, sampling, row, ()) for row, prompt in enumerate(begun))
        )
        found = await asyncio.to_thread(verification.gap, model, begun, drawn)
        allowed = verification.TOLERANCES[self._dtype]
        if not found.largest <= allowed:
            raise RunStopped(
                f"{self.endpoint.url} does not sample with the weights of {served.name} (version"
                f" {served.version}): its log-probabilities differ from transformers' by {found},"
                f" rounding by at most {allowed:g}; {self._remedy(found.largest, model)}"
            )

    def _probes(self) -> list[list[int]]:
        """Prompts of the verification; a server with a smaller vocabulary than ours refuses them."""
        begun = verification.prompts(self._vocabulary, self.context)
        begun[0][0] = self._vocabulary - 1
        return begun

    def _remedy(self, gap: float, model: PreTrainedModel) -> str:
        """Likely cause of the difference, and its remedy."""
        if self._dtype == "float32" and gap <= max(verification.TOLERANCES.values()):
            return "start it with --dtype float32, or set engine.dtype to what it computes in"
        if not self._updates:
            return "start it with this checkpoint"
        if is_tied(model) and not _is_untied(self._facts.root):
            return (
                "vLLM on a CPU keeps output embeddings that are tied: start it with an untied copy, see"
                " docs/engines.md"
            )
        return "take engine.name=embedded, or another release of vLLM"


def _stamp(folder: Path) -> str:
    """Identifier of the weights in a folder, without reading them."""
    files = sorted(folder.glob("*.safetensors"))
    facts = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps([str(folder), facts]).encode()).hexdigest()[:16]


def _is_untied(root: str) -> bool:
    """Return whether the configuration in the server's start folder has separate output embeddings; false
    where we cannot read the folder.
    """
    try:
        config = json.loads((Path(root) / "config.json").read_text(encoding="utf-8"))
        return config.get("tie_word_embeddings") is False
    except (OSError, ValueError, AttributeError):
        return False
