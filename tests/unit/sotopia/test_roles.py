"""Partners and judges of `sotopia` that are no models of an API: a policy, a person, a record."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.judging import log_of
from support.sotopia_models import URL, Models, act, run, say, settled
from support.sotopia_profiles import LAMP_TASK, TALK_TASK, write_lines

from agentgym_envs.core import TaskUnplayable
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_envs.sotopia.models.judge import JudgeFault
from agentgym_envs.sotopia.models.partner import PartnerFault
from agentgym_envs.sotopia.play.records import episode_log_of
from agentgym_envs.thinking import render

POLICY = {"partner": "policy", "partner_url": URL, "judge": "none"}
OWN = ["Hello.", "Well?", "left the conversation"]


async def beside(world: Sotopia, messages: list[str], task: str = TALK_TASK) -> list[Any]:
    """Observations of an agent beside a partner, and the last info."""
    texts = [(await settled(world.reset(world.task(task), 0))).text]
    info: Any = {}
    for message in messages:
        result = await settled(world.step(message))
        texts.append(result.observation.text)
        info = result.info
    return [*texts, info]


def two_seats(world: Sotopia, own: list[str], other: list[str]) -> tuple[list[str], list[str], Any]:
    """What both seats observe, in turn, and the last info of the first."""
    said = {"first": list(own), "second": list(other)}
    heard: dict[str, list[str]] = {"first": [], "second": []}
    for seat, opening in world.reset_seats(world.task(TALK_TASK), 0).items():
        heard[seat].append(opening.text)
    seat = "first"
    while True:
        results = run(world.step_seats({seat: said[seat].pop(0)}))
        for name, result in results.items():
            heard[name].append(result.observation.text)
        if results.get("first") is not None and results["first"].terminated:
            return heard["first"], heard["second"], results["first"].info
        (seat,) = results


@pytest.mark.parametrize("observation", ["turns", "prompt"])
def test_a_policy_reads_and_says_what_it_would_in_a_seat_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch, observation: str
) -> None:
    """The first turn's second message, and neither of the second turn's, is an action."""
    form = {"actions": "json", "observation": observation}
    own, other = [say("Hello."), say("Well?"), act("leave")], ["?", say("Hm."), "[", "{}"]
    models = Models(policy=[*other]).wired(monkeypatch)
    *texts, info = asyncio.run(beside(Sotopia(home=home, max_stale=5, **form, **POLICY), own))
    first, second, two = two_seats(Sotopia(home=home, max_stale=5, judge="none", **form), own, other)
    assert texts == first
    assert info["conversation"]["log"] == two["conversation"]["log"]
    asked = models.asked("policy")
    assert [one["content"] for one in asked[-1]["messages"] if one["role"] == "user"] == second[: len(asked)]
    assert [one["content"] for one in asked[-1]["messages"] if one["role"] == "assistant"] == other[:-1]
    assert [len(one["messages"]) for one in asked] == [1, 3, 5, 7]
    assert asked[0]["temperature"] == 0.7
    assert len({one["seed"] for one in asked}) == 4
    assert {name: info["partner"][name] for name in ("kind", "model", "format", "requests")} == {
        "kind": "policy",
        "model": "policy",
        "format": "plain",
        "requests": 4,
    }


def test_the_thoughts_of_a_policy_are_read_by_itself_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = render(2, ("I want peace.", "Calm.", "Agree."), "Two, then.")
    models = Models(policy=[reply]).wired(monkeypatch)
    world = Sotopia(home=home, actions="text", partner_format="modes", **POLICY)
    texts = asyncio.run(beside(world, OWN))[:-1]
    assert texts[1] == 'Turn #1: Ana Reed said: "Two, then."'
    assert "peace" not in "".join(texts)
    system, _, answered, _ = models.bodies[1]["messages"]
    assert (system["role"], "Level 2" in system["content"]) == ("system", True)
    assert answered == {"role": "assistant", "content": reply}


def test_a_policy_that_cannot_be_reached_fails_the_episode(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Models(policy=[500]).wired(monkeypatch)
    with pytest.raises(PartnerFault, match="the partner's endpoint failed 3 times"):
        asyncio.run(beside(Sotopia(home=home, actions="text", **POLICY), OWN))


def test_a_copied_policy_has_its_own_history(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models(policy=[f"Number {number}." for number in range(9)]).wired(monkeypatch)

    async def main() -> None:
        world, copy = (Sotopia(home=home, actions="text", **POLICY) for _ in range(2))
        await beside(world, ["a", "b"])
        copy.restore(world.snapshot())
        for one, number in ((world, 2), (copy, 3)):
            assert (await settled(one.step("c"))).observation.text.endswith(f'"Number {number}."')
        assert [one["content"] for one in models.bodies[-1]["messages"][1::2]] == ["Number 0.", "Number 1."]

    asyncio.run(main())


def test_a_person_has_a_session_and_no_partner_plays(home: Path) -> None:
    world = Sotopia(home=home, actions="text", judge="none", partner="human")
    with pytest.raises(TaskUnplayable, match=r"partner=human: .* open the episode with seats=2$"):
        world.reset(world.task(TALK_TASK), 0)
    first, second, info = two_seats(world, OWN, ["Hi.", "So?"])
    assert (first[1], second[1]) == ('Turn #1: Ana Reed said: "Hi."', 'Turn #2: Cy Moss said: "Well?"')
    assert info["partner"] == {"kind": "human"}
    assert two_seats(Sotopia(home=home, actions="text", judge="none"), OWN, ["Hi.", "So?"])[2]["partner"] == {
        "kind": "agent"
    }


SAID = ("$24?", "Deal!")


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    """A file with a judged and an unjudged episode about the lamp."""
    lines = [log_of("asked", *SAID, "Hm.", judged=False), log_of("done", *SAID), log_of("again", *SAID)]
    write_lines(tmp_path / "logs.jsonl", lines)
    return str(tmp_path / "logs.jsonl")


def end_of(home: Path, file: str, *words: str, **options: Any) -> Any:
    """The last result of a conversation about the lamp, which has so many turns as words."""
    world = Sotopia(home=home, actions="text", judge_replay=file, max_turns=len(words), **options)
    world.reset_seats(world.task(LAMP_TASK), 0)
    for turn, word in enumerate(words):
        results = world.step_seats({world.seats[turn % 2]: word})
    return results["first"]  # type: ignore[index] - nothing is waited for


def test_a_recorded_judgement_is_given_for_its_conversation(home: Path, recorded: str) -> None:
    end = end_of(home, recorded, *SAID)
    assert (end.reward, end.info["overall_score"]) == (1.0, 40 / 7)
    assert end.info["dimensions"]["relationship"] == 5
    assert end.info["label"] == "recorded scores of the judge judge"
    judge = end.info["judge"]
    assert (judge["kind"], judge["model"], judge["episode"]) == ("replay", "judge", "done")
    assert end_of(home, recorded, *SAID, reward="overall").reward == 1.0
    alone = end_of(home, recorded, *SAID, dimensions="goal")
    assert (alone.info["dimensions"]["goal"], alone.info["dimensions"]["secret"]) == (10, None)
    assert alone.info["overall_score"] is None


def test_a_record_of_another_order_is_repeated_whole_or_refused(home: Path, tmp_path: Path) -> None:
    """Both seats act in each step, and a partner that repeats them leaves out none of its actions."""
    world = Sotopia(home=home, actions="text", judge="none", order="simultaneous")
    world.reset_seats(world.task(LAMP_TASK), 0)
    both = [("$24?", "$30."), ("$26?", "$28."), ("$27?", "Deal.")]
    for first, second in both:
        world.step_seats({"first": first, "second": second})
    last: Any = world.step_seats({"first": "left the conversation", "second": "Bye."})
    record = last["first"].info["conversation"]
    file = tmp_path / "logs.jsonl"
    write_lines(file, [episode_log_of(record, [], pk="at once", models=("", "one", "two"))])
    given = {"home": home, "actions": "text", "judge": "none", "replay": str(file)}
    heard = asyncio.run(
        beside(Sotopia(order="simultaneous", **given), [one for one, _ in both[:2]], LAMP_TASK)
    )
    assert ["$30." in heard[1], "$28." in heard[2]] == [True, True]
    drawn = asyncio.run(beside(Sotopia(order="random", **given), ["$24?"] * 3, LAMP_TASK))
    said = "\n".join(drawn[:-1])
    assert "$30." in said
    assert said.index("$30.") < said.index("$28.")
    with pytest.raises(TaskUnplayable, match="episode 'at once' was not recorded in order=round-robin"):
        Sotopia(**given).reset(world.task(LAMP_TASK), 0)


def test_what_is_not_recorded_is_no_score(home: Path, tmp_path: Path, recorded: str) -> None:
    kept = str(tmp_path / "kept.jsonl")
    with pytest.raises(JudgeFault, match="no judgement of this conversation is recorded"):
        end_of(home, recorded, "$24?", "Deal", unjudged=kept)
    with pytest.raises(JudgeFault, match="recorded as 'asked', and nobody judged it"):
        end_of(home, recorded, *SAID, "Hm.", unjudged=kept)
    records = [json.loads(line) for line in Path(kept).read_text().splitlines()]
    assert {(one["status"], one["failure"]["kind"]) for one in records} == {("unjudged", "judge")}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"partner": "policy"}, "sotopia: partner=policy needs partner_url=URL of a policy that"),
        ({"judge": "replay"}, "sotopia: judge=replay needs judge_replay=FILE of recorded episodes"),
        ({"judge_replay": "/no/such"}, "sotopia: judge_replay='/no/such': No such file or directory"),
        ({"judge": "verify", "judge_replay": "x"}, "sotopia: judge_replay goes with judge=replay, not with"),
        (
            {"partner": "rule", "replay": "x"},
            "sotopia: replay goes with partner=replay, not with partner=rule",
        ),
        ({"partner": "human", "partner_url": URL}, "sotopia: partner_model and partner_url go with"),
    ],
)
def test_a_role_without_what_it_needs_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the text is compared below
        Sotopia(**options)
    assert str(raised.value).startswith(told)
    assert "\n" not in str(raised.value)
