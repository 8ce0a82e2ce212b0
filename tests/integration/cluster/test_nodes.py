"""Which machine of a cluster gets which process, and which machine is fit to take part."""

from pathlib import Path
from typing import Any

import pytest

from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import Facts, Node, Room, alive, check_facts, code_digest, facts
from agentevol.cluster.processes.shared_storage import Token, token_in
from agentevol.core.errors import ConfigError
from agentevol.rollout.faults import FaultLog

DRIVER, FIRST, SECOND = (Node(name, f"10.0.0.{n}", gpus=0) for n, name in enumerate(("driver", "a", "b")))


def room(*gpus: int) -> Room:
    return Room([Node(f"n{number}", f"10.0.0.{number}", gpus=count) for number, count in enumerate(gpus)])


def spread(place: Room, count: int, gpus: int) -> list[str | None]:
    found: list[str | None] = []
    for _ in range(count):
        node = place.spread(gpus)
        found.append(node and node.id)
        if node is not None:
            place.take(node.id, gpus)
    return found


def test_rollout_workers_take_turns_on_the_nodes():
    assert spread(room(0, 0, 0), 5, 0) == ["n0", "n1", "n2", "n0", "n1"]


def test_a_worker_with_a_gpu_goes_only_where_one_is_free():
    assert spread(room(0, 2, 1), 4, 1) == ["n1", "n2", "n1", None]


def test_learners_go_to_the_one_node_that_fits_them_tightest():
    assert [node.id for node in room(8, 2, 4).packed(2, 1) or ()] == ["n1", "n1"]


def test_learners_that_fit_nowhere_together_go_to_as_few_nodes_as_can_be():
    assert [node.id for node in room(1, 4, 2).packed(6, 1) or ()] == ["n1"] * 4 + ["n2"] * 2
    assert room(1, 4, 2).packed(8, 1) is None


def test_a_learner_without_a_gpu_leaves_the_drivers_machine_to_the_worlds():
    assert [node.id for node in room(0, 0).packed(2, 0) or ()] == ["n1", "n1"]
    assert [node.id for node in room(0).packed(1, 0) or ()] == ["n0"]


def test_dead_nodes_are_no_nodes_and_ones_own_comes_first():
    rows = [
        {"NodeID": name, "NodeManagerAddress": "10.0.0.1", "Alive": there, "Resources": resources}
        for name, there, resources in (("a", True, {"GPU": 2.0}), ("b", False, {}), ("c", True, {}))
    ]
    assert alive(rows, own="c") == [Node("c", "10.0.0.1"), Node("a", "10.0.0.1", 2)]


OWN = Facts("digest", {"torch": "2.13.0+cpu", "transformers": "5.1.0"}, "", "")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"unseen": "cannot see the run's folder"}, "cannot see the run's folder$"),
        ({"unreached": "10.0.0.1:4: refused"}, "cannot reach the environment server: 10.0.0.1:4: refused"),
        (
            {"versions": {"torch": "2.12.1", "transformers": "5.1.0"}},
            r"has torch 2\.12\.1, this machine has 2\.13",
        ),
        ({"versions": {"torch": "2.13.0"}}, "has transformers none"),
        ({"code": "other"}, "does not run the agentevol that was sent to it"),
    ],
)
def test_a_node_that_cannot_take_part_is_named_with_what_to_do(change: dict[str, Any], line: str):
    with pytest.raises(ConfigError, match=rf"^node 10\.0\.0\.1 \(Ray node a\) {line}"):
        check_facts(FIRST, OWN, OWN._replace(**change))


def test_another_build_of_the_same_torch_is_the_same():
    check_facts(FIRST, OWN, OWN._replace(versions={"torch": "2.13.0+cu128", "transformers": "5.1.0"}))


def test_a_machine_says_what_it_sees(tmp_path: Path):
    with token_in(tmp_path) as token:
        own = facts(("torch", "no-such-package"), token, "http://127.0.0.1:9")
    assert own.unseen == ""
    assert own.versions["no-such-package"] == "none"
    assert own.versions["torch"][0].isdigit()
    assert own.code == code_digest()
    assert own.unreached.startswith("127.0.0.1:9: ")  # nobody listens there
    assert list(tmp_path.iterdir()) == []


class Cluster:
    """Nodes that come and go."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes, self.unable = list(nodes), set[str]()

    def alive(self) -> list[Node]:
        return list(self.nodes)

    def facts(self, nodes: list[Node], packages: Any, token: Token, url: str) -> list[Facts | str]:
        own = facts(packages, token, url)
        return ["it is on fire" if node.id in self.unable else own for node in nodes]


def members(
    cluster: Any, told: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Members, FaultLog]:
    monkeypatch.setattr("agentevol.cluster.processes.membership.LOOK_S", 0.0)
    monkeypatch.setattr("agentevol.cluster.processes.nodes._unreached", lambda _: "")
    faults = FaultLog(told.append)
    made = Members(cluster, faults, (), named=True)
    made.check(folder, "http://10.0.0.0:1")
    return made, faults


def test_a_node_that_is_lost_is_counted_and_gets_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cluster, told = Cluster(DRIVER, FIRST), list[str]()
    made, faults = members(cluster, told, tmp_path, monkeypatch)
    assert [made.place(name, 0) for name in ("w0", "w1")] == [DRIVER, FIRST]
    cluster.nodes.remove(FIRST)
    made.look()
    made.look()
    assert faults.take().lost_nodes == 1
    assert told == ["node 10.0.0.1 (Ray node a) was lost"]
    assert made.place("w1", 0) == DRIVER


def test_a_worker_with_gpus_stays_where_they_are_while_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second = DRIVER._replace(gpus=2), FIRST._replace(gpus=2)
    cluster = Cluster(first)
    made, _ = members(cluster, [], tmp_path, monkeypatch)
    assert made.place("w0", 2) == first
    cluster.nodes.append(second)
    made.look()
    assert made.place("learner", 0) == second
    assert made.place("w0", 2) == first  # not where there is less
    assert made.node_of("w0") == first
    cluster.nodes.remove(first)
    made.look()
    assert made.node_of("w0") is None
    assert made.place("w0", 2) == second


def test_a_node_that_comes_later_takes_part_if_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cluster, told = Cluster(DRIVER), list[str]()
    made, faults = members(cluster, told, tmp_path, monkeypatch)
    cluster.nodes += [FIRST, SECOND]
    cluster.unable = {"a"}
    made.look()
    made.look()
    assert [made.place(name, 0) for name in ("w0", "w1", "w2")] == [DRIVER, SECOND, DRIVER]
    assert told == ["left out: node 10.0.0.1 (Ray node a) starts no process of the run: it is on fire"]
    assert faults.take().lost_nodes == 0


def test_at_the_start_every_node_has_to_be_able(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cluster = Cluster(DRIVER, FIRST)
    cluster.unable = {"a"}
    with pytest.raises(ConfigError, match="it is on fire"):
        members(cluster, [], tmp_path, monkeypatch)
