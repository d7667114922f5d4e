#!/usr/bin/env bash
# Prepare a GPU host that has no network from a folder of wheels, then run a command there.
#   benchmarks/on_a_gpu_host.sh WHEELS COMMAND [ARGUMENT...]
# The host brings Python with numpy and nvidia-ml-py, the CUDA toolkit with cuda-bindings and, for
# Triton kernels, torch and triton. What else Kernelwright needs lies in WHEELS; it goes into a
# folder of its own (SITE), which this Python looks through first, children included. Kernelwright
# itself is installed as an editable copy of this checkout.
set -euo pipefail
wheels=$1
shift
cd "$(dirname "$0")/.."
left_out=()
site=${SITE:-/tmp/kernelwright-site}
pip=(python3 -m pip --disable-pip-version-check --quiet install --no-index --no-deps
  --root-user-action ignore)
if [ ! -e "$site/ready" ]; then
  rm -rf "$site"
  for folder in numpy ml_dtypes; do  # the host's own, which its libraries were built against
    if python3 -c "import $folder" 2>/dev/null; then left_out+=(-o -name "$folder-*"); fi
  done
  mapfile -t chosen < <(find "$wheels" -type f -name '*.whl' ! \( -false "${left_out[@]}" \))
  "${pip[@]}" --no-compile --no-cache-dir --target "$site" "${chosen[@]}"
  echo "import sys; sys.path.insert(0, '$site')" \
    >"$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/kernelwright-site.pth"
  "${pip[@]}" --no-build-isolation --editable .
  touch "$site/ready"
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
exec "$@"
