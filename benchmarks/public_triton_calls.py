"""How public Triton kernels are called: contracts of ours for functions of repositories that are
not in this one. `public_triton.py` reads them from a checkout that its user names.

A contract is written as lines: `x < rows cols` is an input, `y > rows cols` an output,
`y <> rows` both, `n = cols` an integer, `eps f= 1e-6` a float; `x:int64` names a type other than
float32, `x:int64[0,9]` a range of its values. DEVELOPED are operators whose names begin with a to
l, which readers and schedules were mended with; HELD_OUT those with m to z.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LIGER, GEMS = "liger_kernel/ops", "flag_gems/ops"
NUMPY = "import numpy as np\n\n\ndef reference(**a):\n    return "
_LINE = re.compile(r"(\w+)(?::(\w+))?(?:\[(-?\w+),(-?\w+)\])? (<>|<|>|f=|=) ?(.*)")
_ROLES = {"<": "input", ">": "output", "<>": "inout"}


@dataclass(frozen=True)
class PublicCall:
    """An entry of a file, with what it is called with."""

    file: str
    entry: str
    contract: str
    sizes: Mapping[str, int]
    """the largest legal value of each symbol; a workload has a quarter of it"""
    truth: str = ""
    """an expression of numpy over the arguments `a`; without one the baseline is the truth"""
    launch: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """what tuners and heuristics of its package would choose"""

    def spec(self, most: int | None = None) -> dict[str, Any]:
        """As a spec is written; `most`: no size is larger."""
        sizes = {n: min(size, most or size) for n, size in self.sizes.items()}
        kernel: dict[str, Any] = {
            "kernel_type": "triton",
            "source_path": self.file,
            "metadata": {"kernel_name": self.entry},
        }
        if self.launch:
            kernel["launch"] = dict(self.launch)
        truth = {"source_code": NUMPY + self.truth + "\n"} if self.truth else "baseline"
        return {
            "name": self.entry.strip("_"),
            "kernel": kernel,
            "io": {"arguments": [*map(_argument, self.contract.strip().split("\n"))]},
            "symbols": {n: {"min": 1, "max": size} for n, size in sizes.items()},
            "workloads": [{"name": "main", "symbols": {n: -(-m // 4) for n, m in sizes.items()}}],
            "reference": truth,
        }


def _argument(line: str) -> dict[str, Any]:
    found = _LINE.fullmatch(line.strip())
    assert found is not None, line
    name, dtype, low, high, sign, rest = found.groups()
    if sign.endswith("="):
        kind = "int32" if sign == "=" else "float32"
        value: Any = float(rest) if sign == "f=" else rest
        if rest.lstrip("-").isdigit():
            value = int(rest)
        return {"name": name, "role": "scalar", "dtype": dtype or kind, "value": value}
    shape = [int(size) if size.isdigit() else size for size in rest.split()]
    made = {"name": name, "role": _ROLES[sign], "dtype": dtype or "float32", "shape": shape}
    if low:
        bounds = [int(each) if each.lstrip("-").isdigit() else each for each in (low, high)]
        return made | {"init": {"kind": "randint", "low": bounds[0], "high": bounds[1]}}
    return made if sign == ">" else made | {"init": "randn"}


ROWS = {"rows": 4096, "cols": 4096}
MATRICES = {"m": 2048, "n": 2048, "k": 2048}
EPS = "eps f= 1e-06"
NORM_FIELDS = {"grid": ["rows"], "constexprs": {"BLOCK_SIZE": "next_pow2(cols)"}}

DEVELOPED: Mapping[str, PublicCall] = {
    "dyt": PublicCall(
        f"{LIGER}/dyt.py", "liger_dyt_fwd",
        "x < rows cols\nalpha < 1\ngamma < cols\nbeta < cols\ny > rows cols", ROWS,
        "np.tanh(a['alpha'] * a['x']) * a['gamma'] + a['beta']",
    ),
    "dyt kernel": PublicCall(
        f"{LIGER}/dyt.py", "_dyt_fwd_kernel",
        "X < rows cols\nY > rows cols\nAlpha < 1\nGamma < cols\nBeta < cols", ROWS,
        "np.tanh(a['Alpha'] * a['X']) * a['Gamma'] + a['Beta']",
        {"grid": ["cdiv(cols, BLOCK_N)", "rows"], "constexprs": {"HAVE_BETA": 1, "N": "cols"}},
    ),
    "fused add rms norm": PublicCall(
        f"{LIGER}/fused_add_rms_norm.py", "_fused_add_rms_norm_forward_kernel",
        "Y_ptr > rows cols\nY_row_stride = cols\nS_ptr > rows cols\nS_row_stride = cols\n"
        "X_ptr < rows cols\nX_row_stride = cols\nR_ptr < rows cols\nR_row_stride = cols\n"
        "W_ptr < cols\nW_row_stride = 1\nRSTD_ptr > rows\nRSTD_row_stride = 1\nn_cols = cols\n"
        f"{EPS}\noffset f= 0.0", ROWS, "",
        {"grid": ["rows"],
         "constexprs": {"casting_mode": -1, "BLOCK_SIZE": "next_pow2(cols)"}},
    ),
    "fused add rms norm backward": PublicCall(
        f"{LIGER}/fused_add_rms_norm.py", "_fused_add_rms_norm_backward_kernel",
        "dY_ptr < rows cols\ndY_row_stride = cols\ndS_out_ptr < rows cols\n"
        "dS_out_row_stride = cols\ndX_ptr > rows cols\ndX_row_stride = cols\n"
        "X_ptr < rows cols\nX_row_stride = cols\nW_ptr < cols\nW_row_stride = 1\n"
        "RSTD_ptr < rows\nRSTD_row_stride = 1\ndW_ptr > 8 cols\ndW_row_stride = cols\n"
        "n_rows = rows\nn_cols = cols\noffset f= 0.0", ROWS, "",
        {"grid": [8], "constexprs": {"rows_per_program": "cdiv(rows, 8)", "casting_mode": -1,
                                     "X_dtype": 0, "BLOCK_SIZE": "next_pow2(cols)",
                                     "has_dS_out": 1}},
    ),
    "geglu": PublicCall(
        f"{LIGER}/geglu.py", "_geglu_tanh_forward_kernel",
        "a < rows cols\nb < rows cols\nc > rows cols\nstride = cols", ROWS,
        "0.5 * a['a'] * (1 + np.tanh(0.7978845608028654 * (a['a'] + 0.044715 * a['a'] ** 3)))"
        " * a['b']",
        {"grid": ["rows"], "constexprs": {"n_cols": "cols", "BLOCK_SIZE": "next_pow2(cols)"}},
    ),
    "geglu wrapper": PublicCall(
        f"{LIGER}/geglu.py", "geglu_forward",
        "a < rows cols\nb < rows cols\nc > rows cols", ROWS,
        "0.5 * a['a'] * (1 + np.tanh(0.7978845608028654 * (a['a'] + 0.044715 * a['a'] ** 3)))"
        " * a['b']",
    ),
    "geglu backward": PublicCall(
        f"{LIGER}/geglu.py", "_geglu_tanh_backward_kernel",
        "dc < rows cols\na <> rows cols\nb <> rows cols\nstride = cols", ROWS, "",
        {"grid": ["rows"], "constexprs": {"n_cols": "cols", "BLOCK_SIZE": "next_pow2(cols)"}},
    ),
    "group norm": PublicCall(
        f"{LIGER}/group_norm.py", "_group_norm_forward_kernel",
        "Y_ptr > rows 8 hidden\nY_row_stride = 8 * hidden\nY_col_stride = hidden\n"
        "X_ptr < rows 8 hidden\nX_row_stride = 8 * hidden\nX_col_stride = hidden\n"
        "Mean_ptr > rows 8\nMean_row_stride = 8\nMean_col_stride = 1\n"
        "RSTD_ptr > rows 8\nRSTD_row_stride = 8\nRSTD_col_stride = 1\n"
        f"W_ptr < 8\nB_ptr < 8\nhidden_size = hidden\nchannels_per_group = 1\n{EPS}",
        {"rows": 256, "hidden": 16384}, "",
        {"grid": ["rows", 8], "constexprs": {"BLOCK_SIZE": 1024}},
    ),
    "selective log softmax": PublicCall(
        f"{LIGER}/grpo_loss.py", "_selective_log_softmax_kernel",
        "LOGITS < rows tokens+1 cols\nINPUT_IDS:int64[0,2] < rows tokens\n"
        "LOG_P > rows tokens\nMASK:int32[0,2] < rows tokens\nstride_input_ids_b = tokens",
        {"rows": 16, "tokens": 512, "cols": 32768}, "",
        {"grid": ["rows", "tokens"],
         "constexprs": {"TEMPERATURE": 1, "L": "tokens", "N": "cols", "BLOCK_N": 1024}},
    ),
    "jsd": PublicCall(
        f"{LIGER}/jsd.py", "_jsd_kernel",
        "X_ptr < rows cols\nX_stride = cols\nY_ptr < rows cols\nY_stride = cols\n"
        "loss_ptr > rows cols\nloss_stride = cols\ndX_ptr > rows cols\ndX_stride = cols\n"
        "label_ptr:int64[0,9] < rows\nn_non_ignore = rows\nn_cols = cols", ROWS, "",
        {"grid": ["rows"], "constexprs": {"beta": 1, "ignore_index": -100, "BLOCK_SIZE": 1024,
                                          "HAS_LABEL": 0}},
    ),
    "kl div backward": PublicCall(
        f"{LIGER}/kl_div.py", "_kldiv_kernel_backward",
        "target_ptr < rows cols\ntarget_stride = cols\nnew_grads_ptr > rows cols\n"
        "new_grads_stride = cols\nn_cols = cols", ROWS, "-a['target_ptr']",
        {"grid": ["rows"], "constexprs": {"BLOCK_SIZE": 1024, "log_target": 0}},
    ),
    "kl div": PublicCall(
        f"{LIGER}/kl_div.py", "_kldiv_kernel_forward",
        "y_ptr < rows cols\ny_stride = cols\ngt_ptr < rows cols\ngt_stride = cols\n"
        f"loss_ptr > rows\nloss_stride = 1\nn_cols = cols\n{EPS}", ROWS,
        "(np.exp(a['gt_ptr']) * (a['gt_ptr'] - a['y_ptr'])).sum(1)",
        {"grid": ["rows"], "constexprs": {"BLOCK_SIZE": 1024, "log_target": 1, "reduction": 1}},
    ),
    "layer norm": PublicCall(
        f"{LIGER}/layer_norm.py", "_layer_norm_forward_kernel",
        "Y_ptr > rows cols\nY_row_stride = cols\nX_ptr < rows cols\nX_row_stride = cols\n"
        "W_ptr < cols\nW_row_stride = 1\nB_ptr < cols\nB_row_stride = 1\nMean_ptr > rows\n"
        f"Mean_row_stride = 1\nRSTD_ptr > rows\nRSTD_row_stride = 1\nn_cols = cols\n{EPS}",
        ROWS, "", NORM_FIELDS,
    ),
    "layer norm wrapper": PublicCall(
        f"{LIGER}/layer_norm.py", "layer_norm_forward",
        f"X < rows cols\nW < cols\nB < cols\n{EPS}\nY > rows cols\nMean > rows\nRSTD > rows",
        ROWS, "",
    ),
    "layer norm backward": PublicCall(
        f"{LIGER}/layer_norm.py", "_layer_norm_backward_kernel",
        "X_ptr < rows cols\nstride_x = cols\nW_ptr < cols\nMean_ptr < rows\nstride_mean = 1\n"
        "RSTD_ptr < rows\nstride_rstd = 1\nDX_ptr > rows cols\nstride_dx = cols\n"
        "DW_ptr > 8 cols\nstride_dw = cols\nDB_ptr > 8 cols\nstride_db = cols\n"
        "DY_ptr < rows cols\nstride_dy = cols\nn_rows = rows\nn_cols = cols", ROWS, "",
        {"grid": [8], "constexprs": {"rows_per_program": "cdiv(rows, 8)",
                                     "BLOCK_SIZE": "next_pow2(cols)"}},
    ),
    "embedding": PublicCall(
        f"{LIGER}/experimental/embedding.py", "embedding_forward_kernel",
        "embeddings_ptr < 100 cols\nindices_ptr:int64[0,100] < rows\noutput_ptr > rows cols\n"
        "n_elements = rows", ROWS, "a['embeddings_ptr'][a['indices_ptr'].astype(int)]",
        {"grid": ["cdiv(rows, 16)", "cdiv(cols, 128)"],
         "constexprs": {"embedding_dim": "cols", "BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 128}},
    ),
    "embedding backward": PublicCall(
        f"{LIGER}/experimental/embedding.py", "embedding_backward_kernel",
        "grad_output_ptr < rows cols\ngrad_weight_ptr <> 100 cols\n"
        "indices_ptr:int64[0,100] < rows\nn_elements = rows", ROWS, "",
        {"grid": ["cdiv(rows, 16)", "cdiv(cols, 128)"],
         "constexprs": {"embedding_dim": "cols", "BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 128}},
    ),
    "rope of llama 4": PublicCall(
        f"{LIGER}/llama4_rope.py", "_llama4_rope_kernel",
        "q_ptr <> 2 tokens 8 64\nk_ptr <> 2 tokens 2 64\nfreqs_complex_ptr < tokens 64\n"
        "q_row_stride = 512\nk_row_stride = 128\nq_head_stride = 64\nk_head_stride = 64\n"
        "freqs_row_stride = 64\nseq_len = tokens\nbatch_size = 2\nimag_sign f= 1.0",
        {"tokens": 4096}, "",
        {"grid": ["2 * tokens", 8], "constexprs": {"head_dim_half": 32, "n_q_heads": 8,
                                                  "n_k_heads": 2, "BLOCK_SIZE": 16}},
    ),
    "attention residual": PublicCall(
        f"{LIGER}/attn_res.py", "_attn_res_fwd_kernel",
        "V_ptr < 4 tokens cols\nW_query_ptr < cols\nW_norm_ptr < cols\nOut_ptr > tokens cols\n"
        "Alpha_ptr > 4 tokens\nRSTD_ptr > 4 tokens\nn_blocks = 4\nn_tokens = tokens\nD = cols",
        {"tokens": 4096, "cols": 4096}, "",
        {"grid": ["tokens"], "constexprs": {"eps": 0, "BLOCK_D": "next_pow2(cols)",
                                            "MAX_BLOCKS": 4}},
    ),
    "neighborhood scores": PublicCall(
        f"{LIGER}/fused_neighborhood_attention.py", "_neighborhood_mask_kernel",
        "mask_ptr > tokens tokens", {"tokens": 2048}, "",
        {"grid": ["tokens"], "constexprs": {"seq_len": "tokens", "kernel_size": 7, "dilation": 1,
         "BLOCK_SIZE": "next_pow2(tokens)"}, "num_stages": 2, "num_warps": 4},
    ),
    "token gather": PublicCall(
        f"{LIGER}/fused_moe_kernels.py", "_token_gather_weighted_sum_kernel",
        "Y_ptr < 4*tokens cols\nw_ptr < 4*tokens\ns_rev_ptr:int32[0,4] < 4*tokens\n"
        "out_ptr > tokens cols\nstride_Y_TK = cols\nstride_out_T = cols",
        {"tokens": 4096, "cols": 2048}, "",
        {"grid": ["tokens"], "constexprs": {"H_dim": "cols", "K_dim": 4, "stride_Y_H": 1,
                                            "stride_out_H": 1, "w_is_None": 0}},
    ),
    "gems addr": PublicCall(
        f"{GEMS}/addr.py", "addr",
        "input < m n\nvec1 < m\nvec2 < n\nout > m n", {"m": 8192, "n": 8192},
        "a['input'] + a['vec1'][:, None] * a['vec2']",
    ),
    "gems addmm": PublicCall(
        f"{GEMS}/addmm.py", "addmm",
        "bias < n\nmat1 < m k\nmat2 < k n\nout > m n", MATRICES,
        "a['bias'] + a['mat1'] @ a['mat2']",
        constants={"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32},
    ),
    "gems addmv": PublicCall(
        f"{GEMS}/addmv.py", "addmv", "self < m\nmat < m n\nvec < n\nout > m",
        {"m": 8192, "n": 8192}, "a['self'] + a['mat'] @ a['vec']",
        constants={"BLOCK_N": 32, "BLOCK_M": 64},
    ),
    "gems amax": PublicCall(
        f"{GEMS}/amax.py", "amax", "inp < rows cols\ndim = 1\nout > rows", ROWS,
        "a['inp'].max(1)",
        constants={"BLOCK_M": 8, "BLOCK_N": 256},
    ),
    "gems all": PublicCall(
        f"{GEMS}/all.py", "all_dim", "inp < rows cols\ndim = 1\nout:bool > rows", ROWS,
        "a['inp'].all(1)",
        constants={"BLOCK_M": 8, "BLOCK_N": 256},
    ),
    "gems argmax": PublicCall(
        f"{GEMS}/argmax.py", "argmax", "inp < rows cols\ndim = 1\nout:int64 > rows", ROWS,
        "a['inp'].argmax(1)",
        constants={"BLOCK_M": 8, "BLOCK_N": 256},
    ),
    "gems argmin of columns": PublicCall(
        f"{GEMS}/argmin.py", "argmin", "inp < rows cols\ndim = 0\nout:int64 > cols", ROWS,
        "a['inp'].argmin(0)",
        constants={"BLOCK_M": 8, "BLOCK_N": 256},
    ),
    "gems average pooling": PublicCall(
        f"{GEMS}/avg_pool2d.py", "avg_pool2d",
        "input < n 16 size size\nkernel_size = 2\nstride = 2\nout > n 16 size//2 size//2",
        {"n": 32, "size": 256}, "",
        constants={"BLOCK_H": 16, "BLOCK_W": 16},
    ),
    "gems bmm": PublicCall(
        f"{GEMS}/bmm.py", "bmm", "A < 8 m k\nB < 8 k n\nout > 8 m n", MATRICES,
        "a['A'] @ a['B']",
        constants={"TILE_M": 32, "TILE_N": 32, "TILE_K": 32, "GROUP_M": 1, "DIVISIBLE_M": 0,
                   "DIVISIBLE_N": 0, "DIVISIBLE_K": 0},
    ),
    "gems count nonzero": PublicCall(
        f"{GEMS}/count_nonzero.py", "count_nonzero", "x < rows cols\ndim = 1\nout:int64 > rows",
        ROWS, "(a['x'] != 0).sum(1)",
        constants={"BLOCK_SIZE": 256},
    ),
    "gems cumsum": PublicCall(
        f"{GEMS}/cumsum.py", "cumsum", "inp < rows cols\ndim = 1\nout > rows cols", ROWS,
        "a['inp'].cumsum(1)",
    ),
    "gems cummax": PublicCall(
        f"{GEMS}/cummax.py", "cummax",
        "input < rows cols\ndim = 1\nout > rows cols\nindices:int64 > rows cols", ROWS, "",
    ),
    "gems diagonal": PublicCall(
        f"{GEMS}/diag.py", "diag_2d_to_1d", "x < n n\nout > n", {"n": 8192},
        "np.diagonal(a['x'])",
    ),
    "gems diagonal matrix": PublicCall(
        f"{GEMS}/diag.py", "diag_1d_to_2d", "x < n\nout > n n", {"n": 8192}, "np.diag(a['x'])",
    ),
    "gems embedding": PublicCall(
        f"{GEMS}/embedding.py", "embedding",
        "weight < 100 cols\nindices:int64[0,100] < rows\nout > rows cols", ROWS,
        "a['weight'][a['indices'].astype(int)]",
    ),
    "gems gelu": PublicCall(
        f"{GEMS}/gelu.py", "gelu", "self < n\nout > n", {"n": 1 << 24}, "",
    ),
    "gems group norm": PublicCall(
        f"{GEMS}/groupnorm.py", "group_norm",
        "input < rows 32 hidden\nweight < 32\nbias < 32\nN = rows\nC = 32\nHxW = hidden\n"
        "group = 8\ny > rows 32 hidden\nmean > rows 8\nrstd > rows 8",
        {"rows": 64, "hidden": 1024}, "",
    ),
    "gems index select": PublicCall(
        f"{GEMS}/index_select.py", "index_select",
        "inp < rows cols\ndim = 1\nindex:int64[0,1] < chosen\nout > rows chosen",
        {**ROWS, "chosen": 4096}, "a['inp'][:, a['index'].astype(int)]",
        constants={"BLOCK_M": 8, "BLOCK_N": 64},
    ),
    "gems log softmax": PublicCall(
        f"{GEMS}/log_softmax.py", "log_softmax", "self < rows cols\ndim = 1\nout > rows cols",
        ROWS, "",
    ),
}  # fmt: skip

HELD_OUT: Mapping[str, PublicCall] = {
    "streams, before": PublicCall(
        f"{LIGER}/mhc.py", "mhc_pre_fwd", "x < n 4 cols\nh_pre < n 4\nout > n cols",
        {"n": 2048, "cols": 2048}, "(a['x'] * a['h_pre'][:, :, None]).sum(1)",
    ),
    "streams, after": PublicCall(
        f"{LIGER}/mhc.py", "mhc_post_res_fwd",
        "x < n 4 cols\nf_out < n cols\nh_post < n 4\nh_res < n 4 4\nout > n 4 cols",
        {"n": 2048, "cols": 2048}, "",
    ),
    "masked scores": PublicCall(
        f"{LIGER}/multi_token_attention.py", "_mask_zero_forward",
        "scores < heads tokens tokens\nout > heads tokens tokens",
        {"heads": 64, "tokens": 1024}, "np.tril(a['scores'])",
    ),
    "poly norm": PublicCall(
        f"{LIGER}/poly_norm.py", "poly_norm_forward",
        f"X < rows cols\nW < 3\nB < 1\n{EPS}\nY > rows cols\nRSTD > rows 3", ROWS, "",
    ),
    "squared relu": PublicCall(
        f"{LIGER}/relu_squared.py", "relu_squared_forward", "X < rows cols\nY > rows cols", ROWS,
        "np.maximum(a['X'], 0) ** 2",
    ),
    "squared relu backward": PublicCall(
        f"{LIGER}/relu_squared.py", "relu_squared_backward",
        "X < rows cols\ndY < rows cols\ndX > rows cols", ROWS,
        "2 * np.maximum(a['X'], 0) * a['dY']",
    ),
    "rms norm": PublicCall(
        f"{LIGER}/rms_norm.py", "rms_norm_forward",
        f"X < rows cols\nW < cols\n{EPS}\noffset f= 0.0\ncasting_mode = 0\nrow_mode = 1\n"
        "Y > rows cols\nRSTD > rows", ROWS, "",
    ),
    "rope": PublicCall(
        f"{LIGER}/rope.py", "_triton_rope",
        "q_ptr <> 2 tokens 8 64\nq_row_stride = 512\nk_ptr <> 2 tokens 2 64\n"
        "k_row_stride = 128\ncos < 1 tokens 64\ncos_row_stride = 64\nsin < 1 tokens 64\n"
        "sin_row_stride = 64\nsl = tokens", {"tokens": 4096}, "",
        {"grid": ["2 * tokens"],
         "constexprs": {"bs": 2, "cos_bs": 1, "n_qh": 8, "n_kh": 2, "hd": 64, "pad_n_qh": 8,
                        "pad_n_kh": 2, "pad_hd": 64, "BLOCK_SIZE": 8, "BACKWARD_PASS": 0}},
    ),
    "softmax": PublicCall(
        f"{LIGER}/softmax.py", "_softmax_forward", "x < rows cols\ny > rows cols", ROWS,
        "np.exp(a['x']) / np.exp(a['x']).sum(1, keepdims=True)",
    ),
    "softmax of long rows": PublicCall(
        f"{LIGER}/softmax.py", "_softmax_multi_block_forward_kernel",
        "Y_ptr > rows cols\nY_row_stride = cols\nX_ptr < rows cols\nX_row_stride = cols\n"
        "n_cols = cols", {"rows": 256, "cols": 131072},
        "np.exp(a['X_ptr']) / np.exp(a['X_ptr']).sum(1, keepdims=True)",
        {"grid": ["rows"], "constexprs": {"BLOCK_SIZE": 4096}},
    ),
    "softmax backward": PublicCall(
        f"{LIGER}/softmax.py", "_softmax_single_block_backward_kernel",
        "dy_ptr < rows cols\ndy_stride = cols\ny_ptr < rows cols\ny_stride = cols\n"
        "dx_ptr > rows cols\ndx_stride = cols\nn_cols = cols", ROWS,
        "a['y_ptr'] * (a['dy_ptr'] - (a['y_ptr'] * a['dy_ptr']).sum(1, keepdims=True))",
        {"grid": ["rows"], "constexprs": {"BLOCK_SIZE": "next_pow2(cols)"}},
    ),
    "sparsemax backward": PublicCall(
        f"{LIGER}/sparsemax.py", "_sparsemax_backward_kernel",
        "o_ptr < rows cols\ngo_ptr < rows cols\ngi_ptr > rows cols\nstride = cols\n"
        "n_cols = cols", ROWS, "",
        {"grid": ["rows"], "constexprs": {"BLOCK_SIZE": 1024}, "num_warps": 4},
    ),
    "swiglu": PublicCall(
        f"{LIGER}/swiglu.py", "swiglu_forward", "a < rows cols\nb < rows cols\nc > rows cols",
        ROWS, "a['a'] / (1 + np.exp(-a['a'])) * a['b']",
    ),
    "swiglu backward": PublicCall(
        f"{LIGER}/swiglu.py", "swiglu_backward",
        "a <> rows cols\nb <> rows cols\ndc < rows cols", ROWS, "",
    ),
    "swiglu of one array": PublicCall(
        f"{LIGER}/swiglu.py", "swiglu_fused_gate_up_forward", "y < rows 2*cols\nc > rows cols",
        ROWS, "",
    ),
    "total variation": PublicCall(
        f"{LIGER}/tvd.py", "_tv_distance_kernel",
        "p_ptr < rows cols\np_stride = cols\nq_ptr < rows cols\nq_stride = cols\n"
        "loss_ptr > rows cols\nloss_stride = cols\ngrads_ptr > rows cols\n"
        "grads_stride = cols\nlabel_ptr:int64[0,9] < rows\nn_cols = cols\nscale f= 1.0", ROWS,
        "", {"grid": ["rows"], "constexprs": {"ignore_index": -100, "BLOCK_SIZE": 1024,
                                              "HAS_LABEL": 0, "reduction": 0}},
    ),
    "gems max": PublicCall(
        f"{GEMS}/max.py", "max_dim",
        "inp < rows cols\ndim = 1\nvalue > rows\nindex:int64 > rows", ROWS, "",
        constants={"BLOCK_M": 8, "BLOCK_N": 256},
    ),
    "gems mm": PublicCall(
        f"{GEMS}/mm.py", "mm", "a < m k\nb < k n\nc > m n", MATRICES, "a['a'] @ a['b']",
        constants={"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8},
    ),
    "gems mv": PublicCall(
        f"{GEMS}/mv.py", "mv", "inp < n m\nvec < m\nout > n", {"n": 8192, "m": 8192},
        "a['inp'] @ a['vec']", constants={"BLOCK_N": 32, "BLOCK_M": 64},
    ),
    "gems prod": PublicCall(
        f"{GEMS}/prod.py", "prod_dim", "inp < rows cols\ndim = 1\nout > rows", ROWS, "",
        constants={"BLOCK_M": 8, "BLOCK_N": 256},
    ),
    "gems softmax": PublicCall(
        f"{GEMS}/softmax.py", "softmax", "self < rows cols\ndim = 1\nout > rows cols", ROWS,
        "np.exp(a['self']) / np.exp(a['self']).sum(1, keepdims=True)",
        constants={"TILE_N": 1024, "TILE_K": 1, "ONE_TILE_PER_CTA": 0},
    ),
    "gems softmax of columns": PublicCall(
        f"{GEMS}/softmax.py", "softmax", "self < rows cols\ndim = 0\nout > rows cols", ROWS,
        "np.exp(a['self']) / np.exp(a['self']).sum(0, keepdims=True)",
        constants={"TILE_N": 64, "TILE_K": 32, "ONE_TILE_PER_CTA": 0},
    ),
    "gems trace": PublicCall(
        f"{GEMS}/trace.py", "trace", "self < n n\nout > 1", {"n": 4096}, "",
    ),
    "gems triu": PublicCall(
        f"{GEMS}/triu.py", "triu", "A < rows cols\nout > rows cols", ROWS, "np.triu(a['A'])",
        constants={"M_BLOCK_SIZE": 8, "N_BLOCK_SIZE": 128},
    ),
    "gems weight norm": PublicCall(
        f"{GEMS}/weightnorm.py", "weight_norm_interface",
        "v < rows cols\ng < rows 1\nout > rows cols\nnorm > rows 1", ROWS, "",
        constants={"BLOCK_ROW_SIZE": 8, "BLOCK_COL_SIZE": 256},
    ),
}  # fmt: skip
