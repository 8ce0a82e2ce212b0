"""Importing a catalogue: what is sound is kept, the rest is reported, and nothing is ever half written."""

import errno
import json
import multiprocessing
import shutil
import signal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agentgym_envs.import_report import Refused
from agentgym_envs.webshop.catalogues.stored import CatalogueError
from agentgym_envs.webshop.official import importing, survey
from agentgym_envs.webshop.official.importing import counts, import_official, verify
from agentgym_envs.webshop.official.library import opened
from agentgym_envs.webshop.products import cleaned


def row(number: int, **changes: Any) -> dict[str, Any]:
    """A product as the benchmark's file has it."""
    return {
        "asin": f"B{number:04}",
        "name": f"Acme Shorts {number}",
        "full_description": "Light shorts.",
        "small_description": ["Imported", "Machine wash"],
        "pricing": "$12.99",
        "images": ["https://example.invalid/1.jpg"],
        "product_category": "Clothing › Men › Shorts",
        "category": "fashion",
        "query": "Men's Shorts ",
        "customization_options": {"Color": [{"value": " Navy/White ", "image": None}, {"value": "Black"}]},
        "page": 1,
        **changes,
    }


def annotation(**changes: Any) -> dict[str, Any]:
    return {
        "attributes": ["machine wash", "quick drying"],
        "instruction": "Find me quick drying men's shorts",
        "instruction_attributes": ["quick drying"],
        **changes,
    }


def written(asin: str, **changes: Any) -> dict[str, Any]:
    return {
        "asin": asin,
        "instruction": "i need black shorts that dry quickly.",
        "attributes": ["machine wash", "quick drying"],
        "options": ["color: black"],
        "instruction_attributes": ["quick drying"],
        "instruction_options": ["black"],
        **changes,
    }


