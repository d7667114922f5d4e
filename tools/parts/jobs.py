"""How a job stands, whether the store could take its end or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...store.job_rows import job_record
from ...store.jobs import JobRecord

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench


def record_of(bench: Workbench, job_id: str) -> JobRecord:
    """How a job stands; also one whose end could not be written. Raises HandleUnknown."""
    unwritten = bench.unwritten.get(job_id)
    return unwritten or job_record(bench.store, job_id)
