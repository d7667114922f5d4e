// The process in which one host C++ variant runs: it maps the arena, confines itself, loads
// the shared object and then calls it whenever the runner says go. It holds no clock, no
// expected value and no verdict; all it can say is "ready", "done" and "load failed".
//
// usage: executor GO_FD DONE_FD ARENA_FD PARENT_PID
// GO_FD carries first one Setup with its parts, then one Go for each run.
// DONE_FD carries 'S' (started), 'R' (ready), 'D' (done), 'E' and a text (load failed) or, just
// before a fatal signal ends the process, one Crash.

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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

struct Setup {
  std::uint64_t arena_bytes;
  std::uint64_t memory_limit;  // RLIMIT_AS in bytes, 0: none
  std::uint64_t output_limit;  // RLIMIT_FSIZE in bytes
  std::uint32_t params;        // of one call
  std::uint32_t sets;          // calls with buffers of their own
  std::uint32_t filter_bytes;  // seccomp program
  std::uint32_t paths_bytes;   // zero-terminated names: shared object, symbol, readable folders
};

struct Param {
  std::uint32_t is_pointer;
  std::uint32_t reserved;
  unsigned char raw[16];  // an offset into the arena, or the value itself
};

struct Go {
  std::uint32_t count;  // of the sets that follow, in the order in which they are called
};

struct __attribute__((packed)) Crash {
  char tag;              // 'X'
  std::int32_t number;   // of the signal
  std::int32_t code;     // si_code
  std::uint64_t address;
  std::uint64_t stack;   // stack pointer, 0: unknown
  std::uint64_t stack_end;
};

constexpr std::size_t kFence = 1 << 20;  // unmapped memory on both sides of the arena
constexpr int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;  // linux/landlock.h

[[noreturn]] void fail(int done, const std::string& why) {
  const std::string text = "E" + why;
  (void)!write(done, text.data(), text.size());
  _exit(70);
}

bool read_all(int fd, void* into, std::size_t bytes) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = read(fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

char* map_arena(int fd, std::size_t bytes, int done) {
  auto* space = static_cast<char*>(mmap(nullptr, bytes + 2 * kFence, PROT_NONE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (space == MAP_FAILED) fail(done, "no address space for the arena");
  void* arena = mmap(space + kFence, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
  if (arena == MAP_FAILED) fail(done, "the arena cannot be mapped");
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
std::uint64_t stack_end = 0;

// Says how it crashed, so that people are told more than a signal's name; decides nothing.
void report_crash(int number, siginfo_t* info, void* context) {
  Crash crash{'X', number, info->si_code, reinterpret_cast<std::uint64_t>(info->si_addr), 0,
              stack_end};
#if defined(__x86_64__)
  crash.stack = static_cast<std::uint64_t>(
      static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  crash.stack = static_cast<ucontext_t*>(context)->uc_mcontext.sp;
#else
  crash.stack_end = 0;
#endif
  (void)!write(crash_fd, &crash, sizeof crash);
  syscall(SYS_tgkill, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), number);
}

void report_crashes(int done) {
  static char stack[64 << 10];  // a stack that overflowed has no room for a handler
  const stack_t other{stack, 0, sizeof stack};
  sigaltstack(&other, nullptr);
  crash_fd = done;
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

void drop_capabilities() {
  struct { std::uint32_t version; int pid; } header{0x20080522, 0};
  std::uint32_t none[6] = {};
  syscall(SYS_capset, &header, none);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const int go = std::atoi(argv[1]), done = std::atoi(argv[2]), arena_fd = std::atoi(argv[3]);
  prctl(PR_SET_NAME, "executor");  // for people: it is started by a descriptor, which is a number
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[4])) return 1;
  signal(SIGXFSZ, SIG_IGN);  // too much output is an error of the write, not a death

  if (write(done, "S", 1) != 1) return 1;
  Setup setup{};
  if (!read_all(go, &setup, sizeof setup)) return 1;
  std::vector<Param> params(std::size_t{setup.params} * setup.sets);
  std::vector<char> filter(setup.filter_bytes), names(setup.paths_bytes);
  if (!read_all(go, params.data(), params.size() * sizeof(Param)) ||
      !read_all(go, filter.data(), filter.size()) || !read_all(go, names.data(), names.size()))
    return 1;

  char* arena = map_arena(arena_fd, setup.arena_bytes, done);
  close(arena_fd);
  std::vector<void*> pointers(params.size()), calls(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    std::uint64_t offset = 0;
    std::memcpy(&offset, params[i].raw, sizeof offset);
    pointers[i] = arena + offset;
    calls[i] = params[i].is_pointer ? static_cast<void*>(&pointers[i]) : params[i].raw;
  }
  std::vector<const char*> words;
  for (const char* at = names.data(); at < names.data() + names.size(); at += std::strlen(at) + 1)
    words.push_back(at);
  const char *object = words.at(0), *symbol = words.at(1);

  be_killed_first();
  report_crashes(done);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, setup.output_limit);
  if (setup.memory_limit) limit(RLIMIT_AS, setup.memory_limit);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  drop_capabilities();
  restrict_files({words.begin() + 2, words.end()});
  if (!filter.empty()) {
    const sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                             reinterpret_cast<sock_filter*>(filter.data())};
    // Not through prctl: before Linux 5.16 that also switches on a mitigation (SSBD) which
    // slows the very code that is timed here.
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program))
      fail(done, "seccomp refused the program");
  }

  void* handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fail(done, dlerror());
  auto* entry = reinterpret_cast<void (*)(void**)>(dlsym(handle, symbol));
  if (!entry) fail(done, std::string("no symbol ") + symbol);

  if (write(done, "R", 1) != 1) return 1;
  Go run{};
  std::vector<std::uint32_t> order(setup.sets);
  while (read_all(go, &run, sizeof run)) {
    if (run.count > order.size() || !read_all(go, order.data(), run.count * sizeof order[0]))
      return 1;
    for (std::uint32_t i = 0; i < run.count; ++i)
      entry(calls.data() + std::size_t{order[i]} * setup.params);
    if (write(done, "D", 1) != 1) return 1;
  }
  _exit(0);
}
