"""Compose file made from the registry: a gateway called `envs`, and a server for each environment.

Servers and gateway share an internal network without access to the outside. The port of the gateway is
published on loopback, where no token is needed; any other address requires a token.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from agentgym_envs.registry import EXTRAS, PACKAGES, PLAIN, REGISTRY

HEADER = """\
# One address for all environments: docker compose up envs
# Made by `agentevol envs compose --output compose.yaml`. What may be set is in docs/deployment.md.
"""
PORT = 8000
HOME = "/var/lib/agentevol"
NETWORK = "servers"
VOLUME = "home"
TOKENS = ("AGENTEVOL_TOKEN", "AGENTEVOL_TRAINER_TOKEN", "AGENTEVOL_AGENT_TOKEN")
HEALTH = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{PORT}/ready', timeout=4)"
"""Health check that fails while a server accepts no sessions. An image has no curl, and our CLI loads
slower.
"""
SERVER_MEMORY, GATEWAY_MEMORY = "${AGENTEVOL_MEMORY:-2g}", "512m"
GRACE_S = 30


def text() -> str:
    """The Compose file as YAML."""
    return HEADER + yaml.dump(document(), Dumper=_Plain, sort_keys=False, width=110)


def document() -> dict[str, Any]:
    """The Compose file as a value."""
    names = sorted(REGISTRY)
    return {
        "name": "agentevol",
        "services": {"envs": gateway(names), **{name: server(name) for name in names}},
        "networks": {NETWORK: {"internal": True}, "outside": {}},
        "volumes": {VOLUME: {}},
    }


def gateway(names: list[str]) -> dict[str, Any]:
    """Compose service of the gateway."""
    backends = [word for name in names for word in ("--backend", f"{name}=http://{name}:{PORT}")]
    return {
        **_hardened("server", GATEWAY_MEMORY),
        "command": [
            *("agentevol", "envs", "gateway", "--host", "0.0.0.0", "--port", str(PORT)),
            *("--published", "${AGENTEVOL_ADDRESS:-127.0.0.1}", *backends),
        ],
        "ports": [f"${{AGENTEVOL_ADDRESS:-127.0.0.1}}:${{AGENTEVOL_PORT:-{PORT}}}:{PORT}"],
        "networks": [NETWORK, "outside"],
        "depends_on": {name: {"condition": "service_healthy"} for name in names},
    }


def server(name: str) -> dict[str, Any]:
    """Compose service of one environment."""
    further = {"PLAIN": PLAIN.get(name), "PACKAGES": PACKAGES.get(name)}
    return {
        **_hardened(EXTRAS.get(name, "server"), SERVER_MEMORY, further),
        "command": [
            *("agentevol", "envs", "serve", name, "--host", "0.0.0.0", "--port", str(PORT)),
            "--insecure-no-auth",  # open to all on this network, unless there is a token
        ],
        "volumes": [f"${{AGENTEVOL_HOME:-{VOLUME}}}:{HOME}:ro"],
        "networks": [NETWORK],
    }


def _hardened(extra: str, memory: str, further: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """Base and hardening options that all services share; `further` are arguments of the build, if any."""
    arguments = {"EXTRA": extra, **{name: value for name, value in (further or {}).items() if value}}
    return {
        "build": {"context": ".", "dockerfile": "docker/Dockerfile", "args": arguments},
        # Without a value: the variable is passed on if it is set where Compose runs.
        "environment": dict.fromkeys(TOKENS),
        "user": "10001:10001",
        "read_only": True,
        "tmpfs": ["/tmp"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": memory,
        "pids_limit": 256,
        "init": True,
        "restart": "unless-stopped",
        "stop_grace_period": f"{GRACE_S}s",
        "healthcheck": {
            "test": ["CMD", "python", "-c", HEALTH],
            "interval": "15s",
            "timeout": "5s",
            "retries": 3,
            "start_period": "2m",
            "start_interval": "1s",
        },
    }


class _Plain(yaml.SafeDumper):
    """YAML dumper without aliases; lists are indented, and None is empty."""

    def ignore_aliases(self, data: object) -> bool:
        """Write values out, since aliases are hard to read for people."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key."""
        super().increase_indent(flow, False)


def _nothing(dumper: Any, _: None) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:null", "")


_Plain.add_representer(type(None), _nothing)
