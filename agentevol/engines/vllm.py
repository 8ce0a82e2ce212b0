"""The vLLM engine: vLLM's asynchronous engine behind the same seam as the embedded one.

A thread of its own runs the event loop that vLLM lives in; acts come in from any other loop, so that `update`
can block. Token ids go in and come out, nothing is decoded or encoded by vLLM. What conversations share, and
what they have read before, is found again in vLLM's prefix cache. Weights are reloaded from a checkpoint's
folder, and then compared with transformers (`probe`): an engine that samples with others stops the run.

vLLM computes in processes of its own, which end with this one (`watchdog`).
"""

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import torch
from transformers import PreTrainedModel

from agentevol.causal_lm import load_model, one_line
from agentevol.engines import probe
from agentevol.engines.limits import check_room, check_sampling, context_of
from agentevol.engines.loading import DTYPES, shapes, stop_ids
from agentevol.engines.overflow import prompt_of
from agentevol.engines.scheduler import Sampled
from agentevol.engines.untied import untied
from agentevol.engines.vllm_capability import Capabilities, capabilities
from agentevol.engines.watchdog import Watchdog, watching_children
from agentevol.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped, WeightsReplaced
from agentevol.protocols import Checkpoint, Conversation, Overflow, Sampling
from agentevol.rendering import ChatRenderer, load_tokenizer
from agentgym_store.records import Sample

CPU_BLOCK = 32
"""Tokens in a block of the prefix cache on a CPU. vLLM's own 128 there are more than most turns."""
CLOSE_S = 5.0
"""How long vLLM may take to end before its processes are killed."""
SETTINGS = {
    "VLLM_NO_USAGE_STATS": "1",  # nothing is reported to anyone
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # as many threads as OMP_NUM_THREADS says, wherever there is time
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork would hold open what tells the watchdog of our end
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # standard output is ours: `ready ...`, or JSON
}
"""What vLLM reads from the environment, unless it is set there already."""
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class Served:
    """One set of weights as the engine serves it."""

    renderer: ChatRenderer
    stop_ids: tuple[int, ...]
    version: int
    name: str
    folder: Path
    """What vLLM reads: the checkpoint, or its untied copy."""


@dataclass
class VllmCounts:
    """What the engine has done so far, besides probes."""

    read: int = 0
    """Tokens of prompts."""
    cached: int = 0
    """Of these, how many were in the prefix cache."""
    sampled: int = 0


@dataclass(frozen=True)
class Order:
    """What is asked of vLLM."""

    conversation_id: str
    prompt_ids: Sequence[int]
    sampling: Sampling
    seed: int
    served: Served


