"""What a source finds around it while it is captured."""

from __future__ import annotations

import pytest
from capture_forks import Forks
from captures import HEADER, MISSING, XY

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING}")
LOOKS = {
    "modules": 'sorted(n for n in sys.modules if "kernelwright" in n)',
    "arguments": '[a for a in (*sys.argv, *sys.orig_argv) if a not in ("", "python3")]',
    "command line": 'open("/proc/self/cmdline").read().strip(chr(0)).replace("python3", "")',
    "name": 'open("/proc/self/comm").read().replace("python3", "").strip()',
    "variables": '[n for n in os.environ if "KERNEL" in n or "PYTEST" in n or "COMPILE" in n]',
}


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_says_who_captures_a_source(forks: Forks, look: str) -> None:
    body = f"    found = {LOOKS[look]}\n    assert not found, found\n    return doubled(x)\n"
    source = f"{HEADER}\nimport os\nimport sys\n\n\ndef run(x):\n{body}"
    result = forks.capture(source, XY)
    assert result.refusal == ""


def test_what_a_source_cannot_find_is_there_again_for_who_captures_it(forks: Forks) -> None:
    source = f"{HEADER}\n\ndef run(x):\n    return doubled(x).expand(2, 1000)\n"
    result = forks.capture(source, {**XY, "y": "output float32 [2,1000]"})
    assert "comes back with strides" in result.refusal and result.kind == "refused"
