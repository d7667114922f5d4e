"""The server's check of an artifact before anybody uses it: a build child is not trusted.

Its candidate ran Python beneath it. Hashes are taken anew, plans are checked against contract,
machine code and device, and the hash that finds equal code is worked out here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..errors import SpecError
from ..machine_code.cubin import read_cubin
from ..machine_code.cubin_check import check_cubin
from ..machine_code.cubin_hash import device_code_hash
from ..model import Tier, content_hash
from ..plans.plan import Artifact, LaunchPlan, Module, module_name
from ..plans.plan_check import check_plan
from ..processes.confined import read_left
from ..specs.contract import bind
from ..specs.devices import PROFILES
from .base import BuildRequest
from .elsewhere import launches

MAX_MODULE_BYTES = 256 << 20
MAX_MODULES = 512


def checked_artifact(
    request: BuildRequest, artifact: Artifact, folder: Path, tier: Tier
) -> Artifact:
    """The artifact with its code hash worked out anew. Raises SpecError when it is not right.

    Its modules lie in `folder`, by the names of `module_name`. `tier` is that of the toolchain: an
    artifact does not say itself how it is to be checked.
    """
    if artifact.variant_id != request.variant.variant_id:
        raise SpecError("the artifact is of another variant")
    if set(artifact.plans) != {shape.label for shape in request.shapes}:
        raise SpecError(f"the artifact has plans for {', '.join(artifact.plans)} alone")
    if len(artifact.modules) > MAX_MODULES:
        raise SpecError(f"the artifact has {len(artifact.modules)} modules", valid="up to 512")
    images = {m.sha256: read_module(folder / module_name(m), m) for m in artifact.modules}
    kinds = {m.sha256: m.kind for m in artifact.loaded}
    for shape in request.shapes:
        contract = bind(request.kernel.spec.io, shape.symbols, shape.label)
        check_plan(artifact.plans[shape.label], contract)
    if tier == "device":
        return _checked_device_code(request, artifact, images, kinds)
    return artifact


def _checked_device_code(
    request: BuildRequest, artifact: Artifact, images: Mapping[str, bytes], kinds: Mapping[str, str]
) -> Artifact:
    device = request.device or PROFILES[0][0]
    if "so" in kinds.values():
        raise SpecError("the artifact holds host code", valid="code for a GPU alone")
    code = {sha: image for sha, image in images.items() if kinds.get(sha) == "cubin"}
    cubins = {sha: read_cubin(image) for sha, image in code.items()}
    for plan in artifact.plans.values():
        check_cubin(plan, cubins, device)
        _check_constants(plan, images, kinds)
    known = [device_code_hash(artifact.plans, code), launches(request)]
    return artifact.model_copy(update={"code_hash": content_hash(known, 16)})


def _check_constants(
    plan: LaunchPlan, images: Mapping[str, bytes], kinds: Mapping[str, str]
) -> None:
    for buffer in plan.buffers:
        if buffer.sha256 is None:
            continue
        if kinds.get(buffer.sha256) != "bin" or len(images[buffer.sha256]) != buffer.nbytes:
            raise SpecError(
                f"plan {plan.label}: buffer `{buffer.name}` of {buffer.nbytes} bytes",
                valid="content of that size among the modules",
            )


def read_module(path: Path, module: Module) -> bytes:
    """The bytes of a module, as its record describes them.

    Raises SpecError for another size or hash, or what is no regular file.
    """
    try:
        content = read_left(path, MAX_MODULE_BYTES)
    except ValueError as error:
        raise SpecError(f"a module is not as it is said to be: {error}") from error
    if len(content) != module.nbytes or hashlib.sha256(content).hexdigest() != module.sha256:
        raise SpecError(f"module {path.name} is not what it is said to be")
    return content
