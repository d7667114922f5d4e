// Another kernel in the place of one of the program's: the same parameters, machine code of its own.
//
// A replacement names the function, the machine code that it was made for, and the configuration;
// anything else runs the original. With `shadow` the original's results stay, and it is told by how
// much the replacement's differ.
#pragma once
#include "snapshots.h"

namespace kernelwright {

static void note_replacement(const Replacement& r, const std::string& text) {
    notes.push_back(formatted("{\"replacement\": %d, \"note\": %s}", r.id, quoted(text).c_str()));
}

static bool read_whole(const std::string& path, std::string& into) {
    FILE* file = fopen(path.c_str(), "rb");
    if (!file) return false;
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file))) into.append(chunk, n);
    bool ok = !ferror(file);
    fclose(file);
    return ok;
}

static bool same_parameters(const Function* f, CUfunction other) {
    size_t offset, size, i = 0;
    for (; r_cuFuncGetParamInfo(other, i, &offset, &size) == CUDA_SUCCESS; ++i)
        if (i >= f->offsets.size() || f->offsets[i] != offset || f->sizes[i] != size) return false;
    return i == f->offsets.size();
}

// Loading is forbidden while a stream is captured, unless this thread says that it does not mind.
struct Relaxed {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    Relaxed() { r_cuThreadExchangeStreamCaptureMode(&mode); }
    ~Relaxed() { r_cuThreadExchangeStreamCaptureMode(&mode); }
};

static bool load(Replacement& r, const Function* f) {
    if (r.tried) return r.function;
    r.tried = true;
    Inside ours;
    Relaxed relaxed;
    std::string image;
    CUmodule module;
    CUfunction function = nullptr;
    if (!read_whole(r.cubin, image)) {
        note_replacement(r, "its machine code cannot be read: " + r.cubin);
        return false;
    }
    CUresult code = r_cuModuleLoadData(&module, image.data());
    if (!code) code = r_cuModuleGetFunction(&function, module, r.entry.c_str());
    if (!code && r.shared > 48 * 1024)
        code = r_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)r.shared);
    if (code) {
        note_replacement(r, formatted("it cannot be loaded: error %d", code));
    } else if (!same_parameters(f, function)) {
        note_replacement(r, "its parameters are not those of the original: nothing was replaced");
    } else {
        r.function = function;
    }
    return r.function;
}

static Replacement* replacement_for(const Launch& l) {
    if (replacements.empty()) return nullptr;
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    Inside ours;
    Function* f = function_of(l.function);
    for (Replacement* r : f->all->replacements) {
        find_image(f);
        bool fits = r->any_geometry || (r->when_grid == l.grid && r->when_block == l.block &&
                                        r->when_shared == l.shared);
        fits = fits && (r->image.empty() || f->image < 0 || image_of(f) == r->image);
        if (!fits) {
            ++r->passed;
        } else if (load(*r, f)) {
            return r;
        }
    }
    return nullptr;
}

static void redirect(Launch& l, const Replacement& r) {
    l.function = r.function;
    if (r.grid[0]) l.grid = r.grid;
    if (r.block[0]) l.block = r.block;
    if (r.shared >= 0) l.shared = (unsigned)r.shared;
}

struct Copies {
    Buffer buffer;
    CUdeviceptr before = 0, after = 0;
};

static void tell_difference(const Replacement& r, size_t index, const Copies& c) {
    std::string old(c.buffer.size, 0), wanted(c.buffer.size, 0), got(c.buffer.size, 0);
    r_cuMemcpyDtoH_v2(&old[0], c.before, old.size());
    r_cuMemcpyDtoH_v2(&wanted[0], c.after, wanted.size());
    r_cuMemcpyDtoH_v2(&got[0], (CUdeviceptr)c.buffer.base, got.size());
    size_t written = 0, differ = 0;
    double worst = 0, scale = 0;
    for (size_t k = 0; k < old.size(); ++k) {
        written += old[k] != wanted[k];
        differ += got[k] != wanted[k];
    }
    for (size_t k = 0; k + 4 <= old.size(); k += 4) {
        float x, y;
        memcpy(&x, &wanted[k], 4);
        memcpy(&y, &got[k], 4);
        if (!(x - x == 0) || !(y - y == 0)) continue;  // not finite, or no number at all
        worst = std::max(worst, x > y ? (double)x - y : (double)y - x);
        scale = std::max(scale, x > 0 ? (double)x : -(double)x);
    }
    if (written || differ)
        notes.push_back(formatted("{\"replacement\": %d, \"shadow\": %d, \"buffer\": %zu, "
                                  "\"written\": %zu, \"differ\": %zu, \"worst_as_float32\": %.9g, "
                                  "\"largest_as_float32\": %.9g}",
                                  r.id, r.shadowed, index, written, differ, worst, scale));
}

// The original, then the replacement on the same inputs; the original's results stay.
template <class Go>
static CUresult shadow(Launch& l, Replacement& r, Go go) {
    Inside ours;
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    Snapshot reached{};
    Bytes block;
    pack(function_of(l.function), l, block);
    r_cuCtxSynchronize();
    for (size_t at = 0; at + 8 <= block.size(); at += 8) {
        u64 word;
        memcpy(&word, &block[at], 8);
        if (is_device_pointer(word)) add_buffer(&reached, word, false);
    }
    std::vector<Copies> all;
    bool room = reached.refused.empty();
    for (const Buffer& b : reached.buffers) {
        Copies c{b};
        room = room && b.type != CU_MEMORYTYPE_HOST && !r_cuMemAlloc_v2(&c.before, b.size) &&
               !r_cuMemAlloc_v2(&c.after, b.size);
        if (room) r_cuMemcpyDtoD_v2(c.before, (CUdeviceptr)b.base, b.size);
        all.push_back(c);
    }
    CUresult result = go(l);
    ++r.shadowed;
    if (!room) {
        note_replacement(r, "a launch was not shadowed: its buffers cannot be copied");
    } else if (!result && !r_cuCtxSynchronize()) {
        for (Copies& c : all) {
            r_cuMemcpyDtoD_v2(c.after, (CUdeviceptr)c.buffer.base, c.buffer.size);
            r_cuMemcpyDtoD_v2((CUdeviceptr)c.buffer.base, c.before, c.buffer.size);
        }
        Launch other = l;
        redirect(other, r);
        CUresult code = go(other);
        if (!code) code = r_cuCtxSynchronize();
        if (code) note_replacement(r, formatted("it failed beside the original: error %d", code));
        for (size_t i = 0; i < all.size(); ++i) {
            tell_difference(r, i, all[i]);
            r_cuMemcpyDtoD_v2((CUdeviceptr)all[i].buffer.base, all[i].after, all[i].buffer.size);
        }
        ++r.uses;
        r_cuCtxSynchronize();
    }
    for (Copies& c : all) {
        if (c.before) r_cuMemFree_v2(c.before);
        if (c.after) r_cuMemFree_v2(c.after);
    }
    return result;
}

}  // namespace kernelwright
