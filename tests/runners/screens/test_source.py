"""The static screen: what reaches out of a kernel is named; names of its own are its own."""

from __future__ import annotations

import pytest

from kernelwright.runners.screens.cpp import HOST_CPP
from kernelwright.runners.screens.source import static_screen
from kernelwright.runners.specs.io_contract import Contract

KERNEL = 'extern "C" void k(const float* x, float* y, int n) {{\n  {}\n}}\n'

BLOCKED = [
    ("auto t = clock();", "clock"),
    ("std::timespec_get(&t, TIME_UTC);", "timespec_get"),
    ("uname(&u);", "uname"),
    ("int id = shmget(key, 4096, 0600);", "shmget"),
    ("void* kept = shmat(id, nullptr, 0);", "shmat"),
    ("sem_t* s = sem_open(name, 0);", "sem_open"),
    ("pthread_getname_np(pthread_self(), s, 16);", "pthread_getname_np"),
    ("auto s = program_invocation_short_name;", "program_invocation_short_name"),
    ("char** e = __environ;", "__environ"),
    ("if (__INCLUDE_LEVEL__ > 0) y[0] = x[0];", "__INCLUDE_LEVEL__"),
    ("getauxval(31);", "getauxval"),
    ("auto p = __builtin_frame_address(1);", "__builtin_frame_address"),
    ("int p = getppid();", "getppid"),
    ("long t = time(nullptr);", "time"),
    ("long t = (time)(nullptr);", "time"),
    ("long t = ::time(nullptr);", "time"),
    ("long t = std::time(nullptr);", "time"),
    ("auto t = std::chrono::steady_clock::now();", "steady_clock"),
    ("std::chrono::steady_clock::time_point t;", "steady_clock"),
    ("using clk = std::chrono::steady_clock;", "steady_clock"),
    ("double t = omp_get_wtime();", "omp_get_wtime"),
    ("unsigned long t = __rdtsc();", "__rdtsc"),
    ("unsigned long t = __builtin_ia32_rdtsc();", "__builtin_ia32_rdtsc"),
    ('system("true");', "system"),
    ("int (*f)(const char*) = system;", "system"),
    ("int (*f)(const char*) = &system;", "system"),
    ("auto f = std::system;", "system"),
    ("using std::system;", "system"),
    ("run(system);", "system"),
    ("if (fork() == 0) {}", "fork"),
    ('execve("a", 0, 0);', "execve"),
    ('auto h = dlopen("libc.so.6", 1);', "dlopen"),
    ("syscall(1);", "syscall"),
    ("kill(1, 9);", "kill"),
    ("int s = socket(1, 2, 3);", "socket"),
    ("send(3, y, 4, 0);", "send"),
    ('FILE* f = fopen("a", "b");', "fopen"),
    ('std::ofstream f("a");', "ofstream"),
    ('int f = open64("a", 0);', "open64"),
    ("struct stat s; fstat(1, &s);", "stat"),
    ('bool b = access("a", 0) == 0;', "access"),
    ('readlink("a", at, 64);', "readlink"),
    ('bool b = std::filesystem::exists("a");', "filesystem"),
    ('ofstream f("a");', "ofstream"),
    ("exit(0);", "exit"),
    ("_exit(0);", "_exit"),
    ("quick_exit(1);", "quick_exit"),
    ('getenv("HOME");', "getenv"),
    ("extern char** environ; char* e = environ[0];", "environ"),
    ("signal(11, handler);", "signal"),
    ("struct sigaction a;", "sigaction"),
    ("std::atexit(f);", "atexit"),
    ("std::thread(work).detach();", "detach"),
    ("worker->detach();", "detach"),
    ("y[time(0)] = 0;", "time"),
    ("float a[2] = {1, (float)time(0)};", "time"),
    ("auto f = [&] { return clock(); };", "clock"),
]

