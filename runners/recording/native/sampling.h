// When the times of kernels are taken. A launch costs the program several times as much with its
// time as without, so a program of many short kernels has them taken in windows: all of its first
// launches, and from then on as many as `kTimedShare` of the time that passes pays for.
#pragma once
#include <atomic>

#include "state.h"

namespace kernelwright {

// What a launch costs more with its time than without: 1.1 us where kernels are empty (measured on
// an H200), and as much again for what the GPU does between kernels.
constexpr double kTimedCost = 2e-6;
constexpr double kTimedShare = 0.005;
constexpr double kAtOnce = 4096;  // launches that may be timed in a row
constexpr double kWindow = 1024;  // that have to be paid for before times are taken again

// Launches that are paid for. They grow with time, up to `kAtOnce`, and each timed one takes one.
struct Credit {
    double left = kAtOnce;

    // Whether times are to be taken from now on. `wanted`: something is there that has no time yet.
    bool spend(double passed_s, double timed, bool on, bool wanted) {
        left = std::min(kAtOnce, left + passed_s * kTimedShare / kTimedCost) - timed;
        return wanted || left > (on ? 0 : kWindow);
    }
};

static std::atomic<bool> timing;             // times are being taken
static std::atomic<bool> all_times;          // always, as only records count what runs in graphs
static std::atomic<bool> times_wanted;       // a configuration was launched that has none
static std::atomic<u64> launches_timed, launches_seen;

// Called for every launch; true: its record is expected.
static bool count_for_times(bool is_new) {
    launches_seen.fetch_add(1, std::memory_order_relaxed);
    if (timing.load(std::memory_order_relaxed)) {
        launches_timed.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    if (is_new) times_wanted.store(true, std::memory_order_relaxed);
    return false;
}

// Turns times on and off by `turn` for as long as the program runs.
template <class Turn, class Now>
static void take_times_in_windows(Turn turn, Now now) {
    Credit credit;
    double before = seconds();
    for (u64 timed = 0, seen = 0; !all_times;) {
        timespec pause{0, 10000000};
        nanosleep(&pause, nullptr);
        u64 timed_now = launches_timed, seen_now = launches_seen;
        double at = seconds();
        bool wanted = times_wanted.exchange(false);
        bool on = credit.spend(at - before, (double)(timed_now - timed), timing, wanted);
        if (on != timing && !all_times) turn(on);
        if (seen_now != seen) {  // kernels whose times are not taken make the program no shorter
            std::lock_guard<std::mutex> guard(times_lock);
            if (timeline.start) timeline.end = std::max(timeline.end, (u64)now());
        }
        before = at, timed = timed_now, seen = seen_now;
    }
}

}  // namespace kernelwright
