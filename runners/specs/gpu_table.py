"""GPUs that code can be built for where they are not: figures with their source.

What the driver tells (SMs, shared memory, L2, clocks) is as `cudaGetDeviceProperties` reports it,
limits of an architecture as the CUDA C++ Programming Guide has them ("Compute Capabilities", CUDA
13.0). Peaks are those of NVIDIA's documents, dense: tensor figures that are published with sparsity
are halved.
"""

from __future__ import annotations

from typing import NamedTuple

Peaks = tuple[float, float, float, float, float]
"""GB/s; TFLOPS in fp32, TF32 (those of fp32 where there is none), 16-bit with tensor cores, fp64"""


class Limits(NamedTuple):
    """What a multiprocessor of an architecture has."""

    per_block: int
    """bytes of shared memory that a block may opt in to"""
    per_sm: int
    threads: int = 2048


class Gpu(NamedTuple):
    """One model."""

    name: str
    """as the driver calls it"""
    arch: str
    sms: int
    memory: Limits
    l2_mib: int
    gib: int
    clock: int
    """MHz, the highest"""
    memory_clock: int
    """MHz"""
    bus: int
    """bits"""
    peaks: Peaks | None
    """None: nothing that we could name a source for"""
    source: str


VOLTA, TURING = Limits(98304, 98304), Limits(65536, 65536, 1024)
AMPERE, GA10X = Limits(166912, 167936), Limits(101376, 102400, 1536)
ORIN = Limits(166912, 167936, 1536)
THOR = Limits(232448, 233472, 1536)
ADA, HOPPER = Limits(101376, 102400, 1536), Limits(232448, 233472)
BLACKWELL, GB20X = Limits(232448, 233472), Limits(101376, 102400, 1536)

# fmt: off
GPUS: tuple[Gpu, ...] = (
    Gpu("NVIDIA H100 80GB HBM3", "sm_90a", 132, HOPPER, 50, 80, 1980, 2619, 5120,
        (3350, 67, 494, 989, 34), "H100 Tensor Core GPU datasheet, SXM5"),
    Gpu("NVIDIA H100 PCIe", "sm_90a", 114, HOPPER, 50, 80, 1755, 1593, 5120,
        (2000, 51, 378, 756, 26), "H100 Tensor Core GPU datasheet, PCIe"),
    Gpu("NVIDIA H200", "sm_90a", 132, HOPPER, 60, 141, 1980, 3201, 6144,
        (4800, 67, 494, 989, 34), "H200 Tensor Core GPU datasheet, SXM"),
    Gpu("NVIDIA A100-SXM4-80GB", "sm_80", 108, AMPERE, 40, 80, 1410, 1593, 5120,
        (2040, 19.5, 156, 312, 9.7), "A100 80GB Tensor Core GPU datasheet, SXM"),
    Gpu("NVIDIA L40S", "sm_89", 142, ADA, 96, 48, 2520, 9001, 384,
        (864, 91.6, 183, 362, 1.43), "L40S datasheet; fp64 is 1/64 of fp32"),
    Gpu("NVIDIA A100-SXM4-40GB", "sm_80", 108, AMPERE, 40, 40, 1410, 1215, 5120,
        (1555, 19.5, 156, 312, 9.7), "A100 Tensor Core GPU datasheet, 40 GB SXM"),
    Gpu("NVIDIA A100 80GB PCIe", "sm_80", 108, AMPERE, 40, 80, 1410, 1512, 5120,
        (1935, 19.5, 156, 312, 9.7), "A100 80GB Tensor Core GPU datasheet, PCIe"),
    Gpu("Tesla V100-SXM2-32GB", "sm_70", 80, VOLTA, 6, 32, 1530, 877, 4096,
        (900, 15.7, 15.7, 125, 7.8), "V100 Tensor Core GPU datasheet, SXM2"),
    Gpu("Tesla T4", "sm_75", 40, TURING, 4, 16, 1590, 5001, 256,
        (320, 8.1, 8.1, 65, 0.25), "T4 datasheet; fp64 is 1/32 of fp32"),
    Gpu("NVIDIA A10", "sm_86", 72, GA10X, 6, 24, 1695, 6251, 384,
        (600, 31.2, 62.5, 125, 0.49), "A10 datasheet; fp64 is 1/64 of fp32"),
    Gpu("NVIDIA GeForce RTX 3090", "sm_86", 82, GA10X, 6, 24, 1695, 9751, 384,
        (936, 35.6, 35.6, 142, 0.56), "GA102 GPU architecture whitepaper, appendix A"),
    Gpu("NVIDIA GeForce RTX 4090", "sm_89", 128, ADA, 72, 24, 2520, 10501, 384,
        (1008, 82.6, 82.6, 330.3, 1.29), "Ada GPU architecture whitepaper, appendix A"),
    Gpu("NVIDIA L4", "sm_89", 58, ADA, 48, 24, 2040, 6251, 192,
        (300, 30.3, 60, 121, 0.47), "L4 datasheet; fp64 is 1/64 of fp32"),
    Gpu("NVIDIA B200", "sm_100a", 148, BLACKWELL, 126, 179, 1965, 3996, 8192,
        (8000, 80, 1125, 2250, 40), "DGX B200 and Blackwell datasheets, a GPU"),
    Gpu("NVIDIA GB200", "sm_100a", 152, BLACKWELL, 126, 185, 2062, 3996, 8192,
        (8000, 80, 1250, 2500, 40), "GB200 NVL72 datasheet, a GPU"),
    Gpu("NVIDIA B300 SXM6 AC", "sm_103a", 148, BLACKWELL, 126, 268, 2032, 3996, 8192,
        None, "arch and limits alone"),
    Gpu("NVIDIA Thor", "sm_110a", 20, THOR, 32, 122, 1575, 4266, 256,
        None, "arch and limits alone (Jetson AGX Thor)"),
    Gpu("NVIDIA GeForce RTX 5090", "sm_120a", 170, GB20X, 96, 32, 2407, 14001, 512,
        (1792, 104.8, 104.8, 419, 1.64), "RTX Blackwell GPU architecture whitepaper, appendix A"),
    Gpu("NVIDIA GB10", "sm_121a", 48, GB20X, 24, 119, 2418, 4266, 256,
        None, "arch and limits alone"),
    Gpu("Orin", "sm_87", 16, ORIN, 4, 61, 1300, 3199, 256,
        None, "arch and limits alone (Jetson AGX Orin 64GB)"),
)
# fmt: on
