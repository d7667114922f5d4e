"""The Region-DAG: what the PTX of a kernel does, where, and what waits for what."""

from __future__ import annotations

from .dag import Region, RegionDag, Stage, region_dag, region_dag_of
from .difference import difference
from .views import overview, region, stage

__all__ = [
    "Region",
    "RegionDag",
    "Stage",
    "difference",
    "overview",
    "region",
    "region_dag",
    "region_dag_of",
    "stage",
]
