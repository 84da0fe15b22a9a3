#!/usr/bin/env bash
# What a stranger does with a release, tried on what .ci/dist made: `tests/dist.sh [FOLDER [PART…]]` (default:
# target/package/out, and every part). .ci/run does this with packages of the unoptimised program; the release
# workflow with those it publishes. Each part that cannot run here is named and skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/package/out}")
repository=$PWD
work=$(mktemp -d)
pids=()
skipped=()

finish() {
    local status=$?
    local pid
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    ((status != 0)) || printf '%s\n' ${skipped[@]+"${skipped[@]}"} 'all parts that ran passed'
    ((status == 0)) || echo "FAILED (what it worked on is in $work)"
    ((status != 0)) || rm -rf "$work"
}
trap finish EXIT

part() { printf '=== %s\n' "$*"; }
skip() { skipped+=("SKIPPED $*"); printf 'SKIPPED %s\n' "$*"; }
has() { PATH=$PATH:/usr/sbin command -v "$1" >/dev/null; }
die() { echo "error: $*" >&2; exit 1; }
# says WORDS COMMAND…: the command fails, and says these words.
refused() {
    local words=$1 said
    shift
    if said=$("$@" 2>&1); then die "\`$*\` should fail"; fi
    [[ $said == *"$words"* ]] || die "\`$*\` does not say \`$words\`: $said"
}

archive=$(basename "$(ls "$out"/countersign-*-"$(rustc -vV | sed -n 's/^host: //p')".tar.gz)")
version=$(sed -E 's/^countersign-([0-9]+\.[0-9]+\.[0-9]+)-.*/\1/' <<<"$archive")

the_archive() {
    part 'the archive'
    (cd "$out" && sha256sum --quiet --check SHA256SUMS)
    tar -C "$work" -xzf "$out/$archive"
    local folder=$work/${archive%.tar.gz}
    [[ $("$folder/countersign" --version) == "countersign $version"* ]]
    local file
    for file in share/man/man1/countersign.1 share/man/man1/countersign-ask.1 share/completions/_countersign \
        share/doc/LICENSE-MIT share/doc/examples/countersign.toml; do
        [[ -s $folder/$file ]] || die "the archive lacks $file"
    done
    part 'the log of a service holds no link'
    # Without a daemon's own settings: as `serve` starts on an empty machine, and as a unit starts it.
    serves() {
        local home said=$work/said-$1
        home=$(mktemp -d "$work/home-XXXX") && : >"$said"
        shift
        env -i PATH="$PATH" HOME="$home" COUNTERSIGN__DAEMON__LISTEN=127.0.0.1:0 "$@" >"$said" 2>"$said.log" &
        local pid=$!
        pids+=("$pid")
        for _ in $(seq 200); do grep -q '^ready' "$said" && break; sleep 0.1; done
        kill "$pid" && wait "$pid"
        cat "$said" "$said.log"
    }
    [[ $(serves plain "$folder/countersign" serve) == *'?token='* ]] || die 'a script gets no link'
    [[ $(serves flag "$folder/countersign" serve --no-link) != *'token='* ]] || die '--no-link prints the link'
    [[ $(serves unit sh -c 'exec 3>&1; export JOURNAL_STREAM=$(stat -Lc %d:%i /dev/fd/3); exec "$0" serve' \
        "$folder/countersign") != *'token='* ]] || die 'the journal holds the link'
}

