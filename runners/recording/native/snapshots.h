// A launch kept with all that it can reach: parameters, the buffers that they point into, buffers
// that small buffers point into (tables), and the variables of its module; before it and after it.
//
// Contents go to files by their hash, so that weights which a hundred launches read are kept once.
#pragma once
#include "launches.h"

namespace kernelwright {

constexpr size_t kTableBytes = 64 << 10;  // buffers up to this size are searched for pointers
constexpr size_t kMostBuffers = 256, kMostVariables = 64;

struct Buffer {
    u64 base;
    size_t size;
    unsigned type;
    bool embedded;  // found in memory, not among the parameters
    std::string before, after;
};

struct Variable {
    std::string name;
    u64 address;
    size_t size;
    std::string before, after;
};

struct Snapshot {
    Wish* wish;
    Function* function;
    Configuration* configuration;
    u64 ordinal, launch;
    long op;
    Bytes block;
    std::vector<std::pair<size_t, u64>> words;  // which parameter words are addresses
    std::vector<Buffer> buffers;
    std::vector<Variable> variables;
    std::vector<Fill> fills;
    u64 copies;
    std::string refused;
};

static thread_local Snapshot* pending;

static void refuse(Snapshot* s, const std::string& why) {
    if (s->refused.empty()) s->refused = why;
}

// Two hashes of 64 bits: nobody attacks his own recording, chance alone has to be kept out.
static std::string content_name(const void* data, size_t size) {
    return formatted("%016llx%016llx", hash64(data, size),
                     hash64(data, size, 0x27D4EB2F165667C5ull));
}

static std::string keep_content(Snapshot* s, const std::string& data) {
    std::string name = content_name(data.data(), data.size());
    std::string path = settings.folder + "/blobs/" + name;
    struct stat there;
    if (!stat(path.c_str(), &there) && (size_t)there.st_size == data.size()) return name;
    if (written_bytes + data.size() > settings.total_bytes) {
        refuse(s, "all snapshots together reached their limit (--most-bytes)");
    } else if (!room_for(data.size())) {
        refuse(s, "the disk has no room for it");
    } else if (!write_file(path, data.data(), data.size())) {
        refuse(s, formatted("it could not be written: %s", strerror(errno)));
    } else {
        written_bytes += data.size();
    }
    return name;
}

static int find_buffer(const std::vector<Buffer>& buffers, u64 address) {
    for (size_t i = 0; i < buffers.size(); ++i)
        if (address >= buffers[i].base && address - buffers[i].base < buffers[i].size)
            return (int)i;
    return -1;
}

static void add_buffer(Snapshot* s, u64 address, bool embedded) {
    if (find_buffer(s->buffers, address) >= 0 || s->buffers.size() >= kMostBuffers) return;
    unsigned type = 0, managed = 0;
    u64 base = 0;
    size_t size = 0;
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* answers[] = {&type, &base, &size, &managed};
    if (r_cuPointerGetAttributes(4, asked, answers, (CUdeviceptr)address) || !type || !size) return;
    if (managed)
        refuse(s, "it reaches managed memory, which moves between host and GPU by itself");
    s->buffers.push_back({base, size, type, embedded, {}, {}});
}

static CUresult fetch(u64 address, unsigned type, std::string& into) {
    if (type == CU_MEMORYTYPE_HOST) {
        memcpy(&into[0], (void*)address, into.size());
        return CUDA_SUCCESS;
    }
    return r_cuMemcpyDtoH_v2(&into[0], (CUdeviceptr)address, into.size());
}

// Grows `buffers` while it goes: addresses in small buffers are followed.
static void keep_buffers(Snapshot* s) {
    u64 total = 0;
    std::string data;
    for (size_t i = 0; i < s->buffers.size() && s->refused.empty(); ++i) {
        total += s->buffers[i].size;
        if (total > settings.launch_bytes)
            return refuse(s, formatted("it reaches over %llu bytes (--most-launch-bytes)",
                                       settings.launch_bytes));
        data.assign(s->buffers[i].size, 0);
        if (CUresult code = fetch(s->buffers[i].base, s->buffers[i].type, data))
            return refuse(s, formatted("memory that it reaches cannot be read: error %d", code));
        if (data.size() <= kTableBytes)
            for (size_t at = 0; at + 8 <= data.size(); at += 8) {
                u64 word;
                memcpy(&word, &data[at], 8);
                if (word >> 32 && !(word >> 48) && is_device_pointer(word))
                    add_buffer(s, word, true);
            }
        s->buffers[i].before = keep_content(s, data);
    }
}

static void keep_variables(Snapshot* s) {
    Function* f = s->function;
    if (f->image < 0 || !f->module) return;
    std::string data;
    for (const std::string& name : images[(size_t)f->image].objects) {
        CUdeviceptr address = 0;
        size_t size = 0;
        if (s->variables.size() >= kMostVariables) return;
        if (r_cuModuleGetGlobal_v2(&address, &size, f->module, name.c_str()) || !size) continue;
        data.assign(size, 0);
        if (!r_cuMemcpyDtoH_v2(&data[0], address, size))
            s->variables.push_back({name, address, size, keep_content(s, data), {}});
    }
}

static void note_refusal(const Snapshot* s) {
    notes.push_back(formatted("{\"label\": %s, \"refused\": %s}", quoted(s->wish->label).c_str(),
                              quoted(s->refused).c_str()));
}

static void begin_snapshot(Wish* wish, Function* f, const Launch& l, Configuration* c,
                           const Bytes& block) {
    (void)l;
    wish->done = true;
    Snapshot* s = new Snapshot();
    s->wish = wish;
    s->function = f;
    s->configuration = c;
    s->ordinal = f->all->launches;
    s->launch = launches;
    s->op = current_operator;
    s->block = block;
    s->copies = copies;
    for (const Fill& fill : fills)
        if (fill.launch + 1 == launches) s->fills.push_back(fill);
    if (CUresult code = r_cuCtxSynchronize())
        refuse(s, formatted("work before it failed: error %d", code));
    for (size_t at = 0; at + 8 <= block.size(); at += 8) {
        u64 word;
        memcpy(&word, &block[at], 8);
        if (is_device_pointer(word)) {
            s->words.push_back({at, word});
            add_buffer(s, word, false);
        }
    }
    find_image(f);
    if (s->refused.empty()) keep_buffers(s);
    if (s->refused.empty()) keep_variables(s);
    if (!s->refused.empty()) {
        note_refusal(s);
        delete s;
        return;
    }
    pending = s;
}

static std::string image_of(const Function* f) {
    return f->image < 0 ? "" : images[(size_t)f->image].file;
}

static std::string launch_text(const Snapshot* s) {
    const Function* f = s->function;
    const Configuration* c = s->configuration;
    std::string out = formatted(
        "{\"version\": 1, \"label\": %s, \"name\": %s, \"image\": %s, \"candidates\": %d,\n"
        " \"function\": %d, \"configuration\": %d, \"ordinal\": %llu, \"launch\": %llu, "
        "\"operator\": %ld, \"device\": %d,\n",
        quoted(s->wish->label).c_str(), quoted(f->name).c_str(), quoted(image_of(f)).c_str(),
        f->candidates, f->id, c->id, s->ordinal, s->launch, s->op, f->device);
    out += " \"grid\": " + size3(c->grid) + ", \"block\": " + size3(c->block) +
           formatted(", \"shared\": %u, \"attributes\": ", c->shared) +
           attribute_texts(c->attributes) + ",\n \"function_attributes\": " +
           joined(f->attributes, [](int v) { return std::to_string(v); });
    out += ",\n \"params\": [";
    for (size_t i = 0; i < f->offsets.size(); ++i)
        out += formatted("%s{\"offset\": %zu, \"raw\": \"%s\"}", i ? ", " : "", f->offsets[i],
                         hexadecimal(&s->block[f->offsets[i]], f->sizes[i]).c_str());
    out += "],\n \"pointers\": " + joined(s->words, [&](const std::pair<size_t, u64>& word) {
        int n = find_buffer(s->buffers, word.second);
        return formatted("{\"at\": %zu, \"buffer\": %d, \"offset\": %llu}", word.first, n,
                         n < 0 ? word.second : word.second - s->buffers[(size_t)n].base);
    });
    out += ",\n \"buffers\": " + joined(s->buffers, [](const Buffer& b) {
        return formatted("{\"base\": %llu, \"size\": %zu, \"type\": %u, \"embedded\": %s, "
                         "\"before\": \"%s\", \"after\": \"%s\"}",
                         b.base, b.size, b.type, b.embedded ? "true" : "false", b.before.c_str(),
                         b.after.c_str());
    });
    out += ",\n \"variables\": " + joined(s->variables, [](const Variable& v) {
        return formatted("{\"name\": %s, \"size\": %zu, \"before\": \"%s\", \"after\": \"%s\"}",
                         quoted(v.name).c_str(), v.size, v.before.c_str(), v.after.c_str());
    });
    out += ",\n \"fills_before\": " + joined(s->fills, [&](const Fill& fill) {
        int n = find_buffer(s->buffers, fill.address);
        return formatted("{\"buffer\": %d, \"offset\": %llu, \"nbytes\": %llu, \"value\": %u, "
                         "\"width\": %u}",
                         n, n < 0 ? 0 : fill.address - s->buffers[(size_t)n].base, fill.nbytes,
                         fill.value, fill.width);
    });
    return out + "}\n";
}

// Called when the driver has returned from the launch.
static void end_snapshot(CUresult launched) {
    Inside ours;
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    Snapshot* s = pending;
    pending = nullptr;
    CUresult code = launched ? launched : r_cuCtxSynchronize();
    if (code) refuse(s, formatted("the launch failed: error %d", code));
    std::string data;
    for (size_t i = 0; i < s->buffers.size() && s->refused.empty(); ++i) {
        data.assign(s->buffers[i].size, 0);
        if ((code = fetch(s->buffers[i].base, s->buffers[i].type, data)))
            refuse(s, formatted("what it wrote cannot be read: error %d", code));
        s->buffers[i].after = keep_content(s, data);
    }
    for (Variable& v : s->variables) {
        data.assign(v.size, 0);
        if (s->refused.empty() && !r_cuMemcpyDtoH_v2(&data[0], (CUdeviceptr)v.address, v.size))
            v.after = keep_content(s, data);
    }
    std::string path = settings.folder + "/snapshots/" + s->wish->label + ".json";
    if (s->refused.empty() && !write_text(path, launch_text(s)))
        refuse(s, formatted("it could not be written: %s", strerror(errno)));
    if (s->refused.empty())
        ++snapshots;
    else
        note_refusal(s);
    delete s;
}

}  // namespace kernelwright
