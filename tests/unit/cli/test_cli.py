"""What a user of the command line sees: results, one line for each error, exit codes."""

import errno
import json
import lzma
from pathlib import Path

import pytest
from support.sotopia_profiles import write_profiles

from agentevol.cli import main
from agentevol.cli.console.errors import EXPECTED, failure
from agentevol.cli.trajectories import printable, transcript
from agentevol.core.errors import ConfigError, EnvironmentFault, RunStopped
from agentgym_envs.registry import REGISTRY
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Truncated, Turn


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AGENTEVOL_TOKEN", raising=False)
    return tmp_path / "home"


def test_environments_are_listed_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "envs", "list", "--json")
    assert (code, err) == (0, "")
    assert {"alfworld", "guess"} <= {entry["name"] for entry in json.loads(out)}


def test_a_checked_environment_is_reported_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "envs", "check", "guess", "--json")
    (report,) = json.loads(out)
    assert (code, report["env"], report["passed"]) == (0, "guess", True)
    assert report["results"][0] == {"name": "facts", "cases": 1, "violations": []}


def test_a_broken_environment_gives_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_envs.guess.Guess.max_turns", 0)
    code, out, _ = run(capsys, "envs", "check", "guess")
    assert code == 1
    assert "guess: BREAKS the contract" in out
    assert "      - max_turns is 0; it must be at least 1" in out


def test_the_attack_suite_is_reported_with_what_each_policy_may_earn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTRY, "notes", "support.notes:Notes")
    code, out, _ = run(capsys, "envs", "attack", "notes", "--json")
    report = json.loads(out)
    assert (code, report["passed"], report["tasks"]) == (0, True, 48)
    assert [report["results"][0][key] for key in ("name", "episodes", "mean")] == ["oracle", 48, 1.0]
    monkeypatch.setitem(REGISTRY, "notes", "support.notes:PaysTwice")
    code, out, _ = run(capsys, "envs", "attack", "notes", "--split", "test")
    assert code == 1
    assert "answer_spray: earns" in out


def test_a_mean_beyond_its_bounds_by_chance_is_told_and_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTRY, "notes", "support.notes:KnowsOne")
    code, out, _ = run(capsys, "envs", "attack", "notes", "--tasks", "10")
    row = next(line.split() for line in out.splitlines() if "known_number" in line)
    assert row == ["known_number", "10", "0.100", "0", "to", "0.05", "0.069", "within", "error"]
    assert "tasks: train 10 of 24, test 10 of 24" in out
    assert "within error: beyond what is allowed by at most three standard errors" in out
    assert code == 0
    code, out, _ = run(capsys, "envs", "attack", "notes", "--tasks", "10", "--json")
    report = json.loads(out)
    found = next(one for one in report["results"] if one["name"] == "known_number")
    assert (code, report["passed"], found["status"], found["high"]) == (0, True, "within error", 0.05)
    assert found["standard_error"] == pytest.approx(0.0689, abs=5e-5)


def test_only_an_environment_of_tools_is_attacked(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "envs", "attack", "guess")
    assert (code, "the actions of guess are not tool calls" in err) == (2, True)


