"""What a person who has torch writes for the kernels of `cuda_rewrites_kernels.py`,
`schedules_at_limit.py`, `triton_plain_kernels.py` and `triton_more_kernels.py`: expressions over
the kernel's inputs by name, by the kernel's name. Those of `schedules_kernels.py` stand beside
their kernels.

What a kernel changes in place is returned or changed in place, whichever torch does faster."""

from __future__ import annotations

from collections.abc import Mapping

CUDA: Mapping[str, str] = {
    "adamw": "((a := beta1 * m1 + (1 - beta1) * grad),"
    " (b := beta2 * m2 + (1 - beta2) * grad * grad),"
    " w - lr * ((a / fix1) / ((b / fix2).sqrt() + eps) + decay * w))",
    "layer norm that keeps mean and deviation":
        "torch.native_layer_norm(in_, (cols,), gamma, beta, 1e-5)",
    "gated unit backwards": "((s := torch.sigmoid(gate)), dy * gate * s,"
    " dy * up * s * (1 + gate * (1 - s)))[1:]",
    "rows to bytes with a scale each": "((k := x.abs().amax(1) / 127),"
    " torch.round(x / k[:, None]).to(torch.int8))",
    "greatest value and its place": "x.max(1)",
    "gelu of half pairs": "F.gelu(x)",
    "residual and root mean square in bfloat16": "F.rms_norm(x + res, (cols,), w, 1e-6)",
    "bytes to half by a scale for each column": "(q * scale).half()",
    "double: a step along a direction":
        "(torch.add(x, p, alpha=alpha), torch.sub(r, Ap, alpha=alpha))",
    "grey of coloured pixels": "((v := rgb.view(-1, 3).float()),"
    " (0.299 * v[:, 0] + 0.587 * v[:, 1] + 0.114 * v[:, 2] + 0.5).to(torch.uint8))[1]",
    "a filter from constant memory": "((v := F.pad(x, (3, 3))), 0.05 * v[:-6] + 0.1 * v[1:-5]"
    " + 0.2 * v[2:-4] + 0.3 * v[3:-3] + 0.2 * v[4:-2] + 0.1 * v[5:-1] + 0.05 * v[6:])[1]",
    "colours of a palette": "((k := kind & 3), torch.where(k < 2, torch.where(k == 0, 25.5, 102.0),"
    " torch.where(k == 2, 178.5, 255.0)))[1]",
    "mean of squared differences": "F.mse_loss(a, b)",
    "greatest element, one block": "x.amax()",
    "gradient of a bias, added to what is there": "db + dout.sum(0)",
    "counts of bytes": "torch.bincount(data, minlength=256)",
    "gradient of an embedding": "dtable.index_add_(0, token, dout)",
    "tokens and places of an encoder":
        "(F.embedding(token, wte).view(-1, 256, cols) + wpe).view(-1, cols)",
    "heat of a plate with sources":
        "((p := F.pad(t[None, None], (1, 1, 1, 1), mode='replicate')[0, 0]), t + k * (power"
        " + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * t))[1]",
    "softmax backwards": "y * (dy - (y * dy).sum(1, keepdim=True))",
    "a step with momentum, weights in half and in float": "((d := g.float()), (v := mu * mom + d),"
    " (u := w32 - lr * (d + mu * v)), u.half())[1:]",
    "layer norm backwards": "((nrm := (inp - mean[:, None]) * rstd[:, None]), (t := w * dout),"
    " dinp + (t - t.mean(1, keepdim=True) - nrm * (t * nrm).mean(1, keepdim=True))"
    " * rstd[:, None])[2]",
    "turned pairs of halves": "((v := q.float().view(rows, -1, 2)), (t := turn.view(-1, 2)),"
    " torch.stack((v[..., 0] * t[:, 0] - v[..., 1] * t[:, 1],"
    " v[..., 0] * t[:, 1] + v[..., 1] * t[:, 0]), -1).view(rows, cols).half())[2]",
    "divergence of distributions":
        "kl + torch.where(p > 0, p * (torch.log(p) - logq), 0.0).sum()",
    "products of rows of bytes": "(a.int() * b.int()).sum(1, dtype=torch.int32)",
    "sums and counts by class": "(total.index_add_(0, cls, v),"
    " count.index_add_(0, cls, torch.ones_like(cls)))",
    "seven points of a block of doubles":
        "v[1:-1, 1:-1, 1:-1].copy_(0.4 * u[1:-1, 1:-1, 1:-1] + 0.1 * (u[1:-1, 1:-1, :-2]"
        " + u[1:-1, 1:-1, 2:] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1] + u[:-2, 1:-1, 1:-1]"
        " + u[2:, 1:-1, 1:-1]))",
    "columns of a gradient, a block a column": "dout.sum(0)",
    "copy by fours": "x.clone()",
    "a vector times a number added to another, by fours": "y.add_(x, alpha=a)",
    "transpose by padded tiles": "x.t().contiguous()",
    "sums of rows, a warp a row, by fours": "x.sum(1)",
    "root mean square norm, the row held, by fours": "F.rms_norm(x, (cols,), w, 1e-6)",
    "softmax, the row held, by fours": "torch.softmax(x, 1)",
    "rows of a table, a warp a row, by fours": "F.embedding(at, table)",
    "sum of halves, eight a thread": "a + b",
}  # fmt: skip

TRITON: Mapping[str, str] = {
    "row_sum_by_scalars": "x.sum(1)",
    "one_element_a_program": "F.softsign(x)",
    "column_sum_by_columns": "x.sum(0)",
    "product_by_sums": "a @ b",
    "softmax_in_three_passes": "torch.softmax(x, 1)",
    "transpose_by_places": "x.t().contiguous()",
    "layernorm_reads_thrice": "F.layer_norm(src, (src.shape[1],), gain, shift)",
    "half_product_by_rows": "a @ b.t()",
    "column_greatest": "x.amax(0)",
    "heads_before_tokens": "src.transpose(1, 2).contiguous()",
    "place_of_the_greatest": "x.argmax(1)",
    "bias_and_gelu_down_columns": "F.gelu(x + bias)",
    "greatest_and_its_place": "x.max(1)",
    "place_by_its_own_fold": "x.argmax(1)",
    "softmax_with_a_running_maximum": "torch.softmax(x, 1)",
    "log_of_sums_by_lanes": "torch.logsumexp(x, 1)",
    "running_sums_one_by_one": "x.cumsum(1)",
    "running_sums_in_blocks": "x.cumsum(1)",
    "sums_and_squares_of_rows": "(x.sum(1), x.square().sum(1))",
    "columns_added_by_tiles": "y + x.sum(0)",
    "a_vector_added_in_place": "y.add_(x, alpha=0.5)",
    "rows_of_a_table": "F.embedding(at, table)",
    "least_and_its_place": "src.min(1)",
    "log_softmax_of_lanes": "torch.log_softmax(src, 1)",
    "products_so_far": "(src * 0.25).cumsum(1)",
    "means_and_deviations": "((m := src.mean(1)),"
    " torch.rsqrt(src.square().mean(1) - m * m + 1e-5))",
    "gradients_of_a_bias": "db + dout.sum(0)",
    "a_step_with_momentum": "((v := 0.9 * mom + grad + 0.01 * w), w - 0.1 * v)",
    "tokens_with_places": "F.embedding(token, table) + place",
    "places_down_columns": "src.argmax(0)",
}
