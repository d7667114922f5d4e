"""What KernelBench's static checker looks for in a ModelNew, and the words that it looks for.

By the facts of `kernel_static_checker.py` of github.com/ScalingIntelligence/KernelBench (September
to December 2025): comments from `#` or `//` on are left out first; some findings are errors, others
warnings. It reads words, so that a comment which says them counts as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

LAYERS = (
    r"torch\.nn\.(?!(Module|parameter|Parameter|ParameterList|ParameterDict|ModuleList|"
    r"ModuleDict|init)\b)"
)
ERRORS: Mapping[str, str] = {
    "try and except: a fallback to PyTorch": r"\btry\s*:|\bexcept\s*:|\bexcept\s+\w+",
    "the word pass: an inherited forward": r"\bpass\b",
    "a clock assigned to": r"torch\.cuda\.(Event|synchronize)(\.\w+)?\s*=(?!=)"
    r"|time\.(perf_counter|time)\s*=(?!=)",
    "threads or processes": r"\bthreading\b|\bmultiprocessing\b|concurrent\.futures"
    r"|(Thread|Process)PoolExecutor",
    "tensors that compute later": r"_make_subclass|class\s+\w+.*\((torch\.)?Tensor\)"
    r"|torch\.Tensor\.__new__",
}
WARNINGS: Mapping[str, str] = {
    "a layer of torch.nn": LAYERS,
    "an operator of torch": r"\btorch\.(mm|bmm|matmul|einsum|conv\w*|relu|gelu|softmax|"
    r"log_softmax|tanh|sigmoid|\w+_norm|clamp|logsumexp|linear)\s*\(|\bnn\.functional\.\w+"
    r"|\bF\.(conv|linear|relu|gelu|softmax|batch_norm|layer_norm|dropout|max_pool|avg_pool)",
    "a stream": r"cuda\.[sS]tream\s*\(|\.(wait|record)_stream\s*\(",
    "half precision": r"__float2half|\.half\s*\(|torch\.(float16|half)\b|tl\.float16",
}
CUDA: Mapping[str, str] = {
    "no __global__ function": r"__global__",
    "no load_inline or cpp_extension": r"load_inline|cpp_extension",
    "no index of a thread": r"\b(threadIdx|blockIdx|blockDim|gridDim)\.|__syncthreads\s*\(",
}
"""what has to be there"""


@dataclass(frozen=True)
class Checked:
    """What the words of a ModelNew say."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """No error."""
        return not self.errors


def checked(text: str, *, cuda: bool) -> Checked:
    """Their findings on a ModelNew; `cuda`: as one whose kernels are CUDA's."""
    code = "\n".join(re.split(r"#|//", each)[0] for each in text.split("\n"))
    errors = [what for what, pattern in ERRORS.items() if re.search(pattern, code)]
    if cuda:
        errors += [what for what, pattern in CUDA.items() if not re.search(pattern, code)]
    warnings = [what for what, pattern in WARNINGS.items() if re.search(pattern, code)]
    return Checked(tuple(errors), tuple(warnings))
