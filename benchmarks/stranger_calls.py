"""How the Triton files of `stranger_kernels` are called: contracts as in `public_triton_calls.py`.

The files are of our own writing, in the manner of public repositories, and were written before any
of them was handed to the product. Every second one, by name, is held out: nothing is mended with
the outcomes of STRANGE_HELD_OUT in view."""

from __future__ import annotations

from collections.abc import Mapping

from public_triton_calls import EPS, MATRICES, ROWS, PublicCall

FOLDER = "stranger_kernels"
PRODUCT = "a['a'] @ a['b']"


def _call(
    name: str, entry: str, contract: str, sizes: Mapping[str, int], truth: str = ""
) -> PublicCall:
    return PublicCall(f"{FOLDER}/{name}.py", entry, contract, sizes, truth)


_CALLS: Mapping[str, PublicCall] = {
    call.file.partition("/")[2].removesuffix(".py"): call
    for call in (
        _call(
            "add_rms_norm", "fused_add_rms_norm",
            f"x <> rows cols\nresidual <> rows cols\nweight < cols\n{EPS}", ROWS,
        ),
        _call("argmax_flat", "argmax", "inp < n\nout:int64 > 1", {"n": 1 << 20}),
        _call(
            "batch_norm_welford", "var_mean",
            "x < rows cols\ncorrection = 1\nvar > rows\nmean > rows", ROWS,
            "a['x'].var(1, ddof=1), a['x'].mean(1)",
        ),
        _call(
            "bmm", "bmm", "A < 8 m k\nB < 8 k n\nout > 8 m n", MATRICES, "a['A'] @ a['B']",
        ),
        _call(
            "causal_softmax", "causal_softmax",
            "scores < heads tokens tokens\nscale f= 0.125\nprobs > heads tokens tokens",
            {"heads": 64, "tokens": 1024},
        ),
        _call(
            "conv1d_causal", "causal_conv1d_fn",
            "x < batch tokens dim\nweight < dim 4\nbias < dim\nout > batch tokens dim",
            {"batch": 16, "tokens": 2048, "dim": 2048},
        ),
        _call(
            "cross_entropy_smooth", "cross_entropy_forward",
            "_input < rows cols\ntarget:int64[0,2] < rows\nloss > rows",
            {"rows": 4096, "cols": 32768},
        ),
        _call(
            "cumsum_rows", "chunk_global_cumsum", "s < batch tokens width\nz > batch tokens width",
            {"batch": 16, "tokens": 4096, "width": 256}, "a['s'].cumsum(1)",
        ),
        _call(
            "embedding_gather", "embedding",
            "weight < 100 cols\nindices:int64[0,100] < rows\nout > rows cols", ROWS,
            "a['weight'][a['indices'].astype(int)]",
        ),
        _call(
            "flash_attention_fwd", "attention",
            "q:float16 < 2 heads tokens 64\nk:float16 < 2 heads tokens 64\n"
            "v:float16 < 2 heads tokens 64\no:float16 > 2 heads tokens 64",
            {"heads": 16, "tokens": 4096},
        ),
        _call("geglu_exact", "geglu_exact_forward_kernel",
              "gate < rows cols\nup < rows cols\nout > rows cols", ROWS),
        _call(
            "int8_matmul_scaled", "triton_scaled_mm",
            "input:int8[-128,127] < m k\nweight:int8[-128,127] < k n\nscale_a < m\nscale_b < n\n"
            "out:float16 > m n", MATRICES,
        ),
        _call(
            "jagged_sum", "jagged_sum",
            "values < total cols\noffsets:int32[0,9] < groups+1\nmax_seqlen = total\n"
            "out > groups cols", {"total": 4096, "cols": 512, "groups": 64},
        ),
        _call("l2norm", "l2norm_fwd", f"x < rows cols\n{EPS}\ny > rows cols\nrstd > rows", ROWS),
        _call(
            "layer_norm_bwd", "layer_norm_backward",
            "dy < rows cols\nx < rows cols\nweight < cols\nmean < rows\nrstd < rows\n"
            "dx > rows cols\ndw > cols\ndb > cols", ROWS,
        ),
        _call(
            "layer_norm_fwd", "layer_norm",
            f"x < rows cols\nweight < cols\nbias < cols\n{EPS}\ny > rows cols\nmean > rows\n"
            "rstd > rows", ROWS,
        ),
        _call(
            "linear_gelu", "linear_gelu",
            "x:float16 < m k\nweight:float16 < n k\nbias:float16 < n\ny:float16 > m n", MATRICES,
        ),
        _call(
            "logsumexp", "logsumexp_fwd", "x < rows cols\nz > rows", ROWS,
            "np.log(np.exp(a['x']).sum(1))",
        ),
        _call(
            "masked_fill", "masked_fill",
            "inp < rows cols\nmask:bool[0,2] < rows cols\nvalue f= -1e9\nout > rows cols", ROWS,
        ),
        _call(
            "matmul_descriptor", "matmul_tma", "a:float16 < m k\nb:float16 < n k\nc:float16 > m n",
            MATRICES, "a['a'] @ a['b'].T",
        ),
        _call(
            "matmul_persistent", "matmul_persistent",
            "a:float16 < m k\nb:float16 < k n\nc:float16 > m n", MATRICES, PRODUCT,
        ),
        _call(
            "matmul_splitk", "gemm_split_k", "a:float16 < m k\nb:float16 < k n\nc > m n",
            MATRICES, PRODUCT,
        ),
        _call(
            "moe_align", "moe_align_block_size",
            "topk_ids:int32[0,16] < tokens\nnum_experts = 16\nblock_size = 16\n"
            "num_tokens_post_pad:int32 > 1\ncumsum:int32 > 17", {"tokens": 4096},
        ),
        _call(
            "moe_sum", "moe_sum_reduce",
            "input < tokens 4 cols\noutput > tokens cols\nrouted_scaling_factor f= 2.5",
            {"tokens": 4096, "cols": 4096}, "a['input'].sum(1) * 2.5",
        ),
        _call(
            "paged_kv_copy", "reshape_and_cache",
            "key < tokens 8 dim\nvalue < tokens 8 dim\nkey_cache <> tokens 16 8 dim\n"
            "value_cache <> tokens 16 8 dim\nslot_mapping:int64[0,16] < 1",
            {"tokens": 512, "dim": 128},
        ),
        _call(
            "quant_fp8_groups", "per_token_group_quant_fp8",
            "x < rows 128*groups\nx_q:float8_e4m3fn > rows 128*groups\nx_s > rows groups",
            {"rows": 4096, "groups": 32},
        ),
        _call(
            "quant_int8_rows", "per_token_quant_int8",
            "x < rows cols\nx_q:int8 > rows cols\nscales > rows 1", ROWS,
        ),
        _call(
            "rope_half", "rope_embedding",
            "Q <> 4 tokens 8 64\ncos < tokens 32\nsin < tokens 32", {"tokens": 4096},
        ),
        _call(
            "seeded_dropout", "seeded_dropout", "x < n\np f= 0.5\nseed = 123\noutput > n",
            {"n": 1 << 24},
        ),
        _call(
            "silu_and_mul", "silu_and_mul", "x < rows 2*cols\nout > rows cols", ROWS,
        ),
        _call(
            "softmax_online", "softmax", "self < rows cols\nout > rows cols", ROWS,
            "np.exp(a['self']) / np.exp(a['self']).sum(1, keepdims=True)",
        ),
        _call(
            "topk_gate", "fused_top2",
            "gating_output < tokens 60\nweights > tokens 2\nids:int32 > tokens 2",
            {"tokens": 65536},
        ),
    )
}  # fmt: skip

STRANGE_DEVELOPED = {name: _CALLS[name] for name in sorted(_CALLS)[::2]}
STRANGE_HELD_OUT = {name: _CALLS[name] for name in sorted(_CALLS)[1::2]}
