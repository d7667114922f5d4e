// Every launch of the program: which function, in which configuration, as which of its launches.
//
// A configuration is a function with grid, block, shared memory, launch attributes and the values
// of its parameters of four bytes. Structures carry bytes that nobody set, and so do parameters of
// one and eight bytes that were copied out of them: as part of the key they would make one launch
// hundreds. What they hide (two products of one grid that differ in K) shows in the times.
#pragma once
#include "images.h"

namespace kernelwright {

static bool is_device_pointer(u64 value) {
    if (value < 4096 || value >> 49) return false;
    unsigned type = 0;
    return r_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)value) ==
               CUDA_SUCCESS &&
           type;
}

static bool is_capturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return r_cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static Name* name_of(const std::string& text) {
    Name*& found = names[text];
    if (!found) found = new Name();
    return found;
}

// Handles of the runtime are those of kernels (CUkernel), which the driver takes for functions
// nearly everywhere; where it does not, the calls for kernels answer.
static void read_parameters(Function* f, CUfunction handle) {
    size_t offset, size;
    auto answers = [&](AnyFunction ask) {
        if (!ask) return false;
        CUresult code = ask(handle, (size_t)0, &offset, &size);
        return code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_VALUE;
    };
    AnyFunction ask = answers(r_cuFuncGetParamInfo) ? r_cuFuncGetParamInfo : r_cuKernelGetParamInfo;
    if (!answers(ask)) {
        problem("parameters", "the driver does not tell parameters of kernels: 12.4 or newer does");
        return;
    }
    for (size_t i = 0; i < kMostParams && ask(handle, i, &offset, &size) == CUDA_SUCCESS; ++i) {
        f->offsets.push_back(offset);
        f->sizes.push_back(size);
        f->total = std::max(f->total, offset + size);
        if (size == 4) f->scalars.push_back(i);
    }
}

static int current_device() {
    CUdevice device = 0;
    if (!r_cuCtxGetDevice || r_cuCtxGetDevice(&device) != CUDA_SUCCESS) return 0;
    if (!devices.count(device)) {
        CUuuid uuid;
        char name[128] = "";
        std::string id;
        if (r_cuDeviceGetUuid && r_cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS)
            id = hexadecimal(uuid.bytes, sizeof uuid.bytes);
        if (r_cuDeviceGetName) r_cuDeviceGetName(name, (int)sizeof name, device);
        devices[device] = {id, name};
    }
    return device;
}

static Function* function_of(CUfunction handle) {
    auto known = functions_by_handle.find(handle);
    if (known != functions_by_handle.end()) return known->second;
    Function* f = new Function();
    f->id = (int)functions.size();
    read_parameters(f, handle);
    const char* name = nullptr;
    CUfunction plain = handle;
    if (!r_cuFuncGetName || r_cuFuncGetName(&name, handle) != CUDA_SUCCESS || !name) {
        if (r_cuKernelGetName) r_cuKernelGetName(&name, handle);
        CUfunction found;
        if (r_cuKernelGetFunction && r_cuKernelGetFunction(&found, handle) == CUDA_SUCCESS)
            plain = found;
    }
    f->name = name ? name : "?";
    f->all = name_of(f->name);
    for (size_t i = 0; i < kAttributeCount; ++i) {
        f->attributes[i] = -1;
        r_cuFuncGetAttribute(&f->attributes[i], kAttributes[i], plain);
    }
    r_cuFuncGetModule(&f->module, plain);
    f->device = current_device();
    find_image(f);  // after the questions: they load what is loaded lazily
    functions_by_handle[handle] = f;
    functions.push_back(f);
    return f;
}

// The parameters as the kernel sees them. False: they came in a form that is not known.
static bool pack(const Function* f, const Launch& launch, Bytes& block) {
    block.assign((f->total + 7) / 8 * 8, 0);
    if (launch.params) {
        for (size_t i = 0; i < f->offsets.size(); ++i)
            memcpy(&block[f->offsets[i]], launch.params[i], f->sizes[i]);
        return true;
    }
    if (!launch.extra) return f->offsets.empty();
    const void* data = nullptr;
    size_t size = 0;
    for (void** e = launch.extra; *e; e += 2) {
        if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER) data = e[1];
        if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *(size_t*)e[1];
    }
    if (data) memcpy(block.data(), data, std::min(size, f->total));
    return data;
}

