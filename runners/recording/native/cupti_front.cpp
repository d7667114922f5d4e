// Recording by CUPTI: a library that the driver loads into the program (CUDA_INJECTION64_PATH).
// It sees every launch of every library, all machine code as it was loaded, and the time that each
// kernel took; it changes nothing. Only one such subscriber can be in a process.
#include <cupti.h>

#include "sampling.h"
#include "writing.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace kernelwright;

#if CUDA_VERSION >= 13000
using KernelRecord = CUpti_ActivityKernel10;
using SubscriberParams = CUpti_SubscriberParams;
#else
using KernelRecord = CUpti_ActivityKernel9;
struct SubscriberParams {  // of CUPTI 13, which may be what this program finds
    size_t structSize;
    const char* subscriberName;
    char* oldSubscriberName;
    size_t oldSubscriberSize;
};
#endif

#define KERNELWRIGHT_CUPTI(X)                                                                     \
    X(cuptiSubscribe) X(cuptiEnableCallback) X(cuptiActivityEnable) X(cuptiActivityDisable)       \
    X(cuptiGetTimestamp)                                                                          \
    X(cuptiActivityRegisterCallbacks) X(cuptiActivityGetNextRecord) X(cuptiActivityFlushAll)      \
    X(cuptiGetResultString) X(cuptiActivityGetNumDroppedRecords)
#define X(name) static decltype(&name) p_##name;
KERNELWRIGHT_CUPTI(X)
#undef X

static CUpti_SubscriberHandle subscriber;
static thread_local Launch held;
static void* cupti;
static bool take_times;
static std::mutex spare_lock;
static std::vector<uint8_t*> spare;  // buffers that were written to once need no fresh pages
constexpr size_t kBufferBytes = 1 << 20;  // small, as launches wait while one is read

static void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most) {
    *size = kBufferBytes;
    *most = 0;
    std::lock_guard<std::mutex> guard(spare_lock);
    if (!spare.empty()) {
        *buffer = spare.back();
        spare.pop_back();
    } else if (posix_memalign((void**)buffer, 8, *size)) {
        *buffer = nullptr;
    }
}

static void add_kernel(const KernelRecord* k) {
    u64 ns = k->end - k->start;
    ++records;
    timeline.add(k->start, k->end);
    auto launched = correlations.find(k->correlationId);
    if (launched != correlations.end() && !k->graphNodeId) {
        Configuration* c = launched->second.first;
        ++c->timed;
        c->sum_ns += ns;
        c->least_ns = std::min(c->least_ns, ns);
        c->most_ns = std::max(c->most_ns, ns);
        if (c->times.size() < kMostTimes) c->times.push_back({launched->second.second, ns});
        correlations.erase(launched);
        return;
    }
    std::string name = k->name ? k->name : "?";
    Size3 grid{(unsigned)k->gridX, (unsigned)k->gridY, (unsigned)k->gridZ};
    Size3 block{(unsigned)k->blockX, (unsigned)k->blockY, (unsigned)k->blockZ};
    Elsewhere& row = elsewhere[name + size3(grid) + size3(block) +
                               formatted(" %d %d", k->dynamicSharedMemory, k->graphNodeId != 0)];
    if (!row.count++) {
        row.name = name;
        row.grid = grid;
        row.block = block;
        row.shared = (unsigned)k->dynamicSharedMemory;
        row.graph = k->graphNodeId != 0;
    }
    row.sum_ns += ns;
}

static void add_transfer(const char* kind, u64 start, u64 end) {
    auto& row = transfers[kind];
    ++row.first;
    row.second += end - start;
}

static const char* copy_kind(unsigned kind) {
    return kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "host to device"
           : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "device to host"
           : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD ? "device to device"
                                                     : "other copies";
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                                 size_t valid) {
    CUpti_Activity* record = nullptr;
    std::unique_lock<std::mutex> guard(times_lock);
    while (valid && p_cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
            add_kernel((const KernelRecord*)record);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
            auto* copy = (const CUpti_ActivityMemcpy5*)record;  // later versions add at the end
            add_transfer(copy_kind(copy->copyKind), copy->start, copy->end);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
            auto* fill = (const CUpti_ActivityMemset4*)record;
            add_transfer("memset", fill->start, fill->end);
        }
    }
    size_t dropped = 0;
    p_cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    records_dropped += dropped;
    guard.unlock();
    std::lock_guard<std::mutex> returned(spare_lock);
    spare.push_back(buffer);
}

