"""The pretended GPU against CUDA itself: what its kernels compute, and that they end as on a GPU.

What the device tier does with it is tested in test_runner.py and tests/gpu/test_evaluator.py,
the same functions for a real GPU and for this one.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import support_laws
from device_kernels import DeviceBench, Gpu, N, integer, is_twice, launch, pointer

LAWS = [law.__name__ for law in support_laws.LAWS]


@pytest.fixture(scope="module")
def laws(gpu: Gpu) -> dict[str, str]:
    command = [sys.executable, "-P", support_laws.__file__]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("law", LAWS)
def test_the_kernels_of_the_runner_follow_their_laws(laws: dict[str, str], law: str) -> None:
    assert laws[law] == ""


HEAD = 'extern "C" __global__ void twice(const float* x, float* y, int n) {\n'
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;\n"
RIGHT: dict[str, str] = {
    "threads meet at a barrier": """
    __shared__ float s[256];
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    float other = s[255 - t];
    __syncthreads();
    s[255 - t] += other;
    __syncthreads();
    if (i < n) y[i] = s[t];
""",
    "threads that have ended are not waited for": """
    __shared__ float s[256];
    if (i >= n) return;
    s[t] = x[i];
    __syncthreads();
    y[i] = s[t] + s[t];
""",
    "lanes of a warp exchange values": """
    float v = i < n ? x[i] : 0;
    float across = __shfl_xor_sync(~0u, v, 5), below = __shfl_up_sync(~0u, v, 3);
    float above = __shfl_down_sync(~0u, v, 31), first = __shfl_sync(~0u, v, 0, 8);
    bool right = __ballot_sync(~0u, t % 32 < 4) == 15u && __popc(0xf0f0) == 8;
    right = right && ((i ^ 5) >= n || across == x[i ^ 5]);
    right = right && below == (t % 32 < 3 ? v : x[i - 3]) && first == x[i / 8 * 8];
    right = right && (t % 32 || i + 31 >= n || above == x[i + 31]);
    if (i < n && right) y[i] = 2 * v;
""",
    "half of a warp exchanges values": """
    float v = i < n ? x[i] : 0, w;
    if (t % 32 < 16) w = __shfl_sync(0xffffu, v, t % 16 ^ 1);
    else w = __shfl_sync(0xffff0000u, v, t % 32 ^ 3);
    int from = t % 32 < 16 ? i ^ 1 : i ^ 3;
    if (i < n && (from >= n || w == x[from])) y[i] = 2 * v;
""",
    "threads vote": """
    int odd = __syncthreads_count(t % 2), any = __syncthreads_or(t == 9);
    bool right = odd == 128 && any && !__syncthreads_and(t != 9);
    if (!__any_sync(~0u, t % 32 == 3) || __all_sync(~0u, t % 32)) right = false;
    if (i < n && right) y[i] = 2 * x[i];
""",
    "atomics count": """
    __shared__ unsigned count, most;
    __shared__ float sum;
    if (t == 0) count = most = 0, sum = 0;
    __syncthreads();
    atomicAdd(&count, 2u);
    atomicMax(&most, (unsigned)t);
    atomicAdd(&sum, 0.5f);
    __syncthreads();
    if (i < n && count == 512 && most == 255 && sum == 128) y[i] = 2 * x[i];
""",
    "a lock is waited for": """
    __shared__ int lock;
    __shared__ volatile int count;
    if (t == 0) lock = 0, count = 0;
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence_block();
    count = count + 1;
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    if (i < n && count == 256) y[i] = 2 * x[i];
""",
    "vectors are loaded and stored": """
    if (4 * i + 3 < n) {
        float4 v = __ldg(reinterpret_cast<const float4*>(x) + i);
        v = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
        reinterpret_cast<float4*>(y)[i] = v;
    }
""",
    "numbers have their bits": """
    int e = __float_as_int(4.0f), z = __clz(1), f = __ffs(8), h = __umulhi(1u << 31, 6u);
    bool right = e == 0x40800000 && z == 31 && f == 4 && h == 3 && min(-1, 2) == -1;
    if (i < n && right) y[i] = fmaf(x[i], 1.0f, x[i]) * rsqrtf(1.0f) * max(1.0f, 0.5f);