static void read_attributes(const CUlaunchConfig* config, std::vector<Attribute>& out) {
    out.clear();
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const CUlaunchAttribute& a = config->attrs[i];
        const unsigned* value = (const unsigned*)&a.value;
        bool three = a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        // of an event or a stream the address differs every time and says nothing
        bool number = three || a.id == 2 || a.id == 5 || a.id == 6 || a.id == 14 || a.id == 8;
        out.push_back({(unsigned)a.id,
                       {number ? value[0] : 0, three ? value[1] : 0, three ? value[2] : 0}});
    }
}

static void scalars_of(const Function* f, const Bytes& block, Bytes& out) {
    out.clear();
    for (size_t i : f->scalars)
        out.insert(out.end(), &block[f->offsets[i]], &block[f->offsets[i]] + 4);
}

static u64 geometry_key(const Function* f, const Launch& l) {
    unsigned words[] = {(unsigned)f->id, l.grid[0],  l.grid[1],  l.grid[2],
                        l.block[0],      l.block[1], l.block[2], l.shared};
    u64 key = hash64(words, sizeof words);
    return l.attributes.empty()
               ? key
               : hash64(l.attributes.data(), l.attributes.size() * sizeof(Attribute), key);
}

static Configuration* configuration_of(Function* f, const Launch& l, const Bytes& scalars) {
    u64 geometry = geometry_key(f, l);
    u64 key = hash64(scalars.data(), scalars.size(), geometry);
    auto known = configurations_by_key.find(key);
    if (known != configurations_by_key.end()) return known->second;
    std::vector<Configuration*>& alike = geometries[geometry];
    if (alike.size() >= kMostScalars) {  // a counter among the parameters: no two launches agree
        alike.front()->merged = true;
        return alike.front();
    }
    Configuration* c = new Configuration();
    c->id = (int)configurations.size();
    c->function = f;
    c->grid = l.grid;
    c->block = l.block;
    c->shared = l.shared;
    c->attributes = l.attributes;
    c->scalars = scalars;
    alike.push_back(c);
    configurations_by_key[key] = c;
    configurations.push_back(c);
    return c;
}

static void begin_snapshot(Wish* wish, Function* f, const Launch& l, Configuration* c,
                           const Bytes& block);

static Wish* wish_for(Function* f, const Launch& l, const Configuration* c, const Bytes& scalars) {
    for (Wish* w : f->all->wishes) {
        bool fits = !w->done && f->all->launches >= w->ordinal && w->grid == l.grid &&
                    w->block == l.block && w->shared == l.shared;
        if (fits && w->scalars != "-" && !c->merged)
            fits = w->scalars == hexadecimal(scalars.data(), scalars.size());
        if (fits) return w;
    }
    return nullptr;
}

constexpr u64 kFewLaunches = 8;  // launches of a configuration that ask for its times

struct Seen {
    Configuration* configuration;
    u64 ordinal;
    bool is_new;  // there were few launches of this configuration so far
};

// Called before the driver launches.
static Seen see_launch(const Launch& l) {
    Inside ours;
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    static thread_local Bytes block, scalars;
    Function* f = function_of(l.function);
    ++f->launches;
    ++launches;
    u64 ordinal = ++f->all->launches;
    pack(f, l, block);
    scalars_of(f, block, scalars);
    Configuration* c = configuration_of(f, l, scalars);
    bool captured = is_capturing(l.stream);
    if (!c->count++) c->first = ordinal;
    if (captured) ++c->captured;
    if (!captured && !c->first_plain) c->first_plain = ordinal;
    if (!captured && !f->all->wishes.empty())
        if (Wish* wish = wish_for(f, l, c, scalars)) begin_snapshot(wish, f, l, c, block);
    return {c, ordinal, c->count <= kFewLaunches};
}

}  // namespace kernelwright
