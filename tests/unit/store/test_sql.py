"""SQL over a table: views, the authorizer, limits of the process."""

import json
import os
import select
import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import polars as pl
import pytest
from support.trajectories import trajectory

from agentgym_store.errors import StatementError, StoreError
from agentgym_store.records import Failed, Sample, Turn
from agentgym_store.sql import Limits, query
from agentgym_store.sql.authorizer import FILE_FUNCTIONS, LONGEST, authorize, authorize_plan
from agentgym_store.sql.query import _Process
from agentgym_store.sql.views import descriptions, views
from agentgym_store.sql.worker import REFUSED
from agentgym_store.store import Store

SAID = Sample(text="x", prompt_ids=(1, 2), token_ids=(3,), logprobs=(-0.5,), policy_version=0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three episodes in version 1 and a failed one in version 2."""
    made = Store.open(tmp_path_factory.mktemp("sql") / "table")
    look = Turn(action="look", observation="a", reward=0.0, sample=SAID, info={"mode": 1})
    take = Turn(action="take", observation="b", reward=1.0, sample=SAID, info={"mode": 4})
    made.append(
        [
            trajectory(id="won", env="house", turns=(look, take)),
            trajectory(id="lost", env="house", turns=(look, look, look)),
            trajectory(id="shop", env="shop", iteration=2, turns=(look,)),
        ],
        commit={"a": "1"},
    )
    made.append([trajectory(id="broken", ending=Failed(failure="worker-lost"))], commit={"a": "2"})
    return made


def answer(store: Store, statement: str, **limits: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement, run as its process runs it."""
    with query(store, statement, Limits(**limits)) as result:
        return list(result.rows())


def quick(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, run in this process."""
    authorize(statement)
    frame: Any = pl.SQLContext(views(store, None, lambda _: None)).execute(statement, eager=False)
    authorize_plan(frame.explain(optimized=False))
    return frame.collect(engine="streaming").rows()


def test_a_statement_reads_both_views(store: Store):
    statement = """
        -- success by environment, with the sampled tokens
        with tokens as (select id, sum(sampled_tokens) as n from turns group by id)
        select e.env, count(*) as episodes, avg(e.total_reward) as reward, sum(t.n) as tokens
        from episodes e join tokens t on t.id = e.id
        group by e.env order by e.env
    """
    with query(store, statement) as result:
        assert result.columns == ("env", "episodes", "reward", "tokens")
        assert list(result.rows()) == [("house", 2, 0.5, 5), ("shop", 1, 0.0, 1)]
        process = result._process.running
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("select count(*) as n from episodes", [(4,)]),
        ("select count(*) as n from turns", [(6,)]),
        ("select id from episodes where ending = 'failed'", [("broken",)]),
        ("select id from episodes order by turn_count desc limit 1", [("lost",)]),
        ("select mode, count(*) as n from turns group by mode order by mode", [(1, 5), (4, 1)]),
        ("select distinct env from turns where turn >= 2", [("house",)]),
        ("select id, turn from turns where action = 'take'", [("won", 2)]),
        ("select id from episodes where id not in (select id from turns)", [("broken",)]),
        ("(select 1 as a) union all (select 2 as a) order by a", [(1,), (2,)]),
        ("SELECT max(reward) AS r FROM turns WHERE observation LIKE 'b%'", [(1.0,)]),
        ('select "limit", failure from episodes where failure is not null', [(None, "worker-lost")]),
        (
            "select id, row_number() over (partition by env order by total_reward desc) as place"
            " from episodes where env = 'house' order by place",
            [("won", 1), ("lost", 2)],
        ),
    ],
)
def test_what_people_ask(store: Store, statement: str, rows: list[tuple[Any, ...]]):
    assert quick(store, statement) == rows


def test_all_columns_have_the_types_of_their_descriptions(store: Store):
    for view, columns in descriptions().items():
        frame: Any = pl.SQLContext(views(store, None, lambda _: None)).execute(f"select * from {view}")
        assert dict(frame.collect().schema) == {name: kind for name, (kind, _) in columns.items()}


def test_only_the_named_columns_are_read(store: Store, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []
    turns, frames = Store.turns, Store.frames
    monkeypatch.setattr(
        Store, "turns", lambda self, columns, **named: asked.append(columns) or turns(self, columns, **named)
    )
    monkeypatch.setattr(
        Store,
        "frames",
        lambda self, columns, **named: asked.append(columns) or frames(self, columns, **named),
    )
    quick(store, "select action from turns where reward > 0")
    quick(store, "select avg(total_reward) as r from episodes")
    assert [sorted(columns) for columns in asked] == [["action", "reward"], ["total_reward"]]


def test_a_version_is_queried_as_it_was(store: Store):
    with query(store, "select count(*) as n from episodes", version=1) as result:
        assert list(result.rows()) == [(3,)]


def test_a_result_without_rows_has_its_columns(store: Store):
    with query(store, "select id, token_ids from turns where id = 'nobody'") as result:
        assert (result.columns, list(result.rows())) == (("id", "token_ids"), [])


READERS = [
    "select * from read_csv('{}')",
    "select * from READ_CSV('{}')",
    "select * from \"read_csv\"('{}')",
    "select * from read_csv /* */ ('{}')",
    "select * from Read_Ipc('{}')",
    "select * from read_parquet('{}')",
    "select * from read_json('{}')",
    "select * from episodes where id in (select a from read_csv('{}'))",
    "with f as (select * from read_csv('{}')) select * from f",
    "select * from episodes e join read_csv('{}') f on e.id = f.a",
    "select * from read_parquet('http://127.0.0.1:9/x.parquet')",
    "select * from read_csv('s3://bucket/x.csv')",
    "select * from READ_C\N{LATIN SMALL LETTER LONG S}V('{}')",
    "select 'read_csv' as a",  # refused too: what a name is used for is not examined
]


@pytest.mark.parametrize("statement", READERS)
def test_a_statement_that_names_a_reader_of_files_is_refused(store: Store, statement: str, tmp_path: Path):
    (tmp_path / "secret.csv").write_text("a\nsecret\n")
    with pytest.raises(StatementError, match="reads files, and may not be named"):
        quick(store, statement.format(tmp_path / "secret.csv"))


@pytest.mark.parametrize("name", FILE_FUNCTIONS)
def test_every_reader_of_polars_is_refused(name: str):
    assert hasattr(pl, name)
    with pytest.raises(StatementError, match=f"^{name} reads files"):
        authorize(f"select * from {name}('x')")


def test_tools_with_such_names_can_be_asked_for(store: Store):
    assert quick(store, "select id from turns where action like 'read_file(%' or action = 'scan_x'") == []


def test_a_plan_that_reads_a_file_is_refused_also_where_the_name_was_not(tmp_path: Path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    frame: Any = pl.SQLContext().execute(f"select * from read_csv('{tmp_path / 'a.csv'}')")
    with pytest.raises(StatementError, match="reads the views episodes and turns, not Csv files"):
        authorize_plan(frame.explain(optimized=False))
    frame = pl.scan_parquet(tmp_path / "a.parquet", schema={"a": pl.Int64})
    with pytest.raises(StatementError, match="not Parquet files"):
        authorize_plan(frame.explain(optimized=False))


@pytest.mark.parametrize(
    "statement",
    [
        "drop table episodes",
        "delete from episodes",
        "truncate table turns",
        "insert into episodes values (1)",
        "update episodes set id = 'x'",
        "create table a as select * from episodes",
        "copy episodes to 'x.csv'",
        "explain select * from episodes",
        "show tables",
        "/* select */ drop table episodes",
        "-- select\ndrop table episodes",
        "values (1)",
        "",
        ";",
    ],
)
def test_what_is_no_query_is_refused(statement: str):
    with pytest.raises(StatementError, match="they begin with SELECT or WITH"):
        authorize(statement)


def test_a_statement_has_a_length():
    authorize("select 1".ljust(LONGEST))
    with pytest.raises(StatementError, match=r"has 65,537 characters; 65,536 are allowed"):
        authorize("select 1".ljust(LONGEST + 1))


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("select", "sql parser error"),
        ("select * from nobody", "relation 'nobody' was not found; there are episodes and turns"),
        ("select * from '/etc/passwd'", "was not found; there are episodes and turns"),
        ("select nope from episodes", 'unable to find column "nope"'),
        ("select 1; select 2", "only one"),
        ("select cast(id as int) as n from episodes", "conversion from `str` to `i32` failed"),
    ],
)
def test_a_bad_statement_is_one_line(store: Store, statement: str, told: str):
    with pytest.raises(StatementError, match=told) as error:
        answer(store, statement)
    assert "\n" not in str(error.value)


def test_a_table_whose_file_is_gone_is_no_fault_of_the_statement(tmp_path: Path):
    store = Store.open(tmp_path / "table")
    store.append([trajectory(id="a")], commit={"a": "1"})
    next((tmp_path / "table").glob("*.parquet")).unlink()
    with pytest.raises(StoreError, match=r"cannot read the table of trajectories .*No such file") as error:
        answer(store, "select id from episodes")
    assert not isinstance(error.value, StatementError)


ENDLESS = "select count(*) as n from {} where " + " + ".join(f"t{k}.reward" for k in range(16)) + " > 99"
ENDLESS = ENDLESS.format(" cross join ".join(f"turns t{k}" for k in range(16)))


def test_a_statement_that_takes_too_long_is_ended(store: Store):
    with pytest.raises(StatementError, match=r"^the statement took longer than 0\.01 s$"):
        answer(
            store, "select 1 as n", seconds=0.01
        )  # a process that imports polars takes longer on any machine


def test_an_endless_statement_reaches_a_limit(store: Store):
    with pytest.raises(
        StatementError, match=r"^the statement (took longer than 1\.5 s|needs more than 4 GiB)"
    ):
        answer(store, ENDLESS, seconds=1.5)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
def test_a_statement_that_takes_too_much_memory_is_ended(store: Store):
    joined = " cross join ".join(f"turns t{k}" for k in range(9))
    columns = ", ".join(f"t{k}.action as a{k}" for k in range(9))
    with pytest.raises(StatementError, match=r"^the statement needs more than 0\.0625 GiB of memory$"):
        answer(store, f"select {columns} from {joined} order by a0, a8", memory_bytes=2**26)


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("table", "cannot read: Failed to launch worker thread: Resource temporarily unavailable", None),
        ("table", "cannot read: malloc of size 64 failed: Cannot allocate memory", None),
        ("table", "cannot read: no such file", StoreError("cannot read: no such file")),
        ("statement", "no column 'MemoryError'", StatementError("no column 'MemoryError'")),
    ],
)
def test_memory_that_ends_while_the_table_is_read_is_no_error_of_the_table(
    kind: str, message: str, expected: StoreError | None
):
    refusal = json.dumps({"kind": kind, "message": message})
    program = f"import sys; sys.stderr.write({refusal!r}); sys.exit({REFUSED})"
    with (
        TemporaryFile() as complaints,
        subprocess.Popen([sys.executable, "-c", program], stderr=complaints) as running,
    ):
        running.wait()
        reason = _Process(running, complaints, Limits(memory_bytes=2**30))._reason()
    expected = expected or StatementError("the statement needs more than 1 GiB of memory")
    assert (type(reason), str(reason)) == (type(expected), str(expected))


PARENT = textwrap.dedent(
    """
    import sys
    from agentgym_store.sql import query
    from agentgym_store.store import Store
    with query(Store.open(sys.argv[1], create=False), sys.argv[2]) as result:
        print(result._process.running.pid, flush=True)
        list(result.rows())
    """
)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are watched by file descriptors of Linux")
def test_the_process_of_a_statement_ends_with_the_one_that_waits_for_it(store: Store):
    command = [sys.executable, "-c", PARENT, store.place.name, ENDLESS]
    path = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert parent.stdout is not None
    worker = os.pidfd_open(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    ended, _, _ = select.select([worker], [], [], 60)
    os.close(worker)
    assert ended


def test_a_reader_of_the_first_rows_need_not_take_all(store: Store):
    with query(store, "select a.id from turns a cross join turns b cross join turns c") as result:
        assert len(next(iter(result.rows()))) == 1
        process = result._process.running
    assert process.poll() is not None
