#!/usr/bin/env bash
# The clients for other languages (src/embed), with the real daemon and the real frameworks:
#
#     tests/embed.sh [python|typescript]
#
# Needs python3 (3.10 or newer), npm, and a network for the frameworks. What is not there is skipped with a
# message. COUNTERSIGN_BIN names the program; otherwise it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
work="$target/embed"
mkdir -p "$work"

if [[ -z ${COUNTERSIGN_BIN:-} ]]; then
    cargo build --quiet --workspace
    COUNTERSIGN_BIN="$target/debug/countersign"
fi
export COUNTERSIGN_BIN

skipped() { echo "SKIPPED: $*"; }

python() {
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        skipped 'Python: there is no python3, 3.10 or newer'
        return
    fi
    local python="$work/venv/bin/python"
    [[ -x $python ]] || python3 -m venv "$work/venv"
    cd src/embed/python
    if "$python" -m pip install --quiet --disable-pip-version-check \
        -r tests/requirements.txt; then
        "$python" -m ruff check --quiet . ..
        "$python" -m ruff format --quiet --check .
        "$python" -m mypy
    else
        skipped 'Python: the frameworks cannot be installed; the client is tested without them'
    fi
    "$python" -W error::ResourceWarning -m unittest
    cd - >/dev/null
}

# The client is for node 20 too; the frameworks and files that are TypeScript want a newer one.
newer_node() {
    local package
    command -v npm >/dev/null && command -v node >/dev/null || return 0
    (($(node -p 'process.versions.node.split(".")[0]') < 22)) || return 0
    package="node-$(node -p 'process.platform + "-" + process.arch')"
    if npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$work/node" "$package@22"; then
        older=$(command -v node)
        PATH="$work/node/node_modules/$package/bin:$PATH"
    fi
}

typescript() {
    if ! command -v npm >/dev/null; then
        skipped 'TypeScript: there is no npm'
        return
    fi
    # In a folder of its own: the packages of the frameworks are hundreds of megabytes.
    local package="$work/typescript"
    mkdir -p "$package"
    rm -rf "$package"/{src,test,examples,dist}
    cp -r src/embed/typescript/{src,test,examples,package.json,tsconfig.json} "$package"
    cp src/embed/claude_model.py "$work"
    cd "$package"
    if ! npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts; then
        skipped 'TypeScript: its packages cannot be installed'
        cd - >/dev/null
        return
    fi
    node node_modules/typescript/bin/tsc
    if [[ -n $older ]]; then
        "$older" --test dist/test/*.test.js
    fi
    node --test dist/test/*.test.js
    cd - >/dev/null
}

older=
newer_node
case ${1:-all} in
python) python ;;
typescript) typescript ;;
*)
    python
    typescript
    ;;
esac
