"""The report of a run: headline, plot, table for the terminal, page, examples."""

import struct
import zlib
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console
from support.trajectories import trajectory

from agentevol.config.files.settings import flattened
from agentevol.core.summaries import EvaluationSummary, IterationSummary, MeanScore, RunSummary, best
from agentevol.loop.report.document import TEXT_LIMIT, visible
from agentevol.loop.report.examples import Example, choose
from agentevol.loop.report.page import (
    breakdown_table,
    endings_table,
    render,
    scores_table,
    write_report,
)
from agentevol.loop.report.plots import success_plot, success_png
from agentevol.loop.report.rates import SuccessRow, headline, interval_text, rate_text, success_rows
from agentevol.loop.report.stage_matrix import matrix_table, stage_matrix
from agentevol.loop.report.strengths import Strength
from agentevol.loop.report.table import terminal_table
from agentgym_store.errors import StoreError
from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.store import Store

HOSTILE = '</pre><script>alert("1")</script><img src=x onerror=alert(2)>&amp;{{ 7 * 7 }}'


def evaluation(successes: int, n: int = 100, split: str = "test") -> EvaluationSummary:
    return EvaluationSummary(
        split=split,
        n=n,
        successes=successes,
        mean_reward=successes / n,
        mean_turns=12.5,
        mean_tokens=80.0,
        endings={"terminated": successes, "truncated(max_turns)": n - successes, "failed(policy)": 1},
        by={
            "kind": {"heat": (successes // 2, n // 2), "look": (successes - successes // 2, n // 2)},
            "difficulty": {"small": (successes, n)},
        },
    )


def iteration(number: int, successes: int, **fields: object) -> IterationSummary:
    record = IterationSummary(
        iteration=number,
        checkpoint=f"{number:04d}",
        table_version=number * 3,
        explored={"terminated": 180, "truncated(max_turns)": 57, "failed(worker-lost)": 3} if number else {},
        requested=240 if number else None,
        selected=150 if number else 0,
        rows=190 if number else 0,
        trained_tokens=41_000 if number else 0,
        learn={"loss": 0.25 / number} if number else {},
        evaluation=evaluation(successes),
        seconds={"explore": 30.0, "learn": 42.5} if number else {"evaluate": 9.0},
    )
    return record.model_copy(update=fields)


SUMMARY = RunSummary(
    run="evolve",
    environment="alfworld",
    config={"seed": 7, "explore": {"tasks": 240, "split": None}, "name": "evolve"},
    iterations=(iteration(0, 20), iteration(1, 35), iteration(2, 55), iteration(3, 50)),
)


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def episode(
    name: str, number: int, rewards: tuple[float, ...], task: str = "t", text: str = "look"
) -> Trajectory:
    sample = Sample(text=text, prompt_ids=(1,), token_ids=(2, 3), logprobs=(-1.0, -2.0), policy_version=0)
    return trajectory(
        id=name,
        run="evolve",
        iteration=number,
        purpose="evaluate",
        env="alfworld",
        task_id=task,
        split="test",
        kind="heat",
        instruction="heat a mug.",
        seed=1,
        initial_observation="You see a mug.",
        turns=tuple(Turn(action="look", observation=text, reward=r, sample=sample) for r in rewards),
        ending=Terminated() if sum(rewards) >= 1 else Truncated(limit="max_turns"),
        started_at="2025-01-01T00:00:00Z",
        wall_s=1.0,
    )


def test_the_headline_says_what_changed_and_how_sure_that_is():
    # Wilson: 55/100 (0.4524, 0.6439), 20/100 (0.1333, 0.2888). So Newcombe's limits are
    # 0.35 - hypot(0.55 - 0.4524, 0.2888 - 0.2) = 0.218, 0.35 + hypot(0.6439 - 0.55, 0.2 - 0.1333) = 0.465
    assert headline(SUMMARY) == (
        "Success on the held-out split “test” went from 20.0 % (iteration 0) to 55.0 % (iteration 2): "
        "+35.0 points (95 % interval +21.8 to +46.5)."
    )


def test_the_best_checkpoint_is_chosen_on_validation_and_reported_on_the_held_out_split():
    start = iteration(0, 20, validation=evaluation(30, split="valid"))
    first = iteration(1, 40, validation=evaluation(60, split="valid"))
    second = iteration(2, 90, validation=evaluation(50, split="valid"))
    summary = SUMMARY.model_copy(update={"iterations": (start, first, second)})
    assert best(summary) is first
    assert "to 40.0 % (iteration 1, the best on “valid”): +20.0 points" in headline(summary)


def test_where_rewards_are_graded_the_mean_return_decides_and_is_reported():
    def graded(number: int, successes: int, mean: float, deviation: float | None) -> IterationSummary:
        found = evaluation(successes).model_copy(update={"mean_reward": mean, "reward_deviation": deviation})
        return iteration(number, successes, evaluation=found)

    first = graded(1, 0, 0.6, 0.4)
    summary = SUMMARY.model_copy(
        update={"iterations": (graded(0, 0, 0.2, 0.3), first, graded(2, 5, 0.5, 0.4))}
    )
    assert best(summary) is summary.iterations[2]  # more episodes won
    judged = summary.model_copy(update={"config": {"evaluate": {"measure": "reward"}}})
    assert best(judged) is first
    # 0.4 -+ 1.96 * sqrt(0.4^2 / 100 + 0.3^2 / 100) = 0.4 -+ 0.098
    assert headline(judged) == (
        "The mean return on the held-out split “test” went from 0.200 (iteration 0) to 0.600 (iteration 1): "
        "+0.400 (95 % interval +0.302 to +0.498)."
    )
    bare = judged.model_copy(update={"iterations": (graded(0, 0, 0.2, None), graded(1, 0, 0.6, 0.4))})
    assert headline(bare).endswith("to 0.600 (iteration 1): +0.400.")


def test_the_earlier_of_equals_is_the_best():
    same = SUMMARY.model_copy(update={"iterations": (iteration(0, 20), iteration(1, 30), iteration(2, 30))})
    assert best(same) == same.iterations[1]


def test_no_gain_is_called_no_gain():
    worse = SUMMARY.model_copy(update={"iterations": (iteration(0, 20), iteration(1, 10))})
    assert headline(worse) == (
        "Success on the held-out split “test” is 20.0 % (iteration 0); no later iteration is better."
    )


def test_the_first_evaluation_alone_is_compared_with_nothing():
    begun = SUMMARY.model_copy(update={"iterations": (iteration(0, 20),)})
    assert headline(begun).endswith("is 20.0 % (iteration 0); no later iteration has ended yet.")


def test_a_run_without_an_evaluation_says_so():
    bare = SUMMARY.model_copy(update={"iterations": (iteration(1, 0, evaluation=None),)})
    assert headline(bare) == "Nothing has been evaluated yet."
    assert success_rows(bare) == []
    assert best(bare) is None


def test_rates_without_episodes_are_a_dash():
    assert (rate_text(0, 0), rate_text(45, 100), interval_text(0, 20)) == ("–", "45.0 %", "0.0 – 16.1 %")


def test_difficulties_become_lines_of_their_own_when_there_are_several():
    assert [row.group for row in success_rows(SUMMARY)] == ["", "", "", ""]
    levels = evaluation(20).model_copy(update={"by": {"difficulty": {"small": (15, 50), "large": (5, 50)}}})
    mixed = SUMMARY.model_copy(update={"iterations": (iteration(0, 20, evaluation=levels),)})
    assert success_rows(mixed) == [
        SuccessRow(0, 20, 100),
        SuccessRow(0, 15, 50, "small"),
        SuccessRow(0, 5, 50, "large"),
    ]


def test_the_plot_is_a_png_that_depends_on_the_data_alone(tmp_path):
    rows = success_rows(SUMMARY)
    picture = success_plot(rows, tmp_path / "success.png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert (picture[:8], width, height) == (b"\x89PNG\r\n\x1a\n", 880, 495)
    assert success_png(rows) == picture
    assert success_png([SuccessRow(0, 21, 100), *rows[1:]]) != picture


@pytest.mark.parametrize(
    "rows",
    [[], [SuccessRow(0, 0, 0)], [SuccessRow(0, 3, 3), SuccessRow(0, 1, 2, "$\\frac{"), SuccessRow(1, 0, 4)]],
)
def test_odd_data_still_make_a_plot(rows):
    picture = success_png(rows, title="$x^")
    start = picture.index(b"IDAT")
    size = int.from_bytes(picture[start - 4 : start], "big")
    assert zlib.decompressobj().decompress(picture[start + 4 : start + 4 + size])


def test_the_terminal_table_marks_the_best_and_counts_failures():
    console = Console(file=StringIO(), width=140)
    console.print(terminal_table(SUMMARY))
    lines = console.file.getvalue().splitlines()
    best_line = next(line for line in lines if "2 *" in line)
    for cell in ("55.0 %", "45.2 – 64.4 %", "100", "0.55", "12.5", "240", "3", "150", "1:12"):
        assert cell in best_line
    assert "went from 20.0 %" in " ".join(lines)


def test_the_terminal_table_fits_eighty_columns():
    console = Console(file=StringIO(), width=80)
    many = [iteration(number, 55, explored={"terminated": 12_345}) for number in range(9, 12)]
    console.print(terminal_table(SUMMARY.model_copy(update={"iterations": tuple(many)})))
    shown = console.file.getvalue()
    assert "…" not in shown
    for cell in ("iteration", "95 % interval", "45.2 – 64.4 %", "explored", "12,345", "selected"):
        assert cell in shown


def test_markup_in_a_runs_name_is_shown_and_not_obeyed():
    console = Console(file=StringIO(), width=140)
    console.print(terminal_table(SUMMARY.model_copy(update={"run": "[red]x[/nonsense]"})))
    assert "[red]x[/nonsense]" in console.file.getvalue()


def test_endings_add_up_to_what_was_requested():
    header, rows = endings_table(SUMMARY)
    assert header == [
        "episodes",
        *("failed(policy)", "failed(worker-lost)", "terminated", "truncated(max_turns)"),
        *("all", "requested", "played again"),
    ]
    assert rows[0] == ["explored in iteration 1", "0", "3", "180", "57", "240", "240", "0"]
    assert rows[3] == ["evaluated after iteration 0", "1", "0", "20", "80", "101", "–", "–"]
    assert len(rows) == 3 + 4


def test_episodes_that_are_missing_from_the_sum_are_shown():
    lossy = SUMMARY.model_copy(update={"iterations": (iteration(1, 20, requested=250, replayed=4),)})
    assert endings_table(lossy)[1][0][-3:] == ["240", "250 (10 unaccounted for)", "4"]


def test_the_breakdown_has_a_column_for_each_evaluation():
    assert breakdown_table(SUMMARY, "kind")[0] == [
        "heat",
        *("20.0 % (10/50)", "34.0 % (17/50)", "54.0 % (27/50)", "50.0 % (25/50)"),
    ]


def test_the_configuration_is_flat():
    assert list(flattened({"a": 1, "b": {"c": None, "d": {"e": "x"}}, "f": {}})) == [
        ("a", "1"),
        ("b.c", "null"),
        ("b.d.e", '"x"'),
        ("f", "{}"),
    ]


def test_the_page_shows_every_part():
    page = Page(render(SUMMARY, b"png", [Example("won at iteration 3", episode("e1", 3, (0.0, 1.0)))]))
    for part in (
        *(
            "went from 20.0 % (iteration 0) to 55.0 %",
            "45.2 – 64.4 %",
            "Success by task type",
            "54.0 % (27/50)",
        ),
        *(
            "How episodes ended",
            "failed(worker-lost)",
            "Learning",
            "41,000",
            "0.125",
            "Time, in seconds",
            "72.5",
        ),
        *("explore.tasks", "won at iteration 3", "heat: heat a mug.", "2 tokens, mean log-probability -1.50"),
    ):
        assert part in page.text
    assert {tag for tag, _ in page.tags} >= {"details", "summary", "table", "img"}


class Tables(HTMLParser):
    """Rows of cells under each heading of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: dict[str, list[list[str]]] = {}
        self._title, self._place = "", ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self._place = tag
        if tag == "h2":
            self._title = ""
        elif tag == "tr":
            self.found.setdefault(self._title, []).append([])
        elif tag in ("td", "th"):
            self.found[self._title][-1].append("")

    def handle_endtag(self, tag):
        self._place = ""

    def handle_data(self, data):
        if self._place == "h2":
            self._title += data
        elif self._place in ("td", "th"):
            self.found[self._title][-1][-1] += data


def guarded(number: int, successes: int, easy: int, **fields: object) -> IterationSummary:
    """An iteration of a run with protected tasks, of which `easy` of 10 were won."""
    kept = evaluation(easy, n=10, split="valid")
    return iteration(number, successes, protected={"easy": kept}, **fields)


# The second update lost at the protected tasks, was rejected, and its checkpoint is that of iteration 1.
STAGES = RunSummary(
    run="evolve",
    environment="alfworld",
    config={},
    iterations=(
        guarded(0, 20, 9),
        guarded(1, 60, 8),
        guarded(2, 60, 1, rejected="easy fell"),
        guarded(3, 50, 7),
    ),
)


def test_the_matrix_shows_what_every_stage_won_and_what_the_last_one_forgot():
    page = Page(render(STAGES, b"png"))
    header, *rows = Tables(render(STAGES, b"png")).found["Success by environment and stage"]
    assert header == [
        *("environment", "start", "iteration 1", "iteration 2", "iteration 3"),
        *("forgotten", "since the start"),
    ]
    assert rows == [
        # best earlier 60, last 50: 10 points forgotten, 30 more than at the start
        [
            "alfworld",
            "20.0 % (20/100)",
            "60.0 % (60/100)",
            "60.0 % (60/100)",
            "50.0 % (50/100)",
            "+10.0",
            "+30.0",
        ],
        # what the rejected update won is not what its checkpoint can do
        [
            "protected: easy",
            "90.0 % (9/10)",
            "80.0 % (8/10)",
            "80.0 % (8/10)",
            "70.0 % (7/10)",
            "+20.0",
            "-20.0",
        ],
        [
            "task type: heat",
            "20.0 % (10/50)",
            "60.0 % (30/50)",
            "60.0 % (30/50)",
            "50.0 % (25/50)",
            "+10.0",
            "+30.0",
        ],
        [
            "task type: look",
            "20.0 % (10/50)",
            "60.0 % (30/50)",
            "60.0 % (30/50)",
            "50.0 % (25/50)",
            "+10.0",
            "+30.0",
        ],
    ]
    # (30 - 20 + 30 + 30) / 4
    assert "Backward transfer, the mean since the start: +17.5." in page.text


def test_what_was_not_played_at_every_stage_is_a_dash():
    late = STAGES.model_copy(update={"iterations": (iteration(0, 20), guarded(1, 60, 8))})
    note, _, rows = matrix_table(late)
    assert rows[-1] == ["protected: easy", "–", "80.0 % (8/10)", "–", "–"]
    assert "the mean since the start: –." in note


def test_a_stage_alone_has_nothing_to_forget():
    start = STAGES.model_copy(update={"iterations": (guarded(0, 20, 9),)})
    assert matrix_table(start)[2] == []
    assert [line.counts for line in stage_matrix(start).lines][:2] == [[(20, 100)], [(9, 10)]]
    assert matrix_table(start.model_copy(update={"iterations": ()}))[2] == []


def test_scores_in_dimensions_have_a_line_for_each_evaluation():
    scores = {
        "goal": MeanScore(mean=5.25, low=4.0, high=6.5, n=40, clusters=20),
        "secret": MeanScore(mean=-1.0, n=2, clusters=1),
        "overall": MeanScore(),
    }
    scored = evaluation(3).model_copy(update={"dimensions": scores})
    header, rows = scores_table(
        SUMMARY.model_copy(update={"iterations": (iteration(0, 3, evaluation=scored), iteration(1, 4))})
    )
    assert header == ["iteration", "dimension", "mean", "95 % interval", "n"]
    assert rows == [
        ["0", "goal", "5.25", "4.00 to 6.50", "40"],
        ["0", "secret", "-1.00", "–", "2"],
        ["0", "overall", "–", "–", "0"],
    ]
    assert "Scores by dimension" not in render(SUMMARY, b"")


def test_strengths_of_checkpoints_are_a_table():
    strong = Strength("iteration 2", -0.36, (-0.51, -0.22))
    weak = Strength("iteration 0", -1.2, (-1.6, -0.92))
    table = Tables(render(SUMMARY, b"png", strengths=[strong, weak])).found["Strength of the checkpoints"]
    assert table == [
        ["checkpoint", "log-strength", "95 % interval"],
        ["iteration 2", "-0.36", "-0.51 to -0.22"],
        ["iteration 0", "-1.20", "-1.60 to -0.92"],
    ]
    assert "Strength of the checkpoints" not in Tables(render(SUMMARY, b"png")).found


def test_the_report_of_a_run_ranks_its_checkpoints(tmp_path):
    store = Store.open(tmp_path / "trajectories")
    lost = [episode(f"0-{task}", 0, (0.0,), task) for task in "abcd"]
    won = [episode(f"1-{task}", 1, (1.0,), task) for task in "abcd"]
    store.append([*lost, *won], commit={"run": "evolve"})
    two = SUMMARY.model_copy(update={"iterations": (iteration(0, 0), iteration(1, 4))})
    _, first, second = Tables(write_report(tmp_path, two).read_text()).found["Strength of the checkpoints"]
    # four wins and half a virtual one to either side: 4.5 / 5 and 0.5 / 5
    assert (first[:2], second[:2]) == (["iteration 1", "-0.11"], ["iteration 0", "-2.30"])


def test_what_was_solved_and_learnt_from_is_shown_by_iteration_and_environment():
    data = {"alfworld": {"sequences_new": 6.0, "mean_weight": 0.5}, "maze": {"sequences_new": 0.0}}
    one = iteration(1, 35, selection={"keep_rate": 0.25, "horizon": 5.0}, data=data)
    found = Tables(render(SUMMARY.model_copy(update={"iterations": (iteration(0, 20), one)}), b"png")).found
    assert found["Tasks solved in exploration, and selected episodes"] == [
        ["iteration", "keep_rate", "horizon"],
        ["1", "0.25", "5"],
    ]
    assert found["Training data by environment"] == [
        ["iteration", "environment", "sequences_new", "mean_weight"],
        ["1", "alfworld", "6", "0.5"],
        ["1", "maze", "0", "–"],
    ]


def test_the_page_needs_nothing_from_elsewhere():
    page = Page(render(SUMMARY, b"png", [Example("x", episode("e1", 3, (1.0,)))]))
    loads = [
        (tag, value)
        for tag, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href")
    ]
    assert loads == [("img", "data:image/png;base64,cG5n")]
    assert "default-src 'none'" in str(page.tags)


def test_hostile_text_stays_text_wherever_it_comes_from():
    hostile = episode("e1", 3, (1.0,), text=HOSTILE).model_copy(
        update={"id": HOSTILE, "instruction": HOSTILE, "policy": HOSTILE, "ending": Truncated(limit=HOSTILE)}
    )
    everywhere = iteration(
        1,
        10,
        checkpoint=HOSTILE,
        explored={HOSTILE: 1},
        learn={HOSTILE: 1.0},
        seconds={HOSTILE: 1.0},
        evaluation=evaluation(10, split=HOSTILE).model_copy(update={"by": {"kind": {HOSTILE: (1, 2)}}}),
    )
    summary = RunSummary(
        run=HOSTILE, environment=HOSTILE, config={HOSTILE: HOSTILE}, iterations=(everywhere,)
    )
    source = render(summary, b"png", [Example(HOSTILE, hostile)])
    page = Page(source)
    assert [tag for tag, _ in page.tags if tag in ("script", "iframe")] == []
    assert [attributes for tag, attributes in page.tags if tag == "img"] == [
        {"src": "data:image/png;base64,cG5n", "alt": "Success per iteration with 95 % intervals"}
    ]
    assert page.text.count(HOSTILE) >= 10
    assert "49" not in source.replace("{{ 7 * 7 }}", "")


def test_invisible_characters_are_shown_as_escapes():
    assert visible("a\x1b[31mb\x00\u202ec\td\ne\rä中") == "a\\x1b[31mb\\x00\\u202ec\\td\ne\\rä中"


def test_long_texts_and_episodes_are_cut_and_say_so():
    assert visible("x" * TEXT_LIMIT) == "x" * TEXT_LIMIT
    assert visible("x" * (TEXT_LIMIT + 1234)).endswith("x\n… 1,234 more characters")
    page = Page(render(SUMMARY, b"", [Example("x", episode("e1", 3, (0.0,) * 250))]))
    assert "… 50 more turns" in page.text


def test_the_examples_contrast_the_start_with_the_newest_policy(tmp_path):
    store = Store.open(tmp_path / "trajectories")
    won, lost = (0.0, 1.0), (0.0, 0.0)
    episodes = [
        episode("0-a", 0, won, "a"),
        episode("0-b", 0, lost, "b"),
        episode("0-c", 0, lost, "c"),
        episode("3-a", 3, won, "a"),
        episode("3-b", 3, won, "b"),
        episode("3-c", 3, lost, "c"),
    ]
    store.append(episodes, commit={"run": "evolve"})
    assert choose(store.scan().collect()) == {
        "3-b": "won at iteration 3",
        "0-b": "the same task at iteration 0",
        "3-c": "lost at iteration 3",
    }
    assert choose(store.scan().collect().clear()) == {}
    assert list(choose(store.scan().collect().filter(iteration=0))) == ["0-a", "0-b", "0-c"]


def test_the_report_is_written_whole_with_examples_of_the_runs_own_table(tmp_path):
    store = Store.open(tmp_path / "trajectories")
    other = episode("elsewhere", 9, (1.0,)).model_copy(update={"split": "valid"})
    store.append([episode("mine", 3, (1.0,)), other], commit={"run": "evolve"})
    report = write_report(tmp_path, SUMMARY)
    page = Page(report.read_text())
    assert report == tmp_path / "report.html"
    assert "episode mine, task t" in page.text
    assert "elsewhere" not in page.text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.html", "success.png", "trajectories"]


def test_a_run_without_a_table_has_a_report_without_examples(tmp_path):
    assert "Example episodes" not in write_report(tmp_path, SUMMARY).read_text()


def test_a_report_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(StoreError, match="cannot write") as error:
        write_report(tmp_path / "missing", SUMMARY)
    assert "\n" not in str(error.value)


def test_a_summary_survives_its_file():
    assert RunSummary.model_validate_json(SUMMARY.model_dump_json()) == SUMMARY
