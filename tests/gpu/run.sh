#!/usr/bin/env bash
# Runs on a machine with at least two CUDA devices what CI cannot: the conformance suite of the CUDA driver, verified copies and the
# benchmarks. The doctor has a script of its own, doctor.sh. Usage: tests/gpu/run.sh DIST OUT, with DIST the folder that `cmake --build --preset portable` collects.
set -u
dist=$(cd "$1" && pwd) && out=$(mkdir -p "$2" && cd "$2" && pwd) || exit 64
failed=0
note() { printf '\n== %s\n' "$*"; }
run() { # run LOG WANTED-STATUS COMMAND...
  local log=$1 wanted=$2
  shift 2
  note "$*"
  timeout 240 "$@" >"$out/$log" 2>&1
  local status=$?
  tail -n 12 "$out/$log"
  [ "$status" -eq "$wanted" ] || { echo "FAILED: exit $status, wanted $wanted"; failed=1; }
}

{
  date -u +'date: %Y-%m-%dT%H:%M:%SZ'
  nvidia-smi --query-gpu=name,driver_version,pci.bus_id --format=csv,noheader
  echo "command: tests/gpu/run.sh"
} >"$out/machine.txt" 2>&1
cat "$out/machine.txt"

# No "tail" of a killed test: the suite prints as it goes.
run conformance.txt 0 "$dist/test_conformance" --gtest_filter='Cuda/*' --gtest_brief=1 --gtest_output="json:$out/conformance.json"
run prove.txt 0 "$dist/test_prove" --gtest_filter='RealDevices.*'
run gpu.txt 0 "$dist/test_gpu"
run discover.txt 0 "$dist/test_discover" --gtest_brief=1
run topo.txt 0 "$dist/peerlane" topo
# Measured: a full profile and a quick one of a pair, each in processes of their own (their wall time has the proof and the start of CUDA in
# it; the pages say how long measuring itself took: a pair in under 10 s, --quick in under 2 s), kept, and shown again.
export XDG_CACHE_HOME=$out/cache
run measure-quick.txt 0 "$dist/peerlane" -i 0,1 measure --quick
run measure.txt 0 "$dist/peerlane" --save "$out/profile.json" measure
run measure-shown.txt 0 "$dist/peerlane" measure --show
run copy-direct.json 0 "$dist/peerlane" --format json copy 0 1 1GiB --route direct --repeat 5
run copy-staged.json 0 "$dist/peerlane" --format json copy 0 1 1GiB --route staged --repeat 5
run copy-back.txt 0 "$dist/peerlane" copy 1 0 256MiB
run copy-host.txt 0 "$dist/peerlane" copy host 0 256MiB
run first_copies.txt 0 "$dist/first_copies" "$out/first_copies.json"
run pages.txt 0 "$dist/pages" "$out/pages.json"
run side_by_side.txt 0 "$dist/side_by_side" "$out/side_by_side.json"
run stress.txt 0 "$dist/stress" --seconds 60
run messages.txt 0 "$dist/messages" "$out/messages.json"
# Between processes: PASS or FAIL a criterion.
run processes.txt 0 "$dist/processes" "$out/processes.json"
run concurrent.txt 0 "$dist/concurrent" h200-pair "$out/concurrent.json"
run copy-pages.txt 0 "$dist/peerlane" copy 0 1 1GiB --page-size 16KiB
# One file, for results are kept one file a machine and day.
(cd "$out" && for f in machine.txt conformance.txt prove.txt gpu.txt discover.txt topo.txt measure*.txt copy-*.txt first_copies.txt pages.txt side_by_side.txt stress.txt messages.txt processes.txt concurrent.txt; do printf '\n## %s\n' "$f"; cat "$f"; done) >"$out/summary.txt"
note "$([ "$failed" -eq 0 ] && echo 'all as wanted' || echo 'SOMETHING FAILED')"
exit "$failed"
