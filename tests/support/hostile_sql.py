"""Hostile SQL statements by class, for a database with the tables `person` and `town`.

`{folder}` is a folder in which no file may appear.
"""

BIG = "printf('%.*c', 99000, 'a')"
BRANCHES = " UNION ALL SELECT 1" * 40
COUNTING = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r)"
COPYING = f"WITH RECURSIVE r(x) AS (SELECT {BIG} UNION ALL SELECT x FROM r)"
NESTED = "SELECT " + "(" * 300 + "1" + ")" * 300
MANY_LIKES = ", ".join(["max(x LIKE '%_a_a_a_a_a_a_a_a_a_a_a_a_b', 0)"] * 90)
MANY_COLUMNS = ", ".join(["length(lower(x || ''))"] * 99)

HOSTILE: dict[str, tuple[str, ...]] = {
    "files": (
        "ATTACH DATABASE '{folder}/a.db' AS a",
        "ATTACH 'file:{folder}/b.db?mode=rwc' AS b",
        "VACUUM",
        "VACUUM INTO '{folder}/c.db'",
        "VACUUM main INTO 'file:{folder}/d.db?mode=rwc'",
        "DETACH DATABASE main",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('{folder}/e.txt', 'x')",
        "SELECT edit('x', 'touch {folder}/f.txt')",
    ),
    "writes": (
        "DELETE FROM person",
        "INSERT INTO person VALUES (9, 'x', 1, 1)",
        "REPLACE INTO person VALUES (1, 'x', 1, 1)",
        "UPDATE person SET age = 0",
        "WITH gone AS (SELECT 1) DELETE FROM person",
        "WITH t(x) AS (SELECT 9) INSERT INTO person SELECT x, 'x', x, x FROM t",
        "UPDATE sqlite_master SET sql = ''",
        "INSERT INTO person SELECT * FROM person RETURNING *",
    ),
    "schema": (
        "DROP TABLE person",
        "CREATE TABLE other (x)",
        "CREATE TEMP TABLE other AS SELECT * FROM person",
        "CREATE TEMP VIEW other AS SELECT 1",
        "CREATE TEMP TRIGGER t AFTER INSERT ON person BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
        "ALTER TABLE person RENAME TO other",
        "CREATE INDEX i ON person (age)",
        "REINDEX",
        "ANALYZE",
    ),
    "pragmas": (
        "PRAGMA writable_schema = 1",
        "PRAGMA query_only = 0",
        "PRAGMA journal_mode = WAL",
        "PRAGMA hard_heap_limit = 0",
        "PRAGMA temp_store_directory = '{folder}'",
        "SELECT * FROM pragma_database_list",
        "SELECT count(*) FROM pragma_table_info('person')",
        "SELECT count(*) FROM dbstat",
        "SELECT sql FROM sqlite_stmt",
        "EXPLAIN PRAGMA query_only",
    ),
    "extensions": (
        "SELECT load_extension('{folder}/x.so')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT fts3_tokenizer('simple', x'4141414141414141')",
        "SELECT sqlite_log(1, 'x')",
    ),
    "recursion": (
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x + 1 FROM r) SELECT max(x) FROM r",
        "WITH RECURSIVE r(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM r) SELECT * FROM r",
        f"{COPYING} SELECT * FROM r",
    ),
    "joins": (
        "SELECT count(*) FROM person a, person b, person c, person d, person e, person f",
        "SELECT * FROM person a, person b, person c, person d ORDER BY a.name || b.name",
        "SELECT sum(a.age) OVER (ORDER BY b.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) "
        "FROM person a, person b, person c, person d",
    ),
    "sorts": (
        "SELECT DISTINCT a.name || b.name || c.name || d.id FROM person a, person b, person c, person d",
        "SELECT group_concat(a.name || b.name || c.name) FROM person a, person b, person c, person d",
        "SELECT json_group_array(a.name) FROM person a, person b, person c, person d, person e",
        f"{COUNTING} SELECT {BIG} || i FROM r ORDER BY 1",
        f"{COUNTING} SELECT count(DISTINCT {BIG} || i) FROM r",
    ),
    "sizes": (
        "SELECT printf('%.*c', 1000000000, 'x')",
        "SELECT printf('%1000000000d', 1) || printf('%.900000000f', 1.5)",
        "SELECT zeroblob(1000000000)",
        "SELECT randomblob(1000000000)",
        f"SELECT replace({BIG}, 'a', {BIG})",
        f"SELECT hex(hex({BIG}))",
        f"SELECT trim({BIG}, {BIG} || 'b')",
        f"SELECT instr({BIG}, substr({BIG}, 1, 50000) || 'b')",
        f"WITH s(x) AS (SELECT {BIG}) SELECT {MANY_COLUMNS} FROM s",
        f"{COPYING} SELECT count(upper(x) || 1) FROM r",
        f"{COPYING} SELECT count(json_quote(x) || 1) FROM r",
    ),
    "patterns": (
        f"WITH s(x) AS (SELECT {BIG}) SELECT {MANY_LIKES} FROM s",
        f"SELECT {BIG} LIKE '{'%a' * 99}b'",
        f"SELECT {BIG} GLOB '{'*?a' * 60}b'",
        f"SELECT 'x' LIKE {BIG}",
        "SELECT count(*) FROM person a, person b, person c, person d WHERE a.name LIKE '%' || d.id || '%_b'",
        "SELECT 'a' REGEXP '(a+)+$'",
    ),
    "statements": (
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE person",
        "SELECT 1; -- DROP\nDELETE FROM person",
        "SELECT 1;;ATTACH '{folder}/g.db' AS g",
    ),
    "transactions": (
        "BEGIN EXCLUSIVE",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT s",
        "RELEASE s",
        "END TRANSACTION",
    ),
    "nesting": (
        NESTED,
        "SELECT " + "abs(" * 150 + "1" + ")" * 150,
        "SELECT " + "+".join(["1"] * 2000),
        f"SELECT 1{BRANCHES}",
        "SELECT " + ", ".join(["1"] * 500),
        "SELECT coalesce(" + ", ".join(["1"] * 50) + ")",
        "SELECT * FROM " + ", ".join(f"person p{number}" for number in range(70)),
        "SELECT " * 8000,
    ),
    "clocks": (
        "SELECT datetime('now')",
        "SELECT date()",
        "SELECT current_timestamp",
        "SELECT strftime('%s', 'NOW')",
        "SELECT time('2024-01-01 10:00', 'localtime')",
        "SELECT random()",
        "SELECT name FROM person ORDER BY random()",
    ),
    "texts": (
        "SELECT 1 \x00 FROM person",
        "SELECT '\ud800'",
        "\ufeffSELECT\u00a01",
        "SELECT CAST(x'fffe80' AS TEXT), x'00ff'",
        "SELECT ?1, :name",
    ),
}
"""Classes to statements; all but those of the texts end without an `ok`, or with harmless rows."""
