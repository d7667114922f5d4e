"""Equal machine code has one hash, whatever its source is called; other code has another."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernelwright.runners.machine_code.elf import code_hash

COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

SOURCE = """
extern "C" float sinf(float);
static float spare[4];
extern "C" float* room() { return spare; }
__attribute__((noinline)) static float helper(float a) { return sinf(a) * 2.0f; }
extern "C" void k(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = helper(x[i]);
}
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build(tmp_path_factory.mktemp("elf"), SOURCE)


def build(folder: Path, source: str, *flags: str, name: str = "k.cpp") -> bytes:
    (folder / name).write_text(source, encoding="utf-8")
    output = folder / "k.so"
    command = [
        str(COMPILER),
        "-O2",
        "-shared",
        "-fPIC",
        "-Wl,--build-id=none",
        *flags,
        name,
        "-o",
        str(output),
    ]
    subprocess.run(command, check=True, cwd=folder, timeout=120)
    return output.read_bytes()


HIDDEN = """
__attribute__((section(".note.x"))) extern const float factor = 2.0f;
__attribute__((noinline, section(".debug_x"))) static int more(int a) { return a + 40; }
extern "C" void k(const float* x, float* y, int n) {
  const volatile float* f = &factor;
  for (int i = 0; i < n; ++i) y[i] = x[i] * *f + more(i);
}
"""

SAME = {
    "comments and blanks": ("// more\n" + SOURCE.replace("\n", "\n\n"), ()),
    "a renamed static helper": (SOURCE.replace("helper", "assistant"), ()),
    "renamed locals": (SOURCE.replace("(float a)", "(float b)").replace("sinf(a)", "sinf(b)"), ()),
    "debug data": (SOURCE, ("-g",)),
    "stripped symbols": (SOURCE, ("-s",)),
}
OTHER = {
    "another constant": (SOURCE.replace("2.0f", "3.0f"), ()),
    "another imported function": (SOURCE.replace("sinf", "cosf"), ()),
    "another exported name": (SOURCE.replace("void k(", "void kk("), ()),
    "more zeroed memory": (SOURCE.replace("spare[4]", "spare[400]"), ()),
    "another optimisation": (SOURCE, ("-O0",)),
}


@needs_compiler
@pytest.mark.parametrize("change", SAME)
def test_what_leaves_the_code_alone_leaves_the_hash_alone(
    tmp_path: Path, image: bytes, change: str
) -> None:
    source, flags = SAME[change]
    assert code_hash(build(tmp_path, source, *flags)) == code_hash(image)


@needs_compiler
@pytest.mark.parametrize("change", OTHER)
def test_what_changes_the_code_changes_the_hash(tmp_path: Path, image: bytes, change: str) -> None:
    source, flags = OTHER[change]
    assert code_hash(build(tmp_path, source, *flags)) != code_hash(image)


@needs_compiler
@pytest.mark.parametrize("change", [("2.0f", "3.0f"), ("a + 40", "a + 41")])
def test_code_and_constants_count_whatever_their_section_is_called(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    assert code_hash(build(tmp_path, HIDDEN)) != code_hash(build(tmp_path, HIDDEN.replace(*change)))


@needs_compiler
def test_the_names_of_files_and_folders_do_not_matter(tmp_path: Path, image: bytes) -> None:
    elsewhere = tmp_path / "other" / "folder"
    elsewhere.mkdir(parents=True)
    assert code_hash(build(elsewhere, SOURCE, name="other.cpp")) == code_hash(image)


@needs_compiler
def test_the_hash_is_sixteen_hexadecimal_digits(image: bytes) -> None:
    found = code_hash(image)
    assert len(found) == 16
    assert int(found, 16) >= 0


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ", b"\x7fELF\x01\x01" + bytes(200)])
def test_what_is_no_64_bit_elf_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a 64-bit"):
        code_hash(content)


@needs_compiler
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.99])
def test_a_file_cut_short_is_refused(image: bytes, share: float) -> None:
    with pytest.raises(ValueError, match="damaged"):
        code_hash(image[: max(16, int(len(image) * share))])