class OrderTaker(Protocol):
    """What a `VllmPolicy` asks: an engine in this process, or one that speaks to servers."""

    context: int
    overflow: Overflow

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample."""
        ...

    def release(self, conversation_id: str) -> None:
        """Forget a conversation."""
        ...


class VllmPolicy:
    """One frozen set of weights with its sampling. It ends with the next `update` of its engine."""

    def __init__(self, engine: OrderTaker, served: Served, sampling: Sampling) -> None:
        self._engine, self._served, self._sampling = engine, served, sampling
        self.name = served.name
        self.version = served.version

    @property
    def renderer(self) -> ChatRenderer:
        """Renders for the weights' tokenizer."""
        return self._served.renderer

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next turn. Raises `ContextFull` and `PolicyFault`; waits while the engine is full."""
        renderer, engine = self._served.renderer, self._engine
        prompt_ids = prompt_of(renderer, conversation, self._sampling, engine.context, engine.overflow)
        return await self.complete(conversation.id, prompt_ids, seed)

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """Sample what follows these ids; raises what `act` does."""
        check_room(len(prompt_ids), self._sampling, self._engine.context)
        order = Order(conversation_id, prompt_ids, self._sampling, seed, self._served)
        sampled = await asyncio.wrap_future(self._engine.submit(order))
        return Sample(
            text=self.renderer.text(sampled.token_ids),
            prompt_ids=tuple(prompt_ids),
            token_ids=sampled.token_ids,
            logprobs=sampled.logprobs,
            policy_version=self.version,
            finish_reason=sampled.finish_reason,
        )

    def release(self, conversation_id: str) -> None:
        """Abort what the conversation waits for. What the cache holds of it goes when room is needed."""
        self._engine.release(conversation_id)


class VllmEngine:
    """Serves what vLLM and transformers both know. Raises `ConfigError` where vLLM is missing, too old or
    cannot serve the checkpoint.

    `slots` conversations are sampled at a time. `context` bounds one in tokens; None: the model's own window,
    at most `limits.DEFAULT_CONTEXT`. `cache_gib` is the memory for keys and values; None is room for `slots`
    full conversations on a CPU, and what vLLM finds free on a GPU.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        slots: int = 64,
        context: int | None = None,
        dtype: str = "float32",
        cache_gib: float | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        overflow: Overflow = "truncate",
    ) -> None:
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        self._vllm = capabilities()
        self._dtype, self._chat_template_kwargs = dtype, chat_template_kwargs
        self.overflow: Overflow = overflow
        self._scratch = tempfile.TemporaryDirectory(prefix="agentevol-vllm-", ignore_cleanup_errors=True)
        self.counts = VllmCounts()
        self._numbers = self._copies = 0  # of requests; of checkpoints
        self._acting: dict[str, str] = {}  # conversation -> request
        self._over: str | None = None  # why nothing is served any more
        self.lost = False
        self._llm: Any = None
        self._watchdog: Watchdog | None = None
        self._loop = asyncio.new_event_loop()
        self._open, self._idle = asyncio.Event(), asyncio.Event()  # while no update; while nothing is sampled
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm-engine", daemon=True)
        self._thread.start()
        try:
            model, self._served = self._prepared(checkpoint)
            self._shapes = shapes(model)
            self.context = context_of(context, getattr(model.config, "max_position_embeddings", None))
            arguments = _arguments(
                self._vllm, self._served.folder, model, slots, self.context, dtype, cache_gib
            )
            self._call(self._start(arguments, model))
        except BaseException:
            self.close()
            raise

    def serve(self, sampling: Sampling) -> VllmPolicy:
        """A policy over the current weights. Raises `ConfigError` for a sampling out of range."""
        check_sampling(sampling)
        return VllmPolicy(self, self._served, sampling)

    def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights once the acts under way are through; blocks until then.

        Policies of the weights before raise `WeightsReplaced` from then on. Raises `ConfigError` for a folder
        that cannot be read or holds another architecture (the old weights stay), `PolicyFault` where the
        engine is over, and `RunStopped` where it does not sample with the new weights: then it is over.
        """
        model, fresh = self._prepared(checkpoint)
        if shapes(model) != self._shapes:
            raise ConfigError(
                f"the checkpoint {checkpoint.path} is of another architecture than {self._served.name}"
            )
        self._call(self._swap(fresh, model))

    def close(self) -> None:
        """End vLLM's processes and free memory; acts that wait raise `PolicyFault`. May be called twice."""
        self._over = self._over or "the engine is closed"
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        if self._watchdog is not None:
            self._watchdog.dismiss()
        self._scratch.cleanup()

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample. Cancelling the reply aborts it. Raises `PolicyFault` where the engine is over."""
        return self._schedule(self._sample(order))

    def release(self, conversation_id: str) -> None:
        """Abort what a conversation waits for; unknown ones are ignored."""
        if self._over is None and conversation_id in self._acting:
            self._schedule(self._abort(conversation_id))

    def _prepared(self, checkpoint: Checkpoint) -> tuple[PreTrainedModel, Served]:
        """The model as transformers reads it, and what is served of it. Raises `ConfigError`."""
        path = checkpoint.path
        if self._dtype not in DTYPES:
            raise ConfigError(f"no dtype named {self._dtype!r}; there are: {', '.join(DTYPES)}")
        model = load_model(path, "eager", DTYPES[self._dtype])
        renderer = ChatRenderer(load_tokenizer(path), self._chat_template_kwargs)
        self._copies += 1
        folder = untied(path.absolute(), model, Path(self._scratch.name) / str(self._copies) / path.name)
        ends = tuple(sorted(stop_ids(path, renderer)))
        return model, Served(renderer, ends, checkpoint.version, path.name, folder)

    def _schedule(self, work: Coroutine[Any, Any, ResultT]) -> "Future[ResultT]":
        """Have the engine's loop run `work`."""
        if self._over is not None:
            work.close()
            raise PolicyFault(self._over)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        return self._schedule(work).result()

    # From here on: the engine's loop only.

    async def _start(self, arguments: Any, model: PreTrainedModel) -> None:
        self._watchdog = Watchdog()
        try:
            with watching_children(self._watchdog):
                self._llm = self._vllm.AsyncLLM.from_engine_args(arguments)
        except Exception as cause:  # vLLM raises whatever it finds wrong with model or machine
            raise ConfigError(
                f"vLLM cannot serve {self._served.name}: {one_line(cause)}; what its processes printed before"
                " says more"
            ) from cause
        try:
            await self._check(model)
        except PolicyFault as cause:
            raise ConfigError(
                f"vLLM cannot serve {self._served.name}: it failed at the first tokens ({cause}); what its"
                " processes printed before says why"
            ) from cause
        except RunStopped as cause:  # before there is anything to stop
            raise ConfigError(str(cause)) from cause
        self._idle.set()
        self._open.set()

    async def _sample(self, order: Order) -> Sampled:
        while not self._open.is_set():  # once it was, another update may have come first
            await self._open.wait()
        if self._over is not None:
            raise PolicyFault(self._over)
        if order.served is not self._served:
            version = self._served.version
            raise WeightsReplaced(f"the weights were replaced by version {version}: serve a policy of those")
        if order.conversation_id in self._acting:
            raise PolicyFault(f"the conversation {order.conversation_id} acts twice at once")
        self._numbers += 1
        request_id = self._acting[order.conversation_id] = f"{order.conversation_id}/{self._numbers}"
        self._idle.clear()
        try:
            return await self._generated(request_id, order.prompt_ids, _parameters(self._vllm, order))
        finally:
            del self._acting[order.conversation_id]
            if not self._acting:
                self._idle.set()

    async def _generated(
        self, request_id: str, prompt_ids: Sequence[int], parameters: Any, *, counted: bool = True
    ) -> Sampled:
        """What vLLM samples. Raises `PolicyFault` where it was aborted or vLLM failed."""
        prompt = self._vllm.tokens_input(list(prompt_ids))
        output = None
        try:
            async for latest in self._llm.generate(prompt, parameters, request_id):
                output = latest  # the last one is the whole
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        except Exception as cause:  # whatever vLLM could not do is the engine's failure
            raise PolicyFault(f"vLLM: {one_line(cause)}") from cause
        sampled = _sampled(output)
        if sampled is None:
            raise PolicyFault(self._over or "the conversation was released while it acted")
        if counted and output is not None:
            self.counts.read += len(prompt_ids)
            self.counts.cached += output.num_cached_tokens or 0
            self.counts.sampled += len(sampled.token_ids)
        return sampled

    async def _abort(self, conversation_id: str) -> None:
        request_id = self._acting.get(conversation_id)
        if request_id is not None:
            await self._llm.abort(request_id)

    async def _swap(self, fresh: Served, model: PreTrainedModel) -> None:
        if not self._open.is_set():
            raise PolicyFault("another update of the weights is under way")
        self._open.clear()
        try:
            await self._idle.wait()
            await self._reload(fresh, model)
        finally:
            self._open.set()

    async def _reload(self, fresh: Served, model: PreTrainedModel) -> None:
        """Read the weights, forget what the old ones made of tokens, and see whether they are in place."""
        try:
            await self._llm.collective_rpc("reload_weights", kwargs={"weights_path": str(fresh.folder)})
            if await self._llm.reset_prefix_cache() is False:
                raise RuntimeError("its prefix cache still holds keys and values of the old weights")
            before, self._served = self._served, fresh
            await self._check(model)
            self._forget(before)
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        except AgentEvolError as cause:
            self._over = str(cause)
            raise
        except Exception as cause:
            self._over = f"vLLM did not take the weights of {fresh.name}: {one_line(cause)}"
            raise RunStopped(self._over) from cause

    def _forget(self, served: Served) -> None:
        """Delete the copy of weights that are served no more."""
        if served.folder.is_relative_to(self._scratch.name):
            shutil.rmtree(served.folder.parent, ignore_errors=True)

    async def _check(self, model: PreTrainedModel) -> None:
        """Raise `RunStopped` unless vLLM samples with the log-probabilities of `model`."""
        served = self._served
        begun = probe.prompts(vocabulary_size(model), self.context)
        parameters = [
            _probe_parameters(self._vllm, seed, probe.new_tokens(self.context)) for seed in range(len(begun))
        ]
        sampled = await asyncio.gather(
            *(
                self._generated(f"probe/{served.version}/{row}", prompt, parameters[row], counted=False)
                for row, prompt in enumerate(begun)
            )
        )
        found, allowed = probe.gap(model, begun, sampled), probe.TOLERANCES[self._dtype]
        if not found <= allowed:
            raise RunStopped(
                f"vLLM does not sample with the weights of {served.name} (version {served.version}): its"
                f" log-probabilities differ from transformers' by {found:.2g}, rounding by at most"
                f" {allowed:g}; take engine.name=embedded, or another release of vLLM"
            )

    def _died(self) -> PolicyFault:
        self.lost, self._over = True, "vLLM's process died, start another engine"
        return PolicyFault(self._over)

    async def _end(self) -> None:
        """Shut vLLM down, which answers what waits."""
        self._open.set()
        if self._llm is not None:
            for request_id in list(self._acting.values()):
                await self._llm.abort(request_id)
            llm, self._llm = self._llm, None
            llm.shutdown(timeout=CLOSE_S)
        await asyncio.sleep(0)
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _arguments(
    vllm: Capabilities,
    folder: Path,
    model: PreTrainedModel,
    slots: int,
    context: int,
    dtype: str,
    cache_gib: float | None,
) -> Any:
    """How vLLM is started."""
    if slots < 1:
        raise ConfigError(f"slots must be at least 1, not {slots}")
    cache_bytes = None if cache_gib is None else int(cache_gib * 2**30)
    if cache_bytes is None and vllm.on_cpu:
        cache_bytes = slots * _cache_bytes(model, context)
    return vllm.AsyncEngineArgs(
        model=str(folder),
        skip_tokenizer_init=True,
        dtype=dtype,
        seed=0,  # requests have their own
        load_format="safetensors",
        max_model_len=context,
        max_num_seqs=slots,
        block_size=CPU_BLOCK if vllm.on_cpu else None,
        enable_prefix_caching=True,
        # its CPU build dies of a prompt in pieces that has a seed: `CPU Generator does not use offset`
        enable_chunked_prefill=False if vllm.on_cpu else None,
        enforce_eager=vllm.on_cpu,  # compiling takes longer there than it saves
        generation_config="vllm",  # not the checkpoint's: what is sampled is what was asked for
        kv_cache_memory_bytes=cache_bytes,
        logprobs_mode="processed_logprobs",  # of the distribution that was drawn from
        disable_log_stats=True,
    )


