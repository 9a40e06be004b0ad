# Shared by setup and run: where the toolchain root of a package list lives. Sourced, not executed.

suite=forky
# Raise it when setup changes what a root contains; edits that do not must not cost everyone a new root.
root_version=1

toolchain_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source_dir="$(cd "$toolchain_dir/../.." && pwd)"
cache_dir="${XDG_CACHE_HOME:-$HOME/.cache}/tabgrad"

die() {
  echo "toolchain: $*" >&2
  exit 1
}

# Sets list_file, dir (the folder of this list's root), root and stamp.
select_list() {
  list_file="$toolchain_dir/packages${1:+-$1}.txt"
  [ -f "$list_file" ] || die "no package list $list_file"
  local hash
  hash="$({ echo "$suite $root_version"; cat "$list_file"; } | sha256sum)"
  dir="$cache_dir/toolchain${1:+-$1}-${hash:0:12}"
  root="$dir/root"
  stamp="$dir/complete"
}

# On the suite itself (a forky host, our Docker image) packages are installed in place and no root is needed.
host_is_suite() {
  grep -qs "^VERSION_CODENAME=$suite\$" /etc/os-release
}
