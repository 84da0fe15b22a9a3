#!/bin/sh
# Installs countersign for this user: downloads the archive of this platform and its sums, compares
# them, and copies one program. It changes nothing else, and nothing at all if a sum differs.
#
#   curl -fsSL https://…/install.sh | sh              # from the release that this script belongs to
#   COUNTERSIGN_URL=https://…/v0.1.0 sh install.sh [DIR]
#
# DIR is where the program goes (default: ~/.local/bin). Where minisign is installed, the sums must be signed by
# the release's key; with COUNTERSIGN_MINISIGN_KEY set they must be signed by that one, and minisign must be there.
set -eu

# .ci/dist fills these in.
release='@URL@'
key='@KEY@'

fail() {
    echo "error: $*" >&2
    exit 1
}

# All of it is read before anything runs: a download that stops halfway runs nothing.
main() {
    url=${COUNTERSIGN_URL:-$release}
    case $url in
        *:*) ;;
        *) fail "set COUNTERSIGN_URL to the address of a release, such as https://example.org/v0.1.0" ;;
    esac
    dir=${1:-$HOME/.local/bin}
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT

    get "$url/SHA256SUMS" "$work/SHA256SUMS"
    signed "$url" "$work"
    name=$(archive "$work/SHA256SUMS")
    get "$url/$name" "$work/$name"
    compare "$work" "$name"

    (cd "$work" && tar -xzf "$name")
    program=$work/${name%.tar.gz}/countersign
    [ -f "$program" ] || fail "$name holds no program"
    "$program" --version >/dev/null || fail "the program of $name does not run on this machine"
    mkdir -p "$dir"
    # In one step: a program that runs is never half written.
    cp "$program" "$dir/.countersign.new"
    chmod 755 "$dir/.countersign.new"
    mv -f "$dir/.countersign.new" "$dir/countersign"
    echo "Installed $("$dir/countersign" --version) as $dir/countersign"
    case ":$PATH:" in
        *":$dir:"*) echo "Next: countersign up" ;;
        *) echo "$dir is not on your PATH. Next: $dir/countersign up" ;;
    esac
}

platform() {
    case "$(uname -s)/$(uname -m)" in
        Linux/x86_64) echo x86_64-unknown-linux-gnu ;;
        Linux/aarch64 | Linux/arm64) echo aarch64-unknown-linux-gnu ;;
        Darwin/x86_64) echo x86_64-apple-darwin ;;
        Darwin/arm64) echo aarch64-apple-darwin ;;
        *) fail "there is no archive for $(uname -s) on $(uname -m)" ;;
    esac
}

# The archive of this platform that the sums name.
archive() {
    wanted=$(platform)
    found=$(awk -v end="-$wanted.tar.gz" '
        { name = $2; sub(/^\*/, "", name) }
        length(name) > length(end) && substr(name, length(name) - length(end) + 1) == end { print name }
    ' "$1")
    case $found in
        '') fail "SHA256SUMS names no archive for $wanted" ;;
        *[!A-Za-z0-9._-]*) fail "SHA256SUMS names more than one archive for $wanted, or an odd one" ;;
    esac
    echo "$found"
}

get() {
    case $1 in
        https://* | http://127.0.0.1:* | file://*) ;;
        *) fail "$1 is not an https address" ;;
    esac
    if command -v curl >/dev/null; then
        curl --proto '=https,http,file' --fail --silent --show-error --location --output "$2" "$1" ||
            fail "cannot download $1"
    elif command -v wget >/dev/null; then
        wget --quiet --output-document "$2" "$1" || fail "cannot download $1"
    else
        fail "there is neither curl nor wget"
    fi
}

signed() {
    if ! command -v minisign >/dev/null; then
        [ -z "${COUNTERSIGN_MINISIGN_KEY:-}" ] ||
            fail "minisign is not installed, and COUNTERSIGN_MINISIGN_KEY is set"
        return 0
    fi
    wanted=${COUNTERSIGN_MINISIGN_KEY:-$key}
    # A script that was not filled in, or a release without signatures.
    case $wanted in '' | @*) return 0 ;; esac
    get "$1/SHA256SUMS.minisig" "$2/SHA256SUMS.minisig"
    minisign -V -q -P "$wanted" -m "$2/SHA256SUMS" ||
        fail "the signature of SHA256SUMS is wrong; nothing was installed"
}

compare() {
    wanted=$(awk -v name="$2" '{ file = $2; sub(/^\*/, "", file) } file == name { print $1 }' "$1/SHA256SUMS")
    [ ${#wanted} -eq 64 ] || fail "SHA256SUMS has no sum of $2"
    if command -v sha256sum >/dev/null; then
        found=$(sha256sum "$1/$2")
    elif command -v shasum >/dev/null; then
        found=$(shasum -a 256 "$1/$2")
    else
        fail "there is neither sha256sum nor shasum"
    fi
    [ "${found%% *}" = "$wanted" ] ||
        fail "$2 is not the file that SHA256SUMS names (its sum is ${found%% *}); nothing was installed"
}

main "$@"
