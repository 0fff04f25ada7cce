#!/usr/bin/env bash
# What two to many devices do for each other, in one command and under nine minutes: the doctor in full with its groups, a
# profile, then bench/many_devices in one interleaved run, which fits itself into the time that is left and names what it leaves out.
#   bench/many_devices.sh DIST OUT [--machine NAME|FILE]
# DIST: the folder that `cmake --build --preset portable` collects, or a build folder. With --machine all of it is simulated.
# Exit status 0 when nothing was found broken, no byte was wrong and the time was kept.
set -u
began=$(date +%s)
most=530        # seconds for all of it
for_doctor=100  # at most; two seconds a pair of devices are to be enough
for_measure=130 # of the profile in full; a quick one takes its place where that is not enough
[ $# -ge 2 ] || { sed -n '2,6p' "$0" >&2; exit 64; }
dist=$(cd "$1" && pwd) && out=$(mkdir -p "$2" && cd "$2" && pwd) || exit 64
shift 2
machine=("$@")
failed=0

program() { # its path, in a folder collected for devices or in a build folder
  local folder
  for folder in "$dist" "$dist/bin" "$dist/bench"; do
    [ -x "$folder/$1" ] && { echo "$folder/$1"; return; }
  done
  echo "many_devices.sh: no $1 in $dist" >&2
  exit 66
}
peerlane=$(program peerlane) && bench=$(program many_devices) && program peerlane-probe >/dev/null || exit 66
elapsed() { echo $(($(date +%s) - began)); }
note() { printf '\n== %s (%s s)\n' "$*" "$(elapsed)"; }
fail() { echo "FAILED: $*"; failed=1; }

export NCCL_NVLS_ENABLE=0 # sends and receives need no multicast, which can take devices of a shared host out of service
# The same numbers in all programs, and nothing of earlier runs.
export CUDA_DEVICE_ORDER=PCI_BUS_ID XDG_CACHE_HOME="$out/cache" XDG_STATE_HOME="$out/state"
rm -rf "$XDG_CACHE_HOME" "$XDG_STATE_HOME"
if ! ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2'; then # as Python's packages bring it
  nccl=$(python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")' 2>/dev/null) &&
    export LD_LIBRARY_PATH="$nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

devices=0
{
  date -u +'date: %Y-%m-%dT%H:%M:%SZ'
  [ ${#machine[@]} -gt 0 ] || nvidia-smi --query-gpu=name,driver_version,pci.bus_id --format=csv,noheader
  echo "command: bench/many_devices.sh ${machine[*]-}"
} >"$out/machine.txt" 2>&1
cat "$out/machine.txt"
[ ${#machine[@]} -gt 0 ] || devices=$(nvidia-smi -L | grep -c '^GPU')

note doctor
"$peerlane" ${machine[@]+"${machine[@]}"} --save "$out/topo.json" topo >"$out/topo.txt" 2>&1
start=$(date +%s.%N)
timeout "$for_doctor" "$peerlane" ${machine[@]+"${machine[@]}"} --save "$out/doctor.json" doctor --fresh >"$out/doctor.txt" 2>&1
status=$?
cat "$out/doctor.txt"
seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
echo "doctor: exit $status after $seconds s"
[ "$status" -le 1 ] || fail "the doctor ended with $status"
if [ "$devices" -gt 1 ]; then
  awk -v s="$seconds" -v n="$devices" 'BEGIN { p = n * (n - 1) / 2; printf "proven: %.2f s a pair of devices (%d pairs; at most 2)\n", s / p, p; exit !(s <= 2 * p + 2) }' ||
    fail "proving took longer than 2 s a pair of devices"
fi

note measure
if [ ${#machine[@]} -eq 0 ]; then
  timeout -s INT "$for_measure" "$peerlane" --save "$out/profile.json" measure >"$out/measure.txt" 2>&1 || {
    echo "the profile in full did not come to an end within $for_measure s: a quick one"
    timeout 60 "$peerlane" --save "$out/profile.json" measure --quick >"$out/measure.txt" 2>&1 || fail "measure ended with $?"
  }
else
  "$peerlane" "${machine[@]}" --save "$out/profile.json" measure >"$out/measure.txt" 2>&1 || fail "measure ended with $?"
fi
tail -n 3 "$out/measure.txt"

note many_devices
left=$((most - $(elapsed)))
# What its parts may take; making memory, NCCL's start and one case that is under way come on top.
timeout "$left" "$bench" ${machine[@]+"${machine[@]}"} --topology "$out/topo.json" --verdicts "$out/doctor.json" --profile "$out/profile.json" \
  --seconds $((left - 50)) "$out/many_devices.json" >"$out/many_devices.txt" 2>&1
status=$?
cat "$out/many_devices.txt"
[ "$status" -eq 0 ] || fail "many_devices ended with $status"
(cd "$out" && for f in machine.txt topo.txt doctor.txt measure.txt many_devices.txt; do [ -f "$f" ] && printf '\n## %s\n' "$f" && cat "$f"; done) >"$out/summary.txt"
[ "$(elapsed)" -lt 540 ] || fail "it took nine minutes or more"
note "$([ "$failed" -eq 0 ] && echo 'all as wanted' || echo 'SOMETHING FAILED')"
exit "$failed"
