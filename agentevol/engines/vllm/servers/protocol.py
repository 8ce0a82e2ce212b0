"""HTTP protocol of vLLM servers: requests, and validation of the answers.

    POST /v1/completions {"prompt": [5, 22, 39], "max_tokens": 4, "seed": 7, "logprobs": 0, ...}
    {"choices": [{"token_ids": [12, 3], "prompt_token_ids": [5, 22, 39], "finish_reason": "stop",
                  "logprobs": {"tokens": ["token_id:12", "token_id:3"], "token_logprobs": [-0.25, -1.5]}}]}

This route is open on every server. `/inference/v1/generate`, which is made for tokens, has the same numbers
and is off unless a server was started with --enable-scale-out.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from agentevol.config.sections.engine import VllmServersConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Sampling
from agentevol.engines.endpoint import Endpoint, EndpointFault, Garbled, Refused, key_from
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.capabilities import OLDEST, is_recent

COMPLETIONS = "/v1/completions"
SHORT_S = 60.0
"""Timeout of requests that a server answers at once."""
SESSION_HEADER = "X-Session-ID"
"""Header by which vLLM and routers before it identify requests of one conversation."""
DEV_MODE = "start it with the environment variable VLLM_SERVER_DEV_MODE=1"
RESETS = 5
RESET_S = 0.1
"""Pause after the first attempt to empty the prefix cache; it doubles from one to the next."""
ROUNDING = 1e-3
"""Rounding by which a log-probability may exceed 0."""


@dataclass(frozen=True)
class ServerFacts:
    """A server's description of itself."""

    model: str
    """Name of the model in requests."""
    root: str
    """Model that the server was started with: a folder or the name of a repository."""
    window: int | None
    """Maximum tokens of a conversation."""


async def facts(endpoint: Endpoint) -> ServerFacts:
    """Request the server's description. Raises `ConfigError` for a server that is not vLLM's, too old, or
    serves several models.
    """
    try:
        version = (await endpoint.send("GET", "/version", timeout_s=SHORT_S))["version"]
        cards = (await endpoint.send("GET", "/v1/models", timeout_s=SHORT_S))["data"]
        served = [card for card in cards if not card.get("parent")]  # the others are adapters
        card = served[0]
        found = ServerFacts(str(card["id"]), str(card.get("root") or card["id"]), card.get("max_model_len"))
        roots = {card.get("root") for card in served}
    except Refused as cause:
        raise ConfigError(_hint(cause)) from cause
    except (Garbled, KeyError, IndexError, TypeError, AttributeError) as cause:
        raise ConfigError(f"{endpoint.url} does not answer as a vLLM server does: {cause!r}") from cause
    if not is_recent(str(version)):
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(f"{endpoint.url} is vLLM {version}: it has to be {oldest} or newer")
    if len(roots) > 1:
        raise ConfigError(f"{endpoint.url} serves {len(roots)} models: it has to be the checkpoint alone")
    return found


def _hint(refused: Refused) -> str:
    if refused.status in (401, 403):
        return f"{refused}; engine.api_key_env names the environment variable that holds it"
    if refused.status == 404:
        return f"{refused}; engine.url is to be that of a vLLM server, without /v1"
    return str(refused)


def session(conversation_id: str) -> dict[str, str]:
    """Header that routes a conversation to its first server; ids are encoded, as they may hold characters
    that a header cannot.
    """
    return {SESSION_HEADER: blake2b(conversation_id.encode(), digest_size=12).hexdigest()}


def completion(
    model: str, prompt_ids: Sequence[int], sampling: Sampling, seed: int, stop_ids: Sequence[int]
) -> dict[str, Any]:
    """Body of a request. Every option for which a server may have a default is given: the request alone
    determines the sampling.
    """
    return {
        "model": model,
        "prompt": list(prompt_ids),
        "max_tokens": sampling.max_new_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": 0,  # all
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "seed": seed & (2**63 - 1),
        "stop_token_ids": list(stop_ids),
        "ignore_eos": True,  # only the stop tokens end an action, whichever end token the server assumes
        "logprobs": 0,  # of the sampled token alone
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
    }


def sampled(answer: Any, asked: dict[str, Any], vocabulary: int) -> Sampled:
    """Ids and log-probabilities of an answer to the body `asked`. Raises `Garbled` for an answer that is not
    complete, exact and finite.
    """
    try:
        (choice,) = answer["choices"]
        ids, read = choice["token_ids"], choice["prompt_token_ids"]
        names, logprobs = choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"]
        finish = choice["finish_reason"]
        problem = _problem(ids, names, logprobs, finish, asked, vocabulary)
        if read != asked["prompt"]:
            problem = "it did not read the tokens that it was given"
    except (KeyError, TypeError, ValueError) as cause:
        raise Garbled(f"the server's answer is no completion with tokens: {cause!r}") from cause
    if problem:
        raise Garbled(f"the server's answer cannot be used: {problem}")
    return Sampled(tuple(ids), tuple(map(float, logprobs)), finish)


