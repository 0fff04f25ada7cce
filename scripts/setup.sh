#!/bin/sh
# Installs what building and testing need and this machine lacks, with apt (Debian 12 and its kin). Says what it does,
# asks nothing. `scripts/setup.sh ci` adds what only continuous integration uses. The library that draws the charts of the
# HTML report comes from npm: it is fetched where npm is there and can be done without; `scripts/setup.sh charts` installs
# npm, too, and fails where the library cannot be had.
set -eu
cd "$(dirname "$0")/.."

needed="cmake ninja-build g++ pkg-config libpugixml-dev nlohmann-json3-dev libcli11-dev libfmt-dev libgtest-dev libgmock-dev"
charts=
for word in "$@"; do
    case "$word" in
        ci) needed="$needed ccache clang clang-format clang-tidy libclang-rt-14-dev libbenchmark-dev libsimgrid-dev graphviz chromium" ;;
        charts)
            needed="$needed npm"
            charts=needed
            ;;
        *)
            echo "setup: $word is not known; known are ci, charts" >&2
            exit 64
            ;;
    esac
done

# The versions of web/package-lock.json, without running anything of theirs.
get_charts() {
    talk=silent
    [ -z "$charts" ] || talk=error
    if [ ! -f web/node_modules/uplot/LICENSE ] || ! grep -q "\"version\": \"$(charts_version)\"" web/node_modules/uplot/package.json; then
        if ! command -v npm > /dev/null; then
            echo "setup: no npm here: the HTML report will have no charts (scripts/setup.sh charts installs it)" >&2
        elif ! (cd web && npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=0 --fetch-timeout=20000 \
            --loglevel="$talk") >&2; then
            echo "setup: npm could not fetch the charts of the HTML report: it will have tables alone" >&2
        fi
    fi
    [ -z "$charts" ] || [ -f web/node_modules/uplot/LICENSE ]
}

charts_version() {
    sed -n 's/^ *"uplot": "\(.*\)"$/\1/p' web/package.json
}

# Tools may come from anywhere; libraries are asked of the package manager.
present() {
    case "$1" in
        cmake) command -v cmake > /dev/null && cmake_is_new_enough ;;
        ninja-build) command -v ninja > /dev/null ;;
        g++) command -v c++ > /dev/null ;;
        pkg-config | ccache | clang | clang-format | clang-tidy | npm | chromium) command -v "$1" > /dev/null ;;
        graphviz) command -v dot > /dev/null ;;
        *) [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ] ;;
    esac
}

cmake_is_new_enough() {
    version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    # shellcheck disable=SC2086
    set -- $version
    [ "$1" -gt 3 ] || { [ "$1" -eq 3 ] && [ "$2" -ge 25 ]; }
}

missing=
for package in $needed; do
    present "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
    get_charts
    exit
fi

by_hand="Install them yourself, then run this again:  apt-get install$missing"
if ! command -v apt-get > /dev/null; then
    echo "setup: missing:$missing. There is no apt-get here. $by_hand (names are Debian's)" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo > /dev/null; then
    # A question for the password needs somebody who can answer it.
    if [ -t 0 ]; then as_root=sudo; else as_root="sudo -n"; fi
    if ! $as_root true; then
        echo "setup: missing:$missing. sudo does not let this user install them. $by_hand" >&2
        exit 1
    fi
else
    echo "setup: missing:$missing. This user is not root and there is no sudo. $by_hand" >&2
    exit 1
fi

echo "setup: installing$missing" >&2
# shellcheck disable=SC2086
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
} >&2
get_charts