def test_the_manifest_of_openenv_is_written_into_a_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "envs", "openenv", "guess", str(tmp_path / "made"))
    path = tmp_path / "made" / "openenv.yaml"
    assert (code, out, err) == (0, f"{path}\n", "")
    assert path.read_text(encoding="utf-8").startswith("spec_version: 1\nname: guess\nversion: 1.0.0\n")


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["envs", "openenv", "gues", "x"], 2, "error: environment: no environment named 'gues'; there are: "),
        (["envs", "check", "gues"], 2, "error: environment: no environment named 'gues'; there are: "),
        (["envs", "chek"], 2, "error: usage: No such command 'chek'."),
        (["envs", "list", "--jsn"], 2, "error: usage: No such option: --jsn"),
        (["bench", "nothing"], 2, "error: usage: No such command 'nothing'."),
        (["bench", "store", "--arms", "x"], 2, "error: usage: No such option: --arms"),
        (["bench", "evolution"], 2, "error: usage: Missing argument"),
        (
            ["bench", "aml", "--arms", "x"],
            2,
            "error: configuration: no arm 'x'; there are: all, bc, bc-mode-1,",
        ),
        (["data", "import", "guess", "."], 2, "error: usage: Invalid value"),
        (["data", "import", "webshop", "tests"], 1, "error: data: tests has no items_shuffle.json or items_"),
        (
            ["data", "import", "alfworld", "no/such"],
            1,
            "error: system: no such file or folder: no/such; check",
        ),
        (["trajectories", "stats", "no/such"], 1, "error: store: there is no table of trajectories at "),
        (["trajectories", "list", "docs"], 1, "error: store: there is no table of trajectories at "),
        (
            ["trajectories", "list", "docs", "--ending", "lost"],
            2,
            "error: usage: Invalid value for '--ending'",
        ),
        (["trajectories", "list", "docs", "--limit", "0"], 2, "error: usage: Invalid value for '--limit'"),
        (
            ["envs", "up", "guess", "--option", "dialect=put"],
            2,
            "error: usage: Invalid value: 'dialect=put' is not",
        ),
        (
            ["envs", "up", "guess", "--option", "alfworld.a=1"],
            2,
            "error: usage: Invalid value: --option names",
        ),
        (["envs", "gateway"], 2, "error: usage: Missing option '--backend'"),
        (
            ["envs", "gateway", "--backend", "guess"],
            2,
            "error: usage: Invalid value: 'guess' is not NAME=URL",
        ),
        (
            ["envs", "serve", "guess", "--instance", "1048576"],
            2,
            "error: usage: Invalid value for '--instance'",
        ),
    ],
)
def test_an_error_is_one_line_on_stderr(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, line: str
) -> None:
    got, out, err = run(capsys, *arguments)
    assert got == code
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert out == ""


