// Copies to shared memory that a thread waits for later: each is made as late as a GPU may make it,
// so that a wait that is missing, or for too few, shows.
#pragma once
#include "device_shim.h"

#include <deque>
#include <map>
#include <vector>

namespace pretend {
struct Copy {
    void* to;
    const void* from;
    size_t bytes, zeros;
};
struct Copies {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> committed;
};

inline Copies& copies() {  // of this thread of the block; a thread of the host runs whole blocks
    static thread_local std::map<unsigned, Copies> of;
    return of[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
}
}  // namespace pretend

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    const bool known = bytes == 4 || bytes == 8 || bytes == 16;
    const auto address = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from);
    if (!known || address % bytes != 0) __builtin_trap();
    pretend::copies().open.push_back({to, from, bytes, zeros});
}

inline void __pipeline_commit() {
    auto& own = pretend::copies();
    own.committed.push_back(std::move(own.open));
    own.open.clear();
}

inline void __pipeline_wait_prior(size_t groups) {
    auto& committed = pretend::copies().committed;
    for (; committed.size() > groups; committed.pop_front())
        for (const pretend::Copy& copy : committed.front()) {
            std::memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
            std::memset(static_cast<char*>(copy.to) + copy.bytes - copy.zeros, 0, copy.zeros);
        }
}
