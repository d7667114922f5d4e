"""What was measured of this machine, once a state folder: peaks of the host, bandwidths of GPUs."""

from __future__ import annotations

from ..runners.limits.limits import Peaks
from .store import Store
from .writer import Writer

META = "meta"
HOST = "peaks/host"
BANDWIDTH = "bandwidth/"
"""keys in `meta`, by a GPU's UUID"""


def host_peaks(store: Store) -> Peaks | None:
    """The host's peaks as they were measured last."""
    return store.get_record(META, HOST, Peaks)


def put_host_peaks(writer: Writer, peaks: Peaks) -> None:
    """Keep the host's peaks."""
    writer.put_record(META, HOST, peaks)


def copy_bandwidth(store: Store, uuid: str) -> float | None:
    """Bytes a second of a large copy on a GPU, as measured last."""
    known = store.get(META, BANDWIDTH + uuid)
    return None if known is None else known["bytes_per_s"]


def put_copy_bandwidth(writer: Writer, uuid: str, bytes_per_s: float) -> None:
    """Keep the bandwidth of a copy on a GPU."""
    writer.put(META, BANDWIDTH + uuid, {"bytes_per_s": bytes_per_s})
