"""What an agent can ask for: one verb a file, registered here."""

from __future__ import annotations

from typing import Any

from . import (
    analyze_module,
    cancel_job,
    compile_variant,
    export_variant,
    job,
    ncu_summary,
    open_kernel,
    open_recorded,
    propose_moves,
    ptx_for_source_span,
    record_program,
    region_dag,
    search_step,
    time_variant,
    verify_program,
)
from . import inspect as inspection
from .base import Tool

TOOLS: tuple[Tool[Any, Any], ...] = (
    open_kernel.TOOL,
    propose_moves.TOOL,
    compile_variant.TOOL,
    time_variant.TOOL,
    ncu_summary.TOOL,
    region_dag.TOOL,
    ptx_for_source_span.TOOL,
    search_step.TOOL,
    analyze_module.TOOL,
    record_program.TOOL,
    open_recorded.TOOL,
    verify_program.TOOL,
    inspection.TOOL,
    job.TOOL,
    cancel_job.TOOL,
    export_variant.TOOL,
)
"""In the order of a conversation, the order in which clients see them."""