template <class P>
static void take_plain(const P* p, void** extra) {
    held.function = p->f;
    held.grid = {p->gridDimX, p->gridDimY, p->gridDimZ};
    held.block = {p->blockDimX, p->blockDimY, p->blockDimZ};
    held.shared = p->sharedMemBytes;
    held.stream = p->hStream;
    held.params = p->kernelParams;
    held.extra = extra;
    held.attributes.clear();
}

static void take_wide(const cuLaunchKernelEx_params* p) {
    const CUlaunchConfig* c = p->config;
    held.function = p->f;
    held.grid = {c->gridDimX, c->gridDimY, c->gridDimZ};
    held.block = {c->blockDimX, c->blockDimY, c->blockDimZ};
    held.shared = c->sharedMemBytes;
    held.stream = c->hStream;
    held.params = p->kernelParams;
    held.extra = p->extra;
    read_attributes(c, held.attributes);
}

// False: the call is no launch of a kernel.
static bool take_launch(CUpti_CallbackId id, const void* params) {
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
            take_plain((const cuLaunchKernel_params*)params,
                       ((const cuLaunchKernel_params*)params)->extra);
            return true;
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
            take_plain((const cuLaunchCooperativeKernel_params*)params, nullptr);
            held.attributes.push_back({CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {1, 0, 0}});
            return true;
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
            take_wide((const cuLaunchKernelEx_params*)params);
            return true;
        default:
            return false;
    }
}

static void take_fill(u64 address, size_t count, unsigned value, unsigned width) {
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    fills.push_back({address, count * width, value, width, launches});
    if (fills.size() > 64) fills.pop_front();
    ++memsets;
}

// False: the call is no memset.
static bool take_memset(CUpti_CallbackId id, const void* params) {
#define FILL(name, value, width)                                                                  \
    case CUPTI_DRIVER_TRACE_CBID_##name: {                                                        \
        auto* m = (const name##_params*)params;                                                   \
        take_fill(m->dstDevice, m->N, m->value, width);                                           \
        return true;                                                                              \
    }
    switch (id) {
        FILL(cuMemsetD8Async, uc, 1)
        FILL(cuMemsetD16Async, us, 2)
        FILL(cuMemsetD32Async, ui, 4)
        FILL(cuMemsetD8_v2, uc, 1)
        FILL(cuMemsetD32_v2, ui, 4)
        FILL(cuMemsetD8Async_ptsz, uc, 1)
        FILL(cuMemsetD32Async_ptsz, ui, 4)
        default:
            return false;
    }
#undef FILL
}

static u64 now_of_records() {
    uint64_t now = 0;
    p_cuptiGetTimestamp(&now);
    return now;
}

static void turn_times(bool on) {
    static std::mutex turning;
    std::lock_guard<std::mutex> guard(turning);
    if (on == timing) return;
    Inside ours;
    CUptiResult code = (on ? p_cuptiActivityEnable : p_cuptiActivityDisable)(
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (code) return problem("times", "CUPTI does not tell times of kernels: error %d", code);
    timing = on;
    std::lock_guard<std::mutex> times(times_lock);
    u64 now = now_of_records();
    if (!on) timeline.looked_until(now);
    timeline.looking_since = on ? now : 0;
}

static void take_driver_call(CUpti_CallbackId id, const CUpti_CallbackData* data) {
    if (data->callbackSite == CUPTI_API_EXIT) {
        if (pending) end_snapshot(*(CUresult*)data->functionReturnValue);
        return;
    }
    if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
        id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz) {
        if (take_times && !all_times.exchange(true)) turn_times(true);
        std::lock_guard<std::recursive_mutex> guard(state_lock);
        ++graph_launches;
        return;
    }
    if (take_memset(id, data->functionParams) || !take_launch(id, data->functionParams)) return;
    Seen seen = see_launch(held);
    if (!take_times || !count_for_times(seen.is_new)) return;
    std::lock_guard<std::mutex> guard(times_lock);
    correlations[data->correlationId] = {seen.configuration, seen.ordinal};
}

