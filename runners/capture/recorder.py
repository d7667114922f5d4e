"""What a wrapper did, as it is found out: buffers at invented addresses, steps, a first refusal.

Buffer i lies at an address of its own terabyte, so that views, addresses passed as integers and
tables of pointers all lead back to a buffer and an offset. An address is aligned to exactly
what is promised: machine code must not be specialised for more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from ..errors import SpecError
from ..plans.plan import Fill, Launch, PlanBuffer, Relocation
from .source_lines import line_of_the_caller

TERABYTE = 1 << 40
FIRST = 16
"""below it lie numbers that kernels are really given"""
SCRATCH_ALIGN = 256
MAX_CONST_BYTES = 256 << 20

Role = Literal["argument", "scratch", "launch_scratch", "const"]


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer and an offset in bytes."""

    buffer: PlanBuffer
    offset: int


class Recorder:
    """Buffers, steps and files of one capture."""

    def __init__(self, reserved: Iterable[str], source: Path) -> None:
        self.buffers: list[PlanBuffer] = []
        self.steps: list[Launch | Fill] = []
        self.setup: list[Fill] = []
        """what ran when the source was imported"""
        self.files: dict[str, bytes] = {}
        """constants, by hash"""
        self.lent: set[str] = set()
        """buffers that the source handed to Triton as scratch of launches"""
        self.refusal = ""
        self.importing = True
        self.source = source
        self._reserved = frozenset(reserved)
        self._index: dict[str, int] = {}

    def refuse(self, why: str) -> NoReturn:
        """Note why there will be no plan, and raise it.

        The first refusal stays: the source may catch the exception and go on.
        """
        self.refusal = self.refusal or why + line_of_the_caller(self.source)
        raise SpecError(self.refusal)

    def add(
        self,
        role: Role,
        nbytes: int,
        *,
        align: int = SCRATCH_ALIGN,
        name: str | None = None,
        content: bytes | None = None,
        pointers: tuple[Relocation, ...] = (),
    ) -> PlanBuffer:
        """A new buffer; without a name it gets one that no argument has."""
        if nbytes >= TERABYTE - 4096:
            self.refuse(f"a buffer of {nbytes} bytes")
        buffer = PlanBuffer(
            name=name or self._free_name(role),
            role=role,
            nbytes=nbytes,
            align=align,
            sha256=None if content is None else self._keep(content),
            pointers=pointers,
        )
        self._index[buffer.name] = len(self.buffers)
        self.buffers.append(buffer)
        return buffer

    def address(self, buffer: PlanBuffer) -> int:
        """Where a buffer starts."""
        return (FIRST + self._index[buffer.name]) * TERABYTE + buffer.align

    def find(self, address: int) -> Place | None:
        """The buffer that an address lies in or ends; None: in none."""
        index, rest = divmod(address, TERABYTE)
        if not FIRST <= index < FIRST + len(self.buffers):
            return None
        buffer = self.buffers[index - FIRST]
        offset = rest - buffer.align
        return Place(buffer, offset) if 0 <= offset <= buffer.nbytes else None

    def fill(self, address: int, nbytes: int, pattern: bytes) -> None:
        """A memset of a pattern of 1 to 8 bytes."""
        place = self.find(address)
        if place is None:
            self.refuse(f"fill: address {address:#x} lies in no captured buffer")
        if nbytes:
            self.steps.append(
                Fill(
                    fill=place.buffer.name,
                    offset=place.offset,
                    nbytes=nbytes,
                    pattern=pattern.hex(),
                )
            )

    def end_import(self) -> None:
        """From here on steps belong to the call; those before are repeated as setup."""
        self.setup = [s for s in self.steps if isinstance(s, Fill)]
        self.steps = []
        self.importing = False

    def relocations(self, content: bytes) -> tuple[Relocation, ...]:
        """The 8-byte words of a content that are addresses of ours."""
        words = memoryview(content[: len(content) // 8 * 8]).cast("Q")
        places = ((8 * i, self.find(word)) for i, word in enumerate(words) if word >= TERABYTE)
        return tuple(
            Relocation(at=at, buffer=place.buffer.name, offset=place.offset)
            for at, place in places
            if place is not None
        )

    def _keep(self, content: bytes) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 in self.files:
            return sha256
        if sum(map(len, self.files.values())) + len(content) > MAX_CONST_BYTES:
            self.refuse(f"constants of more than {MAX_CONST_BYTES >> 20} MiB")
        self.files[sha256] = content
        return sha256

    def _free_name(self, role: Role) -> str:
        name = f"{role}{len(self.buffers)}"
        while name in self._reserved:
            name += "_"
        return name
