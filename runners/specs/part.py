"""What every part of a spec is made of: the base of its models, names and expressions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Expression = int | str
Finite = Annotated[float, Field(allow_inf_nan=False)]
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
HEX_PATTERN = r"^([0-9a-f]{2})+$"
FILL_PATTERN = r"^([0-9a-f]{2}){1,8}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


class Part(BaseModel):
    """A part of a spec: unknown fields are refused, docstrings become schema descriptions."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, defer_build=True
    )
