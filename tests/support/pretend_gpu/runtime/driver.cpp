// The part of a driver that is not Python: memory, one queue of work, events, graphs.
//
// `cuda/bindings/driver.py` calls it with numbers alone; 0 is success, anything else a CUresult.
// All streams share one queue, which one thread of the host works off in order.
#include "pretend.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/mman.h>

using u64 = uint64_t;
using Work = std::function<int()>;

namespace {

constexpr int INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_READY = 600, INVALIDATED = 901;
constexpr u64 GRANULE = 2 << 20, SPACE = 1ull << 40;

struct Event {
    std::atomic<bool> done{true};
    u64 nanoseconds = 0;
};
struct Graph {
    std::vector<Work> steps;
};

// Never destroyed: when the process ends, the thread that works off still waits on them.
std::mutex &memory_lock = *new std::mutex, &queue_lock = *new std::mutex;
std::condition_variable &arrived = *new std::condition_variable,
                        &drained = *new std::condition_variable;
std::deque<Work>& queue = *new std::deque<Work>;
bool working = false;
std::atomic<int> broken{0};  // the error that every later call answers with

std::map<u64, u64> allocated;    // address to bytes, whole granules
std::multimap<u64, u64> unused;  // bytes to address: given again to who asks for as many
u64 total = 0, used = 0, next_address = 0;

bool capturing = false, capture_broken = false;
std::vector<Work> captured;

void work_off() {
    std::unique_lock lock(queue_lock);
    for (;;) {
        arrived.wait(lock, [] { return !queue.empty(); });
        Work next = std::move(queue.front());
        queue.pop_front();
        working = true;
        lock.unlock();
        if (!broken)
            if (int code = next()) broken = code;
        lock.lock();
        working = false;
        if (queue.empty()) drained.notify_all();
    }
}

int enqueue(Work work) {
    if (capturing) {
        captured.push_back(std::move(work));
        return 0;
    }
    std::lock_guard lock(queue_lock);
    queue.push_back(std::move(work));
    arrived.notify_one();
    return 0;
}

int drain() {
    std::unique_lock lock(queue_lock);
    drained.wait(lock, [] { return queue.empty() && !working; });
    return broken;
}

bool repeats(unsigned value, unsigned width) {  // one byte over and over
    for (unsigned at = 1; at < width; ++at)
        if ((value >> 8 * at & 0xff) != (value & 0xff)) return false;
    return true;
}

template <class F>
int safely(F&& work) {  // a fault in it is its result
    return pretend::guarded([](void* data) { (*static_cast<F*>(data))(); }, &work);
}

}  // namespace

extern "C" {

int pretend_init(u64 memory) {
    void* at = mmap(reinterpret_cast<void*>(0x200000000000), SPACE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return OUT_OF_MEMORY;
    next_address = (reinterpret_cast<u64>(at) + GRANULE - 1) / GRANULE * GRANULE + GRANULE;
    total = memory;
    std::thread(work_off).detach();
    return 0;
}

int pretend_broken() { return broken; }

int pretend_allocate(u64 nbytes, u64* address) {
    std::lock_guard lock(memory_lock);
    u64 size = (nbytes + GRANULE - 1) / GRANULE * GRANULE;
    if (size > total - used) return OUT_OF_MEMORY;
    auto again = unused.find(size);
    if (again != unused.end()) {  // with what the last owner left there
        *address = again->second;
        unused.erase(again);
    } else {
        *address = next_address;
        next_address += size + GRANULE;  // nothing lies behind it
    }
    used += size;
    allocated[*address] = size;
    void* at = reinterpret_cast<void*>(*address);
    return mprotect(at, size, PROT_READ | PROT_WRITE) ? OUT_OF_MEMORY : 0;
}

int pretend_free(u64 address) {
    drain();
    std::lock_guard lock(memory_lock);
    auto found = allocated.find(address);
    if (found == allocated.end()) return INVALID_VALUE;
    mprotect(reinterpret_cast<void*>(address), found->second, PROT_NONE);
    used -= found->second;
    unused.emplace(found->second, address);
    allocated.erase(found);
    return 0;
}

int pretend_reserve(u64 nbytes, u64* address) {  // addresses alone: nothing lies there
    std::lock_guard lock(memory_lock);
    *address = next_address;
    next_address += (nbytes + GRANULE - 1) / GRANULE * GRANULE + GRANULE;
    return 0;
}

int pretend_take(u64 nbytes) {  // memory alone: it lies nowhere yet
    std::lock_guard lock(memory_lock);
    if (nbytes % GRANULE || !nbytes) return INVALID_VALUE;
    if (nbytes > total - used) return OUT_OF_MEMORY;
    used += nbytes;
    return 0;
}

int pretend_give(u64 nbytes) {
    std::lock_guard lock(memory_lock);
    used -= nbytes;
    return 0;
}

int pretend_map(u64 address, u64 nbytes) {
    if (address % GRANULE || nbytes % GRANULE) return INVALID_VALUE;
    void* at = reinterpret_cast<void*>(address);
    return mprotect(at, nbytes, PROT_READ | PROT_WRITE) ? INVALID_VALUE : 0;
}

int pretend_unmap(u64 address, u64 nbytes) {
    drain();
    void* at = reinterpret_cast<void*>(address);
    if (mprotect(at, nbytes, PROT_NONE)) return INVALID_VALUE;
    return madvise(at, nbytes, MADV_DONTNEED) ? INVALID_VALUE : 0;
}

u64 pretend_free_bytes() { return total - used; }

u64 pretend_host_allocate(u64 nbytes) {
    void* at = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? 0 : reinterpret_cast<u64>(at);
}

int pretend_upload(u64 target, const void* source, u64 nbytes) {
    auto* first = static_cast<const char*>(source);
    std::vector<char> copy(first, first + nbytes);
    return enqueue([target, copy = std::move(copy)] {
        return safely([&] { std::memcpy(reinterpret_cast<void*>(target), copy.data(), copy.size()); });
    });
}

int pretend_download(void* target, u64 source, u64 nbytes) {
    int code = safely([&] { std::memcpy(target, reinterpret_cast<void*>(source), nbytes); });
    return code ? INVALID_VALUE : 0;
}

int pretend_copy(u64 target, u64 source, u64 nbytes) {
    return enqueue([=] {
        return safely([&] {
            std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), nbytes);
        });
    });
}

