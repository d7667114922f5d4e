// Blocks of threads as fibers: a thread runs until it ends or waits for others of its block.
//
// Blocks run one after the other, in random order; those of a cooperative launch run at once, each
// on a thread of the host. A fault in a kernel ends the launch, not the process.
#include "pretend.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <random>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace pretend {

__attribute__((tls_model("initial-exec"))) thread_local Here* here = nullptr;

namespace {

constexpr unsigned WARP = 32, MOST_THREADS = 1024, MOST_SHARED = 227 << 10;
constexpr size_t STACK = 256 << 10, PAGE = 4096, SIGNAL_STACK = 64 << 10;
constexpr size_t BEYOND = 16 << 20;  // behind shared memory, where nothing is
constexpr unsigned char GARBAGE = 0xa7;  // what shared memory holds before anybody wrote there

enum State : unsigned char { FRESH, READY, AT_BARRIER, IN_WARP, DONE };

struct Fiber {
    ucontext_t start;
    jmp_buf at;
    bool begun = false;
    unsigned thread;
};

struct Thread {
    Here here;
    State state;
    Fiber* fiber;
    unsigned mask, from;  // of the collective it waits in
    Collective kind;
    uint64_t value, result;
};

struct Warp {
    unsigned alive, waiting;  // lanes that run, and those of them that wait in a collective
};

struct GridBarrier {
    const unsigned blocks;
    std::atomic<unsigned> arrived{0}, passed{0};
    std::atomic<bool> broken{false};  // a block will never arrive
};

struct Multiprocessor {  // what one thread of the host needs to run blocks
    std::vector<Fiber> fibers{MOST_THREADS};
    std::vector<Fiber*> idle;
    std::vector<Thread> threads{MOST_THREADS};
    Warp warps[MOST_THREADS / WARP];
    char* stacks = nullptr;
    char* shared = nullptr;  // MOST_SHARED bytes, and BEYOND that nobody may touch
    void* signal_stack = nullptr;
    jmp_buf scheduler;
    sigjmp_buf broken;
    bool guarded = false;
    Fiber* running = nullptr;
    const Grid* grid = nullptr;
    GridBarrier* together = nullptr;
    unsigned count = 0, live = 0, arrived = 0, votes = 0;
    Votes result{};

    Multiprocessor();
    ~Multiprocessor();
    void use_shared(unsigned nbytes);
    void run_block(unsigned index);
    unsigned order = 0, first = 0, next = 0;  // threads begin in order, from a warp on
    unsigned at(unsigned place) const {
        unsigned thread = first + place;
        return thread < order ? thread : thread - order;
    }
    void begin(Thread& thread);
    void resume(unsigned thread);
    void wait();
    void release_barrier();
    void try_warp(unsigned warp, unsigned mask);
    void end_thread();
};

thread_local Multiprocessor* mine = nullptr;

Multiprocessor& own() {
    thread_local Multiprocessor made;  // shared memory keeps what it holds from launch to launch
    return made;
}

void* reserve(size_t nbytes) {
    void* at = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) _exit(98);
    return at;
}

constexpr size_t SHARED_PAGES = (MOST_SHARED + PAGE - 1) / PAGE * PAGE;

Multiprocessor::Multiprocessor() {
    stacks = static_cast<char*>(reserve(STACK * MOST_THREADS));
    for (unsigned i = 0; i < MOST_THREADS; ++i) mprotect(stacks + i * STACK, PAGE, PROT_NONE);
    shared = static_cast<char*>(reserve(SHARED_PAGES + BEYOND));
    __builtin_memset(shared, GARBAGE, SHARED_PAGES);
    signal_stack = reserve(SIGNAL_STACK);
    stack_t other{};
    other.ss_sp = signal_stack;
    other.ss_size = SIGNAL_STACK;
    sigaltstack(&other, nullptr);
}

Multiprocessor::~Multiprocessor() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(stacks, STACK * MOST_THREADS);
    munmap(shared, SHARED_PAGES + BEYOND);
    munmap(signal_stack, SIGNAL_STACK);
}

void Multiprocessor::use_shared(unsigned nbytes) {
    size_t used = (nbytes + PAGE - 1) / PAGE * PAGE;
    mprotect(shared, SHARED_PAGES, PROT_READ | PROT_WRITE);
    mprotect(shared + used, SHARED_PAGES + BEYOND - used, PROT_NONE);
}

void fiber_main() {
    for (;;) {
        Multiprocessor& m = *mine;
        m.grid->call(m.grid->params);
        m.end_thread();
    }
}

// Back to the scheduler; returns when it resumes this fiber.
void Multiprocessor::wait() {
    if (!_setjmp(running->at)) _longjmp(scheduler, 1);
}

