"""Options of environments: what constructors declare, and how their texts are read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from agentgym_envs.guess import Guess
from agentgym_envs.options import PRIVATE, EnvironmentOption, FieldsOf, options_of, shown
from agentgym_envs.registry import environment_class, lacking, names
from agentgym_envs.sotopia.protocol.views import VIEWS


def even(text: str) -> str:
    if len(text) % 2:
        raise ValueError(f"{len(text)} letters are\nnot even")
    return text


class Doors(BaseModel):
    """Record of further options."""

    colour: Literal["red", "blue"] = Field(default="red", description="Of all doors.")
    width_m: float = Field(default=1.0, gt=0, lt=9)
    door_key: str = ""


@dataclass
class Windows:
    """Record of options whose defaults depend on data."""

    are_open: bool = False


class Rooms(Guess):
    """Environment with an option of each kind."""

    def __init__(
        self,
        size: Annotated[int, Field(ge=1, le=8, description="Number of\n  rooms.")] = 4,
        *places: str,
        words: Annotated[str, AfterValidator(even)] = "",
        share: float | None = None,
        is_dark: bool = False,
        anything=5,
        endpoint: Annotated[dict[str, Any] | str | None, Field(json_schema_extra=PRIVATE)] = None,
        home: Path | None = None,
        rows: list[int] | None = None,
        seat: Literal[0, 1] = 0,
        **more: Annotated[Any, FieldsOf(Doors), FieldsOf(Windows, defaults=False)],
    ) -> None:
        del size, places, words, share, is_dark, anything, endpoint, home, rows, seat, more


@pytest.fixture
def options() -> dict[str, EnvironmentOption]:
    return options_of(Rooms)


def test_a_constructor_declares_options_with_kinds_defaults_and_descriptions(
    options: dict[str, EnvironmentOption],
) -> None:
    assert {one.name: (one.kind, one.default) for one in options.values()} == {
        "size": ("integer", 4),
        "words": ("text", ""),
        "share": ("number", None),
        "is_dark": ("switch", False),
        "anything": ("any", 5),
        "endpoint": ("text", None),
        "seat": ("choice", 0),
        "colour": ("choice", "red"),
        "width_m": ("number", 1.0),
        "door_key": ("text", ""),
        "are_open": ("switch", None),
    }
    assert (options["size"].description, options["size"].limits) == ("Number of rooms.", "from 1 to 8")
    assert (options["colour"].description, options["colour"].choices) == ("Of all doors.", ("red", "blue"))
    assert options["width_m"].limits == "above 0 below 9"


def test_keys_and_what_is_marked_are_private(options: dict[str, EnvironmentOption]) -> None:
    assert {one.name for one in options.values() if one.is_private} == {"endpoint", "door_key"}


def test_an_environment_without_a_constructor_has_no_options() -> None:
    assert options_of(Guess) == {}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "8", 8),
        ("words", "four", "four"),
        ("share", "0.5", 0.5),
        ("is_dark", "true", True),
        ("anything", "2.5", 2.5),
        ("anything", "two words", "two words"),
        ("anything", "[1]", "[1]"),
        ("endpoint", '{"model": "m"}', '{"model": "m"}'),
        ("seat", "1", 1),
        ("width_m", "2", 2.0),
    ],
)
def test_a_text_is_read_by_the_type_of_its_option(
    options: dict[str, EnvironmentOption], name: str, text: str, value: object
) -> None:
    found = options[name].read(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("size", "9", "it should be less than or equal to 8"),
        ("size", "x", "it should be a whole number"),
        ("size", "1.5", "it should be a whole number"),
        ("share", "half", "it should be a number"),
        ("words", "odd", "3 letters are not even"),
        ("share", "nan", "it should be a finite number"),
        ("is_dark", "yes", "it should be true or false"),
        ("seat", "2", "it should be one of: 0, 1"),
        ("width_m", "0", "it should be greater than 0"),
    ],
)
def test_a_text_that_its_option_cannot_have_is_told_in_one_line(
    options: dict[str, EnvironmentOption], name: str, text: str, told: str
) -> None:
    with pytest.raises(ValueError, match=r"it should|letters") as cause:
        options[name].read(text)
    assert str(cause.value) == told


@pytest.mark.parametrize("name", [name for name in names() if not lacking(name)])
def test_every_option_of_ours_is_described_and_reads_its_default(name: str) -> None:
    for one in options_of(environment_class(name)).values():
        assert one.description.endswith("."), one.name
        if one.default not in (None, ""):
            assert one.read(shown(one.default)) == one.default


def test_bad_names_of_families_and_bad_endpoints_are_noticed_before_an_environment_is_made() -> None:
    families = options_of(environment_class("social"))["families"]
    assert families.read("price,split") == "price,split"
    with pytest.raises(ValueError, match=r"^no family 'prices'; there are: "):
        families.read("prices")
    judge = options_of(environment_class("ampo"))["judge"]
    given = '{"base_url": "http://127.0.0.1:1/v1", "model": "m"}'
    assert judge.read(given) == given
    with pytest.raises(ValueError, match=r"^JudgeModel: model: Field required$"):
        judge.read('{"base_url": "http://127.0.0.1:1/v1"}')


def test_social_worlds_show_all_of_a_partner_but_its_goal() -> None:
    assert set(VIEWS) - set(options_of(environment_class("social"))["view"].choices) == {"omniscient"}
