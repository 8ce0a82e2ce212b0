"""Health poller of the servers, which keeps the fleet up to date."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any, cast

from agentgym_server.gateway.backends.discovery import Source
from agentgym_server.gateway.backends.fleet import Backend, Fleet
from agentgym_server.gateway.backends.upstream import Lost, Undelivered, Upstream
from agentgym_server.gateway.routing import Request
from agentgym_server.wire import strict_json

log = logging.getLogger(__name__)

POLL_S = 1.0
POLL_TIMEOUT_S = 2.0
LOOK_TIMEOUT_S = 0.5
MISSES = 5
"""Consecutive polls without a response after which a server counts as dead."""


class Post:
    """One address, and the server that was last seen there."""

    def __init__(self, name: str, url: str) -> None:
        self.name, self.url = name, url
        self.backend: Backend | None = None
        self.misses = 0
        self.complaint = ""
        """Last error, so that the log has it once."""

    @property
    def up(self) -> bool:
        """True if a server responds here."""
        return self.backend is not None and not self.backend.lost

    @property
    def fallen(self) -> bool:
        """True if a server responded here and does no more."""
        return self.backend is not None and self.backend.lost


class HealthPoller:
    """Poller of the servers of all sources."""

    def __init__(
        self, fleet: Fleet, upstream: Upstream, sources: Sequence[Source], token: str | None
    ) -> None:
        """`token`: the token of the gateway itself at the servers."""
        self._fleet, self._upstream = fleet, upstream
        self._sources = {source: dict[str, Post]() for source in sources}
        self._headers = () if token is None else ((b"authorization", b"Bearer " + token.encode()),)
        self._loops: list[asyncio.Task[None]] = []
        self._checks: dict[Backend, asyncio.Task[None]] = {}
        self._awaited = set(sources)
        self._refreshing: asyncio.Task[None] | None = None
        self.complete = asyncio.Event()
        """Set once every source has had a server that responded."""

    @property
    def whole(self) -> bool:
        """True if every source has a server, and none is down."""
        return all(
            any(post.up for post in posts.values()) and not any(post.fallen for post in posts.values())
            for posts in self._sources.values()
        )

    def standing(self) -> dict[str, int]:
        """Number of servers that respond, by configured name."""
        standing: dict[str, int] = {}
        for source, posts in self._sources.items():
            standing[source.name] = standing.get(source.name, 0) + sum(post.up for post in posts.values())
        return standing

    def start(self) -> None:
        """Start to poll."""
        self._loops = [asyncio.create_task(self._follow(source)) for source in self._sources]

    async def close(self) -> None:
        """Stop polling."""
        tasks = [*self._loops, *self._checks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def refresh(self) -> None:
        """Poll all servers now; concurrent callers share the result."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())
        await asyncio.shield(self._refreshing)

    async def look(self, env: str) -> None:
        """Poll the servers of an environment now; slow ones are not waited for."""
        posts = [
            post
            for posts in self._sources.values()
            for post in posts.values()
            if post.up and post.backend is not None and env in post.backend.entries
        ]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                await asyncio.gather(*(self._look(post) for post in posts))

    async def confirm(self, backend: Backend) -> bool:
        """Poll a server that gave no reply; True if it still responds."""
        if backend.lost:
            return False
        check = self._checks.get(backend)
        if check is None:
            post = next(
                post for posts in self._sources.values() for post in posts.values() if post.backend is backend
            )
            check = self._checks[backend] = asyncio.create_task(self._look(post))
            check.add_done_callback(lambda _: self._checks.pop(backend, None))
        await asyncio.shield(check)
        return not backend.lost

    async def update(self, source: Source) -> None:
        """Resolve the addresses of a source, and poll each."""
        posts = self._sources[source]
        urls = await source.urls()
        if urls is not None:
            for url in urls:
                posts.setdefault(url, Post(source.name, url))
            # A server that responds but is no longer listed is about to stop; its sessions go on until then.
            for url in [url for url, post in posts.items() if url not in urls and not post.up]:
                del posts[url]
        await asyncio.gather(*(self._look(post) for post in posts.values()))
        if any(post.up for post in posts.values()):
            self._awaited.discard(source)
        if not self._awaited and not self.complete.is_set():
            self._fleet.complete = True
            self.complete.set()

    async def _follow(self, source: Source) -> None:
        while True:
            try:
                await self.update(source)
            except Exception:  # polling continues, whatever a server answers
                log.exception("cannot follow %s", source.name)
            await asyncio.sleep(POLL_S)

    async def _refresh(self) -> None:
        posts = [post for posts in self._sources.values() for post in posts.values()]
        await asyncio.gather(*(self._look(post) for post in posts))

    async def _look(self, post: Post) -> None:
        """Poll one server."""
        before = post.backend.begun if post.backend is not None else 0
        try:
            async with asyncio.timeout(POLL_TIMEOUT_S):
                health = await self._asked(post, "/health")
                tag = str(health.get("instance", ""))
                if not (post.up and post.backend is not None and post.backend.tag == tag):
                    await self._meet(post, tag)
        except Undelivered as cause:
            self._missed(post, definite=cause.refused)
        except (Lost, TimeoutError):
            self._missed(post, definite=False)
        else:
            if post.up and post.backend is not None and post.backend.tag == tag:
                post.misses = 0
                post.backend.begun = max(0, post.backend.begun - before)
                post.backend.health = health

    async def _meet(self, post: Post, tag: str) -> None:
        """Handle a server with a new tag, which may be a restarted one."""
        if post.up and post.backend is not None:
            self._fleet.lose(post.backend)
        if not tag:
            self._complain(post, "does not say its instance; has it another token?")
            return
        entries = (await self._asked(post, "/envs")).get("envs")
        holder = self._fleet.tagged(tag)
        if holder is not None:
            if holder.name != post.name:  # else: one server under two addresses, as `localhost` has
                self._complain(post, f"has the instance of {holder.name}; restart it")
            return
        post.backend = Backend(post.name, post.url, tag, cast("list[dict[str, Any]]", entries))
        self._fleet.add(post.backend)

    async def _asked(self, post: Post, path: str) -> dict[str, Any]:
        """The JSON object that a server returns, with any status; raises `Undelivered` or `Lost`."""
        request = Request("GET", path, path, b"", self._headers)
        try:
            value = strict_json.parse((await self._upstream.send(post.url, request)).body)
        except strict_json.InvalidJson:
            value = None
        if not isinstance(value, dict):
            self._complain(post, f"answers {path} with what is no JSON object; is it a server of agentevol?")
            raise Lost(path)
        return cast("dict[str, Any]", value)

    def _missed(self, post: Post, definite: bool) -> None:
        post.misses += 1
        if post.up and post.backend is not None and (definite or post.misses >= MISSES):
            if not self._fleet.draining:
                self._complain(post, "is gone" if definite else "no longer answers")
            self._fleet.lose(post.backend)

    def _complain(self, post: Post, text: str) -> None:
        if post.complaint != text:
            post.complaint = text
            log.warning("%s at %s %s", post.name, post.url, text)