void Multiprocessor::end_thread() {
    Thread& thread = threads[running->thread];
    thread.state = DONE;
    --live;
    if (arrived && arrived == live) release_barrier();
    Warp& warp = warps[thread.here.warp];
    warp.alive &= ~(1u << thread.here.lane);
    if (warp.waiting) {
        unsigned first = thread.here.warp * WARP;
        for (unsigned i = first; i < first + WARP && i < count; ++i)
            if (threads[i].state == IN_WARP) try_warp(thread.here.warp, threads[i].mask);
    }
    while (next < order) {  // straight on with a thread that has not begun
        unsigned other = at(next++);
        if (other >= count || threads[other].state != FRESH) continue;
        begin(threads[other]);
        return;
    }
    idle.push_back(running);
    wait();
}

void Multiprocessor::begin(Thread& thread) {
    thread.fiber = running;
    thread.state = READY;
    running->thread = static_cast<unsigned>(&thread - threads.data());
    here = &thread.here;
}

void Multiprocessor::resume(unsigned thread) {
    Thread& t = threads[thread];
    if (t.state == FRESH) {
        running = idle.back();
        idle.pop_back();
        begin(t);
    }
    here = &t.here;
    running = t.fiber;
    if (_setjmp(scheduler)) return;
    if (running->begun) _longjmp(running->at, 1);
    running->begun = true;
    getcontext(&running->start);
    running->start.uc_stack.ss_sp = stacks + (running - fibers.data()) * STACK + PAGE;
    // Tops at different places of a page, or all of them fight for the same lines of a cache.
    running->start.uc_stack.ss_size = STACK - PAGE - (running - fibers.data()) % 32 * 448;
    running->start.uc_link = nullptr;
    makecontext(&running->start, fiber_main, 0);
    setcontext(&running->start);
}

void Multiprocessor::release_barrier() {
    for (unsigned i = 0; i < count; ++i)
        if (threads[i].state == AT_BARRIER) threads[i].state = READY;
    result = {votes, arrived};
    arrived = votes = 0;
}

void Multiprocessor::try_warp(unsigned warp, unsigned mask) {
    Thread* lanes = &threads[warp * WARP];
    unsigned here = mask & warps[warp].alive;
    if ((warps[warp].waiting & here) != here) return;
    for (unsigned l = 0; l < WARP; ++l)
        if (here >> l & 1 && lanes[l].mask != mask) return;
    warps[warp].waiting &= ~here;
    for (unsigned l = 0; l < WARP; ++l) {
        if (!(here >> l & 1)) continue;
        Thread& t = lanes[l];
        if (t.kind == SHUFFLE) {
            t.result = here >> t.from & 1 ? lanes[t.from].value : t.value;
        } else {
            t.result = 0;
            for (unsigned k = 0; k < WARP; ++k) {
                bool same = t.kind == MATCH ? lanes[k].value == t.value : lanes[k].value != 0;
                if (here >> k & 1 && same) t.result |= 1u << k;
            }
        }
        t.state = READY;
    }
}

[[noreturn]] void hang() {
    for (;;) usleep(1000);
}

void Multiprocessor::run_block(unsigned index) {
    thread_local std::minstd_rand random{std::random_device{}()};
    uint3 b = grid->blocks, n = grid->threads;
    count = live = n.x * n.y * n.z;
    arrived = votes = 0;
    idle.clear();
    for (unsigned i = count; i-- > 0;) idle.push_back(&fibers[i]);
    uint3 block{index % b.x, index / b.x % b.y, index / b.x / b.y}, thread{0, 0, 0};
    for (unsigned i = 0; i < count; ++i) {
        threads[i].here = {thread, block, n, b, i % WARP, i / WARP};
        threads[i].state = FRESH;
        if (++thread.x == n.x) {
            thread.x = 0;
            if (++thread.y == n.y) thread.y = 0, ++thread.z;
        }
    }
    for (unsigned w = 0; w * WARP < count; ++w) {
        unsigned lanes = count - w * WARP;
        warps[w] = {lanes < WARP ? (1u << lanes) - 1 : ~0u, 0};
    }
    order = (count + WARP - 1) / WARP * WARP;
    first = random() % (order / WARP) * WARP;
    next = 0;
    while (live) {
        bool ran = false;
        for (unsigned i = 0; i < order; ++i) {
            unsigned t = at(i);
            if (t >= count || threads[t].state > READY) continue;
            resume(t);
            ran = true;
        }
        if (!ran) hang();  // all wait for what nobody will do, as on a GPU
    }
}

void on_fault(int number, siginfo_t* info, void* context) {
    Multiprocessor* m = mine;
    if (!m || !m->guarded) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    int code = LAUNCH_FAILED;
    if (number == SIGILL) code = MISALIGNED;  // what -fsanitize=alignment does
    if (number == SIGSEGV || number == SIGBUS) code = ILLEGAL_ADDRESS;
#if defined(__x86_64__)
    auto* at = static_cast<ucontext_t*>(context);
    if (reinterpret_cast<greg_t>(info->si_addr) == at->uc_mcontext.gregs[REG_RIP])
        if (number == SIGSEGV) code = INVALID_PC;
#endif
    siglongjmp(m->broken, code);
}

