import triton
import triton.language as tl


@triton.jit
def _reshape_and_cache_kernel(
    key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_mapping_ptr,
    key_stride, block_stride,
    head_size_x_heads: tl.constexpr, page_size: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    token_idx = tl.program_id(axis=0)
    slot_idx = tl.load(slot_mapping_ptr + token_idx).to(tl.int64)
    if slot_idx < 0:
        # padding token that should be ignored
        return
    block_idx = slot_idx // page_size
    block_offset = slot_idx % page_size
    tile_i = tl.program_id(axis=1)
    offs = tile_i * TILE + tl.arange(0, TILE)
    mask = offs < head_size_x_heads
    tgt = block_idx * block_stride + block_offset * head_size_x_heads + offs
    k = tl.load(key_ptr + token_idx * key_stride + offs, mask=mask)
    v = tl.load(value_ptr + token_idx * key_stride + offs, mask=mask)
    tl.store(key_cache_ptr + tgt, k, mask=mask)
    tl.store(value_cache_ptr + tgt, v, mask=mask)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping):
    """key: [tokens, heads, head_size]; key_cache: [pages, page_size, heads, head_size]."""
    num_tokens = slot_mapping.shape[0]
    n = key.shape[1] * key.shape[2]
    page_size = key_cache.shape[1]
    TILE = min(2048, triton.next_power_of_2(n))
    grid = lambda meta: (int(num_tokens), triton.cdiv(n, meta["TILE"]))
    _reshape_and_cache_kernel[grid](
        key, value, key_cache, value_cache, slot_mapping, key.stride(0), key_cache.stride(0),
        head_size_x_heads=n, page_size=page_size, TILE=TILE, num_warps=4,
    )  # fmt: skip
