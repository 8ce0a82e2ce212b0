"""Models by their names on the Hugging Face hub: fetched once, kept by commit, one line for what is wrong.

The hub is a server of a few lines in this process. It answers as huggingface.co does: information and files
of a repository, redirects of none, and errors by their codes.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from agentevol.cli import main
from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentevol.models.hub import HubName, hub_name
from agentevol.models.resolution import pinned, resolve

TREE = re.compile(r"/api/models/(\w+/[\w.-]+)/tree/(\w+)")
INFO = re.compile(r"/api/models/(\w+/[\w.-]+)/revision/([\w.]+)")
FILE = re.compile(r"/(\w+/[\w.-]+)/resolve/(\w+)/(.+)")


class Hub:
    """Repositories: name to revisions, each with its commit's files."""

    def __init__(self) -> None:
        self.revisions: dict[str, dict[str, str]] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.gated: set[str] = set()
        self.asked: list[str] = []
        hub = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def commit(self, name: str, files: dict[str, bytes], revision: str = "main") -> str:
        number = sha1(f"{name}/{revision}/{len(self.files)}".encode()).hexdigest()
        self.revisions.setdefault(name, {})[revision] = number
        self.files[number] = files
        return number

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(path)
        status, headers, content = self.found(path, request.headers.get("Authorization"))
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if body:
            request.wfile.write(content)

    def found(self, path: str, token: str | None) -> tuple[int, dict[str, str], bytes]:
        for pattern, reply in ((TREE, self.tree), (INFO, self.info), (FILE, self.file)):
            match = pattern.fullmatch(path)
            if match is None:
                continue
            name, revision = match[1], match[2]
            if name not in self.revisions:
                return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
            commits = self.revisions[name]
            commit = commits.get(revision, revision)
            if commit not in commits.values():
                return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
            if pattern is FILE and name in self.gated and token != "Bearer accepted":
                return 403, {"X-Error-Code": "GatedRepo"}, b"{}"
            return reply(commit, match)
        return 404, {}, b"{}"

    def info(self, commit: str, match: re.Match[str]) -> tuple[int, dict[str, str], bytes]:
        siblings = [{"rfilename": file} for file in self.files[commit]]
        return 200, {}, json.dumps({"id": match[1], "sha": commit, "siblings": siblings}).encode()

    def tree(self, commit: str, _: re.Match[str]) -> tuple[int, dict[str, str], bytes]:
        entries = [
            {"type": "file", "path": file, "size": len(content), "oid": sha1(content).hexdigest()}
            for file, content in self.files[commit].items()
        ]
        return 200, {}, json.dumps(entries).encode()

    def file(self, commit: str, match: re.Match[str]) -> tuple[int, dict[str, str], bytes]:
        content = self.files[commit].get(match[3])
        if content is None:
            return 404, {"X-Error-Code": "EntryNotFound"}, b"{}"
        return 200, {"X-Repo-Commit": commit, "ETag": f'"{sha1(content).hexdigest()}"'}, content


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Hub]:
    """A hub, and an empty cache."""
    hub = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants._HF_DEFAULT_ENDPOINT, hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_TOKEN", "unknown")
    monkeypatch.chdir(tmp_path)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


@pytest.fixture
def files(checkpoints: dict[str, Path]) -> dict[str, bytes]:
    """What a published model has, some of which must never be fetched."""
    own = {file.name: file.read_bytes() for file in checkpoints["qwen3"].iterdir()}
    unread = ("pytorch_model.bin", "modeling_x.py", "consolidated.safetensors", "onnx/a.json")
    return own | dict.fromkeys(unread, b"no")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qwen/Qwen2.5-1.5B-Instruct", HubName("Qwen/Qwen2.5-1.5B-Instruct")),
        ("acme/m@v1.0", HubName("acme/m", "v1.0")),
        ("acme/m@refs/pr/1", HubName("acme/m", "refs/pr/1")),
        *((text, None) for text in ("m", "a/b/c", "/a/b", "./a", "../a", "~/a", "a/b@", "here/m", "a b/c")),
        ("here/m@main", HubName("here/m", "main")),
    ],
)
def test_a_name_is_owner_and_model_unless_a_folder_is_meant(text: str, expected: Any, hub: Hub):
    Path("here").mkdir()
    assert hub_name(text) == expected
    assert hub.asked == []


def test_a_model_is_fetched_once_without_pickle_and_code(hub: Hub, files: dict[str, bytes]):
    commit = hub.commit("acme/tiny", files)
    folder = resolve("acme/tiny").path
    assert folder.name == commit
    wanted = {
        name for name in files if name.endswith((".json", ".jinja", ".safetensors")) and "/" not in name
    }
    wanted -= {"consolidated.safetensors"}
    assert {file.name for file in folder.iterdir()} == wanted
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]
    hub.asked.clear()
    assert resolve("acme/tiny").path == folder
    assert not [path for path in hub.asked if "resolve" in path]


def test_a_run_keeps_the_commit_which_is_read_without_asking(hub: Hub, files: dict[str, bytes]):
    first = hub.commit("acme/tiny", files)
    name = pinned("acme/tiny")
    assert name == f"acme/tiny@{first}"
    assert not [path for path in hub.asked if path.endswith(".safetensors")]
    resolve(name)
    second = hub.commit("acme/tiny", {**files, "config.json": b"{}"})
    assert pinned("acme/tiny") == f"acme/tiny@{second}"
    hub.asked.clear()
    assert (resolve(name).path.name, pinned(name)) == (first, name)
    assert hub.asked == []
    assert pinned("starter") == "starter"


