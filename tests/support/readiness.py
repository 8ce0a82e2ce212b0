"""Readiness of server processes that a test has started."""

import subprocess


def ready_address(process: "subprocess.Popen[str]") -> str:
    """Address that a server prints as `ready http://HOST:PORT` once it accepts requests."""
    assert process.stdout is not None
    word, address = process.stdout.readline().split()
    assert word == "ready"
    return address
