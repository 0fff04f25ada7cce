#!/bin/sh
# The main job on this machine where it has two CUDA devices, else on the shipped machine h200-pair under the simulator.
# Standard output is the demo; the build talks on standard error.
set -eu
cd "$(dirname "$0")/.."
preset=${PRESET:-dev}

real() {
    { command -v nvcc || [ -x "${CUDACXX:-/usr/local/cuda/bin/nvcc}" ]; } > /dev/null 2>&1 &&
        [ "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2> /dev/null | wc -l)" -ge 2 ]
}
if real; then
    machine=
    echo "peerlane demo on this machine's own devices."
else
    machine="--machine h200-pair"
    echo "peerlane demo, SIMULATED: no nvcc with two CUDA devices here, so the simulator plays the machine h200-pair."
fi

scripts/setup.sh
{
    cmake --preset "$preset"
    cmake --build --preset "$preset" --target peerlane peerlane-probe
} >&2

peerlane="build/$preset/bin/peerlane"
show() {
    echo
    echo "\$ peerlane $*"
    "$peerlane" "$@"
}

if [ -z "$machine" ] && [ "$("$peerlane" --format json topo 2> /dev/null | grep -c '^    {"id":')" -lt 2 ]; then
    machine="--machine h200-pair"
    echo "The CUDA driver gives fewer than two devices: from here on SIMULATED, the machine h200-pair."
fi
# shellcheck disable=SC2086
{
    show $machine topo
    show $machine copy 0 1 256MiB
}