def source(
    folder: Path,
    rows: Any,
    annotations: Any = None,
    human: Any = None,
    prices: Any = None,
) -> Path:
    """A folder of the benchmark's files, as upstream's script lays it out."""
    folder.mkdir(exist_ok=True)
    given = {row["asin"]: annotation() for row in rows} if annotations is None else annotations
    files = {"items_shuffle_1000": rows, "items_ins_v2_1000": given}
    files |= {"items_human_ins": human} if human is not None else {}
    files |= {"purchase_prices": prices} if prices is not None else {}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def files_under(folder: Path) -> dict[str, bytes]:
    """All but the lock."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_folder_of_the_benchmark_becomes_a_catalogue(tmp_path: Path) -> None:
    human = {"B0001": [written("B0001"), written("B0001", instruction_attributes=[])]}
    told: list[int] = []
    data = source(tmp_path / "data", [row(1), row(2, pricing="$9.98 - $16.98")], human=human)
    report = import_official(data, tmp_path / "home", told.append)
    assert report.counts == {"1k-synthetic-test": 4, "1k-human-test": 1}
    assert (report.refused, told[:2]) == ((), [1, 2])
    catalogue = opened(tmp_path / "home", "1k")
    assert list(catalogue.products) == ["B0001", "B0002"]
    expected = cleaned(
        [row(1), row(2, pricing="$9.98 - $16.98")], {"B0001": annotation(), "B0002": annotation()}
    )
    assert list(catalogue.products.values()) == expected
    assert catalogue.price("B0001") == 12.99
    assert catalogue.price("B0002") == Random(233).uniform(9.98, 16.98)
    assert [wish.id for wish in catalogue.wishes("synthetic")] == ["0", "1", "2", "3"]
    (wish,) = catalogue.wishes("human")
    assert (wish.split, wish.goal.options) == ("test", ("black",))
    assert wish.goal.instruction.startswith("i need black shorts that dry quickly, and price lower than ")
    assert catalogue.search("shorts 2")[0] == "B0002"
    assert (verify(tmp_path / "home"), counts(tmp_path / "home")) == ([], report.counts)


def test_how_a_catalogue_was_made_is_kept_with_it(tmp_path: Path) -> None:
    data = source(tmp_path / "data", [row(1), row(2, pricing="$1.00 - $2.00")])
    report = import_official(data, tmp_path / "home")
    settings = opened(tmp_path / "home", "1k").about.settings
    assert settings["prices"] == "seeded draw: Random(233)"
    assert settings["bounds"] == settings["order"] == "Random(233)"
    name, blob, said = settings["file of products"].split(" ", 2)
    assert (name, len(blob), said) == ("items_shuffle_1000.json", 40, "not as published")
    assert report.warnings == (
        f"items_shuffle_1000.json is not the published file: its git blob is {blob[:8]}, not 08dfda9a",
        *report.warnings[1:],
    )
    assert len(report.warnings) == 2


def test_a_blob_has_the_id_that_git_gives_it(tmp_path: Path) -> None:
    (tmp_path / "hello").write_bytes(b"hello\n")
    assert importing.sources.blob_id(tmp_path / "hello") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_each_product_that_is_not_sound_is_refused_with_its_reason(tmp_path: Path) -> None:
    bad: list[tuple[Any, str]] = [
        ({key: value for key, value in row(1).items() if key != "name"}, "name: Field required"),
        (row(1, name=None), "name: Input should be a valid string"),
        (
            row(1, customization_options=["Color"]),
            "customization_options: it is no object",
        ),
        (row(1, customization_options={"Color": [{"image": None}]}), "Color.0.value: Field required"),
        (row(1, customization_options={"Color": "red"}), "Color: Input should be a valid list"),
        (row(1, pricing="$"), "pricing: '$' is no price"),
        (row(1, pricing="12.99"), "pricing: '12.99' is no price"),
        (row(1, pricing="$1.2.3"), "pricing: '$1.2.3' is no price"),
        (row(1, pricing="$" + "9" * 400), "is no price"),
        (row(1, pricing=12.99), "pricing: Input should be a valid string"),
        (row(1, small_description=[None]), "small_description.0: Input should be a valid string"),
        (row(1, asin=""), "asin: is empty"),
        (row(1, asin=7), "asin: Input should be a valid string"),
        (row(1, name="half \ud83d of it"), "it has half of a character, a lone surrogate"),
        (row(1, asin="\x1b[2J\n", name=7), "name: Input should be a valid string"),
        (row(1, customization_options={"\x1b\n" * 1000: [1]}), f"options.{'?' * 30}.0: it is no object"),
        (17, "it is no object"),
        (["B1"], "it is no object"),
        (None, "it is no object"),
    ]
    data = source(tmp_path / "data", [*(one for one, _ in bad), row(1)], {"B0001": annotation()})
    report = import_official(data, tmp_path / "home")
    assert report.counts == {"1k-synthetic-test": 2}  # of the last, sound one of that id
    for number, (refused, (_, reason)) in enumerate(zip(report.refused, bad, strict=True), start=1):
        assert refused.name.startswith(f"items_shuffle_1000.json: product {number}")
        assert reason in refused.reason
        assert f"{refused.name}: {refused.reason}".isprintable()
        assert len(refused.reason) <= 150


def test_what_the_original_has_a_rule_for_is_no_mistake(tmp_path: Path) -> None:
    without_price = {key: value for key, value in row(4).items() if key != "pricing"}
    rows = [
        row(1, pricing="", customization_options=""),
        row(2, pricing=None, customization_options={"Size": None, "Color": [{"value": "Red"}]}),
        row(3, pricing="$1,299.00", small_description="one text", customization_options=[]),
        without_price,
        row(5, asin="nan"),
        row(5, asin="B0123456789"),
        row(1, name="The second of an id"),
        row(6, name="", full_description="", small_description=[]),
    ]
    data = source(tmp_path / "data", rows, {"B0001": annotation(), "B0002": {"attributes": []}})
    assert import_official(data, tmp_path / "home").refused == ()
    products = opened(tmp_path / "home", "1k").products
    assert list(products) == ["B0001", "B0002", "B0003", "B0004", "B0006"]
    assert [products[asin].price_tag for asin in list(products)[:4]] == [
        "$100.0",
        "$100.0",
        "$1299.0",
        "$100.0",
    ]
    assert products["B0001"].title == "Acme Shorts 1"
    assert products["B0002"].options == {"color": ("red",)}
    assert products["B0003"].bullets == ("one text",)
    attributes = [products[asin].attributes for asin in ("B0001", "B0002", "B0003")]
    assert attributes == [("machine wash", "quick drying"), (), ("DUMMY_ATTR",)]


def test_annotations_that_are_not_sound_are_refused_with_their_reason(tmp_path: Path) -> None:
    given = {
        "B0001": annotation(),
        "B0002": {"instruction": "Find me shorts"},
        "B0003": annotation(attributes="machine wash"),
        "B0004": ["machine wash"],
        "B0005": annotation(instruction_attributes=[]),
        "B0006": annotation(instruction_attributes=["\ud83d"]),
    }
    human = {
        "B0001": [written("B0001"), "i need shorts", written("B0001", instruction_attributes="quick")],
        "B0002": written("B0002"),
        "B0003": [written("B0003", instruction="\udc00")],
    }
    data = source(tmp_path / "data", [row(number) for number in range(1, 7)], given, human)
    report = import_official(data, tmp_path / "home")
    assert report.counts == {"1k-synthetic-test": 2, "1k-human-test": 1}
    assert report.refused == (
        Refused("items_ins_v2_1000.json: B0002", "attributes: Field required"),
        Refused("items_ins_v2_1000.json: B0003", "attributes: Input should be a valid list"),
        Refused("items_ins_v2_1000.json: B0004", "it is no object"),
        Refused("items_ins_v2_1000.json: B0005", "its instruction has no attributes"),
        Refused("items_ins_v2_1000.json: B0006", "it has half of a character, a lone surrogate"),
        Refused(
            "items_human_ins.json: B0001, instruction 2",
            "it is no object",
        ),
        Refused(
            "items_human_ins.json: B0001, instruction 3",
            "instruction_attributes: Input should be a valid list",
        ),
        Refused("items_human_ins.json: B0002", "it is no list"),
        Refused("items_human_ins.json: B0003, instruction 1", "it has half of a character, a lone surrogate"),
    )


def test_goals_of_products_that_are_not_there_are_counted(tmp_path: Path) -> None:
    human = {f"B{number:04}": [written(f"B{number:04}")] for number in (1, 8, 9)}
    given = {f"B{number:04}": annotation() for number in (1, 7)}
    report = import_official(source(tmp_path / "data", [row(1)], given, human), tmp_path / "home")
    assert report.counts == {"1k-synthetic-test": 2, "1k-human-test": 1}
    assert report.warnings[-2:] == (
        "items_ins_v2_1000.json: 1 of its products are not in the catalogue",
        "items_human_ins.json: 2 of its products are not in the catalogue",
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("items_shuffle_1000.json", "{}", "items_shuffle_1000.json is no JSON list: it begins with '{'"),
        ("items_shuffle_1000.json", "", "items_shuffle_1000.json is no JSON list: it is empty"),
        ("items_shuffle_1000.json", "[]", "items_shuffle_1000.json has no product that can be imported"),
        (
            "items_shuffle_1000.json",
            "[1, 2]",
            "can be imported; the first of 2: items_shuffle_1000.json: product 1: it is no object",
        ),
        (
            "items_shuffle_1000.json",
            '[{"asin": "B0',
            "items_shuffle_1000.json is not valid JSON: Unterminated",
        ),
        (
            "items_shuffle_1000.json",
            "[" * 100_000,
            "items_shuffle_1000.json is not valid JSON: it is nested too",
        ),
        (
            "items_shuffle_1000.json",
            b"\x1f\x8b\xff",
            "items_shuffle_1000.json is not UTF-8: invalid start byte",
        ),
        ("items_ins_v2_1000.json", "[]", "items_ins_v2_1000.json is no JSON object: it begins with '['"),
        ("items_ins_v2_1000.json", "{}", "no product has an instruction, and so the catalogue no goal"),
        ("items_human_ins.json", '{"B0001": [', "items_human_ins.json is not valid JSON: Expecting value"),
        ("purchase_prices.json", '{"synthetic": {"B0001": "1"}}', "synthetic: B0001: no price in dollars"),
        ("purchase_prices.json", '{"synthetic": {"B0001": NaN}}', "synthetic: B0001: no price in dollars"),
        ("purchase_prices.json", '{"synthetic": {"B0001": -1}}', "synthetic: B0001: no price in dollars"),
        ("purchase_prices.json", f'{{"a": {{"B1": 1{"0" * 400}}}}}', "a: B1: no price in dollars"),
        ("purchase_prices.json", '{"synthetic": [1]}', "synthetic: no table of prices"),
        (
            "purchase_prices.json",
            '{"synthetic": {"B0002": 3}}',
            "synthetic: B0002: 3.0 is not from 1.0 to 2.0",
        ),
    ],
)
def test_a_file_that_is_none_stops_the_import_and_leaves_the_previous_one(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    data = source(tmp_path / "data", [row(1), row(2, pricing="$1.00 - $2.00")])
    import_official(data, tmp_path / "home")
    before = files_under(tmp_path / "home")
    (data / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CatalogueError) as error:
        import_official(data, tmp_path / "home")
    assert message in str(error.value)
    assert str(error.value).count("\n") == 0
    assert files_under(tmp_path / "home") == before


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="nowhere is no folder"):
        import_official(tmp_path / "nowhere", tmp_path / "home")
    data = source(tmp_path / "data", [row(1)])
    (data / "items_ins_v2_1000.json").unlink()
    with pytest.raises(CatalogueError, match=r"data has no items_ins_v2\.json or items_ins_v2_1000\.json"):
        import_official(data, tmp_path / "home")
    games = tmp_path / "alfworld" / "json_2.1.1" / "train"
    games.mkdir(parents=True)
    with pytest.raises(
        CatalogueError, match=r"alfworld has no items_shuffle\.json or items_shuffle_1000\.json"
    ):
        import_official(tmp_path / "alfworld", tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_of_several_catalogues_one_is_named(tmp_path: Path) -> None:
    data = source(tmp_path / "data", [row(1)])
    many = [row(number, customization_options="") for number in range(1, 1002)]
    (data / "items_shuffle.json").write_text(json.dumps(many))
    (data / "items_ins_v2.json").write_text(json.dumps({"B1001": annotation(attributes=["all"])}))
    with pytest.raises(CatalogueError, match=r"data has 2 files of products; name one: .*items_shuffle_1000"):
        import_official(data, tmp_path / "home")
    assert import_official(data / "items_shuffle_1000.json", tmp_path / "home").counts == {
        "1k-synthetic-test": 2
    }
    assert import_official(data / "items_shuffle.json", tmp_path / "home").counts == {
        "full-synthetic-test": 1
    }
    assert opened(tmp_path / "home", "full").products["B1001"].attributes == ("all",)
    assert counts(tmp_path / "home") == {"1k-synthetic-test": 2, "full-synthetic-test": 1}
    with pytest.raises(
        CatalogueError, match=r"the catalogue '2k' is not imported under .*data import webshop"
    ):
        opened(tmp_path / "home", "2k")


def test_prices_are_those_of_the_table_and_drawn_where_it_has_none(tmp_path: Path) -> None:
    rows = [row(number, pricing="$10.00 - $20.00") for number in (1, 2)]
    human = {"B0001": [written("B0001")]}
    table = {"human": {"B0001": 11}, "synthetic": {"B0001": 12.5, "B0009": 1}}
    import_official(source(tmp_path / "data", rows, human=human, prices=table), tmp_path / "home")
    catalogue, draw = opened(tmp_path / "home", "1k"), Random(233)
    drawn = [draw.uniform(10, 20), draw.uniform(10, 20)]
    assert (catalogue.price("B0001"), catalogue.price("B0002")) == (12.5, drawn[1])
    assert catalogue.about.settings["prices"] == "table: synthetic; seeded draw for 1 that it has not"
    assert "purchase_prices.json" in catalogue.about.settings["file of prices"]
    import_official(source(tmp_path / "data", rows, prices={"human": {"B0001": 11}}), tmp_path / "home")
    assert opened(tmp_path / "home", "1k").price("B0001") == 11.0


def test_too_many_synthetic_goals_are_left_out_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MOST_SYNTHETIC", 5)
    human = {"B0002": [written("B0002")]}
    data = source(tmp_path / "data", [row(1), row(2), row(3)], human=human)
    report = import_official(data, tmp_path / "home")
    assert report.counts == {"1k-human-test": 1}
    assert report.warnings[-1] == "6 synthetic goals are left out: there are none from 5 on"


def test_a_product_with_a_billion_choices_is_no_billion_goals(tmp_path: Path) -> None:
    groups = {f"group {n}": [{"value": f"{n} {value}"} for value in range(10)] for n in range(9)}
    data = source(
        tmp_path / "data", [row(1, customization_options=groups)], human={"B0001": [written("B0001")]}
    )
    report = import_official(data, tmp_path / "home")
    assert report.counts == {"1k-human-test": 1}
    assert report.warnings[-1].startswith("1,000,000,000 synthetic goals are left out")


def test_a_second_import_replaces_the_first_which_stays_readable_to_who_has_it(tmp_path: Path) -> None:
    data = source(tmp_path / "data", [row(1), row(2)], human={"B0002": [written("B0002")]})
    import_official(data, tmp_path / "home")
    old = opened(tmp_path / "home", "1k")
    wishes = old.wishes("human")
    import_official(source(tmp_path / "data", [row(3)], human={}), tmp_path / "home")
    new = opened(tmp_path / "home", "1k")
    assert (list(new.products), new.goal_sets) == (["B0003"], ("synthetic",))
    assert not old.folder.exists()
    assert (old.products["B0002"].title, old.price("B0002")) == ("Acme Shorts 2", 12.99)
    assert (old.search("shorts 2")[0], wishes[0].goal.asin) == ("B0002", "B0002")
    assert len(list((tmp_path / "home" / "webshop").glob("*-*"))) == 1


@pytest.mark.parametrize(
    "where", ["os.posix_fallocate", "os.fsync", "pathlib.Path.write_text", "pathlib.Path.rename"]
)
def test_a_full_disk_leaves_the_previous_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    data = source(tmp_path / "data", [row(1)])
    import_official(data, tmp_path / "home")
    before = files_under(tmp_path / "home")
    source(tmp_path / "data", [row(2)])

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(where, full)
    with pytest.raises(OSError, match="No space left on device"):
        import_official(data, tmp_path / "home")
    monkeypatch.undo()
    assert files_under(tmp_path / "home") == before
    assert verify(tmp_path / "home") == []


def test_a_source_that_changes_meanwhile_is_not_imported(tmp_path: Path) -> None:
    data = source(tmp_path / "data", [row(1), row(2)])

    def change(number: int) -> None:
        if number == 2:
            with (data / "items_shuffle_1000.json").open("a") as file:
                file.write("\n")

    with pytest.raises(CatalogueError, match="was changed while it was read: import it again"):
        import_official(data, tmp_path / "home", change)
    assert files_under(tmp_path / "home") == {}


def imports(data: Path, home: Path, times: int) -> None:
    for _ in range(times):
        import_official(data, home)


def test_two_imports_at_once_leave_two_catalogues_and_nothing_else(tmp_path: Path) -> None:
    small = source(tmp_path / "small", [row(1)])
    large = source(tmp_path / "large", [row(number, customization_options="") for number in range(1001)])
    fork = multiprocessing.get_context("spawn")
    running = [
        fork.Process(target=imports, args=(data, tmp_path / "home", 3)) for data in (small, large, small)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join(120)
    assert [process.exitcode for process in running] == [0, 0, 0]
    assert counts(tmp_path / "home") == {
        "1k-synthetic-test": 2,
        "full-synthetic-test": 500,
        "full-synthetic-train": 501,
    }
    assert verify(tmp_path / "home") == []
    assert len([path for path in (tmp_path / "home" / "webshop").iterdir() if path.is_dir()]) == 2


def dies_at_the_first_product(data: Path, home: Path) -> None:
    def die(_: int) -> None:
        if list((home / "webshop").glob("draft-*/*")):
            signal.raise_signal(signal.SIGKILL)

    import_official(data, home, die)


def test_what_a_killed_import_left_is_removed_by_the_next(tmp_path: Path) -> None:
    data, home = source(tmp_path / "data", [row(1)]), tmp_path / "home"
    process = multiprocessing.get_context("spawn").Process(
        target=dies_at_the_first_product, args=(data, home)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    (left,) = (home / "webshop").glob("draft-*")
    assert (counts(home), verify(home)) == (None, [])
    import_official(data, home)
    assert not left.exists()
    assert counts(home) == {"1k-synthetic-test": 2}


def test_a_damaged_byte_and_a_missing_file_are_found(tmp_path: Path) -> None:
    home = tmp_path / "home"
    import_official(source(tmp_path / "data", [row(1)]), home)
    (blob,) = home.rglob("products.blob")
    data = bytearray(blob.read_bytes())
    data[7] ^= 1
    blob.write_bytes(data)
    assert verify(home) == [f"{blob} is damaged"]
    blob.unlink()
    (problem,) = verify(home)
    assert problem.startswith(f"{blob} is missing")
    shutil.rmtree(blob.parent)
    (problem,) = verify(home)
    assert problem.startswith("there is no catalogue in ")


def test_a_sound_catalogue_in_place_of_the_imported_one_is_found(tmp_path: Path) -> None:
    import_official(source(tmp_path / "data", [row(1)]), tmp_path / "home")
    import_official(source(tmp_path / "data", [row(2)]), tmp_path / "other")
    (here,) = (tmp_path / "home").rglob("1k-*")
    (there,) = (tmp_path / "other").rglob("1k-*")
    shutil.rmtree(here)
    there.rename(here)
    assert verify(tmp_path / "home") == [f"{here}: it is sound, but not the catalogue that was imported"]


@pytest.mark.parametrize("text", ["", "{}", '{"catalogues": {"1k": {"folder": ".."}}}'])
def test_a_broken_manifest_is_named_and_an_import_mends_it(tmp_path: Path, text: str) -> None:
    data, home = source(tmp_path / "data", [row(1)]), tmp_path / "home"
    (home / "webshop").mkdir(parents=True)
    (home / "webshop" / "manifest.json").write_text(text)
    with pytest.raises(CatalogueError, match=r"manifest\.json is broken: import the catalogue again"):
        opened(home, "1k")
    assert len(verify(home)) == 1
    import_official(data, home)
    assert (verify(home), counts(home)) == ([], {"1k-synthetic-test": 2})
