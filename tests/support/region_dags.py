"""Region-DAGs of the stored kernels."""

from __future__ import annotations

from functools import cache

from ptx_texts import kernel_text, text

from kernelwright.analysis.regions import RegionDag, region_dag


@cache
def dag(name: str) -> RegionDag:
    return region_dag(text(name))


def dag_of(body: str, parameters: str = "") -> RegionDag:
    return region_dag(kernel_text(body, parameters))