the_install_script() {
    part 'install.sh: good, wrong and missing sums'
    local site=$work/site url port home=$work/home
    mkdir -p "$site" "$home"
    cp "$out/$archive" "$out/SHA256SUMS" "$site/"
    (cd "$site" && exec python3 -u -m http.server --bind 127.0.0.1 0) >"$work/http" 2>/dev/null &
    pids+=($!)
    for _ in $(seq 100); do grep -q 'port ' "$work/http" && break; sleep 0.05; done
    port=$(sed -nE 's/.* port ([0-9]+) .*/\1/p' "$work/http")
    url=http://127.0.0.1:$port
    install() { env -i PATH="$PATH" HOME="$home" COUNTERSIGN_URL="$url" "$@" sh "$out/install.sh"; }
    local program=$home/.local/bin/countersign

    sed "s/^[0-9a-f]\{8\}/00000000/" "$out/SHA256SUMS" >"$site/SHA256SUMS"
    refused 'is not the file that SHA256SUMS names' install
    grep -v -- "$archive" "$out/SHA256SUMS" >"$site/SHA256SUMS"
    refused 'names no archive' install
    rm "$site/SHA256SUMS"
    refused 'cannot download' install
    refused 'is not an https address' env -i PATH="$PATH" HOME="$home" COUNTERSIGN_URL=ftp://x sh "$out/install.sh"
    [[ ! -e $program ]] || die 'a refused installation left a program'

    cp "$out/SHA256SUMS" "$site/"
    install >"$work/said"
    grep -q 'Next: ' "$work/said"
    [[ $("$program" --version) == "countersign $version"* ]]
    truncate -s -1 "$site/$archive"
    refused 'is not the file that SHA256SUMS names' install
    [[ $("$program" --version) == "countersign $version"* ]] || die 'the program of before is gone'
    cp "$out/$archive" "$site/"

    has minisign || { skip 'signatures: no minisign'; return; }
    minisign -G -W -f -p "$work/key.pub" -s "$work/key" >/dev/null
    minisign -G -W -f -p "$work/other.pub" -s "$work/other" >/dev/null
    local key
    key=$(tail -1 "$work/key.pub")
    refused 'cannot download' install COUNTERSIGN_MINISIGN_KEY="$key"
    minisign -S -W -s "$work/other" -m "$site/SHA256SUMS" >/dev/null
    refused 'the signature of SHA256SUMS is wrong' install COUNTERSIGN_MINISIGN_KEY="$key"
    minisign -S -W -s "$work/key" -m "$site/SHA256SUMS" >/dev/null
    install COUNTERSIGN_MINISIGN_KEY="$key" >/dev/null
    # As a release has it: in one line, with its own address and key.
    sed -e "s|^release=.*|release='$url'|" -e "s|^key=.*|key='$key'|" "$out/install.sh" >"$site/install.sh"
    rm "$program"
    in_one_line() { curl -fsSL "$url/install.sh" | env -i PATH="$PATH" HOME="$home" sh; }
    minisign -S -W -s "$work/other" -m "$site/SHA256SUMS" >/dev/null
    refused 'the signature of SHA256SUMS is wrong' in_one_line
    [[ ! -e $program ]] || die 'a wrong signature left a program'
    minisign -S -W -s "$work/key" -m "$site/SHA256SUMS" >/dev/null
    in_one_line >/dev/null
    [[ $("$program" --version) == "countersign $version"* ]]
}

the_npm_packages() {
    part 'npm: npx countersign'
    has npm || { skip 'npm: not installed'; return; }
    local folder=$work/npm platform
    platform=$(ls "$out"/countersign-cli-*.tgz)
    mkdir -p "$folder"
    # A registry that nobody has: nothing may be downloaded.
    (cd "$folder" && echo '{}' >package.json &&
        npm install --silent --registry http://127.0.0.1:1 --fetch-retries 0 --no-audit --no-fund \
            "$platform" "$out/countersign-$version.tgz")
    [[ $(cd "$folder" && npx --no-install countersign --version) == "countersign $version"* ]]
    local code=0
    (cd "$folder" && HOME=$work npx --no-install countersign ask -- true) >/dev/null 2>&1 || code=$?
    ((code != 0)) || die 'npx countersign ask allows without a daemon'
    rm -r "$folder/node_modules/@countersign"
    refused 'is not installed' npx --prefix "$folder" --no-install countersign --version
}