def test_a_revision_is_a_branch_a_tag_or_a_commit(hub: Hub, files: dict[str, bytes]):
    hub.commit("acme/tiny", files)
    tagged = hub.commit("acme/tiny", files, "v1")
    assert resolve("acme/tiny@v1").path.name == resolve(f"acme/tiny@{tagged}").path.name == tagged
    with pytest.raises(ConfigError, match=r"acme/tiny has no revision 'v2': give a branch"):
        resolve("acme/tiny@v2")


def test_a_gated_model_says_how_to_be_let_in(hub: Hub, files: dict[str, bytes], monkeypatch: Any):
    hub.commit("acme/gated", files)
    hub.gated.add("acme/gated")
    with pytest.raises(ConfigError, match=f"gated is gated: accept its licence at {hub.url}.*set HF_TOKEN"):
        resolve("acme/gated")
    monkeypatch.setenv("HF_TOKEN", "accepted")
    assert (resolve("acme/gated").path / "model.safetensors").is_file()


@pytest.mark.usefixtures("hub")
def test_an_unknown_model_is_one_line():
    with pytest.raises(
        ConfigError, match="no model 'acme/unknown': no such folder, and none at http"
    ) as told:
        resolve("acme/unknown")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("lost", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_repository_without_what_is_read_is_refused(hub: Hub, files: dict[str, bytes], lost: str):
    hub.commit("acme/part", {name: content for name, content in files.items() if name != lost})
    with pytest.raises(ConfigError, match="acme/part cannot be used: its repository lacks"):
        resolve("acme/part")


def test_weights_in_parts_have_to_be_there_all(hub: Hub, files: dict[str, bytes]):
    index = json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()
    parts = {**files, "model.safetensors.index.json": index, "one.safetensors": b"1"}
    hub.commit("acme/parts", parts)
    with pytest.raises(ConfigError, match="lacks"):
        resolve("acme/parts")
    hub.commit("acme/parts", {**parts, "two.safetensors": b"2"})
    assert (resolve("acme/parts").path / "two.safetensors").read_bytes() == b"2"


def test_offline_the_cache_is_what_there_is(hub: Hub, files: dict[str, bytes], monkeypatch: Any):
    hub.commit("acme/tiny", files)
    hub.commit("acme/small", files)
    folder = resolve("acme/tiny").path
    resolve("acme/small", weights=False)
    hub.asked.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert resolve("acme/tiny").path == folder
    for name in ("acme/small", "acme/never"):
        with pytest.raises(ConfigError, match=f"{name} is incomplete in the hub's cache .* HF_HUB_OFFLINE"):
            resolve(name)
    assert hub.asked == []


def test_without_a_network_the_cache_is_what_there_is(hub: Hub, files: dict[str, bytes], monkeypatch: Any):
    hub.commit("acme/tiny", files)
    folder = resolve("acme/tiny").path
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert resolve("acme/tiny").path == folder
    with pytest.raises(ConfigError, match=r"'acme/never': no such folder, .* cannot be reached; check the"):
        resolve("acme/never")


def test_a_dry_run_fetches_no_weights(hub: Hub, files: dict[str, bytes], capsys: Any):
    commit = hub.commit("acme/tiny", files)
    with pytest.raises(SystemExit) as ended:
        main(["run", "--dry-run", "base=acme/tiny", "environment.name=guess"])
    assert ended.value.code == 0
    assert f'base = "acme/tiny@{commit}"' in capsys.readouterr().out
    assert not [path for path in hub.asked if path.endswith(".safetensors")]


Command = Callable[..., str]


@pytest.fixture
def agentevol(hub: Hub, tmp_path: Path) -> Command:
    """What a command prints that finds the hub where it is; keyword arguments are its environment."""
    environment = {
        **os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": "unknown",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    environment.pop("HF_HUB_CACHE", None)

    def agentevol(*arguments: str, **more: str) -> str:
        command = [sys.executable, "-m", "agentevol", *arguments]
        told = {**environment, **more}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=told)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return agentevol


@pytest.mark.slow
def test_a_run_takes_a_name(hub: Hub, files: dict[str, bytes], agentevol: Command, tmp_path: Path):
    commit = hub.commit("acme/tiny", files)
    run = ["environment.name=guess", "explore.difficulty=null", "evaluate.difficulty=null", "explore.tasks=2"]
    run += ["explore.samples=2", "explore.max_new_tokens=3", "evaluate.episodes=2", "select.rule=all"]
    run += ["evaluate.validation_episodes=2", "learn.max_steps=1", "engine.workers=1", "select.turns=all"]
    out = tmp_path / "out"
    agentevol("run", "--iters", "1", "--out", str(out), "base=acme/tiny", *run)
    assert load(out / "config.toml").base == f"acme/tiny@{commit}"


@pytest.mark.slow
def test_eval_and_train_take_a_name(hub: Hub, files: dict[str, bytes], agentevol: Command, tmp_path: Path):
    hub.commit("acme/tiny", files)
    agentevol("eval", "--model", "acme/tiny", "--env", "guess", "--episodes", "1")
    hub.server.shutdown()  # what follows reads the cache
    offline = {"HF_HUB_OFFLINE": "1"}
    played = agentevol(
        "eval", "--model", "acme/tiny", "--env", "guess", "--episodes", "2", "--json", **offline
    )
    assert json.loads(played)["n"] == 2
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"prompt": "Hm?", "completion": "go"}\n')
    learnt = ("train", str(chats), "base=acme/tiny", "--out", str(tmp_path / "learnt"), "--json")
    assert "metrics" in json.loads(agentevol(*learnt, **offline))
    assert (tmp_path / "learnt" / "model.safetensors").is_file()
