// The device runner's own kernels: what restores, watches and reads memory around a run.
//
// Built into support.ptx (`make support`), which the driver translates for the GPU at hand. All of
// them are driven by tables of pieces, so that one launch serves all arrays of all sets; a piece is
// the work of one block. Sizes and offsets are in bytes.

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u32 WARP = 32;
constexpr u32 MOST_DIMS = 8;

// A pattern is a word of 8 bytes, over and over, of which a byte's address says which it is. KEYED:
// every 8 bytes hold another number, by their address and a key, so that neither one byte over and
// over nor a copy of what lies beside is the pattern.
constexpr u64 KEYED = 0;

struct Piece {  // copy `nbytes` to `target`; source 0: `pattern` instead
    u64 target, source, nbytes, pattern;
};

struct Digested {  // `nbytes` at `start` are words `first` and on of result `result`
    u64 start, nbytes, first, result;
};

struct Guarded {  // `nbytes` at `start` must all be `pattern`
    u64 start, nbytes, pattern, result;
};

struct Strided {  // elements at `start` with strides in bytes, outermost first
    u64 start, dense, count, itemsize, dims, span, pattern, result;
    u64 sizes[MOST_DIMS], strides[MOST_DIMS];
};

__device__ u64 splitmix64(u64 x) {  // Steele, Lea, Flood 2014
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

constexpr u64 GOLDEN = 0x9e3779b97f4a7c15ull;

__device__ u8 byte_of(u64 pattern, u64 at) { return static_cast<u8>(pattern >> 8 * (at % 8)); }

struct Keyed {  // the bytes of [from, to), which lie in one word of 8 that should be `want`
    u64 want, from, to;
    __device__ Keyed(u64 key, u64 word, u64 start, u64 end) : want(splitmix64(key + word * GOLDEN)) {
        from = 8 * word > start ? 8 * word : start;
        to = 8 * word + 8 < end ? 8 * word + 8 : end;
    }
    __device__ bool whole() const { return to - from == 8; }
};

__device__ void fill_keyed(u64 start, u64 nbytes, u64 key) {
    u64 end = start + nbytes;
    for (u64 word = start / 8 + threadIdx.x; 8 * word < end; word += blockDim.x) {
        Keyed part(key, word, start, end);
        if (part.whole()) {
            *reinterpret_cast<u64*>(8 * word) = part.want;
        } else {
            for (u64 at = part.from; at < part.to; ++at) *reinterpret_cast<u8*>(at) = byte_of(part.want, at);
        }
    }
}

__device__ void part_of(u64 pattern, u64 at, u8& part) { part = byte_of(pattern, at); }
__device__ void part_of(u64 pattern, u64 at, u32& part) {
    part = static_cast<u32>(pattern >> 8 * (at % 8));
}
__device__ void part_of(u64 pattern, u64, uint4& part) {
    part.x = part.z = static_cast<u32>(pattern);
    part.y = part.w = static_cast<u32>(pattern >> 32);
}

template <class Word>
__device__ void move_words(u64 target, u64 source, u64 nbytes, u64 pattern) {
    // Which type the words have follows from the common alignment of all three numbers.
    Word* to = reinterpret_cast<Word*>(target);
    const Word* from = reinterpret_cast<const Word*>(source);
    for (u64 i = threadIdx.x; i < nbytes / sizeof(Word); i += blockDim.x) {
        if (source) to[i] = from[i];
        else part_of(pattern, target + i * sizeof(Word), to[i]);
    }
}

extern "C" __global__ void move(const Piece* pieces, u64 key) {
    Piece piece = pieces[blockIdx.x];
    u64 rest = piece.nbytes % 16;
    u64 low = piece.target | piece.source;
    if (!piece.source && piece.pattern == KEYED) {
        fill_keyed(piece.target, piece.nbytes, key);
    } else if (low % 16 == 0) {
        move_words<uint4>(piece.target, piece.source, piece.nbytes - rest, piece.pattern);
        u64 done = piece.nbytes - rest;
        u64 source = piece.source ? piece.source + done : 0;
        move_words<u8>(piece.target + done, source, rest, piece.pattern);
    } else if ((low | piece.nbytes) % 4 == 0) {
        move_words<u32>(piece.target, piece.source, piece.nbytes, piece.pattern);
    } else {
        move_words<u8>(piece.target, piece.source, piece.nbytes, piece.pattern);
    }
}

// Reading more than the cache holds makes it write back what it still owed to memory.
extern "C" __global__ void read_all(const uint4* data, u64 count, u32* sink) {
    u32 seen = 0;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += u64(gridDim.x) * blockDim.x) {
        uint4 word = data[i];
        seen |= word.x ^ word.y ^ word.z ^ word.w;
    }
    if (seen == 0x9e3779b9u) *sink = seen;  // never: so that the reads are not left out
}

