#!/usr/bin/env bash
# Load for a time on a machine with at least two CUDA devices, with counters; then what watchers and others get.
# Usage: tests/gpu/soak.sh DIST OUT [TIME], with DIST as for doctor.sh; TIME is 3m if nothing is said.
set -u
dist=$(cd "$1" && pwd) && out=$(mkdir -p "$2" && cd "$2" && pwd) || exit 64
export XDG_CACHE_HOME="$out/cache" XDG_STATE_HOME="$out/state"
failed=0
# run LOG WANTED-STATUS COMMAND...
run() {
  local log=$1 wanted=$2 status
  shift 2
  printf '\n== %s\n' "$*"
  "$@" >"$out/$log" 2>&1
  status=$?
  cat "$out/$log"
  [ "$status" -eq "$wanted" ] || { echo "FAILED: exit $status, wanted $wanted"; failed=1; }
}
run soak.txt 0 "$dist/peerlane" doctor --soak "${3:-3m}" --save "$out/soak.json"
run again.txt 0 "$dist/peerlane" doctor --expect "$out/soak.json"
run passive.txt 0 "$dist/peerlane" doctor --passive --prometheus "$out/peerlane.prom"
run metrics.txt 0 grep -v '^#' "$out/peerlane.prom"
run advise.txt 0 "$dist/peerlane" advise --for vllm
run version.txt 0 "$dist/peerlane" --version
printf '\n== %s\n' "$([ "$failed" -eq 0 ] && echo 'all as wanted' || echo 'SOMETHING FAILED')"
exit "$failed"
