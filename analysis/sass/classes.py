"""What kind of work a machine instruction does, by its opcode, for sm_70 to sm_120.

The opcodes are those of the instruction set tables in NVIDIA's "CUDA Binary Utilities", and of
listings of ptxas 12.8 to 13.5; the classes are ours. Unknown opcodes are of class `other`.
"""

from __future__ import annotations

from typing import Literal

SassClass = Literal[
    "global_load",
    "global_store",
    "shared",
    "local",
    "constant",
    "atomic",
    "async_copy",
    "tensor",
    "compute",
    "special",
    "integer",
    "conversion",
    "exchange",
    "move",
    "sync",
    "control",
    "other",
    "unknown",
]
"""Those of PTX (`ptx.effects.Phase`), of which `address` is told in finer parts: `integer`,
`conversion`, `move`, `constant`, `control`. `unknown`: no listing names the instruction."""

_OPCODES: dict[SassClass, str] = {
    "global_load": "LD LDG TEX TLD TLD4 TXD TXQ TMML SULD TEXS TLDS TLD4S",
    "global_store": "ST STG SUST",
    "shared": "LDS STS LDSM STSM",
    "local": "LDL STL",
    "constant": "LDC LDCU ULDC",
    "atomic": "ATOM ATOMG ATOMS RED REDG REDAS REDS SUATOM SURED ATOMA",
    "async_copy": "LDGSTS LDGDEPBAR STAS UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG UTMAREDG UTMAPF "
    "UTMACCTL UTMACMDFLUSH UTCCP",
    "tensor": "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCIMMA "
    "UTCQMMA UTCOMMA LDTM STTM UTCSHIFT MOVM",
    "compute": "FADD FADD2 FADD32I FMUL FMUL2 FMUL32I FFMA FFMA2 FFMA32I FMNMX FMNMX3 FSEL FSET "
    "FSETP FCHK FSWZADD DADD DMUL DFMA DMNMX DSETP HADD2 HADD2_32I HMUL2 HMUL2_32I HFMA2 "
    "HFMA2_32I HSET2 HSETP2 HMNMX2 HMNMX3",
    "special": "MUFU",
    "integer": "IADD IADD2 IADD3 IADD32I IADD64 IMAD IMADSP IMUL IMUL32I IMNMX IABS IDP IDP4A ISAD "
    "ISCADD ISCADD32I ISETP LEA LOP LOP3 LOP32I LOP3P PLOP3 PSETP POPC FLO BREV BMSK BFE BFI "
    "SHF SHL SHR SGXT VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX P2R R2P XMAD QSPC",
    "conversion": "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND",
    "exchange": "SHFL REDUX CREDUX VOTE VOTEU MATCH",
    "move": "MOV MOV32I SEL PRMT CS2R S2R S2UR R2UR UR2UP CSMTEST MOV64IUR B2R R2B GETLMEMBASE "
    "LEPC PIXLD AL2P ALD AST IPA ISBERD",
    "sync": "BAR DEPBAR MEMBAR FENCE ERRBAR SYNCS ARRIVES WARPSYNC WARPGROUP WARPGROUPSET "
    "NANOSLEEP ELECT ACQBULK UCGABAR_ARV UCGABAR_WAIT CCTL CCTLL CCTLT ACQSHMINIT UTCBAR "
    "UTCATOMSWS PREEXIT",
    "control": "BRA BRX BRXU BSSY BSYNC BREAK BMOV YIELD JMP JMX JMXU CALL RET EXIT KILL BPT RTT "
    "NOP RPCMOV PMTRIG SETCTAID SETLMEMBASE USETMAXREG ENDCOLLECTIVE STACKTRACE",
}
CLASSES: dict[str, SassClass] = {
    opcode: kind for kind, opcodes in _OPCODES.items() for opcode in opcodes.split()
}


def class_of(opcode: str) -> SassClass:
    """The class of `LDG.E.64`; of one of the uniform path (`UIADD3`), that of its twin."""
    if not opcode:
        return "unknown"
    stem = opcode.partition(".")[0]
    known = CLASSES.get(stem)
    if known is None and stem.startswith("U"):
        known = CLASSES.get(stem[1:])
    return known or "other"