__device__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// Keeps the stream for `least_ns`, and until the host has written `token` into `word`. A token is
// drawn for each hold, so that nobody can let a later one go beforehand.
extern "C" __global__ void hold(
    const volatile u32* word, u32 token, u64 least_ns, u64 patience_ns, volatile u32* expired
) {
    u64 start = nanoseconds();
    while (*word != token || nanoseconds() - start < least_ns) {
        if (nanoseconds() - start > patience_ns) {
            *expired = token;
            break;
        }
        __nanosleep(100);
    }
}

extern "C" __global__ void mark(volatile u32* word, u32 number) { *word = number; }

// Overwrites what a launch leaves behind in a multiprocessor: shared memory (`words` of it, all that
// a block can have) and registers. A block has all of a multiprocessor to itself: 256 threads of
// about 250 registers are all 65536.
constexpr u32 KEPT = 240;
extern "C" __global__ void __launch_bounds__(256, 1) scrub(u32 words, u32 pattern) {
    extern __shared__ u32 shared[];
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) shared[i] = pattern;
    __syncthreads();
    if (words < 256 + KEPT) return;
    volatile u32* seen = shared + threadIdx.x;  // volatile: all are read before the first is written
    u32 kept[KEPT];
#pragma unroll
    for (u32 i = 0; i < KEPT; ++i) kept[i] = seen[i];
#pragma unroll
    for (u32 i = 0; i < KEPT; ++i) seen[i] = kept[i];
}

// Overwrites local memory (stacks, arrays of threads, spilled registers), which lies where the driver
// has it and which no launch clears: `words` of what each thread that a multiprocessor can hold has.
// More than LOCAL_BYTES need more room: then the size in the PTX is another one (`support.py`).
constexpr u32 LOCAL_BYTES = 1024;
extern "C" __global__ void __launch_bounds__(256, 8) scrub_local(u32 words, u32 pattern) {
    volatile u32 frame[LOCAL_BYTES / 4];
    for (u32 i = 0; i < words; ++i) frame[i] = pattern;
}

struct Damage {  // offsets of the first wrong byte that a thread saw, and behind the last
    u64 first = ~0ull, last = 0;
    __device__ void note(u64 offset) {
        if (first == ~0ull) first = offset;
        last = offset + 1;
    }
};

__device__ void look_for_word(const Guarded& piece, Damage& damage) {
    const u8* data = reinterpret_cast<const u8*>(piece.start);
    uint4 want;
    part_of(piece.pattern, 0, want);
    u64 words = piece.start % 16 ? 0 : piece.nbytes / 16;
    for (u64 i = threadIdx.x; i < words; i += blockDim.x) {
        uint4 have = reinterpret_cast<const uint4*>(data)[i];
        if (have.x == want.x && have.y == want.y && have.z == want.z && have.w == want.w) continue;
        for (u64 b = 16 * i; b < 16 * i + 16; ++b)
            if (data[b] != byte_of(piece.pattern, b)) damage.note(b);
    }
    for (u64 i = 16 * words + threadIdx.x; i < piece.nbytes; i += blockDim.x)
        if (data[i] != byte_of(piece.pattern, piece.start + i)) damage.note(i);
}