def _cache_bytes(model: PreTrainedModel, context: int) -> int:
    """Keys and values of a full conversation, in whole blocks."""
    config: Any = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    token_bytes = 2 * config.num_hidden_layers * heads * size * model.dtype.itemsize
    return (context // CPU_BLOCK + 2) * CPU_BLOCK * token_bytes


def vocabulary_size(model: PreTrainedModel) -> int:
    """How many tokens the model can read."""
    return cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings


def _parameters(vllm: Capabilities, order: Order) -> Any:
    sampling = order.sampling
    return vllm.SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_new_tokens,
        seed=order.seed & (2**63 - 1),
        logprobs=0,  # of the sampled token alone
        stop_token_ids=list(order.served.stop_ids),
        detokenize=False,
        output_kind=vllm.RequestOutputKind.FINAL_ONLY,
    )


def _probe_parameters(vllm: Capabilities, seed: int, count: int) -> Any:
    return vllm.SamplingParams(
        temperature=1.0,
        max_tokens=count,
        seed=seed,
        logprobs=0,
        ignore_eos=True,
        detokenize=False,
        output_kind=vllm.RequestOutputKind.FINAL_ONLY,
    )


def _sampled(output: Any) -> Sampled | None:
    """Ids and log-probabilities of a finished request; None for one that was aborted."""
    said = output.outputs[0] if output is not None and output.outputs else None
    if said is None or said.finish_reason not in ("stop", "length"):
        return None
    ids = tuple(int(token) for token in said.token_ids)
    logprobs = tuple(float(step[token].logprob) for step, token in zip(said.logprobs, ids, strict=True))
    return Sampled(ids, logprobs, said.finish_reason)
