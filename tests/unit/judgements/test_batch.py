"""Files of items and of judgements: forms, sums, and resumption after a kill."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.judging import GOAL_SET, Fixed, Stuck, conversation, log_of, transcript
from support.sotopia_profiles import write_json, write_lines

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.batch import judge_entries, read_judgements
from agentevol.data.judgements.files import Entry, read_entries
from agentevol.data.judgements.items import Item
from agentevol.data.judgements.outcomes import Failed, NoRating, Ok, Rating, Usage
from agentevol.data.judgements.panel import Asked, Panel
from agentevol.data.rewards.testing import example_episodes
from agentgym_envs.sotopia.data.profile_set import SotopiaDataError
from agentgym_store.jsonl import export_jsonl
from agentgym_store.records import Failed as FailedEpisode

ENTRIES = [Entry(conversation(f"Hello {number}.", name=str(number))) for number in range(6)]


class Moody(Fixed):
    """Fails on the items of these ids."""

    def __init__(self, *ids: str) -> None:
        super().__init__()
        self.ids = set(ids)

    async def rate(self, item: Item, dimensions: Any, samples: int) -> tuple[list[Rating], Usage]:
        self.asked.append(item)
        if item.id in self.ids:
            raise NoRating("judge", "no")
        return [Rating(scores=({"goal": float(len(self.asked))}, {"goal": 1.0}))], Usage()


def run(judge: Any, out: Path, entries: list[Entry] = ENTRIES, **settings: Any) -> list[Ok | Failed]:
    return judge_entries(entries, Panel([judge]), Asked(dimensions=GOAL_SET), out, **settings)


def told(out: Path) -> list[tuple[str, str]]:
    return [(one.id, one.status) for one in read_judgements(out)]


def test_every_item_has_one_line_in_the_order_of_the_file(tmp_path: Path) -> None:
    out, progress = tmp_path / "new" / "out.jsonl", list[str]()
    found = run(Moody("2", "4"), out, tell=lambda one: progress.append(one.id))
    outcomes = ["failed" if name in "24" else "ok" for name in "012345"]
    assert told(out) == list(zip("012345", outcomes, strict=True))
    assert found == list(read_judgements(out))
    assert sorted(progress) == list("012345")


def test_what_is_ok_is_not_judged_again_and_what_failed_is(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    before = run(Moody("2", "4"), out)
    with pytest.raises(FileExistsError, match="--resume continues it"):
        run(Moody(), out)
    again = Moody()
    found = run(again, out, resume=True)
    assert sorted(one.id for one in again.asked) == ["2", "4"]
    assert told(out) == [(name, "ok") for name in "012345"]
    assert [found[place] for place in (0, 1, 3, 5)] == [before[place] for place in (0, 1, 3, 5)]
    idle = Moody()
    assert run(idle, out, resume=True) == found
    assert idle.asked == []


def test_a_process_that_was_killed_while_it_wrote_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(Moody(), out)
    lines = out.read_bytes().splitlines(keepends=True)
    # Killed in the middle of its fourth line; lines are in the order of completion.
    out.write_bytes(lines[3] + lines[0] + lines[5] + lines[1][:-40])
    again = Moody()
    run(again, out, resume=True)
    assert sorted(one.id for one in again.asked) == ["1", "2", "4"]
    assert told(out) == [(name, "ok") for name in "012345"]
    out.write_bytes(lines[0] + lines[1][:-40] + b"\n" + lines[2])
    with pytest.raises(ConfigError, match=r"out.jsonl, line 2 is no judgement"):
        run(Moody(), out, resume=True)


def test_what_was_judged_before_an_interruption_is_kept(tmp_path: Path) -> None:
    out, stuck = tmp_path / "out.jsonl", Stuck()

    class Interrupted(Moody):
        async def rate(self, item: Item, dimensions: Any, samples: int) -> tuple[list[Rating], Usage]:
            if item.id == "3":
                raise KeyboardInterrupt
            return await super().rate(item, dimensions, samples)

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), out, concurrency=1)
    assert told(out) == [("0", "ok"), ("1", "ok"), ("2", "ok")]
    assert stuck.asked == []
    again = Moody()
    run(again, out, resume=True)
    assert sorted(one.id for one in again.asked) == ["3", "4", "5"]


def test_judgements_of_others_are_not_lost(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(Moody(), out)
    before = out.read_bytes()
    other = Moody()
    other.version = "2"
    for judge, entries, complaint in (
        (other, ENTRIES, "'0' is of other judges, settings or content; choose another --out"),
        (Moody(), ENTRIES[1:], "'0' is of an item not given"),
        (Moody(), [Entry(conversation("Bye.", name="0")), *ENTRIES[1:]], "'0' is of other judges"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            run(judge, out, entries, resume=True)
        assert judge.asked == []
    assert out.read_bytes() == before


def test_items_at_a_time_are_bounded(tmp_path: Path) -> None:
    running, most = 0, 0

    class Watching(Moody):
        async def rate(self, item: Item, dimensions: Any, samples: int) -> tuple[list[Rating], Usage]:
            nonlocal running, most
            import asyncio

            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return await super().rate(item, dimensions, samples)

    run(Watching(), tmp_path / "out.jsonl", concurrency=2)
    assert most == 2


def test_recorded_conversations_are_read_with_their_scores(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    write_lines(file, [log_of("one", "$24?"), log_of("two", "$24?", judged=False)])
    first, second = read_entries(str(file))
    assert (first.item.id, second.item.id) == ("one", "two")
    assert first.recorded is not None
    assert first.recorded[0]["goal"] == 10.0
    assert second.recorded is None
    write_json(tmp_path / "log.json", [log_of("one", "$24?")])
    assert read_entries(str(tmp_path / "log.json")) == [first]


def test_items_are_read_from_lines_and_lists_and_numbered(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    items = [transcript("").model_dump(mode="json"), {"turns": []}, transcript("t").model_dump(mode="json")]
    file.write_text("\ufeff" + "".join(f"{json.dumps(one)}\n\n" for one in items), encoding="utf-8")
    assert [one.item.id for one in read_entries(str(file))] == ["1", "2", "t"]
    write_json(tmp_path / "items.json", items)
    assert read_entries(str(tmp_path / "items.json")) == read_entries(str(file))


def test_episodes_of_a_run_are_read_as_transcripts_without_those_that_failed(tmp_path: Path) -> None:
    file, episodes = tmp_path / "export.jsonl", example_episodes(0, 3)
    lost = episodes[0].model_copy(update={"id": "lost", "ending": FailedEpisode(failure="transport")})
    export_jsonl([lost, *episodes], file)
    found = read_entries(str(file))
    assert [one.item.id for one in found] == [one.id for one in episodes]
    assert all(one.item.type == "transcript" for one in found)
    assert "reward" not in found[0].item.model_dump_json()
    Store = pytest.importorskip("agentgym_store.store").Store
    Store.open(tmp_path / "table").append([lost, *episodes], commit={"run": "example"})
    assert sorted(one.item.id for one in read_entries(str(tmp_path / "table"))) == sorted(
        one.item.id for one in found
    )


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "has nothing to judge"),
        ("{", "line 1: no JSON"),
        ('{"turns": []}\n[1', "line 2: no JSON"),
        ("[1, ", "no JSON"),
        ("3", r"line 1: item: "),
        ('{"turns": [{"action": 1}]}', r"line 1: turns\.0\.action: Input should be a valid string"),
        ('{"turns": [], "id": "a"}\n{"turns": [], "id": "a"}', "records 1 and 2 have the same id 'a'"),
        ("[" * 100_000, "no JSON"),
    ],
    ids=["empty", "no JSON", "second line", "no list", "number", "field", "ids", "deep"],
)
def test_a_file_that_cannot_be_judged_is_one_line_and_nobody_is_asked(
    tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=complaint) as refused:
        read_entries(str(file))
    assert "\n" not in str(refused.value)


def test_a_recorded_conversation_that_is_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    write_lines(file, [log_of("one", "$24?"), {"pk": "two", "messages": []}])
    with pytest.raises(SotopiaDataError, match=r"log\.jsonl: record 2 \(two\)"):
        read_entries(str(file))
    with pytest.raises(FileNotFoundError):
        read_entries(str(tmp_path / "nowhere"))
