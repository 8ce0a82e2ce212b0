"""An application's service, HTTP and a socket; each file has an `app` of its own."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from support.server.local_socket import LocalSocket
from support.server.openenv import client

from agentgym_server.app import service_of
from agentgym_server.service import Service


@pytest.fixture
def service(app: FastAPI) -> Service:
    return service_of(app)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client(app) as http:
        yield http
    assert service_of(app).registry.capacity.taken == service_of(app).registry.active


@pytest.fixture
async def echo(app: FastAPI) -> AsyncIterator[LocalSocket]:
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        yield socket
