// A libcuda.so.1 in front of the real one (LD_PRELOAD). It owns the calls that launch, so it may
// put another kernel in the place of one; it sees the same launches as CUPTI, but neither times nor
// the machine code of fat binaries.
//
// Only what is defined here is ours: the library's one dependency, kernelwright_real_cuda.so, is a
// link to the real driver, where dlsym finds everything else.
#include <fstream>

#include "writing.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace kernelwright;

static bool recording;

static void at_end() { write_recording(true); }

static void need_driver() {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* path = getenv("KERNELWRIGHT_REAL_CUDA");
        void* library = dlopen(path && *path ? path : "kernelwright_real_cuda.so", RTLD_NOW);
        if (!library) {
            fprintf(stderr, "kernelwright: the real driver cannot be loaded: %s\n", dlerror());
            abort();
        }
        bind_driver(library);
        recording = begin(true);
        if (recording) atexit(at_end);
    });
}

static void count(const char* call) {
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    ++calls[call];
}

template <class Go>
static CUresult launch(Launch& l, const char* call, Go go) {
    need_driver();
    if (inside || !recording || getpid() != recording_pid) return go(l);
    count(call);
    see_launch(l);
    Replacement* r = pending ? nullptr : replacement_for(l);
    if (r && settings.shadow) {
        if (r->shadowed < settings.shadow && !is_capturing(l.stream)) return shadow(l, *r, go);
    } else if (r) {
        redirect(l, *r);
        std::lock_guard<std::recursive_mutex> guard(state_lock);
        ++r->uses;
    }
    CUresult result = go(l);
    if (pending) end_snapshot(result);
    return result;
}

using Attributes = std::vector<Attribute>;

#define PLAIN(name)                                                                               \
    EXPORT CUresult CUDAAPI name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,             \
                                 unsigned bx, unsigned by, unsigned bz, unsigned shared,          \
                                 CUstream stream, void** params, void** extra) {                  \
        Launch l{f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra, {}};               \
        return launch(l, #name, [&](Launch& q) {                                                  \
            return r_##name(q.function, q.grid[0], q.grid[1], q.grid[2], q.block[0], q.block[1],  \
                            q.block[2], q.shared, stream, params, extra);                         \
        });                                                                                       \
    }
#define COOPERATIVE(name)                                                                         \
    EXPORT CUresult CUDAAPI name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,             \
                                 unsigned bx, unsigned by, unsigned bz, unsigned shared,          \
                                 CUstream stream, void** params) {                                \
        Attributes together{{CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {1, 0, 0}}};                        \
        Launch l{f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, nullptr, together};       \
        return launch(l, #name, [&](Launch& q) {                                                  \
            return r_##name(q.function, q.grid[0], q.grid[1], q.grid[2], q.block[0], q.block[1],  \
                            q.block[2], q.shared, stream, params);                                \
        });                                                                                       \
    }
#define WIDE(name)                                                                                \
    EXPORT CUresult CUDAAPI name(const CUlaunchConfig* c, CUfunction f, void** params,            \
                                 void** extra) {                                                  \
        Launch l{f,         {c->gridDimX, c->gridDimY, c->gridDimZ},                              \
                 {c->blockDimX, c->blockDimY, c->blockDimZ},                                      \
                 c->sharedMemBytes, c->hStream, params, extra, {}};                               \
        read_attributes(c, l.attributes);                                                         \
        return launch(l, #name, [&](Launch& q) {                                                  \
            CUlaunchConfig n = *c;                                                                \
            n.gridDimX = q.grid[0], n.gridDimY = q.grid[1], n.gridDimZ = q.grid[2];               \
            n.blockDimX = q.block[0], n.blockDimY = q.block[1], n.blockDimZ = q.block[2];         \
            n.sharedMemBytes = q.shared;                                                          \
            return r_##name(&n, q.function, params, extra);                                       \
        });                                                                                       \
    }

PLAIN(cuLaunchKernel)
PLAIN(cuLaunchKernel_ptsz)
COOPERATIVE(cuLaunchCooperativeKernel)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz)
WIDE(cuLaunchKernelEx)
WIDE(cuLaunchKernelEx_ptsz)

static void count_graph() {
    need_driver();
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    ++graph_launches;
}

EXPORT CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    count_graph();
    return r_cuGraphLaunch(graph, stream);
}

EXPORT CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
    count_graph();
    return r_cuGraphLaunch_ptsz(graph, stream);
}

static void take_image(const void* image) {
    if (recording && !inside && image) add_image(image, elf_size(image));
}

EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
    need_driver();
    CUresult result = r_cuModuleLoadData(module, image);
    if (!result) take_image(image);
    return result;
}

EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned n,
                                           CUjit_option* options, void** values) {
    need_driver();
    CUresult result = r_cuModuleLoadDataEx(module, image, n, options, values);
    if (!result) take_image(image);
    return result;
}

EXPORT CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* image,
                                          CUjit_option* jit, void** jit_values, unsigned n_jit,
                                          CUlibraryOption* options, void** values, unsigned n) {
    need_driver();
    CUresult result =
        r_cuLibraryLoadData(library, image, jit, jit_values, n_jit, options, values, n);
    if (!result) take_image(image);
    return result;
}

// Of a file that the driver was named; one that cannot be read is the driver's to tell.
static void take_image_of(const char* path) {
    if (!recording || inside || !path) return;
    std::ifstream file(path, std::ios::binary);
    std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (data.size() < sizeof(Elf64_Ehdr)) return;
    add_image(data.data(), std::min(elf_size(data.data()), data.size()));
}

EXPORT CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* path) {
    need_driver();
    CUresult result = r_cuModuleLoad(module, path);
    if (!result) take_image_of(path);
    return result;
}

EXPORT CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                              CUjit_option* jit, void** jit_values,
                                              unsigned n_jit, CUlibraryOption* options,
                                              void** values, unsigned n) {
    need_driver();
    CUresult result =
        r_cuLibraryLoadFromFile(library, path, jit, jit_values, n_jit, options, values, n);
    if (!result) take_image_of(path);
    return result;
}

static void* ours(const char* name, bool per_thread) {
#define X(each)                                                                                   \
    if (!strcmp(name, #each)) return per_thread ? (void*)each##_ptsz : (void*)each;
    X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel) X(cuGraphLaunch)
#undef X
#define X(each)                                                                                   \
    if (!strcmp(name, #each)) return (void*)each;
    X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuLibraryLoadData)
    X(cuModuleLoad) X(cuLibraryLoadFromFile)
#undef X
    return nullptr;
}

#undef cuGetProcAddress

EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char* name, void** found, int version,
                                            cuuint64_t flags,
                                            CUdriverProcAddressQueryResult* status) {
    need_driver();
    CUresult result = r_cuGetProcAddress_v2(name, found, version, flags, status);
    if (result || !found || !*found) return result;
    bool itself = !strcmp(name, "cuGetProcAddress") || !strcmp(name, "cuGetProcAddress_v2");
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    void* hook = itself ? (void*)cuGetProcAddress_v2 : ours(name, per_thread);
    if (hook) *found = hook;
    return result;
}

EXPORT CUresult CUDAAPI cuGetProcAddress(const char* name, void** found, int version,
                                         cuuint64_t flags) {
    return cuGetProcAddress_v2(name, found, version, flags, nullptr);
}

EXPORT void kernelwright_operator(long number) { current_operator = number; }
