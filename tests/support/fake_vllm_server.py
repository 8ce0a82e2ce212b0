"""Fake vLLM server backed by transformers, with faults that tests switch on."""

import asyncio
import json
import threading
from collections import Counter, deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import torch
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from agentevol.models.causal_lm import load_model

ACTION_TOKENS = 6
"""Maximum tokens that tests sample: other requests are the probe's."""


@cache
def model_in(folder: Path) -> Any:
    """Model of a checkpoint, loaded once."""
    return load_model(folder, "eager")


class FakeServer:
    """Answers of a vLLM server, computed by a transformers model; also a transport of httpx."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = {
            "mode": "processed_logprobs",
            "dev": True,
            "key": None,
            "version": "0.32.0",
            "window": 256,
            "blind": False,  # does not see our folders
            "deaf": False,  # reports a weight update that it did not make
            "sticky": 0,  # number of failed attempts to empty the prefix cache
            "noise": 0.0,
        } | settings
        self.canned: deque[Callable[[], Any]] = deque()
        """Answers, or exceptions, in place of samples."""
        self.spoil: Callable[[dict[str, Any]], object] = lambda choice: None
        self.asked: list[tuple[dict[str, Any], httpx.Headers]] = []
        self.calls: Counter[str] = Counter()
        self.loaded: list[str] = []
        self.down = False
        self.refusals = 0
        """Number of requests that fail to connect."""
        self.meddlers = 0
        """Number of requests before which a third party changes the weights."""
        self.start()
        self._app = httpx.ASGITransport(self._routes(), raise_app_exceptions=False)

    def start(self) -> None:
        """Reset to the state of a new process; clients have to reconnect."""
        self.model = model_in(self.folder)
        self.mark, self.new_connection = "default", True
        self.running = threading.Event()
        self.running.set()

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        server = self

        class Wire(httpx.AsyncBaseTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                if server.down or server.refusals:
                    server.refusals = max(0, server.refusals - 1)
                    raise httpx.ConnectError("All connection attempts failed")
                if server.meddlers and b'"max_tokens":%d,' % ACTION_TOKENS in request.content:
                    server.meddlers -= 1
                    server.mark, server.new_connection = "somebody else's", True
                if server.new_connection:
                    server.new_connection = False
                    await request.extensions["trace"]("connection.connect_tcp.complete", {})
                return await server._app.handle_async_request(request)

        return Wire()

    def _routes(self) -> FastAPI:
        app = FastAPI()
        app.middleware("http")(self.guard)
        app.get("/version")(lambda: {"version": self.settings["version"]})
        app.get("/v1/models")(self.models)
        app.post("/v1/completions")(self.completions)
        if self.settings["dev"]:
            app.get("/weight_info")(lambda: {"weight_version": self.mark})
            app.get("/is_paused")(lambda: {"is_paused": not self.running.is_set()})
            app.post("/pause")(self.pause)
            app.post("/resume")(self.resume)
            app.post("/reset_prefix_cache")(self.reset_prefix_cache)
            app.post("/update_weight_version")(self.update_weight_version)
            app.post("/collective_rpc")(self.collective_rpc)
        return app

    async def guard(self, request: Request, call_next: Any) -> Any:
        self.calls[request.url.path] += 1
        key, given = self.settings["key"], request.headers.get("authorization")
        if key and request.url.path.startswith("/v1") and given != f"Bearer {key}":
            return JSONResponse({"error": "Unauthorized"}, 401)
        return await call_next(request)

    def models(self) -> Any:
        card = {"id": "served", "root": str(self.folder), "parent": None}
        return {"data": [card | {"max_model_len": self.settings["window"]}, *self.settings.get("more", [])]}

    async def completions(self, request: Request) -> Any:
        body = await request.json()
        self.asked.append((body, httpx.Headers(request.headers.raw)))
        if self.canned and body["max_tokens"] == ACTION_TOKENS:  # not for the probe
            return self.canned.popleft()()
        while not self.running.is_set():  # noqa: ASYNC110 - it is set by another thread
            await asyncio.sleep(0.01)
        if max(body["prompt"]) >= self.model.config.vocab_size:
            return JSONResponse({"error": {"message": "Token id is out of vocabulary", "code": 400}}, 400)
        choice = self.sample(body)
        self.spoil(choice)
        return Response(json.dumps({"choices": [choice]}), media_type="application/json")

    async def pause(self, mode: str) -> Any:
        assert mode == "wait"
        self.running.clear()

    async def resume(self) -> Any:
        self.running.set()

    def reset_prefix_cache(self) -> Any:
        self.settings["sticky"] -= 1
        return {"success": self.settings["sticky"] < 0}

    async def update_weight_version(self, request: Request) -> Any:
        self.mark = (await request.json())["new_version"]
        return {"success": True}

    async def collective_rpc(self, request: Request) -> Any:
        body = await request.json()
        assert body["method"] == "reload_weights"
        assert not self.running.is_set()
        path = Path(body["kwargs"]["weights_path"])
        if self.settings["blind"]:
            return JSONResponse({"detail": f"no such folder: {path}"}, 500)
        self.loaded.append(str(path))
        if not self.settings["deaf"]:
            self.model = model_in(path)
        return {"results": [None]}

    def sample(self, body: dict[str, Any]) -> dict[str, Any]:
        ids, said, logprobs = list(body["prompt"]), [], []
        generator = torch.Generator().manual_seed(body["seed"] % 2**31)
        while len(said) < body["max_tokens"] and not (said and said[-1] in body["stop_token_ids"]):
            with torch.inference_mode():
                logits = self.model(torch.tensor([ids])).logits[0, -1].float()
            raw = logits.log_softmax(-1)
            logp = processed(logits, body)
            token = int(torch.multinomial(logp.exp(), 1, generator=generator)) if body["temperature"] else 0
            token = token if body["temperature"] else int(raw.argmax())
            told = logp if self.settings["mode"] == "processed_logprobs" else raw
            said.append(token)
            ids.append(token)
            logprobs.append(told[token].item() - self.settings["noise"] * (body["top_k"] != 1))
        return {
            "index": 0,
            "text": "",
            "finish_reason": "stop" if said[-1] in body["stop_token_ids"] else "length",
            "token_ids": said,
            "prompt_token_ids": body["prompt"],
            "logprobs": {"tokens": [f"token_id:{token}" for token in said], "token_logprobs": logprobs},
        }


def processed(logits: torch.Tensor, body: dict[str, Any]) -> torch.Tensor:
    """Log-probabilities after temperature, top-k and nucleus."""
    logits = logits / (body["temperature"] or 1.0)
    if body["top_k"]:
        logits = logits.masked_fill(logits < logits.topk(body["top_k"]).values[-1], -torch.inf)
    ordered, order = logits.log_softmax(-1).exp().sort(descending=True)
    out = order[ordered.cumsum(-1) - ordered >= body["top_p"]]
    return logits.index_fill(0, out, -torch.inf).log_softmax(-1)