def test_an_empty_token_is_no_open_door(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTEVOL_TOKEN", " ")
    code, _, err = run(capsys, "envs", "up", "guess")
    assert (code, err[:41]) == (2, "error: usage: Invalid value: the token is")


def test_an_empty_agent_token_is_no_open_door_either(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTEVOL_AGENT_TOKEN", "")
    code, _, err = run(capsys, "envs", "serve", "guess")
    assert (code, err[:41]) == (2, "error: usage: Invalid value: the token is")


def test_debug_shows_the_traceback_before_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "envs", "check", "gues", "--debug")
    assert code == 2
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.splitlines()[-1].startswith("error: environment: no environment named 'gues'")


IMPORTABLE = (
    *("alfworld", "ampo", "bfcl", "questions", "searchqa", "sotopia", "sql"),
    *("tau-airline", "tau-mock", "tau-retail", "tau-telecom", "textcraft", "webshop"),
)


def test_nothing_imported_is_said_and_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "data", "verify", "--json") == (0, "{}\n", "")
    code, out, _ = run(capsys, "data", "list", "--json")
    assert (code, json.loads(out)["data"]) == (0, dict.fromkeys(IMPORTABLE))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        *(("alfworld", "games"), ("ampo", "data"), ("bfcl", "tasks")),
        *(("questions", "data"), ("sotopia", "profiles"), ("webshop", "catalogue")),
    ],
)
def test_a_broken_manifest_is_one_line(
    capsys: pytest.CaptureFixture[str], home: Path, name: str, what: str
) -> None:
    manifest = home / name / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{")
    code, _, err = run(capsys, "data", "list")
    assert (code, err) == (1, f"error: data: {manifest} is broken: import the {what} again\n")


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """WebShop's files as they are published, with one product that is sound and one that is not."""
    product = {"asin": "B0", "name": "Shorts", "full_description": "", "small_description": [], "pricing": ""}
    product |= {"query": "shorts", "category": "fashion", "product_category": "Men › Shorts"}
    annotated = {"B0": {"attributes": [], "instruction": "Find shorts", "instruction_attributes": ["dry"]}}
    for name, content in (("shuffle", [product, {"asin": "B1"}]), ("ins_v2", annotated)):
        (tmp_path / f"items_{name}_1000.json").write_text(json.dumps(content))
    return tmp_path


def test_data_are_imported_listed_and_verified(
    capsys: pytest.CaptureFixture[str], home: Path, catalogue: Path
) -> None:
    code, out, _ = run(capsys, "data", "import", "webshop", str(catalogue))
    assert code == 0
    assert out.startswith(
        "refused items_shuffle_1000.json: product 2 (B1): name: Field required\nwarning: items_s"
    )
    assert out.endswith(f"imported into {home / 'webshop'}; 1 of the entries of files refused\n")
    code, out, _ = run(capsys, "data", "list", "--json")
    none = dict.fromkeys(IMPORTABLE)
    assert json.loads(out)["data"] == {**none, "webshop": {"1k-synthetic-test": 1}}
    assert run(capsys, "data", "verify") == (0, "webshop: ok\n", "")
    (blob,) = home.rglob("products.blob")
    blob.write_bytes(b"\0" + blob.read_bytes()[1:])
    assert run(capsys, "data", "verify") == (1, f"webshop: DAMAGED\n  {blob} is damaged\n", "")


def test_a_strict_import_fails_where_something_was_refused(
    capsys: pytest.CaptureFixture[str], home: Path, catalogue: Path
) -> None:
    code, out, err = run(capsys, "data", "import", "webshop", str(catalogue), "--strict")
    assert (code, err) == (1, "")
    assert out.endswith("; 1 of the entries of files refused\n")
    assert json.loads(run(capsys, "data", "list", "--json")[1])["data"]["webshop"] == {"1k-synthetic-test": 1}
    products = catalogue / "items_shuffle_1000.json"
    products.write_text(json.dumps(json.loads(products.read_text())[:1]))
    code, out, _ = run(capsys, "data", "import", "webshop", str(catalogue), "--strict")
    assert (code, out.endswith(f"{home / 'webshop'}; 0 of the entries of files refused\n")) == (0, True)


def test_profiles_are_imported_all_or_none(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path
) -> None:
    source = write_profiles(tmp_path / "profiles")
    code, out, _ = run(capsys, "data", "import", "sotopia", str(source))
    assert (code, out.splitlines()[-1]) == (
        0,
        f"imported into {home / 'sotopia'}; 0 of the records refused",
    )
    (source / "combos.json").write_text('[{"pk": "c0", "env_id": "x", "agent_ids": ["ana", "bo"]}]')
    code, _, err = run(capsys, "data", "import", "sotopia", str(source))
    assert (code, err) == (1, "error: data: combos.json: record 1 (c0): there is no environment 'x'\n")
    assert json.loads(run(capsys, "data", "list", "--json")[1])["data"]["sotopia"]["all"] == 5


def test_refused_game_files_are_counted(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path
) -> None:
    sound = (Path(__file__).parents[1] / "alfworld" / "alfworld_kitchen.json").read_text()
    with lzma.open(tmp_path / "compact_train.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines([json.dumps(json.loads(sound)) + "\n", "{broken\n"])
    code, out, _ = run(capsys, "data", "import", "alfworld", str(tmp_path))
    assert (code, out.splitlines()[-1]) == (
        0,
        f"imported into {home / 'alfworld'}; 1 of the game files refused",
    )
    assert run(capsys, "data", "import", "alfworld", str(tmp_path), "--strict")[0] == 1


@pytest.mark.parametrize(
    ("cause", "line", "code"),
    [
        (ConfigError("unknown key 'a.b'"), "error: configuration: unknown key 'a.b'", 2),
        (RunStopped("6 of 100 episodes failed"), "error: run stopped: 6 of 100 episodes failed", 1),
        (EnvironmentFault("worker-lost", "gone"), "error: environment: worker-lost: gone", 1),
        (
            OSError(errno.ENOSPC, "No space left on device", "runs/a"),
            "error: system: No space left on device: runs/a; free some space or choose another folder",
            1,
        ),
        (
            OSError(errno.EADDRINUSE, "Address already in use"),
            "error: system: Address already in use; choose another port, or 0 for any that is free",
            1,
        ),
        (
            ModuleNotFoundError("No module named 'polars'", name="polars"),
            "error: missing package: polars; pip install 'agentevol[store]'",
            1,
        ),
        (KeyboardInterrupt(), "error: interrupted", 130),
        (
            ZeroDivisionError("two\nlines"),
            "error: internal: ZeroDivisionError: two lines; --debug shows where",
            1,
        ),
    ],
)
def test_each_kind_of_failure_has_its_line_and_code(cause: BaseException, line: str, code: int) -> None:
    assert failure(cause) == (line, code)


def test_every_expected_exception_exists() -> None:
    from importlib import import_module

    for expected in EXPECTED:
        assert issubclass(getattr(import_module(expected.module), expected.name), Exception)


def episode(**changes: object) -> Trajectory:
    sample = Sample(text="4", prompt_ids=(1, 2), token_ids=(3,), logprobs=(-0.5,), policy_version=1)
    fields = {
        "id": "run/1/guess-4/0",
        "run": "run",
        "iteration": 1,
        "purpose": "explore",
        "env": "guess",
        "env_version": "1",
        "data_version": "1",
        "task_id": "guess-4",
        "split": "valid",
        "instruction": "Find the number.",
        "seed": 7,
        "attempt": 0,
        "policy": "checkpoint-1",
        "initial_observation": "Make a guess.",
        "turns": (Turn(action="4\x1b[2J", observation="Right.", reward=1.0, sample=sample),),
        "ending": Terminated(),
        "started_at": "2025-01-01T00:00:00Z",
        "wall_s": 0.25,
    }
    return Trajectory.model_validate({**fields, **changes})


def test_an_episode_is_printed_turn_by_turn() -> None:
    assert "\n".join(transcript(episode())).splitlines() == [
        "run/1/guess-4/0: guess guess-4 (task, seed 7)",
        "policy checkpoint-1, iteration 1, explore, 0.2 s",
        "",
        "Find the number.",
        "",
        "Make a guess.",
        "",
        "  1> 4\\x1b[2J  [1 tokens]  reward 1",
        "Right.",
        "",
        "terminated; return 1",
    ]


def test_the_costs_of_a_turn_are_printed() -> None:
    turn = Turn(action="4", observation="Hot.", reward=0.0, costs={"heat": 0.5, "noise": None})
    assert "\n  1> 4  heat 0.5  noise not judged" in list(transcript(episode(turns=(turn,))))


def test_a_replayed_turn_is_printed_as_given() -> None:
    looked = Turn(action="look", observation="A box.", reward=0.0)
    lines = "\n".join(transcript(episode(turns=(looked, looked), given_turns=1))).splitlines()
    assert [line for line in lines if "look" in line] == ["  1> look  (given)", "  2> look"]


def test_a_failed_episode_has_no_return() -> None:
    last = list(transcript(episode(ending=Failed(failure="worker-lost", detail="killed"))))[-1]
    assert last == "\nfailed, failure worker-lost, detail killed; return none"


def test_what_a_model_says_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b]0;owned\x07\u202eb\nc é 中") == "a\\x1b]0;owned\\x07\\u202eb\nc é 中"


def test_the_table_of_a_run_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = pytest.importorskip("agentgym_store.store")
    table = store.Store.open(tmp_path / "run" / "trajectories")
    episodes = [
        episode(),
        episode(id="run/1/guess-8/0", task_id="guess-8", ending=Failed(failure="transport")),
    ]
    table.append(episodes, commit={"run": "run", "iteration": "1"})
    folder = str(tmp_path / "run")
    code, out, _ = run(capsys, "trajectories", "stats", folder, "--json")
    total = json.loads(out)["total"]
    assert (code, total["episodes"], total["scored"], total["successes"]) == (0, 2, 1, 1)
    assert (
        run(capsys, "trajectories", "show", folder, "guess-4", "--json")[1]
        == episode().model_dump_json(indent=2) + "\n"
    )
    code, _, err = run(capsys, "trajectories", "show", folder, "run/")
    assert (code, err) == (
        2,
        "error: configuration: 2 episodes are named 'run/'; give one id; for example 'run/1/guess-4/0'\n",
    )
    out_file = tmp_path / "out.jsonl"
    assert run(capsys, "trajectories", "export", folder, str(out_file), "--format", "sft")[0] == 0
    assert len(out_file.read_text().splitlines()) == 1  # a failed episode is not exported to train on
    assert run(capsys, "trajectories", "export", folder, str(out_file))[0] == 1  # nothing is overwritten


def test_figures_of_a_group_are_one_line_in_a_pipe(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = pytest.importorskip("agentgym_store.store")
    monkeypatch.setenv("COLUMNS", "40")
    kind = "pick_clean_then_place_in_recep"
    table = store.Store.open(tmp_path / "table")
    table.append([episode(kind=kind)], commit={"run": "run", "iteration": "1"})
    code, out, _ = run(capsys, "trajectories", "stats", str(tmp_path / "table"))
    rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["group", "episodes", "scored", "success", "reward", "turns", "tokens"] in rows
    assert ["kind", kind, "1", "1", "100.0%", "1.000", "1.0", "1.0"] in rows


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of four episodes: two that were won, one without reward, and one that failed."""
    store = pytest.importorskip("agentgym_store.store")
    folder = tmp_path_factory.mktemp("listed") / "table"
    lost = (Turn(action="1", observation="higher", reward=0.0),) * 2
    episodes = [
        episode(),
        episode(id="run/1/guess-8/0", task_id="guess-8", turns=lost, ending=Truncated(limit="max_turns")),
        episode(id="run/1/guess-8/1", task_id="guess-8", ending=Failed(failure="transport")),
        episode(id="run/2/desk/0", task_id="desk", iteration=2, purpose="evaluate", env="alfworld"),
    ]
    store.Store.open(folder).append(episodes, commit={"run": "run", "iteration": "1"})
    return str(folder)


def test_episodes_are_listed_in_order_with_their_number(
    capsys: pytest.CaptureFixture[str], listed: str
) -> None:
    code, out, err = run(capsys, "trajectories", "list", listed)
    header, _, *rows, last = [line.split() for line in out.splitlines() if line.strip()]
    assert (code, err, last) == (0, "", ["4", "episodes"])
    assert header == ["id", "env", "task", "purpose", "iteration", "ending", "reward", "turns"]
    assert rows == [
        ["run/1/guess-4/0", "guess", "guess-4", "explore", "1", "terminated", "1", "1"],
        ["run/1/guess-8/0", "guess", "guess-8", "explore", "1", "truncated", "0", "2"],
        ["run/1/guess-8/1", "guess", "guess-8", "explore", "1", "failed", "-", "1"],
        ["run/2/desk/0", "alfworld", "desk", "evaluate", "2", "terminated", "1", "1"],
    ]


def test_listed_episodes_are_lines_of_json_for_scripts(
    capsys: pytest.CaptureFixture[str], listed: str
) -> None:
    code, out, _ = run(capsys, "trajectories", "list", listed, "--task", "guess-8", "--json")
    same = {"env": "guess", "task_id": "guess-8", "purpose": "explore", "iteration": 1}
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": "run/1/guess-8/0", **same, "ending": "truncated", "total_reward": 0.0, "turn_count": 2},
        {"id": "run/1/guess-8/1", **same, "ending": "failed", "total_reward": None, "turn_count": 1},
    ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (("--ending", "failed"), ["run/1/guess-8/1"]),
        (("--task", "guess-4", "--task", "desk"), ["run/1/guess-4/0", "run/2/desk/0"]),
        (("--min-reward", "0.5"), ["run/1/guess-4/0", "run/2/desk/0"]),
        (("--max-reward", "0"), ["run/1/guess-8/0"]),
        (("--min-reward", "0", "--max-reward", "0.5"), ["run/1/guess-8/0"]),
        (("--env", "alfworld"), ["run/2/desk/0"]),
        (("--iteration", "2"), ["run/2/desk/0"]),
        (("--purpose", "evaluate"), ["run/2/desk/0"]),
        (("--env", "guess", "--limit", "2"), ["run/1/guess-4/0", "run/1/guess-8/0"]),
        (("--env", "chess"), []),
    ],
    ids=" ".join,
)
def test_filters_choose_the_episodes_that_are_listed(
    capsys: pytest.CaptureFixture[str], listed: str, filters: tuple[str, ...], found: list[str]
) -> None:
    code, out, _ = run(capsys, "trajectories", "list", listed, *filters, "--json")
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (0, found)


@pytest.mark.parametrize(
    ("limit", "last"), [("3", "the first 3 episodes; there are more"), ("4", "4 episodes")]
)
def test_a_list_that_stops_at_the_limit_says_so(
    capsys: pytest.CaptureFixture[str], listed: str, limit: str, last: str
) -> None:
    assert run(capsys, "trajectories", "list", listed, "--limit", limit)[1].splitlines()[-1] == last


def test_a_long_list_is_printed_page_by_page(
    capsys: pytest.CaptureFixture[str], listed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentevol.cli.trajectories.PAGE", 3)
    words = [line.split() for line in run(capsys, "trajectories", "list", listed)[1].splitlines()]
    assert [row[0] for row in words if row and row[0][:2] in ("id", "ru")] == [
        *("id", "run/1/guess-4/0", "run/1/guess-8/0", "run/1/guess-8/1"),
        *("id", "run/2/desk/0"),
    ]
    assert words[-1] == ["4", "episodes"]


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("rate_limit", "is not NAME=VALUE"),
        ("nope=1", "there are: allowed_hosts"),
        ("token=secret", "is not NAME=VALUE"),
        ("step_deadline_s=-1", "--setting step_deadline_s: Input should be greater than 0"),
        ("log_level=loud", "--setting log_level"),
    ],
)
@pytest.mark.parametrize(
    "command", [("serve", "guess"), ("up", "guess"), ("gateway", "--backend", "a=http://x")]
)
def test_a_setting_that_is_none_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], setting: str, reason: str
) -> None:
    code, out, err = run(capsys, "envs", *command, "--setting", setting)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err
