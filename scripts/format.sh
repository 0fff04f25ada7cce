#!/bin/sh
# Formats every C++ and CUDA source of the project with the .clang-format of the tree.
#   scripts/format.sh            formats in place
#   scripts/format.sh --check    changes nothing; exit 1 and a list when a file would change
#   scripts/format.sh [--check] FILE...    these files only
set -eu
cd "$(dirname "$0")/.."
check=no
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
tool=${CLANG_FORMAT:-clang-format}
if ! command -v "$tool" >/dev/null 2>&1; then
    echo "format.sh: $tool not found; install clang-format or set CLANG_FORMAT" >&2
    exit 3
fi
if [ $# -eq 0 ]; then
    set -- $(git ls-files --cached --others --exclude-standard -- \
        '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.h' | while read -r file; do [ -f "$file" ] && echo "$file"; done)
fi
if [ "$check" = no ]; then
    exec "$tool" -i "$@"
fi
wrong=0
for file in "$@"; do
    if ! "$tool" --assume-filename="$file" < "$file" | cmp -s - "$file"; then
        echo "$file: not formatted"
        wrong=$((wrong + 1))
    fi
done
if [ "$wrong" -ne 0 ]; then
    echo "format.sh: $wrong of $# files are not formatted; scripts/format.sh mends them" >&2
    exit 1
fi
echo "format.sh: $# files are formatted"