int pretend_fill(u64 address, u64 pitch, unsigned width, unsigned value, u64 count) {
    return enqueue([=] {
        return safely([&] {
            char* to = reinterpret_cast<char*>(address);
            if (pitch == width && repeats(value, width)) {
                std::memset(to, static_cast<int>(value & 0xff), count * width);
            } else {
                for (u64 i = 0; i < count; ++i, to += pitch) std::memcpy(to, &value, width);
            }
        });
    });
}

int pretend_launch(u64 call, const unsigned* dims, unsigned shared, int cooperative,
                   void** params, const unsigned* sizes, unsigned count) {
    std::vector<char> store;
    std::vector<size_t> offsets;
    for (unsigned i = 0; i < count; ++i) {
        offsets.push_back((store.size() + 63) / 64 * 64);
        store.resize(offsets.back() + sizes[i] + 64);
        std::memcpy(store.data() + offsets.back(), params[i], sizes[i]);
    }
    pretend::Grid grid{reinterpret_cast<void (*)(void**)>(call), nullptr,
                       {dims[0], dims[1], dims[2]}, {dims[3], dims[4], dims[5]},
                       shared, cooperative != 0};
    return enqueue([=]() mutable {
        char* base = store.data();
        std::vector<char> aligned(store.size() + 64);
        char* at = aligned.data() + (64 - reinterpret_cast<u64>(aligned.data()) % 64) % 64;
        std::memcpy(at, base, store.size());
        std::vector<void*> pointers;
        for (size_t offset : offsets) pointers.push_back(at + offset);
        grid.params = pointers.data();
        return pretend::run(grid);
    });
}

Event* pretend_event_create() { return new Event; }

void pretend_event_destroy(Event* event) {
    enqueue([event] {
        delete event;
        return 0;
    });
}

int pretend_event_record(Event* event) {
    if (!capturing) event->done = false;
    return enqueue([event] {
        event->nanoseconds = pretend::nanoseconds();
        event->done = true;
        return 0;
    });
}

int pretend_event_query(Event* event) {
    if (broken) return broken;
    return event->done ? 0 : NOT_READY;
}

int pretend_elapsed(Event* start, Event* end, float* milliseconds) {
    if (!start->done || !end->done) return NOT_READY;
    *milliseconds = static_cast<float>(static_cast<double>(end->nanoseconds - start->nanoseconds) * 1e-6);
    return 0;
}

int pretend_drain() { return drain(); }

void pretend_capture_begin() {
    capturing = true;
    capture_broken = false;
    captured.clear();
}

void pretend_capture_spoil() { capture_broken = capturing; }

int pretend_capture_end(Graph** graph) {
    capturing = false;
    if (capture_broken) return INVALIDATED;
    *graph = new Graph{std::move(captured)};
    captured.clear();
    return 0;
}

int pretend_graph_launch(Graph* graph) {
    return enqueue([graph] {
        int code = 0;
        for (Work& step : graph->steps)
            if (!code) code = step();
        return code;
    });
}

void pretend_graph_destroy(Graph* graph) {
    enqueue([graph] {
        delete graph;
        return 0;
    });
}

}  // extern "C"
