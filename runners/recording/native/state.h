// What is known of the program so far. One lock guards all of it but what activity records touch:
// those come on a thread of CUPTI's own, while ours may wait for the GPU with the lock held.
#pragma once
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver.h"

namespace kernelwright {

using u64 = unsigned long long;
using Bytes = std::vector<uint8_t>;
using Size3 = std::array<unsigned, 3>;

constexpr size_t kMostTimes = 512;     // of one configuration
constexpr size_t kMostScalars = 64;    // configurations of one geometry; further ones are merged
constexpr size_t kMostParams = 4096;
constexpr int kAttributes[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 14};
constexpr size_t kAttributeCount = sizeof kAttributes / sizeof *kAttributes;
// CUfunction_attribute: most threads, static shared, const, local, registers, PTX and binary
// version, most dynamic shared, carve-out, cluster size is set, non-portable cluster

struct Attribute {
    unsigned id;
    unsigned value[3];
};

struct Launch {
    CUfunction function;
    Size3 grid, block;
    unsigned shared;
    CUstream stream;
    void** params;
    void** extra;
    std::vector<Attribute> attributes;
};

// Machine code as the driver got it. Only its tables are kept in memory.
struct Image {
    std::string file;
    u64 hash;
    size_t size;
    std::vector<std::string> functions;
    std::vector<std::string> objects;
};

// A launch that is to be kept with everything that it reads and writes.
struct Wish {
    std::string label;
    u64 ordinal;
    Size3 grid, block;
    unsigned shared;
    std::string scalars;  // hexadecimal; "-": any
    bool done = false;
};

struct Replacement {
    int id;
    std::string name, image, cubin, entry;
    bool any_geometry = true;
    Size3 when_grid{}, when_block{};
    unsigned when_shared = 0;
    Size3 grid{}, block{};
    long shared = -1;
    CUfunction function = nullptr;
    bool tried = false;
    u64 uses = 0, passed = 0;
    int shadowed = 0;
};

// All functions of one name: autotuning loads several.
struct Name {
    u64 launches = 0;
    std::vector<Wish*> wishes;
    std::vector<Replacement*> replacements;
};

struct Function {
    int id;
    std::string name;
    Name* all;
    std::vector<size_t> offsets, sizes;
    size_t total = 0;
    std::vector<size_t> scalars;  // parameters of four bytes: the only ones nobody leaves garbage in
    int attributes[kAttributeCount];
    CUmodule module = nullptr;
    int image = -1, candidates = 0;
    size_t images_seen = 0;
    u64 launches = 0;
    int device = 0;
};

struct Timed {
    u64 ordinal, ns;
};

struct Configuration {
    int id;
    Function* function;
    Size3 grid, block;
    unsigned shared;
    std::vector<Attribute> attributes;
    Bytes scalars;
    u64 count = 0, captured = 0, first = 0, first_plain = 0;
    bool merged = false;
    u64 timed = 0, sum_ns = 0, least_ns = ~0ull, most_ns = 0;
    std::vector<Timed> times;
};

// Activity of kernels that no launch of ours stands for: those in graphs, or launched otherwise.
struct Elsewhere {
    std::string name;
    Size3 grid, block;
    unsigned shared = 0;
    bool graph = false;
    u64 count = 0, sum_ns = 0;
};

struct Fill {
    u64 address, nbytes;
    unsigned value, width;
    u64 launch;  // how many launches there had been
};

// GPU time over the run, in bins that double their width when the run outgrows them.
struct Timeline {
    static constexpr size_t kBins = 128;
    u64 start = 0, end = 0, width = 1000000;
    u64 busy[kBins] = {};
    u64 looked[kBins] = {};  // how long times were taken in each
    u64 looking_since = 0;   // 0: they are not being taken

    void make_room(u64 to) {
        while ((to - start) / width >= kBins) {
            for (u64* bins : {busy, looked}) {
                for (size_t i = 0; i < kBins / 2; ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
                for (size_t i = kBins / 2; i < kBins; ++i) bins[i] = 0;
            }
            width *= 2;
        }
    }

    void add(u64 from, u64 to) {
        if (!start) start = from;
        if (from < start || to < from) return;
        end = std::max(end, to);
        make_room(to);
        busy[(from - start) / width] += to - from;
    }

    // Times were taken until `to`.
    void looked_until(u64 to) {
        u64 from = std::max(looking_since, start);
        if (!start || !looking_since || to <= from) return;
        make_room(to);
        for (u64 at = from; at < to;) {
            size_t bin = (at - start) / width;
            u64 next = std::min(to, start + (bin + 1) * width);
            looked[bin] += next - at;
            at = next;
        }
        looking_since = to;
    }
};

struct Settings {
    std::string folder;
    u64 launch_bytes = 1ull << 30, total_bytes = 16ull << 30, free_bytes = 1ull << 30;
    u64 image_bytes = 4ull << 30;
    int shadow = 0;
    bool front_is_shim = false;
};

static Settings settings;
static std::recursive_mutex state_lock;
static std::mutex times_lock;
static std::unordered_map<CUfunction, Function*> functions_by_handle;
static std::unordered_map<std::string, Name*> names;
static std::deque<Function*> functions;
static std::unordered_map<u64, Configuration*> configurations_by_key;
static std::unordered_map<u64, std::vector<Configuration*>> geometries;
static std::deque<Configuration*> configurations;
static std::deque<Image> images;
static std::deque<Wish> wishes;
static std::deque<Replacement> replacements;
static std::deque<Fill> fills;
static std::map<std::string, std::string> problems;  // by kind: what this recording lacks
static std::map<std::string, u64> calls;
static std::vector<std::string> notes;               // JSON lines
static std::map<int, std::pair<std::string, std::string>> devices;  // index: UUID, name
static u64 launches, graph_launches, written_bytes, snapshots, image_bytes_written, memsets, copies;
// guarded by times_lock:
static std::unordered_map<uint32_t, std::pair<Configuration*, u64>> correlations;
static std::map<std::string, Elsewhere> elsewhere;
static std::map<std::string, std::pair<u64, u64>> transfers;  // kind: count, ns
static Timeline timeline;
static u64 records, records_dropped;

static pid_t recording_pid;
static double started_at;
static thread_local int inside;        // our own calls of the driver are not the program's
static thread_local long current_operator;

struct Inside {
    Inside() { ++inside; }
    ~Inside() { --inside; }
};

static double seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void problem(const char* kind, const char* format, ...) {
    char text[1024];
    va_list given;
    va_start(given, format);
    vsnprintf(text, sizeof text, format, given);
    va_end(given);
    problems.emplace(kind, text);
}

}  // namespace kernelwright
