"""The peaks of a GPU for one contract: bandwidth as measured where the GPU is here, operations
from the datasheet of the unit that may do them.

Which unit that is, the contract says: tensor cores for 16-bit inputs, and for fp32 inputs only
where its math allows TF32.
"""

from __future__ import annotations

from ..errors import DeviceMissing
from ..specs.devices import DeviceFacts, datasheet
from ..specs.io_contract import Contract
from .limits import Peaks

NARROW = {"float16", "bfloat16"}


def gpu_peaks(device: DeviceFacts, contract: Contract, copy_bytes_per_s: float | None) -> Peaks:
    """The peaks for this contract. `copy_bytes_per_s`: None for a GPU that is not here.

    Raises DeviceMissing for a GPU of which nothing is known.
    """
    sheet = datasheet(device.name)
    if sheet is None:
        raise DeviceMissing(f"the peaks of {device.name} are not in the table of datasheets")
    unit = compute_unit(contract)
    flops: float = getattr(sheet, unit)
    measured = copy_bytes_per_s is not None
    memory = "best of several large copies" if measured else "bandwidth from the datasheet"
    return Peaks(
        copy_bytes_per_s=copy_bytes_per_s if measured else sheet.bytes_per_s,
        flops_per_s=flops,
        flops_unit=_NAMES[unit],
        flops_source="datasheet",
        cache_bytes=device.l2_bytes,
        cold=True,
        source="measured" if measured else "datasheet",
        device=device.name,
        method=f"{memory}; dense {_NAMES[unit]} operations from the datasheet",
    )


def compute_unit(contract: Contract) -> str:
    """The field of Datasheet that bounds this contract's operations."""
    inputs = {a.dtype for a in contract.arguments if a.role in ("input", "inout")}
    if "float64" in inputs:
        return "fp64"
    if inputs & NARROW and "float32" not in inputs:
        return "fp16"
    return "fp32" if contract.math == "ieee" else "tf32"


_NAMES = {"fp64": "fp64", "fp32": "fp32", "tf32": "TF32 tensor-core", "fp16": "16-bit tensor-core"}
