// The process in which one host C++ variant runs: it maps the arena, confines itself, loads
// the shared object and then calls it whenever the runner says go. It holds no clock, no
// expected value and no verdict; all it can say is "ready", "done" and "load failed".
//
// usage: executor GO_FD DONE_FD ARENA_FD PARENT_PID
// GO_FD carries first one Setup with its parts, then for each call where its set of buffers begins
// in the arena, and kEnd behind the last call of a run. It is read one call at a time, so that
// nothing in this process says which call comes next, or whether one does.
// DONE_FD carries 'S' and the address of `system_call` (started), 'R' (ready), 'D' (done), 'E' and a
// text (load failed) or, just before a fatal signal ends the process, one Crash.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

struct Setup {
  std::uint64_t arena_bytes;
  std::uint64_t memory_limit;  // RLIMIT_AS in bytes, 0: none
  std::uint64_t output_limit;  // RLIMIT_FSIZE in bytes
  std::uint32_t params;        // of a call
  std::uint32_t holes;         // stretches of the arena at which no memory is to be
  std::uint32_t filter_bytes;  // seccomp program
  std::uint32_t paths_bytes;   // zero-terminated names: shared object, symbol, readable folders
  std::uint32_t clocks;        // 1: the variant may read the processor's
  std::uint32_t loaded_bytes;  // seccomp program for when it is loaded, 0: none
};

struct Param {
  std::uint32_t is_pointer;
  std::uint32_t reserved;
  unsigned char raw[16];  // an offset into the set of the call, or the value itself
};

struct Hole {
  std::uint64_t start, end;  // whole pages, offsets into the arena
};

constexpr std::uint64_t kEnd = ~std::uint64_t{0};  // of a run

struct __attribute__((packed)) Crash {
  char tag;              // 'X'
  std::int32_t number;   // of the signal
  std::int32_t code;     // si_code
  std::uint64_t address;
  std::uint64_t stack;   // stack pointer, 0: unknown
  std::uint64_t stack_end;
  std::uint64_t arena;
};

constexpr std::int32_t kClockRead = 0x7C10C;  // in place of a si_code: rdtsc, rdtscp, vDSO
constexpr std::size_t kFence = 1 << 20;  // unmapped memory on both sides of the arena
constexpr int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;  // linux/landlock.h

// The only instruction from which the system lets anybody read GO_FD or write DONE_FD once the
// filter is in force (`compute_filter`): a variant's own code can do neither.
extern "C" long executor_call(long number, long fd, void* data, unsigned long bytes);
extern "C" const char executor_call_made[];
#if defined(__x86_64__)
asm(R"(
.text
.globl executor_call, executor_call_made
.hidden executor_call, executor_call_made
executor_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  syscall
executor_call_made:
  ret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl executor_call, executor_call_made
.hidden executor_call, executor_call_made
executor_call:
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  svc #0
executor_call_made:
  ret
)");
#else
long executor_call(long number, long fd, void* data, unsigned long bytes) {
  const long got = syscall(number, fd, data, bytes);
  return got < 0 ? -errno : got;
}
const char executor_call_made[1] = {};
#endif

bool say(int done, const void* data, std::size_t bytes) {
  return executor_call(SYS_write, done, const_cast<void*>(data), bytes) ==
         static_cast<long>(bytes);
}

[[noreturn]] void fail(int done, const std::string& why) {
  const std::string text = "E" + why;
  (void)say(done, text.data(), text.size());
  _exit(70);
}