HARMLESS = [
    "float time = 0.5f; y[0] = time * x[0];",
    "float stat = x[0]; y[0] = stat + table.access(x[0]);",
    "float time_step = 0.1f; y[0] = time_step;",
    "for (int time = 0; time < n; ++time) y[time] = x[time];",
    "for (const float& signal : row) y[0] += signal;",
    "float *send = y, recv = 0; send[0] = recv;",
    "int kill[4] = {0}; y[0] = kill[1];",
    "y[0] = p->time + p.system;",
    "y[0] = p->time() + q.kill(3);",
    "Point p{.time = 1}; y[0] = p.time;",
    "if (!x) std::abort();",
    "assert(x != nullptr && n > 0);",
    "auto exit = [&](int i) { return y[i]; }; exit(3);",
    "float time(0.5f); y[0] = time;",
    "auto [time, exit] = both(n); y[0] = time + exit;",
    "auto f = [time = n] { return time; };",
    "struct Clock { int clock; }; Clock c; y[0] = c.clock;",
    "enum { exit, open }; y[exit] = open;",
    "// time(0); system()",
    '/* fork() */ const char* s = "system(1)";',
    "float runtime = 1, timeout = 2, signals = 3, rebind = 4; y[0] = runtime;",
    "bool detach = true, constructor = false; if (detach) y[0] = constructor;",
    "#pragma omp parallel for schedule(static, 8)\n  for (int i = 0; i < n; ++i) y[i] = 0;",
    "#pragma omp parallel for private(time)\n  for (int time = 0; time < n; ++time) y[0] = 0;",
]


@pytest.mark.parametrize(("body", "name"), BLOCKED)
def test_what_reaches_out_is_refused_by_name_and_line(body: str, name: str) -> None:
    found = static_screen(KERNEL.format(body), "cpp")
    assert found.outcome == "failed"
    assert found.message.startswith(f"line 2: `{name}` ")
    assert "a kernel computes and does nothing else" in found.message


@pytest.mark.parametrize("body", HARMLESS)
def test_a_kernels_own_names_members_comments_and_strings_pass(body: str) -> None:
    found = static_screen(KERNEL.format(body), "cpp")
    assert found.outcome != "failed", found.message


@pytest.mark.parametrize("name", ["time", "exit", "signal", "bind", "system", "kill", "send"])
def test_a_parameter_or_function_of_that_name_is_the_sources_own(name: str) -> None:
    as_parameter = f"void k(float {name}, float* y) {{ y[0] = {name}; }}"
    assert static_screen(as_parameter, "cpp").outcome == "passed"
    as_function = f"float {name}(float a) {{ return a; }} void k(float* y) {{ y[0] = {name}(1); }}"
    assert static_screen(as_function, "cpp").outcome == "passed"


@pytest.mark.parametrize("name", ["time", "uname"])
def test_an_allowed_name_is_told_with_its_reason_and_blocks_no_more(name: str) -> None:
    allow = [{"name": name, "reason": "each call is stamped for its caller"}]
    output = {"name": "y", "role": "output", "dtype": "float32", "shape": [4]}
    contract = Contract.model_validate({"arguments": [output], "allow": allow})
    found = static_screen(f"void k(float* y) {{ y[0] = {name}(0); }}", "cpp", "k", contract)
    assert found.outcome == "note" and "stamped for its caller" in found.message


@pytest.mark.parametrize("name", ["time", "kill", "system", "exit"])
def test_a_variable_of_that_name_does_not_excuse_a_call(name: str) -> None:
    source = f"void f(float {name}) {{}}\nvoid k(float* y) {{ {name}(0); }}"
    assert static_screen(source, "cpp").message.startswith(f"line 2: `{name}`")


def test_a_prototype_alone_is_fine_and_does_not_excuse_a_call() -> None:
    prototype = 'extern "C" int system(const char*);\n'
    assert static_screen(prototype, "cpp").outcome == "passed"
    found = static_screen(prototype + 'void k() { system("true"); }', "cpp")
    assert found.message.startswith("line 2: `system`")


