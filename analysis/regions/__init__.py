"""The Region-DAG: what the PTX of a kernel does, where, and what waits for what."""

from __future__ import annotations

from .dag import Region, RegionDag, Stage, region_dag, region_dag_of

__all__ = ["Region", "RegionDag", "Stage", "region_dag", "region_dag_of"]
