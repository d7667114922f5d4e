#!/usr/bin/env bash
# One visit to a GPU: steps one after the other, each with a time limit, and a table last.
#   benchmarks/gpu_round.sh FOLDER 'SECONDS COMMAND' ['SECONDS COMMAND' ...]
# Every step's output goes to FOLDER/round.log, its last lines to the terminal. A step that fails or
# runs out of time does not keep the others from their turn; the status is that of the first that
# failed. Results that steps wrote or changed under benchmarks/results/ are copied to FOLDER.
set -uo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
began=$(mktemp)
log=$folder/round.log
mkdir -p "$folder"
rows=()
first=0
for step in "$@"; do
  limit=${step%% *}
  command=${step#* }
  start=$SECONDS
  printf '\n== %s\n' "$command" >>"$log"
  timeout --kill-after=10 --signal=INT "$limit" bash -c "$command" >"$folder/.step" 2>&1
  status=$?
  cat "$folder/.step" >>"$log"
  printf '\n== %s\n' "$command"
  tail -n "${LINES_SHOWN:-12}" "$folder/.step"
  if [ "$first" -eq 0 ]; then first=$status; fi
  rows+=("$(printf '%5d s  status %3d  %s' $((SECONDS - start)) "$status" "${command:0:90}")")
done
rm -f "$folder/.step"
find benchmarks/results -name '*.json' -newer "$began" -exec cp {} "$folder/" \;
rm -f "$began"
printf '\n'
printf '%s\n' "${rows[@]}"
exit "$first"