@pytest.mark.parametrize(
    "macro",
    [
        "#define NOW() clock_gettime(0, &t)",
        "#define NOW clock",
        "#define NOW std::chrono::steady_clock::now()",
        "#define NOW ::time(0)",
        "#define F(a) do { fork(); } while (0)",
        "#define A 1 + \\\n  fork()",
    ],
)
def test_calls_in_macro_bodies_are_found(macro: str) -> None:
    found = static_screen(f"\n{macro}\nvoid k() {{}}", "cpp")
    assert found.outcome == "failed"
    assert found.message.startswith("line 2: ")


@pytest.mark.parametrize(
    "macro",
    [
        '#define NAME "system()"',
        "#define SCALE(time) ((time) * 2)",
        "#define GET(p) p->time",
        "#define GET(p) (p).kill()",
        "#define A 1  // fork()",
        "#define A 1  /* fork() */",
    ],
)
def test_strings_comments_parameters_and_members_in_macros_pass(macro: str) -> None:
    found = static_screen(f"{macro}\nvoid k() {{}}", "cpp")
    assert found.outcome == "passed", found.message


@pytest.mark.parametrize(
    "source",
    [
        "__attribute__((constructor)) void init() {}",
        "__attribute__((constructor(101))) static void init() {}",
        "[[gnu::constructor]] void init() {}",
        "bool constructor = true;\n__attribute__((constructor)) void init() {}",
    ],
)
def test_code_that_runs_when_it_is_loaded_is_refused(source: str) -> None:
    found = static_screen(source, "cpp")
    assert found.outcome == "failed"
    assert "runs outside its call" in found.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('asm("nop");', "`asm` is inline assembly"),
        ('printf("a");', "`printf` prints"),
        ("std::cout << 1;", "`cout` prints"),
        ("_Float16 a = 1;", "`_Float16` computes in a narrow type"),
        ("mmap(0, 1, 2, 3, 4, 5);", "`mmap` changes the memory map"),
    ],
)
def test_what_is_only_worth_a_note_is_noted_with_its_line(body: str, words: str) -> None:
    found = static_screen(KERNEL.format(body), "cpp")
    assert found.outcome == "note"
    assert f"line 2: {words}" in found.message


def test_the_first_blocking_name_is_told_and_all_are_kept_as_evidence() -> None:
    found = static_screen("void k() {\n  static int a;\n  fork();\n  exit(1);\n}", "cpp")
    assert found.message.startswith("line 3: `fork`")
    assert [(f["tier"], f["line"]) for f in found.evidence["findings"]] == [
        ("block", 3),
        ("block", 4),
        ("probe", 2),
    ]


def test_a_source_that_does_not_parse_is_screened_all_the_same() -> None:
    assert static_screen("void k( { { fork(); ] ", "cpp").outcome == "failed"


def test_an_ordinary_kernel_passes() -> None:
    source = """
        #include <cmath>
        #define TILE 16
        extern "C" void k(const float* __restrict x, float* __restrict y, int n) {
        #pragma omp parallel for
          for (int i = 0; i < n; i += TILE)
            for (int j = i; j < i + TILE && j < n; ++j) y[j] = std::exp(x[j]);
        }
    """
    assert static_screen(source, "cpp").outcome == "passed"


def test_python_is_not_read_as_cpp() -> None:
    assert static_screen("fork()", "triton").outcome == "passed"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('#include "/etc/passwd"', "/etc/passwd"),
        ("#include </etc/passwd>", "/etc/passwd"),
        ('#include "../secret.h"', "../secret.h"),
        ("constexpr char day = __DATE__[5];", "__DATE__"),
        ("constexpr char second = __TIME__[7];", "__TIME__"),
        ('#if __has_include("kernelwright_entries.cu")\n#endif', "__has_include"),
    ],
)
def test_cuda_neither_reads_the_machine_s_files_nor_asks_how_it_is_built(
    line: str, name: str
) -> None:
    found = static_screen(f"{line}\n" + KERNEL.format("y[0] = x[0];"), "cuda")
    assert found.outcome == "failed" and f"`{name}`" in found.message


