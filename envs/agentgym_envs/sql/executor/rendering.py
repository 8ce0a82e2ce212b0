"""Results as the agent reads them.

    name | age
    Tim | 43
    … (2 more rows)

A value is on one line, so that the content of a database cannot imitate the lines around it.
"""

from agentgym_envs.sql.executor.results import Result, Value

MAX_ROWS = 50
MAX_CHARACTERS = 4096
BLOB_BYTES = 32


def rendered(result: Result) -> str:
    """The columns and the first rows of a result, at most 50 of them and about 4,000 characters."""
    heading = " | ".join(map(shown, result.columns))[:MAX_CHARACTERS]
    lines, left = [heading], MAX_CHARACTERS - len(heading)
    for row in result.rows[:MAX_ROWS]:
        line = " | ".join(map(shown, row))
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    told = len(lines) - 1
    if told < len(result.rows) or result.status == "too_many_rows":
        more = "more than " if result.status == "too_many_rows" else ""
        lines.append(f"… ({more}{len(result.rows) - told} more rows)")
    elif not told:
        lines.append("(no rows)")
    return "\n".join(lines)


def shown(value: Value) -> str:
    """A value on one line."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value[:BLOB_BYTES].hex()}{'…' if len(value) > BLOB_BYTES else ''}'"
    if not isinstance(value, str):
        return str(value)
    return "".join(character if character.isprintable() else escaped(character) for character in value)


def escaped(character: str) -> str:
    """A character that cannot be printed, as an escape."""
    return character.encode("unicode_escape").decode()
