"""Tokens of a SQL text.

> [token.text for token in tokens("SELECT a FROM t -- all")]
['SELECT', 'a', 'FROM', 't']
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["word", "name", "string", "number", "symbol"]
"""`word` is a keyword or a bare name, `name` a quoted one. A text in double quotes is a `string`, as SQLite
reads it unless there is a column of this name.
"""

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<name>`(?:[^`]|``)*`|\[[^\]]*\])
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_\u0080-\uffff][\w$]*)
    |(?P<symbol><>|<=|>=|!=|==|\|\||->>|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token; `depth` is the number of parentheses around it."""

    kind: Kind
    text: str
    depth: int

    @property
    def word(self) -> str:
        """A keyword in upper case; '' for other tokens."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def value(self) -> str:
        """The text without its quotes."""
        return self.text[1:-1] if self.kind in ("string", "name") else self.text


def tokens(sql: str) -> list[Token]:
    """Tokens of a statement, without comments and a final semicolon."""
    found, depth = list[Token](), 0
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup
        if kind == "space":
            continue
        text = match.group()
        depth -= text == ")"
        found.append(Token(_kind(kind), text, depth))
        depth += text == "("
    while found and found[-1].text == ";":
        found.pop()
    return found


def joined(parts: Iterable[Token]) -> str:
    """A statement of these tokens."""
    text = " ".join(token.text for token in parts)
    return text.replace(" . ", ".").replace("( ", "(").replace(" )", ")").replace(" ,", ",")


def _kind(group: str | None) -> Kind:
    if group == "string" or group == "name" or group == "number" or group == "word":
        return group
    return "symbol"
