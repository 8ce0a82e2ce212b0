"""Functions that turn data into what the pages show."""

import json
import math
import os
import socket
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support.trajectories import trajectory
from support.ui import episode, summary, turn

from agentevol.core.summaries import RunSummary
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.progress_file import ProgressFile, RunProgress, is_alive, read_progress
from agentevol.ui.comparisons.episodes import compare_episodes
from agentevol.ui.episodes.cursors import Cursor, cursor_of, page_rows
from agentevol.ui.episodes.endings import meaning
from agentevol.ui.episodes.filters import Filters, filters_of
from agentevol.ui.errors import BadQuery, NotFound
from agentevol.ui.guard import is_own_host
from agentevol.ui.library import Library
from agentevol.ui.pages import address, render
from agentevol.ui.reader.expert import expert_way
from agentevol.ui.reader.messages import Message, split_message
from agentevol.ui.reader.tokens import band, strip
from agentevol.ui.reader.view import verdict
from agentevol.ui.runs.curves import sparkline, success_curve
from agentevol.ui.runs.live import left_s, live_view, view_of
from agentevol.ui.runs.metrics import metric_groups, metric_views
from agentevol.ui.text import duration, number, one_line, visible
from agentgym_store.records import Cancelled, Failed, Truncated


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nä", "plain\ttext\nä"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\x00\r", "\\x00\\r"),
    ],
)
def test_invisible_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_every_shown_text_is_harmless_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    assert all(char in "\n\t" or char.isprintable() for char in shown)
    shown.encode()
    page = render("error", path="/", view={"title": text, "message": text, "advice": text})
    assert page.count("<script") == 1  # the page's own


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.5, "0.500"), (12000, "12,000"), (math.nan, "nan"), (2e-5, "2e-05")]
)
def test_numbers_as_text(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_durations_and_lines() -> None:
    assert [duration(s) for s in (4.2, 200, 7500, math.inf, None)] == [
        "4 s",
        "3 min 20 s",
        "2 h 5 min",
        "–",
        "–",
    ]
    assert one_line("a\nb  c", 10) == "a b c"
    assert one_line("x" * 20, 5) == "xxxx…"


def test_addresses_are_quoted_and_leave_out_what_is_empty() -> None:
    assert address("episodes", "a b/c", id="r/1", q="", x=None) == "/episodes/a%20b%2Fc?id=r%2F1"
    assert address("compare", id=["a", "b"]) == "/compare?id=a&id=b"


@pytest.mark.parametrize(
    ("header", "own"),
    [
        ("127.0.0.1:8600", True),
        ("localhost", True),
        ("[::1]:8600", True),
        ("192.168.0.7:8600", True),
        ("box:8600", True),
        ("evil.example:8600", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
        ("[", False),
    ],
)
def test_host_names_of_other_servers_are_foreign(header: str, own: bool) -> None:
    assert is_own_host(header, {"box"}) is own


def test_only_what_lies_under_the_paths_has_a_key(tmp_path: Path) -> None:
    for name in ("runs/a", "runs/deep/er/b", "other/c"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "config.toml").touch()
    (tmp_path / "runs/a/inner").mkdir()
    (tmp_path / "runs/a/inner/config.toml").touch()
    (tmp_path / "runs/link").symlink_to(tmp_path / "other")
    (tmp_path / "runs/table/_delta_log").mkdir(parents=True)
    library = Library([tmp_path / "runs"])
    found = library.sources()
    assert [(one.name, one.kind) for one in found] == [("a", "run"), ("deep/er/b", "run"), ("table", "table")]
    assert [library.find(one.key) for one in found] == found
    with pytest.raises(NotFound, match="no run or table"):
        library.find("../other/c")


def test_a_source_is_found_by_its_key_before_any_list_was_made(tmp_path: Path) -> None:
    (tmp_path / "config.toml").touch()
    key = Library([tmp_path]).sources()[0].key
    assert Library([tmp_path]).find(key).place == tmp_path


def progress(**fields: object) -> RunProgress:
    plain = {
        "phase_began": 90.0,
        "began": 40.0,
        "updated": 99.0,
        "process": os.getpid(),
        "machine": socket.gethostname(),
    }
    return RunProgress.model_validate({**plain, **fields})


def test_live_progress_has_rates_and_the_time_that_is_left() -> None:
    playing = progress(phase="explore train", iteration=2, done=40, total=160, per_s=4.0, won=22, failed=1)
    view = view_of(playing, alive=True, now=100.0)
    assert (view.state, view.headline, view.share) == ("running", "iteration 2: explore train", 0.25)
    assert dict(view.facts)["left in this phase"] == "30 s"  # 120 / 4
    assert dict(view.facts)["rate"] == "4.0 episodes/s"
    assert left_s(progress(done=1, total=None, per_s=4.0)) is None


@pytest.mark.parametrize(
    ("fields", "alive", "now", "state"),
    [
        ({}, True, 100.0, "running"),
        ({}, False, 100.0, "killed"),
        ({}, None, 100.0, "running"),
        ({}, None, 10_000.0, "silent"),
        ({"state": "finished"}, False, 100.0, "finished"),
        ({"state": "stopped", "message": "disk full"}, False, 100.0, "stopped"),
    ],
)
def test_the_state_of_a_run(fields: dict[str, object], alive: bool | None, now: float, state: str) -> None:
    assert view_of(progress(**fields), alive, now).state == state


@pytest.mark.parametrize(("state", "is_told"), [("stopped", True), ("finished", False)])
def test_a_run_that_stopped_has_the_command_that_continues_it(
    tmp_path: Path, state: str, is_told: bool
) -> None:
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / "progress.json").write_text(progress(state=state, message="disk full").model_dump_json())
    assert live_view(folder).command == (f"agentevol run --resume '{folder}'" if is_told else "")


def test_a_progress_file_is_written_and_read(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path)
    file.begin("explore train", 1, "episodes", done=0, total=2)
    file.update(done=1, total=2, won=1)  # within the second: not written
    assert (found := read_progress(tmp_path)) is not None
    assert (found.phase, found.done, found.total, is_alive(found)) == ("explore train", 0, 2, True)
    file.update(done=2, total=2, won=1)
    assert (found := read_progress(tmp_path)) is not None
    assert (found.done, found.won) == (2, 1)
    file.end("stopped", "interrupted")
    assert (found := read_progress(tmp_path)) is not None
    assert (found.state, found.message, is_alive(found)) == ("stopped", "interrupted", False)


def test_an_unwritable_or_damaged_progress_file_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "progress.json").mkdir()
    ProgressFile(tmp_path).end("finished")
    assert read_progress(tmp_path) is None
    (tmp_path / "progress.json").rmdir()
    (tmp_path / "progress.json").write_text('{"state": "run')
    assert read_progress(tmp_path) is None


