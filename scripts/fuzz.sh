#!/bin/sh
# fuzz.sh SECONDS [FORMAT...]: runs each reader's fuzzer that long, from tests/fuzz/corpus/FORMAT and what earlier runs found new.
# fuzz.sh runs=N [FORMAT...]: N inputs each from the corpus alone and with one seed, the same every time: what CI does.
# Ends with 1 when one of them found something; the input then lies in BUILD/findings, the report in BUILD/logs.
#   PEERLANE_FUZZ_BUILD  build folder, build/fuzz when not set
#   PEERLANE_FUZZ_JOBS   fuzzers (and compilers) at a time, one a processor when not set
set -eu

limit=${1:?usage: fuzz.sh SECONDS [FORMAT...] or fuzz.sh runs=N [FORMAT...]}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=${PEERLANE_FUZZ_BUILD:-$root/build/fuzz}
jobs=${PEERLANE_FUZZ_JOBS:-$(nproc)}

mkdir -p "$build/findings" "$build/logs"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DPEERLANE_CUDA=OFF \
    -DPEERLANE_FUZZERS=ON -DPEERLANE_SANITIZE=address,undefined,fuzzer-no-link > "$build/logs/configure" 2>&1 || { cat "$build/logs/configure"; exit 1; }

if [ $# -eq 0 ]; then
    # shellcheck disable=SC2046
    set -- $(ls "$root/tests/fuzz/corpus")
fi
# shellcheck disable=SC2046
cmake --build "$build" -j "$jobs" --target $(printf 'fuzz_%s ' "$@")

case $limit in
    runs=*)
        stop="-runs=${limit#runs=} -seed=1"
        corpus=$(mktemp -d)
        trap 'rm -rf "$corpus"' EXIT
        ;;
    *)
        stop="-max_total_time=$limit"
        corpus=$build/corpus
        ;;
esac

export root build corpus stop
# shellcheck disable=SC2016
printf '%s\n' "$@" | xargs -P "$jobs" -I FORMAT sh -c '
    mkdir -p "$corpus/FORMAT"
    if "$build/tests/fuzz/fuzz_FORMAT" $stop -max_len=16384 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/findings/FORMAT-" "$corpus/FORMAT" "$root/tests/fuzz/corpus/FORMAT" > "$build/logs/FORMAT" 2>&1
    then
        echo "FORMAT: $(sed -n "s/^stat::number_of_executed_units: *//p" "$build/logs/FORMAT") inputs, nothing found"
    else
        tail -n 60 "$build/logs/FORMAT"
        echo "FORMAT: found something, see $build/findings and $build/logs/FORMAT"
        exit 1
    fi' || exit 1
echo "fuzzed $# formats, nothing found"
