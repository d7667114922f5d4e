struct alignas(64) WgmmaTensorMap {  // CUtensorMap of cuda.h
    unsigned long long words[16];
};

__device__ __forceinline__ unsigned wgmma_address(const void* shared) {
    return (unsigned)__cvta_generic_to_shared(shared);
}

__device__ __forceinline__ void barrier_init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned nbytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(nbytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// until the phase of that parity is over
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
}

// a box of a tensor map, its first element at (x, y), to shared memory
__device__ __forceinline__ void tensor_load(unsigned to, const WgmmaTensorMap* map, int x, int y,
                                            unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

// of a tile with the 128-byte swizzle; offsets in bytes
__device__ __forceinline__ unsigned long long descriptor(unsigned tile, unsigned leading,
                                                         unsigned stride) {
    return (unsigned long long)((tile & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

// d = a b, or d += a b; 64 x $N x 16
__device__ __forceinline__ void wgmma_step(float (&d)[$REGISTERS], unsigned long long a,
                                           unsigned long long b, bool add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %$ADD, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n${N}k16.f32.$TYPE.$TYPE {"
$OPERANDS
        "}, %$A, %$B, p, 1, 1, 0, $TRANSPOSED;\n}"
        : $OUTPUTS
        : "l"(a), "l"(b), "r"((int)add));
}
