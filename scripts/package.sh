#!/bin/bash
# Builds the .deb and the .tar.gz and tries them where no toolchain is.
#
#   scripts/package.sh [BUILD-FOLDER]    (build/portable if nothing is said; it is made where it is not there)
#
# Checked: no binary asks for a newer C library than the packages name; the .deb, unpacked over a bare root that holds
# only what it depends on, runs. The root is a folder of PEERLANE_ROOT, or made with debootstrap (as root, needs the
# network); where neither can be had that part is left out, and said.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/portable}
scripts/setup.sh charts || echo "the report of these packages has no charts"
[ -f "$build/CMakeCache.txt" ] || cmake --preset portable -B "$build" -DPEERLANE_BUILD_TESTS=OFF
cmake --build "$build" --target peerlane peerlane-probe
oldest=$(sed -n 's/^set(PEERLANE_OLDEST_GLIBC \([0-9.]*\)).*/\1/p' cmake/PeerlanePackage.cmake)

packages="$build/packages"
rm -rf "$packages"
cpack --config "$build/CPackConfig.cmake" -B "$packages" >"$build/cpack.log" 2>&1 || { cat "$build/cpack.log"; exit 1; }
deb=$(ls "$packages"/*.deb)
tgz=$(ls "$packages"/*.tar.gz)

try=$(mktemp -d)
trap 'rm -rf "$try"' EXIT
tar -xzf "$tgz" -C "$try" --strip-components=1
for program in peerlane peerlane-probe; do
  file=$(find "$try" -name "$program" -type f -perm -u+x)
  wants=$(objdump -T "$file" | sed -n 's/.*(\?GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -1)
  if [ "$(printf '%s\n%s\n' "$wants" "$oldest" | sort -V | tail -1)" != "$oldest" ]; then
    echo "$program asks for glibc $wants; the packages say $oldest" >&2
    exit 1
  fi
  others=$(objdump -p "$file" | sed -n 's/^ *NEEDED *//p' | grep -vE '^(libc|libm|libgcc_s|libdl|libpthread|librt|ld-linux.*)\.so' || true)
  if [ -n "$others" ]; then
    echo "$program needs what the packages do not name: $others" >&2
    exit 1
  fi
  echo "$program: glibc $wants at most (the packages say $oldest)"
done
bin=$(dirname "$(find "$try" -name peerlane -type f -perm -u+x)")
"$bin/peerlane" --machine h200-pair doctor --quick --oneline

root=${PEERLANE_ROOT:-}
if [ -z "$root" ] && [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
  root="$build/bare-root"
  [ -x "$root/bin/sh" ] || debootstrap --variant=minbase bookworm "$root" >"$build/debootstrap.log" 2>&1 || {
    echo "no bare root: $(tail -1 "$build/debootstrap.log")" >&2
    root=
  }
fi
if [ -n "$root" ]; then
  cp "$deb" "$root/tmp/peerlane.deb"
  chroot "$root" dpkg -i /tmp/peerlane.deb
  chroot "$root" peerlane --version
  chroot "$root" peerlane --machine h200-pair doctor --oneline
else
  echo "not tried in a bare root (PEERLANE_ROOT, or debootstrap as root)"
fi
ls -l "$deb" "$tgz"