static void CUPTIAPI take_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) {
    if (getpid() != recording_pid) return;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        // also inside our own calls: our questions load kernels that are loaded lazily
        if (id != CUPTI_CBID_RESOURCE_MODULE_LOADED) return;
        auto* resource = (const CUpti_ResourceData*)data;
        auto* module = (const CUpti_ModuleResourceData*)resource->resourceDescriptor;
        add_image(module->pCubin, module->cubinSize);
        return;
    }
    if (!inside) take_driver_call(id, (const CUpti_CallbackData*)data);
}

static bool find_cupti() {
    const char* ours = getenv("KERNELWRIGHT_CUPTI");
    const char* tried[] = {"libcupti.so.13", "libcupti.so.12", ours};
    void*& library = cupti;
    // what the program has loaded itself comes first: two of them do not live in one process
    for (const char* name : tried)
        if (!library && name && *name) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (!library && ours && *ours) library = dlopen(ours, RTLD_NOW | RTLD_GLOBAL);
    for (const char* name : tried)
        if (!library && name && *name) library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        problem("cupti", "CUPTI is not there (libcupti.so of the CUDA toolkit): %s", dlerror());
        return false;
    }
#define X(name) p_##name = (decltype(&name))dlsym(library, #name);
    KERNELWRIGHT_CUPTI(X)
#undef X
    return true;
}

static bool subscribe() {
    using SubscribeNamed =
        CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, SubscriberParams*);
    auto named = (SubscribeNamed)dlsym(cupti, "cuptiSubscribe_v2");
    CUptiResult code;
    char other[128] = "";
    if (named) {
        SubscriberParams params;
        memset(&params, 0, sizeof params);
        params.structSize = sizeof params;
        params.subscriberName = "kernelwright";
        params.oldSubscriberName = other;
        params.oldSubscriberSize = sizeof other;
        code = named(&subscriber, take_callback, nullptr, &params);
    } else {
        code = p_cuptiSubscribe(&subscriber, take_callback, nullptr);
    }
    if (!code) return true;
    const char* text = "";
    p_cuptiGetResultString(code, &text);
    if (code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        problem("profiler", "another profiler is in the program (%s): run it without",
                *other ? other : "it does not say which");
    else
        problem("cupti", "CUPTI does not work with this driver: %s", text);
    return false;
}

static void enable() {
    CUpti_CallbackId ids[] = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                              CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                              CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                              CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD16Async,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz,
                              CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz};
    for (CUpti_CallbackId id : ids)
        if (p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id))
            problem("callbacks", "CUPTI does not tell of all launches (callback %u)", id);
    if (p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                              CUPTI_CBID_RESOURCE_MODULE_LOADED))
        problem("callbacks", "CUPTI does not tell of machine code");
    u64 asked = number("KERNELWRIGHT_TIMES", 1);  // 0: none, 2: of every launch
    if (!asked) return;
    CUptiResult code = p_cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
        if (!code) code = p_cuptiActivityEnable(kind);
    if (code) return problem("times", "CUPTI does not tell times of kernels: error %d", code);
    take_times = true;
    all_times = asked == 2;
    turn_times(true);
    pthread_t thread;
    auto run = [](void*) -> void* {
        take_times_in_windows(turn_times, now_of_records);
        return nullptr;
    };
    if (!all_times && !pthread_create(&thread, nullptr, run, nullptr)) pthread_detach(thread);
}

static void at_end() {
    if (getpid() != recording_pid) return;
    if (p_cuptiActivityFlushAll) {
        Inside ours;
        p_cuptiActivityFlushAll(1);
    }
    write_recording(true);
}

// Number of the operator whose launches follow; 0: of none.
EXPORT void kernelwright_operator(long number) { current_operator = number; }

EXPORT int InitializeInjection(void) {
    static bool done;
    if (done || !begin(false)) return 1;
    done = true;
    Inside ours;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        problem("driver", "there is no driver: %s", dlerror());
    } else {
        bind_driver(driver);
        CUcontext context = nullptr;
        if (!r_cuCtxGetCurrent(&context) && context)
            problem("late", "the recorder came after the GPU was in use: machine code that was "
                            "loaded before is not known. Start the program under it");
        if (find_cupti() && subscribe()) enable();
    }
    write_recording(false);
    atexit(at_end);
    return 1;
}
