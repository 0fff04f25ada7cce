#!/usr/bin/env bash
# The doctor on a machine with at least two CUDA devices: in full, quick, with a prober that hangs, after it, and stopped
# by Ctrl-C. Usage: tests/gpu/doctor.sh DIST OUT, with DIST the folder that `cmake --build --preset portable` collects.
set -u
dist=$(cd "$1" && pwd) && out=$(mkdir -p "$2" && cd "$2" && pwd) || exit 64
failed=0
export XDG_CACHE_HOME="$out/cache" XDG_STATE_HOME="$out/state"
rm -rf "$XDG_CACHE_HOME" "$XDG_STATE_HOME"

# run LOG WANTED-STATUS MOST-SECONDS COMMAND...
run() {
  local log=$1 wanted=$2 most=$3 started seconds status
  shift 3
  printf '\n== %s\n' "$*"
  started=$(date +%s.%N)
  timeout 240 "$@" >"$out/$log" 2>&1
  status=$?
  seconds=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')
  cat "$out/$log"
  echo "exit $status after $seconds s" | tee -a "$out/$log"
  [ "$status" -eq "$wanted" ] || { echo "FAILED: wanted exit $wanted"; failed=1; }
  awk -v s="$seconds" -v m="$most" 'BEGIN { exit !(s <= m) }' || { echo "FAILED: wanted at most $most s"; failed=1; }
}
no_helper_left() {
  if pgrep -x 'peerlane-probe.*' >/dev/null; then
    echo "FAILED: a helper is left"; failed=1
  fi
}

{
  date -u +'date: %Y-%m-%dT%H:%M:%SZ'
  nvidia-smi --query-gpu=name,driver_version,pci.bus_id,compute_mode,mig.mode.current --format=csv,noheader
  echo "command: tests/gpu/doctor.sh"
} >"$out/machine.txt" 2>&1
cat "$out/machine.txt"

run doctor-full.txt 0 8 "$dist/peerlane" doctor --fresh --record "$out/record.jsonl"
run doctor-again.txt 0 8 "$dist/peerlane" doctor
run doctor-quick.txt 0 2 "$dist/peerlane" doctor --quick
run doctor-replay.txt 0 2 "$dist/peerlane" --machine "$out/record.jsonl" doctor
run doctor.json 0 8 "$dist/peerlane" --format json doctor --fresh
# One step of 10 s hangs; the run ends in its bound, and nothing of it is left for the next.
export PEERLANE_TEST_HELPER_OPTIONS='--test-hang-at;0:1 store'
run doctor-hang.txt 2 30 "$dist/peerlane-test" doctor --fresh
unset PEERLANE_TEST_HELPER_OPTIONS
no_helper_left
run doctor-after-hang.txt 0 8 "$dist/peerlane" doctor --fresh
# Ctrl-C while a prober hangs. The shell would have a job in the background ignore SIGINT.
run doctor-stopped.txt 130 20 env PEERLANE_TEST_HELPER_OPTIONS='--test-hang-at;0:1 load' \
  timeout --preserve-status -s INT 5 "$dist/peerlane-test" doctor --fresh
no_helper_left
run doctor-after-stop.txt 0 8 "$dist/peerlane" doctor --fresh
run busy-after.txt 0 10 nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader
(cd "$out" && for f in machine.txt doctor-*.txt busy-after.txt; do printf '\n## %s\n' "$f"; cat "$f"; done) >"$out/summary.txt"
printf '\n== %s\n' "$([ "$failed" -eq 0 ] && echo 'all as wanted' || echo 'SOMETHING FAILED')"
exit "$failed"
