# ruff: noqa: E501
"""The tables that ncu prints. The samples are made by hand after the format that ncu documents;
no real table is among them yet."""

from __future__ import annotations

import pytest

from kernelwright.runners.profiling.tables import launches

ABOUT = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream"'
SHAPE = '"Block Size","Grid Size","Device","CC"'
RAW = f"""\
==PROF== Connected to process 7 (/usr/bin/python3)
==WARNING== something
{ABOUT},{SHAPE},"dram__bytes_read.sum","gpu__time_duration.sum","lts__t_sector_hit_rate.pct","device__attribute_display_name"
"","","","","","","","","","","","byte","ns","%",""
"0","7","python3","localhost","scale","1","7","(128, 1, 1)","(80, 2, 1)","0","9.0","2,000,000","1,205.00","-nan","NVIDIA H100"
"1","7","python3","localhost","sum","1","7","(64, 1, 1)","(1, 1, 1)","0","9.0","4096","3.5","99.5","NVIDIA H100"
==PROF== Disconnected from process 7
"""
DETAILS = f"""\
{ABOUT},{SHAPE},"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","7","python3","localhost","scale","1","7","(128, 1, 1)","(80, 2, 1)","0","9.0","GPU Speed Of Light Throughput","Duration","ns","1,205.00","","","","",""
"1","7","python3","localhost","sum","1","7","(64, 1, 1)","(1, 1, 1)","0","9.0","LaunchStats","","","","LaunchConfiguration","OPT","The grid is small, see @section:Occupancy:Occupancy@.","global","1,250.5"
"1","7","python3","localhost","sum","1","7","(64, 1, 1)","(1, 1, 1)","0","9.0","SpeedOfLight","","","","SOLBottleneck","INF","Nothing to estimate","",""
"""


def test_every_launch_has_its_numbers_without_commas_and_its_units() -> None:
    first, second = launches(RAW)
    assert (first.kernel, second.kernel) == ("scale", "sum")
    assert (first.shape.grid, first.shape.block) == ((80, 2, 1), (128, 1, 1))
    assert (first.device, first.capability) == ("NVIDIA H100", 90)
    assert first.number("dram__bytes_read.sum") == 2_000_000
    assert first.metrics["gpu__time_duration.sum"].unit == "ns"
    assert first.nanoseconds == 1205


def test_a_metric_that_was_not_collected_is_not_there() -> None:
    first, second = launches(RAW)
    assert "lts__t_sector_hit_rate.pct" not in first.metrics
    assert second.number("lts__t_sector_hit_rate.pct") == 99.5


def test_advice_goes_to_its_launch_without_markup() -> None:
    first, second = launches(RAW, DETAILS)
    assert first.advice == ()
    small, nothing = second.advice
    assert (small.rule, small.kind) == ("LaunchConfiguration", "optimization")
    assert small.message == "The grid is small, see Occupancy."
    assert (small.speedup_percent, small.scope) == (1250.5, "global")
    assert (nothing.kind, nothing.speedup_percent, nothing.scope) == ("information", None, None)


def test_text_without_a_table_has_no_launches() -> None:
    assert launches("==WARNING== No kernels were profiled.\n") == ()


def test_a_row_that_does_not_fit_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of 3 cells"):
        launches(RAW + '"2","7","python3"\n')