""",
    "assembly reads a clock": """
    unsigned long long a, b;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(a));
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(b) :: "memory");
    if (i < n && b >= a && clock64() != 0) y[i] = 2 * x[i];
""",
    "assembly ends threads": """
    if (i >= n) asm volatile("exit;");
    y[i] = 2 * x[i];
""",
}


@pytest.mark.parametrize("what", RIGHT)
def test_a_kernel_computes_what_cuda_says(bench: DeviceBench, what: str) -> None:
    bench.load("a", HEAD + INDEX + RIGHT[what] + "}\n")
    results, rows = bench.check("a", (0,))
    assert is_twice(bench, results, rows), results


DYNAMIC = """
    extern __shared__ float s[];
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = s[t] + s[t];
"""


def test_shared_memory_that_the_launch_sizes_is_there_and_no_more_of_it(bench: DeviceBench) -> None:
    right, kernels = HEAD + INDEX + DYNAMIC + "}\n", {"twice": {"shared": 1024}}
    bench.load("a", right, kernels=kernels)
    assert is_twice(bench, *bench.check("a", (0,)))
    bench.load("bad", right.replace("s[t] = ", "s[t + 60000] = "), kernels=kernels)
    results, _ = bench.check("bad", (0,))
    assert results[0].fault_kind == "crashed"


TEMPLATE = """
namespace ours {
template <class T, int K>
__global__ void scale(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = K * x[i];
}
template __global__ void scale<float, 2>(const float*, float*, int);
}
"""


def test_a_template_is_found_by_its_name_in_the_machine_code(bench: DeviceBench) -> None:
    entry = "_ZN4ours5scaleIfLi2EEEvPKT_PS1_i"
    bench.load("a", TEMPLATE, kernels={"twice": {"entry": entry}})
    assert is_twice(bench, *bench.check("a", (0,)))


MEETING = """
extern "C" __global__ void twice(const float* x, float* y, int n, unsigned* met) {
    __shared__ int here;
    if (threadIdx.x == 0) {
        here = blockIdx.x;
        __threadfence();
        atomicAdd(met, 1u);
        while (*(volatile unsigned*)met < gridDim.x) __nanosleep(100);
    }
    __syncthreads();
    int size = gridDim.x * blockDim.x;
    for (int i = here * blockDim.x + threadIdx.x; i < n; i += size) y[i] = 2 * x[i];
}
"""


def test_blocks_of_a_cooperative_launch_wait_for_each_other(bench: DeviceBench) -> None:
    params = (pointer("x"), pointer("y"), integer("n", N), pointer("met"))
    bench.load(
        "a",
        MEETING,
        kernels={"twice": {"cooperative": True}},
        scratch=[("met", 4)],
        steps=[
            {"fill": "met", "offset": 0, "nbytes": 4, "pattern": "00"},
            launch("twice", 6, *params),
        ],
    )
    assert is_twice(bench, *bench.check("a", (0, 1)))


LEFT = """
extern "C" __global__ void note() {
    extern __shared__ int s[];
    s[1] = 77;
}
"""
FOUND = """
    extern __shared__ int s[];
    if (i < n && s[1] == 77) y[i] = 2 * x[i];
"""


def test_shared_memory_keeps_what_a_launch_before_left_there(gpu: Gpu, bench: DeviceBench) -> None:
    if gpu.twins is None:
        pytest.skip("what a real GPU leaves in shared memory is chance")
    params = (pointer("x"), pointer("y"), integer("n", N))
    bench.load(
        "a",
        LEFT + HEAD + INDEX + FOUND + "}\n",
        kernels={"note": {"shared": 64, "block": [1, 1, 1]}, "twice": {"shared": 64}},
        steps=[launch("note", 1), launch("twice", 20, *params)],
    )
    assert is_twice(bench, *bench.check("a", (0,)))
