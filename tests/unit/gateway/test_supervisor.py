"""What a supervisor tells its children, and what it makes of their last words."""

import pytest

from agentevol.cli.envs.serve import server_command
from agentgym_server import ServerSettings
from agentgym_server.gateway.supervisor import child_environment, last_words


def test_children_get_the_secrets_of_the_settings_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVOL_TOKEN", "of the shell")
    monkeypatch.setenv("AGENTEVOL_AGENT_TOKEN", "of the shell")
    monkeypatch.setenv("SOMETHING", "else")
    environment = child_environment(ServerSettings(token="of a file", trainer_token="t"))
    assert environment["AGENTEVOL_TOKEN"] == "of a file"
    assert environment["AGENTEVOL_TRAINER_TOKEN"] == "t"
    assert "AGENTEVOL_AGENT_TOKEN" not in environment
    assert environment["SOMETHING"] == "else"


def test_a_child_gets_the_options_of_its_environment() -> None:
    options = ["guess.a=1", "guesses.b=2", "alfworld.c=3"]
    assert server_command("guess", 2, 64, options)[3:] == (
        "envs",
        "serve",
        "guess",
        "--port=0",
        "--exit-with-stdin",
        "--max-sessions=64",
        "--workers=2",
        "--option=guess.a=1",
    )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["starting", "error: no data; import it", "{}"], "no data; import it"),
        (["Traceback", "ValueError: x"], "ValueError: x"),
        ([], "it ended with 3"),
    ],
)
def test_why_a_child_did_not_start(lines: list[str], words: str) -> None:
    assert last_words(lines, 3) == words
