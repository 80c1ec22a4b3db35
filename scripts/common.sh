# Shared by the scripts beside it: packages, build. To be sourced; expects bash with -euo pipefail.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
build=$root/build/release
jobs=$(nproc)

say() { printf '\n== %s\n' "$*"; }

# Whether every package is there; prints the names of those that are not.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# install_packages NAME...: through apt, as root or with sudo; calls no apt when all are there.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "heddle: this is neither Debian nor Ubuntu; install what these packages hold yourself: $*" >&2
    return 0
  fi
  local missing sudo=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "heddle: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
      return 4
    fi
    sudo=(sudo)
  fi
  say "apt: installing ${missing[*]}"
  "${sudo[@]}" apt-get update -q
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

build_packages=(g++ cmake ninja-build libfmt-dev libsqlitecpp-dev libsqlite3-dev nlohmann-json3-dev libcli11-dev
                zlib1g-dev libxxhash-dev libboost-context-dev liblapacke-dev libopenblas-dev)
test_packages=(doctest-dev libbenchmark-dev libmpfi-dev python3)

# What CTest has found, for test_counts.
results=$build/Testing/results.xml
# test_counts: "PASSED FAILED SKIPPED", test cases, of the last run of CTest; all 0 if there was none.
test_counts() {
  local attribute all=0 failures=0 skipped=0 disabled=0
  if [[ -f $results ]]; then
    for attribute in tests failures skipped disabled; do
      local -n value=${attribute/tests/all}
      value=$(sed -n "s/^[[:space:]]*$attribute=\"\([0-9]*\)\"$/\1/p" "$results" | head -n 1)
    done
  fi
  echo "$((all - failures - skipped - disabled)) $failures $((skipped + disabled))"
}

# configure ARGUMENT...: the release build. HEDDLE_CMAKE_ARGS adds arguments of your own.
configure() {
  # shellcheck disable=SC2086
  cmake --preset release "$@" ${HEDDLE_CMAKE_ARGS:-}
}