def test_the_process_of_a_killed_run_is_gone() -> None:
    assert is_alive(progress(process=2**22 + 1)) is False
    assert is_alive(progress(machine="elsewhere.example")) is None


def test_the_curve_of_success_has_intervals() -> None:
    run = RunSummary(run="r", environment="guess", iterations=(summary(0, 20, 100), summary(1, 55, 100)))
    curve = success_curve(run)
    assert curve is not None
    first, last = curve.lines[0].points
    assert first.label.startswith("iteration 0: 20.0 % (95 % interval 13.3 to 28.9 %")  # wilson(20, 100)
    assert last.y < first.y  # a greater success is drawn higher
    assert last.high < last.y < last.low
    assert success_curve(RunSummary(run="r", environment="guess")) is None


def test_a_line_of_equal_values_is_drawn_in_the_middle() -> None:
    assert [point.y for point in sparkline([2.0, 2.0]).lines[0].points] == [16.0, 16.0]


def test_metrics_are_read_from_lines_and_damaged_lines_are_left_out(tmp_path: Path) -> None:
    lines = [
        {"iteration": 0, "learn": {"loss": 2.0}, "on": True, "name": "x"},
        {"iteration": 1, "learn": {"loss": 1.0}},
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"iter')
    found = {one.name: one for one in metric_views(tmp_path)}
    assert sorted(found) == ["iteration", "learn/loss"]
    assert (found["learn/loss"].first, found["learn/loss"].last, found["learn/loss"].count) == ("2", "1", 2)
    assert metric_views(tmp_path / "none") == []
    titles = [(group.title, [one.name for one in group.metrics]) for group in metric_groups(tmp_path)]
    assert titles == [("learning", ["learn/loss"]), ("counts", ["iteration"])]


def test_filters_come_from_an_address_and_go_back_into_one() -> None:
    filters = filters_of(
        {"env": "alfworld", "iteration": "3", "min_reward": "0.5", "q": " mug ", "other": "x"}
    )
    assert filters == Filters(env="alfworld", iteration=3, min_reward=0.5, q="mug")
    assert filters.query(q=None) == {"env": "alfworld", "iteration": 3, "min_reward": 0.5}
    assert filters_of({}).query() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iteration", "x"),
        ("min_reward", "much"),
        ("sort", "turns"),
        ("mode", "7"),
        ("outcome", "x"),
        ("q", "x" * 501),
        ("max_turns", "9" * 30),
    ],
)
def test_a_filter_that_is_not_valid_is_named(name: str, value: str) -> None:
    with pytest.raises(BadQuery, match=name if name not in ("q", "max_turns") else "longer|too large"):
        filters_of({name: value})


