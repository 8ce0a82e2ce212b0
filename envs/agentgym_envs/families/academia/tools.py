"""State and tools of `academia`. A net has to be loaded before it is asked."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from agentgym_envs.families.states import KnowingState, check_valid_actions, finish
from agentgym_envs.tooluse import ToolError, Toolset, tool

Node = Annotated[str, Field(max_length=300)]
NEIGHBOURS = {
    "PaperNet": "SELECT dst FROM citation WHERE src = ?1 ORDER BY 1",
    "AuthorNet": "SELECT DISTINCT b.author FROM authorship a JOIN authorship b ON a.paper = b.paper"
    " WHERE a.author = ?1 AND b.author != ?1 ORDER BY 1",
}
NODES = {
    "PaperNet": "SELECT 1 FROM paper WHERE title = ?",
    "AuthorNet": "SELECT 1 FROM author WHERE name = ?",
}
TOGETHER = (
    "SELECT a.paper FROM authorship a JOIN authorship b ON a.paper = b.paper"
    " WHERE a.author = ? AND b.author = ? ORDER BY 1"
)


@dataclass
class AcademiaState(KnowingState):
    """The nets that are loaded."""

    loaded: set[str] = field(default_factory=set[str])

    def copy(self) -> Self:
        return replace(self, seen=set(self.seen), loaded=set(self.loaded))

    def knows(self, row: str) -> bool:
        """As in `EpisodeState`. The list of a node's neighbours tells of all others that they are none."""
        kind, *nodes = row.split("/")
        if kind == "cites":
            return row in self.seen or f"PaperNet/{nodes[0]}" in self.seen
        if kind == "shared":
            return self._knows_shared(*nodes) or self._knows_shared(*reversed(nodes))
        return row in self.seen

    def _knows_shared(self, author: str, other: str) -> bool:
        """True if the co-authors of an author are known, and which of them are the other one's too."""
        return f"AuthorNet/{author}" in self.seen and (
            f"AuthorNet/{other}" in self.seen
            or all(
                self._knows_pair(one, other)
                for (one,) in self.rows(NEIGHBOURS["AuthorNet"], author)
                if one != other
            )
        )

    def _knows_pair(self, author: str, other: str) -> bool:
        """True if it is known whether two authors wrote together."""
        pair = "/".join(sorted((author, other)))
        return not self.seen.isdisjoint((f"edge/{pair}", f"AuthorNet/{author}", f"AuthorNet/{other}"))

    def check(self, net: str, *nodes: str) -> None:
        """Raise `ToolError` unless the net is loaded and has these nodes."""
        if net not in self.loaded:
            raise ToolError(f"Please load the {net} first.")
        for node in nodes:
            if not self.rows(NODES[net], node):
                raise ToolError(f"There is no node named {node[:200]} in the {net}.")


@tool("generic")
def loadPaperNet(state: AcademiaState) -> str:  # noqa: N802 - AgentGym's name
    """Load PaperNet, whose nodes are papers, and whose edges are citations."""
    state.loaded.add("PaperNet")
    return "PaperNet is loaded."


@tool("generic")
def loadAuthorNet(state: AcademiaState) -> str:  # noqa: N802
    """Load AuthorNet, whose nodes are authors, and whose edges are papers that two wrote together."""
    state.loaded.add("AuthorNet")
    return "AuthorNet is loaded."


@tool("read")
def neighbourCheck(  # noqa: N802
    state: AcademiaState, graph: Literal["PaperNet", "AuthorNet"], node: Node
) -> list[str]:
    """List the neighbours of a node: papers that the paper cites, or co-authors of the author.

    Args:
        graph: Name of the net.
        node: Title of a paper, or name of an author.
    """
    state.check(graph, node)
    state.seen.add(f"{graph}/{node}")
    return [one for (one,) in state.rows(NEIGHBOURS[graph], node)]


@tool("read")
def paperNodeCheck(state: AcademiaState, node: Node) -> dict[str, Any]:  # noqa: N802
    """Get year, venue, number of citations, keywords, document type and authors of a paper.

    Args:
        node: Title of the paper.
    """
    state.check("PaperNet", node)
    state.seen.add(f"paper/{node}")
    ((year, venue, cited, kind),) = state.rows(
        "SELECT year, venue, n_citation, doc_type FROM paper WHERE title = ?", node
    )
    keywords = state.rows("SELECT keyword FROM paper_keyword WHERE paper = ? ORDER BY 1", node)
    authors = state.rows("SELECT author FROM authorship WHERE paper = ? ORDER BY ord", node)
    return {
        "year": year,
        "venue": venue,
        "n_citation": cited,
        "keywords": [one for (one,) in keywords],
        "doc_type": kind,
        "authors": [one for (one,) in authors],
    }


@tool("read")
def authorNodeCheck(state: AcademiaState, node: Node) -> dict[str, Any]:  # noqa: N802
    """Get name and organisation of an author.

    Args:
        node: Name of the author.
    """
    state.check("AuthorNet", node)
    state.seen.add(f"author/{node}")
    ((name, org),) = state.rows("SELECT name, org FROM author WHERE name = ?", node)
    return {"name": name, "org": org}


@tool("read")
def authorEdgeCheck(state: AcademiaState, node1: Node, node2: Node) -> dict[str, Any]:  # noqa: N802
    """List the papers that two authors wrote together.

    Args:
        node1: Name of an author.
        node2: Name of another author.
    """
    state.check("AuthorNet", node1, node2)
    state.seen.add("edge/" + "/".join(sorted((node1, node2))))
    papers = [one for (one,) in state.rows(TOGETHER, node1, node2)]
    if not papers:
        raise ToolError(f"There is no edge between {node1[:200]} and {node2[:200]}.")
    return {"papers": papers}


@tool("read")
def paperEdgeCheck(state: AcademiaState, node1: Node, node2: Node) -> str:  # noqa: N802
    """Tell whether a paper cites another one: yes or no.

    Args:
        node1: Title of the paper that may cite.
        node2: Title of the paper that may be cited.
    """
    state.check("PaperNet", node1, node2)
    state.seen.add(f"cites/{node1}/{node2}")
    return "yes" if state.rows("SELECT 1 FROM citation WHERE src = ? AND dst = ?", node1, node2) else "no"


TOOLS = Toolset(
    [
        loadPaperNet,
        loadAuthorNet,
        neighbourCheck,
        paperNodeCheck,
        authorNodeCheck,
        authorEdgeCheck,
        paperEdgeCheck,
        check_valid_actions,
        finish,
    ]
)
