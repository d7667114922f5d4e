"""What every part of a spec is made of: the base of its models, names and expressions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..described import Described

Expression = int | str
Finite = Annotated[float, Field(allow_inf_nan=False)]
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
HEX_PATTERN = r"^([0-9a-f]{2})+$"
FILL_PATTERN = r"^([0-9a-f]{2}){1,8}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


class Part(Described):
    """A part of a spec: unknown fields are refused, docstrings become schema descriptions."""