ROWS = [("a", 1.0), ("b", None), ("c", 1.0), ("d", 0.0), ("e", None), ("f", 2.0)]


@pytest.mark.parametrize("sort", ["total_reward", "-total_reward", "id", "-id"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_pages_in_both_directions_make_up_the_sorted_list(sort: str, size: int) -> None:
    frame = pl.LazyFrame(ROWS, schema=["id", "total_reward"], orient="row")
    order = Filters(sort=sort)
    whole = page_rows(frame, order, 100).collect()["id"].to_list()
    falling = sort.startswith("-")
    expected = {"id": "abcdef", "total_reward": "dacfbe"}[order.column]
    if falling:
        expected = {"id": "fedcba", "total_reward": "fcadeb"}[order.column]
    assert "".join(whole) == expected

    def walk(side: str) -> list[list[str]]:
        pages, cursor = [], None
        if side == "before":  # from the end
            cursor = Cursor(dict(ROWS)[whole[-1]] if order.column == "total_reward" else whole[-1], whole[-1])
            pages = [[whole[-1]]]
        while rows := page_rows(frame, order, size, cursor, side).collect().rows(named=True):  # type: ignore[arg-type]
            pages.append([row["id"] for row in rows])
            edge = rows[-1] if side == "after" else rows[0]
            cursor = cursor_of(Cursor(edge[order.column], edge["id"]).text())
        return pages

    assert [name for page in walk("after") for name in page] == whole
    assert [name for page in reversed(walk("before")) for name in page] == whole


@pytest.mark.parametrize("text", ["", "x", "bm90IGpzb24", "ä", "WzEsIDJd", "W1tdLCAiYSJd"])
def test_a_cursor_that_is_not_valid_is_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        cursor_of(text)


@pytest.mark.parametrize(
    ("message", "action", "parts"),
    [
        ("Thought: left.\nAction: go left", "go left", Message("Thought: left.\nAction: ", "go left", "")),
        ("go left, then go left!", "go left", Message("go left, then ", "go left", "!")),
        ("something else", "go left", Message("something else", "go left", "")),
        ("", "", Message("", "", "")),
    ],
)
def test_the_thought_is_split_from_the_action(message: str, action: str, parts: Message) -> None:
    assert split_message(message, action) == parts


def test_tokens_have_a_colour_and_a_tip() -> None:
    found = strip(turn("go").sample, None)
    assert found is not None
    assert [token.band for token in found.tokens] == [7, 4, 0]  # 99 %, 30 %, 0.7 %
    assert found.tokens[2].is_forced
    assert "probability 30.1 %" in found.tokens[1].tip
    assert (found.sampled, found.prompt, found.hidden, found.has_text) == (3, 2, 0, False)
    assert found.least == pytest.approx(math.exp(-5.0))
    assert strip(None, None) is None
    assert [band(math.log(share)) for share in (0.001, 0.02, 0.07, 0.2, 0.4, 0.6, 0.9, 1.0)] == list(range(8))


@pytest.mark.parametrize(
    ("played", "told"),
    [
        (episode("a"), "Won after 2 turns: the environment reached its end. The return is 1."),
        (
            episode("a", (0.0,), ending=Truncated(limit="max_turns")),
            "Not won after 1 turn: the limit of turns was reached before the task was done. The return is 0.",
        ),
        (
            episode("a", (), ending=Failed(failure="transport")),
            "No return after 0 turns: the environment's server could not be reached, or its answer was lost;"
            " not the agent's fault, and never trained on.",
        ),
        (
            episode("a", (), ending=Cancelled()),
            "No return after 0 turns: stopped on purpose; it has no return.",
        ),
    ],
)
def test_an_ending_is_told_in_plain_words(played, told: str) -> None:
    assert verdict(played) == told


def test_an_unknown_reason_is_told_by_its_name() -> None:
    assert meaning("truncated(budget)") == "cut off by a limit: budget"
    assert meaning("failed(meteor)").startswith("meteor;")


def test_the_first_difference_of_two_episodes_is_marked() -> None:
    first = episode("a", (0.0, 0.0, 1.0))
    second = episode("b", (0.0, 1.0))
    view = compare_episodes(first, second)
    assert view.first_difference == 2
    assert [pair.differs for pair in view.pairs] == [(), ("reward",), ("action", "observation", "reward")]
    assert [pair.is_first_difference for pair in view.pairs] == [False, True, False]
    assert view.pairs[2].second is None
    assert compare_episodes(first, first).first_difference is None
    assert not compare_episodes(first, trajectory(id="c", task_id="other")).same_task


def test_the_answer_of_an_expert_names_another_version() -> None:
    answer = {
        "initial": "Make a guess.",
        "turns": [{"action": "5", "observation": "Right.", "reward": 1.0}],
        "total_reward": 1.0,
        "versions": ["1.0.0", "d1"],
    }
    assert expert_way(answer, ["1.0.0", "d1"]).note == ""
    assert (
        expert_way(answer, ["0.9.0", "d1"]).note == "Recorded with 0.9.0 / d1; this machine has 1.0.0 / d1."
    )
    assert expert_way({"problem": "no\nexpert"}, []).problem == "no expert"


def test_a_run_writes_its_progress_while_it_plays(tmp_path: Path) -> None:
    display = Progress(Console(file=StringIO()))
    with display.recorded(tmp_path):
        with display.playing("explore", "train", 1, total=2, done=0) as advance:
            advance([episode("a"), episode("b", (0.0,))])
            found = read_progress(tmp_path)
        assert found is not None
        assert (found.phase, found.iteration, found.done, found.total) == ("explore train", 1, 2, 2)
        assert (found.won, found.failed, found.state) == (1, 0, "running")
    assert (found := read_progress(tmp_path)) is not None
    assert found.state == "finished"
    with pytest.raises(ValueError, match="no space"), display.recorded(tmp_path):
        raise ValueError("no space\nleft")
    assert (found := read_progress(tmp_path)) is not None
    assert (found.state, found.message) == ("stopped", "no space left")