the_rpm() {
    part 'rpm: its content'
    has rpm || { skip 'rpm: not installed'; return; }
    local package file files
    package=$(ls "$out"/*.rpm)
    files=$(rpm -qlp "$package" 2>/dev/null)
    for file in /usr/bin/countersign /usr/lib/systemd/system/countersign.service \
        /usr/lib/sysusers.d/countersign.conf /usr/share/man/man1/countersign.1.gz; do
        grep -qx "$file" <<<"$files" || die "the rpm lacks $file"
    done
    ! grep -v '^/usr/' <<<"$files" || die 'the rpm has files outside of /usr'
    [[ $(rpm -qp --queryformat '%{VERSION} %{LICENSE}' "$package" 2>/dev/null) == "$version MIT OR Apache-2.0" ]]
    rpm -K --nosignature "$package" >/dev/null
}

the_deb_is_clean() {
    part 'deb: lintian'
    has lintian || { skip 'lintian: not installed'; return; }
    lintian --fail-on error,warning "$(ls "$out"/*.deb)" >"$work/lintian" 2>&1 ||
        die "lintian complains: $(cat "$work/lintian")"
}

# A Debian root of its own, where the package is installed, used, upgraded over an older version with
# open asks, removed and purged. There is no systemd in it: the daemon is started by hand as its unit would.
the_deb_in_use() {
    part 'deb: installed, used, upgraded, purged'
    has debootstrap && ((EUID == 0)) || { skip 'deb in a root of its own: needs root and debootstrap'; return; }
    has sqlite3 || { skip 'deb in a root of its own: no sqlite3'; return; }
    local root=$work/debian suite=${DEBIAN_SUITE:-bookworm}
    debootstrap --variant=minbase --include=adduser,ca-certificates "$suite" "$root" \
        ${DEBIAN_MIRROR:-} >"$work/debootstrap" 2>&1 || { skip "deb in a root of its own: $(tail -1 "$work/debootstrap")"; return; }
    local new old state=/var/lib/countersign
    new=$(ls "$out"/*.deb)
    # An older version: this program under another number, and a store as the first version kept it.
    dpkg-deb -R "$new" "$work/old"
    sed -i 's/^Version: .*/Version: 0.0.9-1/' "$work/old/DEBIAN/control"
    old=$root/old.deb
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/old" "$old" >/dev/null
    cp "$new" "$root/new.deb"
    local inside=(chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
        DEBIAN_FRONTEND=noninteractive)
    # As the unit does it.
    local daemon_runs=("${inside[@]}" setpriv --reuid countersign --regid countersign --clear-groups
        env HOME=$state COUNTERSIGN__DAEMON__STATE_DIR=$state/state COUNTERSIGN__DAEMON__LISTEN=127.0.0.1:0
        COUNTERSIGN__DAEMON__SOCKET=$state/countersign.sock
        COUNTERSIGN__CLIENT__URL=unix:$state/countersign.sock
        countersign --config $state/countersign.toml)
    in_root() { "${inside[@]}" "$@"; }
    as_daemon() { "${daemon_runs[@]}" "$@"; }
    start() {
        # Not through a function, whose process would be a shell.
        "${daemon_runs[@]}" serve >"$work/ready" 2>"$work/daemon" &
        daemon=$!
        pids+=("$daemon")
        for _ in $(seq 200); do grep -q '^ready' "$work/ready" && return; sleep 0.1; done
        die "the daemon did not start: $(cat "$work/daemon")"
    }
    stop() { kill "$daemon" && wait "$daemon"; }

    in_root dpkg -i /old.deb >/dev/null
    [[ $(in_root stat -c '%U %a' $state $state/countersign.toml $state/approver.token | sort -u) == \
        $'countersign 600\ncountersign 700' ]] || die 'config, tokens and state are not for the daemon alone'
    [[ ! -e $root/etc/systemd/system/multi-user.target.wants/countersign.service ]] || die 'it is enabled'
    local tokens
    tokens=$(sha256sum "$root$state/approver.token")
    in_root install -d -m 0700 -o countersign -g countersign $state/state
    sqlite3 "$root$state/state/countersign.db" <"$repository/tests/vectors/stores/step-01.sql"
    in_root chown countersign:countersign $state/state/countersign.db
    start
    grep -q '"waitsfor"' <<<"$(as_daemon pending --json)" || die 'the open ask of the older store is gone'
    as_daemon ask --no-wait -- git push origin main >/dev/null 2>&1 || [[ $? == 8 ]]
    stop

    in_root dpkg -i /new.deb >/dev/null
    [[ $(sha256sum "$root$state/approver.token") == "$tokens" ]] || die 'the upgrade made new tokens'
    start
    (($(as_daemon pending --json | grep -c '"git push origin main"') >= 1)) || die 'an open ask is gone'
    as_daemon approve waitsfor >/dev/null || die 'an ask from before the upgrade cannot be approved'
    stop
    as_daemon backup $state/backup.db >/dev/null
    grep -q 'is the backup now' <<<"$(as_daemon restore $state/backup.db)" || die 'the backup cannot be restored'

    in_root dpkg -r countersign >/dev/null
    [[ -e $root$state/countersign.toml ]] || die 'a removal deleted the config'
    in_root dpkg -P countersign >/dev/null
    [[ ! -e $root$state ]] || die 'a purge left the state'
    ! in_root getent passwd countersign >/dev/null || die 'a purge left the user'
    ! find "$root/usr" "$root/etc" -path '*countersign*' | grep . || die 'a purge left files'
}

the_manifests() {
    part 'manifests'
    local file=config/dist/kubernetes/countersign.yaml
    local python=python3
    if has kubeconform; then
        kubeconform -strict -summary "$file"
    else
        # The schemas of Kubernetes as a package of Python.
        python3 -c 'import kubernetes_validate' 2>/dev/null || {
            python=$work/venv/bin/python
            python3 -m venv "$work/venv" >/dev/null 2>&1 && "$python" -m pip --quiet install kubernetes-validate \
                >/dev/null 2>&1 || python=''
        }
        if [[ -n $python ]]; then
            "$python" - "$file" <<'PY'
import sys, kubernetes_validate, yaml
for it in yaml.safe_load_all(open(sys.argv[1])):
    kubernetes_validate.validate(it, "1.31", strict=True)
PY
        else
            skip 'the schemas of Kubernetes: neither kubeconform nor kubernetes-validate'
            python=python3
        fi
    fi
    if "$python" -c 'import yaml' 2>/dev/null; then
        "$python" - "$file" .github/workflows/*.yml config/service/compose/compose.yaml <<'PY'
import sys, yaml
for name in sys.argv[1:]:
    documents = [it for it in yaml.safe_load_all(open(name)) if it]
    assert documents, name
    if "kubernetes" not in name:
        continue
    kinds = {it["kind"]: it for it in documents}
    assert set(kinds) == {"ServiceAccount", "Deployment", "Service", "PodDisruptionBudget"}, kinds
    spec = kinds["Deployment"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    for other in (spec["selector"]["matchLabels"], kinds["Service"]["spec"]["selector"],
                  kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]):
        assert other == labels, other
    pod = spec["template"]["spec"]
    volumes = {it["name"] for it in pod["volumes"]}
    for container in pod["containers"]:
        assert {it["name"] for it in container["volumeMounts"]} == volumes
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["securityContext"]["runAsNonRoot"] is True
PY
    else
        skip 'YAML: python3 has no yaml'
    fi
    # Every action is named by a commit and not by a tag, which can move.
    ! grep -hE '^ *- *uses:' .github/workflows/*.yml | grep -vE '@[0-9a-f]{40} # v' || die 'an action is not pinned'
    if has systemd-analyze; then
        mkdir -p "$work/units"
        sed 's|/usr/local/bin/countersign|/bin/true|' config/service/system/countersign.service >"$work/units/countersign.service"
        systemd-analyze verify "$work/units/countersign.service" 2>&1 | { ! grep -i countersign; }
    else
        skip 'units: no systemd-analyze'
    fi
}

parts=(the_archive the_install_script the_npm_packages the_rpm the_deb_is_clean the_manifests the_deb_in_use)
(($# < 2)) || parts=("${@:2}")
for name in "${parts[@]}"; do "$name"; done
