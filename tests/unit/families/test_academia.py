"""Tools of `academia`, and its answers computed from the tables."""

import json
from typing import Any

import pytest

from agentgym_envs import knowledge
from agentgym_envs.families.academia import Academia


@pytest.fixture
def environment() -> Academia:
    made = Academia()
    made.reset(made.task("0"), 0)
    made.state.split, made.state.world = "train", 0
    return made


def ask(environment: Academia, tool: str, **arguments: object) -> Any:
    return json.loads(environment.step(json.dumps({"name": tool, "arguments": arguments})).observation.text)


def refused(environment: Academia, tool: str, **arguments: object) -> str:
    return ask(environment, tool, **arguments)["error"]["message"]


def table(query: str, *values: object) -> list[Any]:
    return knowledge.connection("train", 0).execute(query, values).fetchall()


CITING, CITED = table("SELECT src, dst FROM citation ORDER BY 1, 2")[0]
FIRST, SECOND = table(
    "SELECT a.author, b.author FROM authorship a JOIN authorship b ON a.paper = b.paper"
    " AND a.author < b.author ORDER BY 1, 2"
)[0]


def test_a_net_is_loaded_before_it_is_asked(environment: Academia):
    assert refused(environment, "paperNodeCheck", node=CITED) == "Please load the PaperNet first."
    assert refused(environment, "authorNodeCheck", node=FIRST) == "Please load the AuthorNet first."
    assert ask(environment, "loadPaperNet") == "PaperNet is loaded."
    assert ask(environment, "paperNodeCheck", node=CITED)["year"] > 1990
    assert (
        refused(environment, "neighbourCheck", graph="AuthorNet", node=FIRST)
        == "Please load the AuthorNet first."
    )
    assert ask(environment, "loadAuthorNet") == "AuthorNet is loaded."
    assert SECOND in ask(environment, "neighbourCheck", graph="AuthorNet", node=FIRST)


def test_nets_are_loaded_by_episode(environment: Academia):
    ask(environment, "loadPaperNet")
    environment.reset(environment.task("0"), 0)
    assert refused(environment, "paperNodeCheck", node="x") == "Please load the PaperNet first."


def test_an_unknown_node_is_named(environment: Academia):
    ask(environment, "loadPaperNet")
    ask(environment, "loadAuthorNet")
    assert (
        refused(environment, "paperNodeCheck", node="Nothing")
        == "There is no node named Nothing in the PaperNet."
    )
    assert refused(environment, "authorEdgeCheck", node1=FIRST, node2="Nobody") == (
        "There is no node named Nobody in the AuthorNet."
    )
    assert ask(environment, "neighbourCheck", graph="DBLP", node=FIRST)["error"]["expected"] == [
        "PaperNet",
        "AuthorNet",
    ]


def test_nodes_and_edges(environment: Academia):
    ask(environment, "loadPaperNet")
    ask(environment, "loadAuthorNet")
    node = ask(environment, "paperNodeCheck", node=CITED)
    assert list(node) == ["year", "venue", "n_citation", "keywords", "doc_type", "authors"]
    assert node["authors"] == [
        name for (name,) in table("SELECT author FROM authorship WHERE paper = ? ORDER BY ord", CITED)
    ]
    assert list(ask(environment, "authorNodeCheck", node=FIRST)) == ["name", "org"]
    assert CITED in ask(environment, "neighbourCheck", graph="PaperNet", node=CITING)
    assert ask(environment, "paperEdgeCheck", node1=CITING, node2=CITED) == "yes"
    assert ask(environment, "paperEdgeCheck", node1=CITED, node2=CITING) == "no"
    papers = ask(environment, "authorEdgeCheck", node1=FIRST, node2=SECOND)["papers"]
    assert papers == ask(environment, "authorEdgeCheck", node1=SECOND, node2=FIRST)["papers"]
    stranger = table("SELECT name FROM author WHERE name NOT IN (SELECT author FROM authorship) ORDER BY 1")
    if stranger:
        assert "no edge" in refused(environment, "authorEdgeCheck", node1=FIRST, node2=stranger[0][0])


COUNT_SHARED = """
SELECT count(*) FROM (
  SELECT DISTINCT x.author FROM authorship a JOIN authorship x ON x.paper = a.paper
  WHERE a.author = ?1 AND x.author != ?1
  INTERSECT
  SELECT DISTINCT x.author FROM authorship a JOIN authorship x ON x.paper = a.paper
  WHERE a.author = ?2 AND x.author != ?2)
"""
TOTAL_CITED = """
SELECT sum(n_citation) FROM paper WHERE title IN (
  SELECT paper FROM authorship WHERE author = ?1 INTERSECT SELECT paper FROM authorship WHERE author = ?2)
"""


def test_counts_are_those_of_the_tables():
    looked_at = 0
    for task in Academia().tasks("train"):
        database = knowledge.connection("train", task.setting["world"])
        names = [name for (name,) in database.execute("SELECT name FROM author") if name in task.instruction]
        queries = {"number_of_collaborators": COUNT_SHARED, "number_of_citations": TOTAL_CITED}
        if task.kind in queries and len(names) == 2 and task.answer is not None:
            looked_at += 1
            assert task.answer.value == database.execute(queries[task.kind], names).fetchall()[0][0]
    assert looked_at > 20