bool read_all(int fd, void* into, std::size_t bytes) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    const long got = executor_call(SYS_read, fd, at, bytes);
    if (got == -EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

char* map_arena(int fd, std::size_t bytes, const std::vector<Hole>& holes, int done) {
  auto* space = static_cast<char*>(mmap(nullptr, bytes + 2 * kFence, PROT_NONE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (space == MAP_FAILED) fail(done, "no address space for the arena");
  void* arena = mmap(space + kFence, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
  if (arena == MAP_FAILED) fail(done, "the arena cannot be mapped");
  for (const Hole& hole : holes)
    if (mmap(static_cast<char*>(arena) + hole.start, hole.end - hole.start, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      fail(done, "the arena has no room for holes");
  return static_cast<char*>(arena);
}

void limit(int what, std::uint64_t value) {
  const rlimit both{value, value};
  setrlimit(static_cast<__rlimit_resource>(what), &both);
}

// Reading these files, and beneath these folders, nothing else; a kernel without landlock leaves
// it to seccomp.
void restrict_files(const std::vector<const char*>& readable) {
  constexpr std::uint64_t kAll = (1u << 13) - 1, kReadDir = 1u << 3,
                          kRead = 1u << 0 | 1u << 2 | kReadDir;
  struct { std::uint64_t fs; } attributes{kAll};
  const long ruleset = syscall(kCreateRuleset, &attributes, sizeof attributes, 0);
  if (ruleset < 0) return;
  for (const char* path : readable) {
    const int parent = open(path, O_PATH | O_CLOEXEC);
    if (parent < 0) continue;
    struct stat found{};
    const bool folder = fstat(parent, &found) == 0 && S_ISDIR(found.st_mode);
    struct __attribute__((packed)) { std::uint64_t access; std::int32_t fd; } rule{
        folder ? kRead : kRead & ~kReadDir, parent};
    syscall(kAddRule, static_cast<int>(ruleset), 1, &rule, 0);
    close(parent);
  }
  syscall(kRestrictSelf, static_cast<int>(ruleset), 0);
  close(static_cast<int>(ruleset));
}

int crash_fd = -1;
std::uint64_t stack_end = 0, arena_start = 0, clock_start = 0, clock_end = 0;

// Says how it crashed, so that people are told more than a signal's name; decides nothing.
void report_crash(int number, siginfo_t* info, void* context) {
  Crash crash{'X', number, info->si_code, reinterpret_cast<std::uint64_t>(info->si_addr), 0,
              stack_end, arena_start};
  if (number == SIGSEGV && crash.address >= clock_start && crash.address < clock_end)
    crash.code = kClockRead;
#if defined(__x86_64__)
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  crash.stack = static_cast<std::uint64_t>(registers[REG_RSP]);
  if (number == SIGSEGV && info->si_code == SI_KERNEL) {
    const auto* at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
    if (at[0] == 0x0f && (at[1] == 0x31 || (at[1] == 0x01 && at[2] == 0xf9))) crash.code = kClockRead;
  }
#elif defined(__aarch64__)
  crash.stack = static_cast<ucontext_t*>(context)->uc_mcontext.sp;
#else
  crash.stack_end = 0;
#endif
  (void)say(crash_fd, &crash, sizeof crash);
  syscall(SYS_tgkill, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), number);
}

void report_crashes(int done, const char* arena) {
  static char stack[64 << 10];  // a stack that overflowed has no room for a handler
  const stack_t other{stack, 0, sizeof stack};
  sigaltstack(&other, nullptr);
  crash_fd = done;
  arena_start = reinterpret_cast<std::uint64_t>(arena);
  rlimit bound{};
  char here = 0;
  if (getrlimit(RLIMIT_STACK, &bound) == 0 && bound.rlim_cur != RLIM_INFINITY)
    stack_end = reinterpret_cast<std::uint64_t>(&here) - bound.rlim_cur;
  struct sigaction action{};
  action.sa_sigaction = report_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &action, nullptr);
}

// When memory runs out, the system is to take this process and not the server.
void be_killed_first() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "1000", 4);
  close(fd);
}

// The memory from which the vDSO tells whole seconds and ticks without any instruction of a clock.
// A system that seals it (CONFIG_MSEAL_SYSTEM_MAPPINGS) keeps it.
void forget_the_time() {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  unsigned long long start = 0, end = 0;
  while (maps && std::fgets(line, sizeof line, maps)) {
    if (!std::strstr(line, "[vvar") || std::sscanf(line, "%llx-%llx", &start, &end) != 2 ||
        munmap(reinterpret_cast<void*>(start), end - start) != 0)
      continue;
    if (clock_end != start) clock_start = start;
    clock_end = end;
  }
  if (maps) std::fclose(maps);
}

// The C library's restartable sequences, in which the system notes whenever it takes a thread from its
// core: that sets calls of a sample apart from single ones. Other threads have none: the filter lets the
// call by which they are registered do nothing.
void forget_interruptions() {
#ifdef RSEQ_SIG
  auto* own = reinterpret_cast<struct rseq*>(
      static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
  for (const unsigned bytes : {32u, __rseq_size})
    if (syscall(SYS_rseq, own, bytes, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0)
      own->cpu_id = static_cast<std::uint32_t>(RSEQ_CPU_ID_REGISTRATION_FAILED);
#endif
}

// Bound by one more program, from the instruction from which alone that is allowed by then.
bool bind(const std::vector<char>& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                           reinterpret_cast<sock_filter*>(const_cast<char*>(filter.data()))};
  // Not through prctl: before Linux 5.16 that also switches on a mitigation (SSBD) which
  // slows the very code that is timed here.
  auto* flags = reinterpret_cast<void*>(SECCOMP_FILTER_FLAG_SPEC_ALLOW);
  return filter.empty() || executor_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
                                         reinterpret_cast<unsigned long>(&program)) == 0;
}

void drop_capabilities() {
  struct { std::uint32_t version; int pid; } header{0x20080522, 0};
  std::uint32_t none[6] = {};
  syscall(SYS_capset, &header, none);
}

// What tells one run of a program from another: its name and arguments, and once libraries have
// read it, its environment. Copies of them end where the stack began.
void forget(char** texts) {
  for (; *texts; ++texts) {
    std::memset(*texts, 0, std::strlen(*texts));
    *texts = nullptr;
  }
}

void forget_our_file() {
  if (auto* name = reinterpret_cast<char*>(getauxval(AT_EXECFN)))
    std::memset(name, 0, std::strlen(name));
}

struct Calls {
  char* arena;
  const std::vector<Param>& params;
  std::vector<std::uint64_t> values;
  std::vector<void*> call;  // what the entry is handed: a pointer to each value

  Calls(char* at, const std::vector<Param>& of)
      : arena(at), params(of), values(2 * of.size()), call(of.size()) {}

  // Those of the set that begins there: made when its call is due, and not before.
  void** of(std::uint64_t set) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      std::uint64_t* value = &values[2 * i];
      std::memcpy(value, params[i].raw, sizeof params[i].raw);
      if (params[i].is_pointer)
        *value = reinterpret_cast<std::uint64_t>(arena) + set + *value;
      call[i] = value;
    }
    return call.data();
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const int go = std::atoi(argv[1]), done = std::atoi(argv[2]), arena_fd = std::atoi(argv[3]);
  prctl(PR_SET_NAME, "executor");  // for people: it is started by a descriptor, which is a number
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[4])) return 1;
  signal(SIGXFSZ, SIG_IGN);  // too much output is an error of the write, not a death
  setvbuf(stdout, nullptr, _IOLBF, 0);  // it is killed in the end: lines are kept as they come

  forget(argv);
  forget_our_file();
  struct __attribute__((packed)) { char tag; std::uint64_t at; } started{
      'S', reinterpret_cast<std::uint64_t>(executor_call_made)};
  if (!say(done, &started, sizeof started)) return 1;
  Setup setup{};
  if (!read_all(go, &setup, sizeof setup)) return 1;
  std::vector<Param> params(setup.params);
  std::vector<Hole> holes(setup.holes);
  std::vector<char> filter(setup.filter_bytes), loaded(setup.loaded_bytes);
  std::vector<char> names(setup.paths_bytes);
  if (!read_all(go, params.data(), params.size() * sizeof(Param)) ||
      !read_all(go, holes.data(), holes.size() * sizeof(Hole)) ||
      !read_all(go, filter.data(), filter.size()) ||
      !read_all(go, loaded.data(), loaded.size()) || !read_all(go, names.data(), names.size()))
    return 1;

  char* arena = map_arena(arena_fd, setup.arena_bytes, holes, done);
  close(arena_fd);
  Calls calls(arena, params);
  std::vector<const char*> words;
  for (const char* at = names.data(); at < names.data() + names.size(); at += std::strlen(at) + 1)
    words.push_back(at);
  const char *object = words.at(0), *symbol = words.at(1);

  be_killed_first();
  report_crashes(done, arena);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, setup.output_limit);
  if (setup.memory_limit) limit(RLIMIT_AS, setup.memory_limit);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!setup.clocks) {
    forget_the_time();
    forget_interruptions();
  }
#ifdef PR_SET_TSC  // x86: reading the processor's clock ends the process
  if (!setup.clocks) prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#endif
  drop_capabilities();
  restrict_files({words.begin() + 2, words.end()});
  if (!bind(filter)) fail(done, "seccomp refused the program");

  void* handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fail(done, dlerror());
  auto* entry = reinterpret_cast<void (*)(void**)>(dlsym(handle, symbol));
  if (!entry) fail(done, std::string("no symbol ") + symbol);

  forget(environ);
  if (!bind(loaded)) fail(done, "seccomp refused a further program");

  if (!say(done, "R", 1)) return 1;
  std::uint64_t due = kEnd;
  while (read_all(go, &due, sizeof due)) {
    if (due != kEnd)
      entry(calls.of(due));
    else if (!say(done, "D", 1))
      return 1;
  }
  _exit(0);
}
