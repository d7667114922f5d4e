"""What the static screen of Python looks for: rows of names, each with a tier and a reason."""

from __future__ import annotations

from dataclasses import dataclass

from ..specs.io_contract import Contract
from .findings import ScreenTier
from .precision import Precision, precision_tier
from .python_names import How

NARROW = "computes in a narrow type"


@dataclass(frozen=True, slots=True)
class PythonRow:
    """One thing that is looked for: an expression over a dotted name or what it starts with."""

    pattern: str
    tier: ScreenTier
    reason: str
    how: How = "used"
    precision: Precision | None = None
    """the contract decides about the tier"""

    def tier_under(self, contract: Contract | None) -> ScreenTier | None:
        """The tier of a finding; None: the contract allows it."""
        return self.tier if self.precision is None else precision_tier(self.precision, contract)


PYTHON: tuple[PythonRow, ...] = (
    PythonRow(r"os\.(system|popen|exec\w+|posix_spawnp?|spawn\w+)", "block", "starts a program"),
    PythonRow(r"(subprocess|pty|pexpect)\.\w+", "block", "starts a program"),
    PythonRow(r"os\.(fork|forkpty)|multiprocessing\.\w+", "block", "starts processes"),
    PythonRow(r"concurrent\.futures\.\w+Executor", "block", "starts threads or processes"),
    PythonRow(r"threading\.(Thread|Timer)|_thread\.\w+", "block", "starts threads"),
    PythonRow(r"threading|concurrent\.futures", "note", "is for threads"),
    PythonRow(
        r"(socket|socketserver|ssl|urllib\.request|http\.(client|server)|ftplib|smtplib|telnetlib"
        r"|xmlrpc\.\w+|asyncio)\.\w+",
        "block",
        "network",
    ),
    PythonRow(r"(ctypes|_ctypes|cffi|mmap)\.\w+", "block", "reaches past Python into memory"),
    PythonRow(
        r"pkgutil\.\w+|importlib\.(import_module|reload|machinery|util\.(spec|module)_from\w+)|__import__"
        r"|runpy\.\w+|imp\.\w+|zipimport\.\w+|pip|ensurepip|site\.\w+",
        "block",
        "loads code by name",
    ),
    PythonRow(r"eval|exec|compile|code\.\w+|codeop\.\w+", "block", "runs text as code"),
    PythonRow(r"__builtins__|__loader__|__spec__", "block", "reaches into Python itself"),
    PythonRow(
        r"sys\.(modules|_getframe|_current_frames|meta_path|path_hooks|settrace|setprofile"
        r"|addaudithook|monitoring)|inspect\.(stack|trace|currentframe|get(outer|inner)frames)"
        r"|traceback\.(extract_stack|format_stack|print_stack|walk_stack|StackSummary)"
        r"|logging\.currentframe|gc\.get_\w+",
        "block",
        "looks at who runs it",
    ),
    PythonRow(
        r"open|io\.(open\w*|FileIO)|os\.(open|fdopen|read|write|pread|pwrite|sendfile|memfd_create)"
        r"|(pickle|marshal|shelve|dbm|sqlite3|tempfile|shutil|glob|fileinput)\.\w+"
        r"|(linecache|zipfile|tarfile|configparser|netrc|mailbox|gzip|bz2|lzma)\.\w+|tokenize\.open"
        r"|torch\.(load|save|from_file)|torch\.(\w+\.)?\w*Storage\.(from_file|_new_shared\w*)"
        r"|numpy\.(load|loadtxt|save\w*|fromfile|memmap|genfromtxt|fromregex|lib\.format\.\w+)",
        "block",
        "opens files",
    ),
    PythonRow(
        r"(read|write)_(text|bytes)|open|mkdir|unlink|rmdir|touch",
        "block",
        "opens files",
        "member",
    ),
    PythonRow(
        r"os\.(remove|unlink|rename|replace|rmdir|removedirs|mkdir|makedirs|link|symlink|chmod"
        r"|chown|truncate|scandir|listdir|walk)",
        "block",
        "looks at files or changes them",
    ),
    PythonRow(r"os\.(_exit|abort|kill\w*)|signal\.\w+", "block", "ends processes"),
    PythonRow(r"sys\.exit|exit|quit", "note", "ends the program"),
    PythonRow(r"atexit\.\w+|weakref\.finalize", "block", "runs outside its call"),
    PythonRow(r"unittest\.mock|kernelwright", "block", "is no part of a kernel"),
    PythonRow(r"kernelwright(\.\w+)*", "block", "is no part of a kernel", "imported"),
    PythonRow(
        r"torch\.utils\.(cpp_extension|_python_dispatch)|torch\.overrides"
        r"|torch\.(ops|classes)\.load_library|torch\.Tensor\._make_subclass",
        "block",
        "changes what torch does",
    ),
    PythonRow(r"torch\.(Tensor|nn\.Parameter)", "block", "pretends to be a tensor", "subclass"),
    PythonRow(r"__torch_(function|dispatch)__", "block", "pretends to be a tensor", "member"),
    PythonRow(
        r"__(subclasses|globals|builtins|code|closure)__|f_(back|globals|locals|builtins)"
        r"|(tb|gi|cr|ag)_frame",
        "block",
        "climbs out through Python's own parts",
        "member",
    ),
    PythonRow(r"[\w.]+\.__dict__", "block", "reaches into another module"),
    PythonRow(
        r"torch\.backends\.[\w.]+|torch\._(dynamo|inductor)\.config\.\w+|triton\.knobs\.[\w.]+"
        r"|os\.environ",
        "note",
        "changes a setting for everybody",
        "assigned",
    ),
    PythonRow(r"[\w.]+\.(\w+|\*)", "block", "changes a module that is not its own", "assigned"),
    PythonRow(
        r"(os|sys|time|datetime|gc|inspect|types|builtins|traceback|threading|platform)\.\*",
        "block",
        "is looked up in Python's own parts by a name that is not in the source",
    ),
    PythonRow(r"[\w.]+\.\*", "note", "is looked up by a name that is not in the source"),
    PythonRow(
        r"os\.(getp?pid|getpgid|getsid|getlogin|uname|times|stat|ctermid)"
        r"|sys\.(argv|orig_argv|executable|flags|_xoptions)|platform\.(node|uname|platform)"
        r"|socket\.\w*name|getpass\.\w+|resource\.\w+",
        "block",
        "asks who runs it",
    ),
    PythonRow(
        r"os\.(environ|getenv|putenv)|sys\.path|platform\.\w+",
        "note",
        "looks at its environment",
    ),
    PythonRow(
        r"time\.(time|monotonic|perf_counter|process_time|thread_time|clock_\w+|localtime|gmtime"
        r"|ctime|asctime|strftime)(_ns)?|datetime\.\w+\.(now|today|utcnow)|timeit\.\w+",
        "block",
        "reads a clock",
    ),
    PythonRow(
        r"torch\.cuda\.Event|triton\.testing\.do_bench\w*|time\.\w+", "note", "reads a clock"
    ),
    PythonRow(
        r"triton\.language\.extra\.cuda(\.\w+)?\.globaltimer",
        "probe",
        "reads a clock in the kernel",
    ),
    PythonRow(
        r"triton\.language\.extra\.cuda(\.\w+)?\.smid",
        "probe",
        "looks at where it runs",
    ),
    PythonRow(
        r"torch\.cuda\.(synchronize|Stream|ExternalStream|stream|set_stream|CUDAGraph|graph)",
        "note",
        "has no part in a launch plan",
    ),
    PythonRow(
        r"random\.\w+|secrets\.\w+|uuid\.\w+|os\.urandom|numpy\.random|torch\.(rand\w*|normal)",
        "note",
        "draws numbers: two builds must agree",
    ),
    PythonRow(r"functools\.(lru_cache|cache)", "note", "remembers results between calls"),
    PythonRow(
        r"(triton\.language(\.\w+)*|torch)\.b?float16|torch\.half",
        "note",
        NARROW,
        precision="16 bit",
    ),
    PythonRow(r"(triton\.language(\.\w+)*|torch)\.float8\w*", "note", NARROW, precision="8 bit"),
    PythonRow(
        r"triton\.language(\.\w+)*\.libdevice\.fast_\w+",
        "note",
        "approximates",
        precision="approximate",
    ),
    PythonRow(r"triton\.language(\.\w+)*\.device_print", "note", "prints"),
    PythonRow("except", "note", "goes on in another way where something fails", "caught"),
)
