#!/bin/sh
# Runs clang-tidy with the .clang-tidy of the tree; exit 1 when it finds something.
#   scripts/tidy.sh                      every source of src/
#   scripts/tidy.sh src/base src/plan    these folders or files
#   BUILD=DIR scripts/tidy.sh            with the compile commands of another build folder
# JOBS sets how many files are looked at together.
set -eu
cd "$(dirname "$0")/.."
tool=${CLANG_TIDY:-clang-tidy}
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
if ! command -v "$tool" >/dev/null 2>&1; then
    echo "tidy.sh: $tool not found; install clang-tidy or set CLANG_TIDY" >&2
    exit 3
fi
build=${BUILD:-}
if [ -z "$build" ]; then
    build=build/tidy
    mkdir -p build
    # Only the compile commands are wanted, nothing is built.
    cmake -S . -B "$build" -G Ninja -DPEERLANE_CUDA=OFF -DPEERLANE_BUILD_TESTS=OFF \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$build.log" 2>&1 || {
        cat "$build.log" >&2
        exit 3
    }
fi
[ $# -gt 0 ] || set -- src
# Only files that the build knows: without their commands clang-tidy would guess.
files=$(find "$@" -name '*.cpp' | sort | while read -r file; do
    grep -qF "\"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"
done)
if [ -z "$files" ]; then
    echo "tidy.sh: no source of $* is part of the build in $build" >&2
    exit 3
fi
count=$(echo "$files" | wc -l)
if echo "$files" | xargs -P "$jobs" -n 1 "$tool" --quiet -p "$build" 2>/dev/null; then
    echo "tidy.sh: $count files are clean"
else
    echo "tidy.sh: see above" >&2
    exit 1
fi
