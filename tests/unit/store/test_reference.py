"""The page of the table's columns follows the records."""

from pathlib import Path

import pytest

from agentgym_envs.core import Record
from agentgym_store.arrow import SAMPLE, SCHEMA, TURN, pa
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.reference import columns, reference

PAGE = Path(__file__).resolve().parents[3] / "docs" / "table.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: make docs"


def test_the_page_has_every_column_and_its_format() -> None:
    text = reference()
    for kind in (SCHEMA, TURN, SAMPLE):
        for field in kind:
            assert f"\n| `{field.name}` | " in text
    assert "\n| `id` | `string` | | 1 | | Unique id of the episode. |\n" in text
    assert "\n| `loss_mask` | `list<int8>` | null | 1, later | | " in text
    assert "\n| `seat` | `int64` | null | 2 | | " in text
    assert "\n| `environment_s` | `double` | null | 3 | | " in text
    assert "\n| `limit` | `string` | null | 1 | `ending.limit` | " in text


@pytest.mark.parametrize(("kind", "record"), [(SCHEMA, Trajectory), (TURN, Turn), (SAMPLE, Sample)])
def test_columns_and_fields_correspond(kind: pa.Schema, record: type[Record]) -> None:
    assert [column[0] for column in columns(kind, record)] == [field.name for field in kind]


def changed(name: str, **to: object) -> list[pa.Field]:
    """The fields of a sample, one of them changed."""
    return [
        pa.field(
            field.name,
            to.get("kind", field.type),
            nullable=to.get("nullable", field.nullable),
            metadata=field.metadata,
        )
        if field.name == name
        else field
        for field in SAMPLE
    ]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (changed("text", kind=pa.int64()), r"^Sample\.text is <class 'str'>, not int64$"),
        (
            changed("policy_version", kind=pa.float64()),
            r"^Sample\.policy_version is <class 'int'>, not double$",
        ),
        (changed("logprobs", kind=pa.list_(pa.string())), r"^Sample\.logprobs is .*, not list"),
        (changed("token_ids", kind=pa.int32()), r"^Sample\.token_ids is .*, not int32$"),
        (changed("loss_mask", nullable=False), r"^Sample\.loss_mask is "),
        (list(SAMPLE)[1:], r"^Sample has fields without a column: text$"),
        (
            [*SAMPLE, pa.field("mood", pa.string(), metadata={"comment": "x"})],
            r"^the column mood is made of no field of Sample$",
        ),
    ],
)
def test_a_schema_that_differs_from_the_records_has_no_page(fields: list[pa.Field], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        list(columns(fields, Sample))