def test_every_row_gives_a_reason() -> None:
    assert all(row.reason and row.pattern for row in HOST_CPP)


@pytest.mark.parametrize(
    "line",
    [
        "#if __INCLUDE_LEVEL__",
        '#if __has_include("kernelwright_shim.cpp")',
        "#if __has_include(<kernelwright_shim.cpp>)",
        '#if __has_include("/usr/bin/env")',
        "#if __has_include(</usr/bin/env>)",
        "#if __has_include(<../../usr/bin/env>)",
        "#if __has_include (BESIDE)",
        "#ifdef A\n#elif __has_include_next(BESIDE)",
        "#define THERE __has_include\n#if THERE(BESIDE)",
        "#define THERE(x) __has_include(x)\n#if THERE(BESIDE)",
        '#if __has_\\\ninclude("/usr/bin/env")',
        '#if __has_include /* of */ ("/usr/bin/env")',
        "#if __has_include /*\n*/ (</usr/bin/env>)",
        '#define P(a, b) a##b\n#if P(__has_, include)("/usr/bin/env")',
        '#define P(a, b) a##b\n#if P(_, _has_include)("/usr/bin/env")',
        '#define SAME(x) x\n#if SAME(__has_include)("/usr/bin/env")',
        '%:define THERE __has_include\n#if THERE("/usr/bin/env")',
        '#pragma GCC dependency "/usr/bin/env"\n#if 1',
        '_Pragma("GCC dependency \\"/usr/bin/env\\"")\n#if 1',
        "#define P(a, b) a##b\n#if P(__INCLUDE_, LEVEL__) > 1",
        "#define P(a, b) a##b\nconst char* of = P(__BASE_FI, LE__);\n#if 1",
        "#define P(a, b) a##b\nconst char* day = P(__DA, TE__);\n#if 1",
    ],
)
def test_a_source_does_not_ask_how_it_is_built(line: str) -> None:
    found = static_screen(f"{line}\n#endif\n" + KERNEL.format("y[0] = x[0];"), "cpp")
    assert found.outcome == "failed"
    assert "built" in found.message


@pytest.mark.parametrize(
    "line",
    [
        "#if __has_include(<omp.h>)",
        "#if __has_include(<cuda/std/array>)",
        "#if defined(__has_include) && __has_include( <omp.h> )",
        "#ifdef __has_include",
        "#define OMP __has_include(<omp.h>)\n#if OMP",
        "#ifndef __has_include\n#define NO 1",
        "#if defined __has_include\n#if __has_include /* ours? no: */ (<omp.h>)\n#endif",
        "#if !defined(__has_include) || \\\n  __has_include(<omp.h>)",
        "#define P(a, b) a##b\nint P(has_, included) = 1;\n#if 1",
    ],
)
def test_a_source_may_ask_for_what_the_system_has(line: str) -> None:
    source = f"{line}\n#endif\n" + KERNEL.format("y[0] = x[0];")
    assert static_screen(source, "cpp").outcome == "passed"


ASKING_NOTHING = [
    "struct clock { float hands; }; static float tick(clock c) { return c.hands; }",
    "static float time(float from, float to) { return to - from; }",
    "struct Row { int stat, access, uname; }; static int sum(Row r) { return r.stat + r.access; }",
    "enum class state { open, signal, time };\nstatic const state now = state::time;",
    "static int getpid_like(int raise) { const int kill = raise + 1; return kill; }",
    "// asks clock_gettime(), uname() and dladdr() for nothing",
    'static const char* told = "clock_gettime failed";',
    "#include <ctime>\n#include <unistd.h>\nusing stamp = timespec;",
]
"""what looks like a question for time, machine or caller, and is none"""


@pytest.mark.parametrize("line", ASKING_NOTHING)
def test_names_that_ask_nobody_are_the_sources_own(line: str) -> None:
    found = static_screen(f"{line}\n" + KERNEL.format("y[0] = x[0];"), "cpp")
    assert found.outcome != "failed", found.message