__device__ void look_for_key(const Guarded& piece, u64 key, Damage& damage) {
    u64 end = piece.start + piece.nbytes;
    for (u64 word = piece.start / 8 + threadIdx.x; 8 * word < end; word += blockDim.x) {
        Keyed part(key, word, piece.start, end);
        if (part.whole() && *reinterpret_cast<const u64*>(8 * word) == part.want) continue;
        for (u64 at = part.from; at < part.to; ++at)
            if (*reinterpret_cast<const u8*>(at) != byte_of(part.want, at)) damage.note(at - piece.start);
    }
}

// found[2r]: how far before the end the first wrong byte lies; found[2r + 1]: one more than the
// offset of the last one; 0 where all are right.
extern "C" __global__ void guards(const Guarded* pieces, u64 key, u64* found) {
    Guarded piece = pieces[blockIdx.x];
    Damage damage;
    if (piece.pattern == KEYED) look_for_key(piece, key, damage);
    else look_for_word(piece, damage);
    if (damage.last) {
        atomicMax(&found[2 * piece.result], piece.nbytes - damage.first);
        atomicMax(&found[2 * piece.result + 1], damage.last);
    }
}

// Two multilinear hashes: the sum of word times coefficient, modulo 2^64, over all words of 32 bits
// (little endian, the last one filled up with zeros). The coefficient of word i is
// splitmix64(key + (i + 1) * golden), so no order of summation changes the result.
extern "C" __global__ void digest(const Digested* pieces, u64 key0, u64 key1, u64* results) {
    Digested piece = pieces[blockIdx.x];
    u64 sum0 = 0, sum1 = 0;
    u64 count = (piece.nbytes + 3) / 4;
    bool aligned = piece.start % 4 == 0;
    for (u64 i = threadIdx.x; i < count; i += blockDim.x) {
        u64 at = piece.start + 4 * i;
        u32 word = 0;
        if (aligned && 4 * i + 4 <= piece.nbytes) {
            word = *reinterpret_cast<const u32*>(at);
        } else {
            for (u32 b = 0; b < 4 && 4 * i + b < piece.nbytes; ++b)
                word |= u32(reinterpret_cast<const u8*>(at)[b]) << (8 * b);
        }
        u64 step = (piece.first + i + 1) * GOLDEN;
        sum0 += word * splitmix64(key0 + step);
        sum1 += word * splitmix64(key1 + step);
    }
    for (u32 lane = WARP / 2; lane; lane /= 2) {
        sum0 += __shfl_down_sync(0xffffffffu, sum0, lane);
        sum1 += __shfl_down_sync(0xffffffffu, sum1, lane);
    }
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&results[2 * piece.result], sum0);
        atomicAdd(&results[2 * piece.result + 1], sum1);
    }
}

// Elements of a strided array, one after the other in row-major order, to `dense`.
extern "C" __global__ void gather(const Strided* arrays) {
    const Strided& array = arrays[blockIdx.y];
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < array.count; i += u64(gridDim.x) * blockDim.x) {
        u64 rest = i, from = array.start;
        for (u32 d = static_cast<u32>(array.dims); d-- > 0;) {
            from += rest % array.sizes[d] * array.strides[d];
            rest /= array.sizes[d];
        }
        const u8* source = reinterpret_cast<const u8*>(from);
        u8* target = reinterpret_cast<u8*>(array.dense + i * array.itemsize);
        for (u64 b = 0; b < array.itemsize; ++b) target[b] = source[b];
    }
}

// Counts bytes between elements that are not `pattern`. Dimensions of more than one element, by
// falling stride, elements apart from each other: then an offset is an element's exactly if what
// is left after dividing by each stride in turn is smaller than an element.
extern "C" __global__ void gaps(const Strided* arrays, u64* found) {
    const Strided& array = arrays[blockIdx.y];
    u64 wrong = 0;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < array.span; i += u64(gridDim.x) * blockDim.x) {
        u64 rest = i;
        for (u32 d = 0; d < static_cast<u32>(array.dims); ++d) {
            u64 index = rest / array.strides[d];
            u64 last = array.sizes[d] - 1;
            rest -= (index < last ? index : last) * array.strides[d];
        }
        if (rest >= array.itemsize) wrong += reinterpret_cast<const u8*>(array.start)[i] != byte_of(array.pattern, array.start + i);
    }
    if (wrong) atomicAdd(&found[array.result], wrong);
}
