#!/bin/sh
# fuzz.sh SECONDS [FORMAT...]: runs each reader's fuzzer that long, starting from tests/fuzz/corpus/FORMAT. Ends with 1 when one of
# them found something; the input lies in BUILD/findings then. BUILD is $PEERLANE_FUZZ_BUILD, build/fuzz when that is not set.
set -eu

seconds=${1:?usage: fuzz.sh SECONDS [FORMAT...]}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=${PEERLANE_FUZZ_BUILD:-$root/build/fuzz}
jobs=${PEERLANE_FUZZ_JOBS:-$(nproc)}

cmake -S "$root" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DPEERLANE_CUDA=OFF \
    -DPEERLANE_FUZZERS=ON -DPEERLANE_SANITIZE=address,undefined,fuzzer-no-link >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }

if [ $# -eq 0 ]; then
    set -- $(ls "$root/tests/fuzz/corpus")
fi
targets=
for format in "$@"; do
    targets="$targets fuzz_$format"
done
# shellcheck disable=SC2086
cmake --build "$build" -j "$jobs" --target $targets

mkdir -p "$build/findings"
failed=0
for format in "$@"; do
    grown="$build/corpus/$format"
    mkdir -p "$grown"
    echo "fuzzing $format for $seconds s"
    if ! "$build/tests/fuzz/fuzz_$format" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
        -verbosity=0 -artifact_prefix="$build/findings/$format-" "$grown" "$root/tests/fuzz/corpus/$format"; then
        echo "found something in $format: see $build/findings"
        failed=1
    fi
done
exit $failed