void catch_faults() {
    static const bool done = [] {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
        return true;
    }();
    (void)done;
}

void run_alone(void* data) {
    Multiprocessor& m = own();
    const Grid& grid = *static_cast<const Grid*>(data);
    static thread_local std::minstd_rand random{std::random_device{}()};
    unsigned blocks = grid.blocks.x * grid.blocks.y * grid.blocks.z;
    // Every block once, in an order of no meaning: a step that shares no divisor with their number.
    unsigned step = blocks, at = random() % blocks;
    auto divisor = [](unsigned a, unsigned b) {
        while (b) { unsigned rest = a % b; a = b; b = rest; }
        return a;
    };
    do step = 1 + random() % blocks; while (divisor(blocks, step) != 1);
    m.grid = &grid;
    m.together = nullptr;
    m.use_shared(grid.shared);
    for (unsigned i = 0; i < blocks; ++i) {
        m.run_block(at);
        at = static_cast<unsigned>((uint64_t(at) + step) % blocks);
    }
}

struct OfCooperative {
    const Grid* grid;
    GridBarrier* together;
    unsigned index;
    int code;
};

void run_one(void* data) {
    auto& work = *static_cast<OfCooperative*>(data);
    Multiprocessor& m = own();
    m.grid = work.grid;
    m.together = work.together;
    m.use_shared(work.grid->shared);
    m.run_block(work.index);
}

int run_together(const Grid& grid) {
    unsigned blocks = grid.blocks.x * grid.blocks.y * grid.blocks.z;
    GridBarrier together{blocks};
    std::vector<OfCooperative> work(blocks);
    std::vector<std::thread> running;
    for (unsigned i = 0; i < blocks; ++i) {
        work[i] = {&grid, &together, i, 0};
        running.emplace_back([&, i] {
            work[i].code = guarded(run_one, &work[i]);
            if (work[i].code) together.broken = true;
        });
    }
    int code = 0;
    for (auto& thread : running) thread.join();
    for (auto& each : work) code = code ? code : each.code;
    return code;
}

}  // namespace

int guarded(void (*work)(void*), void* data) {
    catch_faults();
    Multiprocessor& m = own();
    mine = &m;
    int code = sigsetjmp(m.broken, 1);
    if (code) {
        for (Fiber& fiber : m.fibers) fiber.begun = false;  // what they were at is given up
    } else {
        m.guarded = true;
        work(data);
    }
    m.guarded = false;
    return code;
}

int run(const Grid& grid) {
    if (grid.cooperative) return run_together(grid);
    return guarded(run_alone, const_cast<Grid*>(&grid));
}

Votes barrier(bool value) {
    Multiprocessor& m = *mine;
    m.votes += value;
    if (++m.arrived == m.live) {
        m.release_barrier();
    } else {
        m.threads[m.running->thread].state = AT_BARRIER;
        m.wait();
    }
    return m.result;
}

uint64_t collective(Collective kind, unsigned mask, uint64_t value, unsigned from) {
    Multiprocessor& m = *mine;
    Thread& t = m.threads[m.running->thread];
    mask |= 1u << t.here.lane;
    t.kind = kind;
    t.mask = mask;
    t.value = value;
    t.from = from;
    t.state = IN_WARP;
    m.warps[t.here.warp].waiting |= 1u << t.here.lane;
    m.try_warp(t.here.warp, mask);
    if (t.state == IN_WARP) m.wait();
    return t.result;
}

void grid_barrier() {
    Multiprocessor& m = *mine;
    if (!m.together) fail(LAUNCH_FAILED);
    barrier(false);
    if (m.running->thread == 0) {
        GridBarrier& all = *m.together;
        unsigned turn = all.passed;
        if (++all.arrived == all.blocks) {
            all.arrived = 0;
            ++all.passed;
        }
        while (all.passed == turn) {
            if (all.broken) fail(LAUNCH_FAILED);
            usleep(20);
        }
    }
    barrier(false);
}

void fail(int code) { siglongjmp(mine->broken, code); }

void leave() {
    mine->running->begun = false;  // the fiber starts at its beginning for another thread
    mine->end_thread();
    __builtin_unreachable();
}

void pause() { mine->wait(); }

void* dynamic_shared() { return own().shared; }

uint64_t nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void sleep(unsigned nanoseconds) {
    timespec span{0, static_cast<long>(nanoseconds < 1000000 ? nanoseconds : 1000000)};
    nanosleep(&span, nullptr);
    pause();
}

}  // namespace pretend
