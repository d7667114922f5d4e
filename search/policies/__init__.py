"""Policies: how an arm is chosen at a node, and where a walk starts. One policy a file.

A new policy is a file beside this one, called as its users name it, with a `POLICY`, and its name
in `PolicyName` (`search/settings.py`). The names stand there because settings are read, and told in
schemas, where nobody walks a graph; what each means is looked up here.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final, get_args

from ..settings import PolicyName
from .selection import Policy


def _policy(name: PolicyName) -> Policy:
    found = import_module(f".{name}", __package__).POLICY
    assert isinstance(found, Policy)
    return found


POLICIES: Final[Mapping[PolicyName, Policy]] = {
    name: _policy(name) for name in get_args(PolicyName)
}
