"""Models described by the docstrings beneath their fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from kernelwright.runners.described import Described, descriptions
from kernelwright.runners.specs.spec import KernelSpec


class Inner(Described):
    """A part."""

    size: int = 0
    """elements;
    of one row"""


class Outer(Described):
    """A whole."""

    inner: Inner = Inner()
    """what it holds"""
    other: Annotated[int, Field(description="its own words")] = 0
    """not these"""
    renamed: int = Field(default=0, alias="as")
    """under another name"""
    silent: int = 0
    words: tuple[str, ...] = ()
    "said in short quotes"


class Narrower(Outer):
    """One of them."""

    silent: int = 1
    """now described"""
    other: int = 2


def test_a_schema_says_what_the_docstrings_beneath_fields_say() -> None:
    schema = Outer.model_json_schema()
    told = {name: each.get("description") for name, each in schema["properties"].items()}
    assert told == {
        "inner": "what it holds",
        "other": "its own words",
        "as": "under another name",
        "silent": None,
        "words": "said in short quotes",
    }
    assert schema["$defs"]["Inner"]["properties"]["size"]["description"] == "elements;\nof one row"
    assert (schema["description"], schema["$defs"]["Inner"]["description"]) == (
        "A whole.",
        "A part.",
    )


def test_a_field_is_described_where_it_is_declared_last() -> None:
    assert descriptions(Narrower) == {
        "inner": "what it holds",
        "renamed": "under another name",
        "silent": "now described",
        "words": "said in short quotes",
    }


def test_the_same_is_said_as_pydantic_itself_reads_there() -> None:
    class Read(BaseModel):
        model_config = ConfigDict(use_attribute_docstrings=True)

        inner: Inner = Inner()
        """what it holds"""
        words: tuple[str, ...] = ()
        "said in short quotes"

    ours, theirs = Outer.model_json_schema()["properties"], Read.model_json_schema()["properties"]
    assert {name: ours[name] for name in theirs} == theirs


def test_every_field_of_a_spec_that_has_a_docstring_is_described() -> None:
    schema = KernelSpec.model_json_schema()
    assert all(schema["properties"][name]["description"] for name in descriptions(KernelSpec))
    assert "symbols" in descriptions(KernelSpec)