def _problem(
    ids: list[Any], names: list[Any], logprobs: list[Any], finish: object, asked: Any, vocabulary: int
) -> str:
    """Description of an answer's error; "" for none."""
    longest, stops = asked["max_tokens"], asked["stop_token_ids"]
    if finish not in ("stop", "length"):
        return f"sampling ended by {finish!r}"
    if not len(ids) == len(names) == len(logprobs):
        return f"{len(ids)} tokens with {len(logprobs)} log-probabilities"
    if not all(isinstance(token, int) and 0 <= token < vocabulary for token in ids):
        return f"a token that is not among the {vocabulary} of the checkpoint"
    if names != [f"token_id:{token}" for token in ids]:
        return "log-probabilities of other tokens"
    if not all(_is_logprob(value) for value in logprobs):
        return "an invalid log-probability"
    if finish == "length":
        return "" if len(ids) == longest else f"{len(ids)} tokens where {longest} were asked for"
    return (
        "" if 0 < len(ids) <= longest and ids[-1] in stops else "it stopped at no token that ends an action"
    )


def _is_logprob(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and -9999 < value <= ROUNDING


async def weight_mark(endpoint: Endpoint) -> str:
    """Label of the weights that a server holds; a new server says "default". Raises `ConfigError` for a
    server whose weights cannot be changed.
    """
    try:
        return str((await endpoint.send("GET", "/weight_info", timeout_s=SHORT_S))["weight_version"])
    except Refused as cause:
        if cause.status in (403, 404, 405):
            raise ConfigError(
                f"{endpoint.url} does not let its weights be updated, as a run has to: {DEV_MODE}"
            ) from cause
        raise
    except (KeyError, TypeError) as cause:
        raise Garbled(f"{endpoint.url} does not say which weights it holds: {cause!r}") from cause


async def is_paused(endpoint: Endpoint) -> bool:
    """Return whether a client has paused the server to change its weights."""
    try:
        return bool((await endpoint.send("GET", "/is_paused", timeout_s=SHORT_S))["is_paused"])
    except (KeyError, TypeError) as cause:
        raise Garbled(f"{endpoint.url} does not say whether it is paused: {cause!r}") from cause


async def load(endpoint: Endpoint, folder: Path, mark: str, timeout_s: float) -> None:
    """Have a server load its weights from a folder, clear the cache of the old ones, and label the new ones.

    Samples under way are completed before. Raises `EndpointFault`.
    """
    order = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
    try:
        await endpoint.send("POST", "/pause?mode=wait", timeout_s=timeout_s)
        await endpoint.send("POST", "/collective_rpc", order, timeout_s=timeout_s)
        await _forget_keys(endpoint, timeout_s)
        await endpoint.send("POST", "/update_weight_version", {"new_version": mark}, timeout_s=timeout_s)
    finally:
        await endpoint.send("POST", "/resume", timeout_s=timeout_s)


async def _forget_keys(endpoint: Endpoint, timeout_s: float) -> None:
    """Empty the prefix cache. It fails while anything is sampled: another client may have resumed the
    server.
    """
    for attempt in range(RESETS):
        reset = await endpoint.send("POST", "/reset_prefix_cache", timeout_s=timeout_s)
        if isinstance(reset, dict) and reset.get("success") is True:
            return
        await asyncio.sleep(RESET_S * 2**attempt)
        await endpoint.send("POST", "/pause?mode=wait", timeout_s=timeout_s)
    raise Garbled(f"{endpoint.url}: its prefix cache still holds keys and values of the old weights")


def check_servers(config: VllmServersConfig) -> None:
    """Raise `ConfigError` unless a server that supports the run answers at each URL; does not wait for
    one.
    """
    key = key_from(config.api_key_env)

    async def check(url: str) -> None:
        endpoint = Endpoint(url, key, patience_s=0.0)
        try:
            await facts(endpoint)
            await weight_mark(endpoint)
        except EndpointFault as cause:
            raise ConfigError(f"engine.url: {cause}") from cause
        finally:
            await endpoint.close()

    async def check_all() -> None:
        await asyncio.gather(*map(check, config.urls))

    asyncio.run(check_all())
