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

# A Debian root of its own at $work/debian, made once.
a_debian_root() {
    [[ ! -e $work/debian/etc/debian_version ]] || return 0
    has debootstrap && ((EUID == 0)) || { skip 'deb in a root of its own: needs root and debootstrap'; return 1; }
    local include=adduser,ca-certificates,systemd,systemd-sysv,dbus,libpam-systemd,dbus-user-session
    debootstrap --variant=minbase "--include=$include" "${DEBIAN_SUITE:-bookworm}" "$work/debian" ${DEBIAN_MIRROR:-} \
        >"$work/debootstrap" 2>&1 && return
    skip "deb in a root of its own: $(tail -1 "$work/debootstrap")"
    rm -rf "$work/debian"
    return 1
}

# The package is installed, used, upgraded over an older version with open asks, removed and purged. systemd
# does not run: the daemon is started by hand as its unit would.
the_deb_in_use() {
    part 'deb: installed, used, upgraded, purged'
    a_debian_root || return 0
    local root=$work/debian
    local new old state=/var/lib/countersign
    new=$(ls "$out"/*.deb)
    # An older version: this program under another number.
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
    start
    as_daemon ask --no-wait -- git push origin main >/dev/null 2>&1 || [[ $? == 8 ]]
    stop

    in_root dpkg -i /new.deb >/dev/null
    [[ $(sha256sum "$root$state/approver.token") == "$tokens" ]] || die 'the upgrade made new tokens'
    start
    (($(as_daemon pending --json | grep -c '"git push origin main"') >= 1)) || die 'an open ask is gone'
    local waits
    waits=$(as_daemon pending --json | grep -oE '"id": *"[a-z0-9]{8}"' | head -n 1 | grep -oE '[a-z0-9]{8}')
    as_daemon approve "$waits" >/dev/null || die 'an ask from before the upgrade cannot be approved'
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

# The same root with systemd as its first process, in namespaces of its own: the units as the package
# installs them, their sandbox included.
the_units_under_systemd() {
    part 'deb: its units under systemd'
    a_debian_root || return 0
    local root=$work/debian new state=/var/lib/countersign first='' manager
    new=$(ls "$out"/*.deb)
    dpkg-deb -R "$new" "$work/newer"
    sed -i 's/^Version: .*/Version: 999.0.0-1/' "$work/newer/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/newer" "$root/newer.deb" >/dev/null
    cp "$new" "$root/new.deb"
    chroot "$root" dpkg -P countersign >/dev/null 2>&1 || true

    unshare --mount --pid --ipc --uts --cgroup --net --fork --kill-child --propagation private \
        bash -c "$(declare -f first_process); first_process '$root'" >"$work/boot" 2>&1 &
    manager=$!
    pids+=("$manager")
    inside() { nsenter -t "$first" -m -p -i -u -C -n -r -w -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
    # until WORDS COMMAND…: what the command prints holds the words within 30 s.
    until_says() {
        local words=$1 said=''
        shift
        for _ in $(seq 150); do
            said=$("$@" 2>&1) || true
            [[ $said != *"$words"* ]] || return 0
            sleep 0.2
        done
        die "\`$*\` does not say \`$words\`: $said"
    }
    for _ in $(seq 300); do
        first=$(pgrep -P "$manager" -x systemd) && [[ $(inside systemctl is-system-running 2>&1) == running ]] && break
        kill -0 "$manager" 2>/dev/null || break
        sleep 0.2
    done
    [[ -n $first && $(inside systemctl is-system-running 2>&1) == running ]] ||
        { skip "units: systemd does not come up here: $(tail -1 "$work/boot")"; return; }
    operator() {
        inside setpriv --reuid countersign --regid countersign --clear-groups env HOME=$state \
            countersign --config $state/countersign.toml "$@"
    }
    agent() { inside setpriv --reuid agent --regid agent --clear-groups env -C /home/agent HOME=/home/agent "$@"; }
    journal() { inside journalctl --no-pager -o cat -u countersign; }

    inside dpkg -i /new.deb >/dev/null
    [[ $(inside systemctl is-enabled countersign.service 2>&1) == disabled ]] || die 'the service is enabled'
    inside systemctl enable --now countersign.service 2>/dev/null
    until_says 'store     SQLite, up' operator status
    operator doctor >"$work/doctor" || die "doctor fails: $(cat "$work/doctor")"

    # Another user's agent, with the token that its operator gave it.
    inside useradd --create-home agent
    agent mkdir -p .config/countersign
    printf '[client]\nurl = "http://127.0.0.1:7117"\n%s\n' \
        "$(sed -n '/^\[client\]/,/^\[/ s/^token/token/p' "$root$state/countersign.toml")" |
        agent tee .config/countersign/countersign.toml >/dev/null
    agent chmod 600 .config/countersign/countersign.toml
    refused 'Permission denied' agent cat $state/approver.token
    local code=0 id
    agent countersign ask --no-wait -- make one >/dev/null 2>&1 || code=$?
    ((code == 8)) || die "an ask without a wait ends with $code"

    # Killed, reloaded, upgraded: the ask stays open.
    inside systemctl kill --signal KILL countersign.service
    until_says '"make one"' operator pending --json
    inside systemctl reload countersign.service
    until_says 'the config was reloaded' journal
    sed -i 's/^socket = /sockett = /' "$root$state/countersign.toml"
    inside systemctl reload countersign.service
    until_says 'unknown key `sockett`' journal
    sed -i 's/^sockett = /socket = /' "$root$state/countersign.toml"
    local before
    before=$(inside systemctl show --property MainPID countersign.service)
    inside dpkg -i /newer.deb >/dev/null
    [[ $(inside systemctl show --property MainPID countersign.service) != "$before" ]] || die 'an upgrade restarts nothing'
    until_says '"make one"' operator pending --json
    id=$(operator pending --json | sed -nE 's/.*"id": ?"([a-z0-9]+)".*/\1/p' | head -1)
    [[ $(operator approve "$id") == 'Approved once.' ]] || die 'an ask from before the upgrade cannot be approved'

    # systemd holds the port while the daemon is down; the first caller starts it.
    inside systemctl stop countersign.service
    inside systemctl start countersign.socket
    agent countersign ask --no-wait -- make two >/dev/null 2>&1 || code=$?
    ((code == 8)) || die "an ask through systemd's socket ends with $code"
    until_says '"make two"' operator pending --json

    part 'countersign up: a service of one user'
    inside loginctl enable-linger agent
    until_says running as_user systemctl --user is-system-running
    as_user sh -c 'rm -r ~/.config/countersign && install -D /usr/bin/countersign ~/bin/countersign'
    # The package of the system goes: `up` writes a unit of its own. Its config stays, and so does its user.
    inside dpkg -r countersign >/dev/null 2>&1
    [[ $(inside systemctl is-active countersign.service countersign.socket | sort -u) == inactive ]] ||
        die 'a removal leaves a unit running'
    as_user bin/countersign up --yes >"$work/up" 2>&1 || die "up fails: $(cat "$work/up")"
    grep -q 'daemon    runs as a service of this user' "$work/up" || die "up says: $(cat "$work/up")"
    until_says 'store     SQLite, up' as_user bin/countersign status
    [[ $(as_user systemctl --user is-active countersign.socket) == active ]] || die 'systemd does not hold the port'
    as_user bin/countersign up --yes >"$work/up" 2>&1 || die "up fails when it is repeated: $(cat "$work/up")"
    grep -q 'daemon    runs already' "$work/up" || die "up says: $(cat "$work/up")"
    as_user systemctl --user reload countersign.service || die "the user's service cannot be reloaded"

    inside dpkg -P countersign >/dev/null 2>&1
    [[ ! -e $root$state ]] || die 'a purge left the state'
    inside systemctl poweroff --force
    wait "$manager" || true
}
as_user() {
    agent env XDG_RUNTIME_DIR=/run/user/"$(inside id -u agent)" \
        DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/"$(inside id -u agent)"/bus "$@"
}
# Becomes systemd under this root. It runs in namespaces of its own, so no mount has to be undone.
first_process() {
    local root=$1 groups=$1/sys/fs/cgroup
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
        mount -t cgroup2 cgroup2 "$groups"
    else
        mount -t tmpfs tmpfs "$groups"
        mkdir "$groups/systemd" "$groups/unified"
        mount -t cgroup -o none,name=systemd cgroup "$groups/systemd"
        mount -t cgroup2 cgroup2 "$groups/unified"
    fi
    mount -t tmpfs tmpfs "$root/run"
    mount --rbind /dev "$root/dev"
    # The unit's RemoveIPC would take the shared memory of whoever has its user's number out here.
    mount -t tmpfs tmpfs "$root/dev/shm"
    exec env -i container=countersign PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" \
        /lib/systemd/systemd --log-target=console --show-status=no
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

parts=(the_archive the_install_script the_npm_packages the_rpm the_deb_is_clean the_manifests the_deb_in_use
    the_units_under_systemd)
(($# < 2)) || parts=("${@:2}")
for name in "${parts[@]}"; do "$name"; done
