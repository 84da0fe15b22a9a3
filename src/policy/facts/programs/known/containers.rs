//! Containers and clusters.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::changes::{self, Change, deletes, judged, says};
use crate::facts::programs::condition::When::{
    All, Any, Has, Holds, NoVerb, Not, Nth, Operand, Outside, Second, Starts, Test, Verb,
};
use crate::facts::programs::condition::{Case, case, destroys, options};
use crate::facts::programs::description::{
    AlwaysRule, Pipe, Program, Reach, Role, Runs, Title, To,
};
use crate::facts::programs::known::{
    DELETES, RUNS, STARTS_ANOTHER, TO_THE_INFRASTRUCTURE, names_outside,
};
use crate::facts::programs::sensitive;
use crate::facts::programs::{Words, listed};
use crate::shell::WordKind;

pub(crate) static ALL: &[Program] = &[
    DOCKER.grant(
        AlwaysRule::words(2)
            .three("builder compose container image network volume")
            .never_subs("run exec"),
    ),
    DOCKER
        .renamed("podman")
        .grant(AlwaysRule::words(2).three("container image").never_subs("run exec")),
    Program::named("nerdctl")
        .beyond(&[LEAVES_THE_CONTAINER])
        .critical(DOCKER_CRITICAL)
        .runs(Runs::Elsewhere("exec run"))
        .changes(DOCKER_CHANGES)
        .grant(
            AlwaysRule::our_words(2).our_three("compose container image").never_subs("run exec"),
        ),
    Program::named("docker-compose")
        .beyond(&[LEAVES_THE_CONTAINER])
        .grant(AlwaysRule::our_words(2))
        .critical(&[destroys(All(&[Nth(0, "down"), Has("-v --volumes")])).values(COMPOSE)])
        .changes(&[
            says(All(&[Nth(0, "down"), Has("-v --volumes")]), DOWN_WITH_VOLUMES),
            says(All(&[Nth(0, "down"), Not(&Has("-v --volumes"))]), DOWN),
        ]),
    Program::named("kubectl")
        .roles(&[Role::Titled])
        .global(KUBECTL_GLOBAL)
        .beyond(CLUSTER_BEYOND)
        .critical(&[DELETES_FROM_A_CLUSTER])
        .runs(Runs::Elsewhere("exec run"))
        .reaches(&[TO_THE_INFRASTRUCTURE])
        .changes(CLUSTER_CHANGES)
        .pipe(Pipe::tells(Starts("secret")))
        .grant(AlwaysRule::words(2).three("kustomize rollout").never_subs("exec run")),
    Program::named("oc")
        .beyond(CLUSTER_BEYOND)
        .critical(&[DELETES_FROM_A_CLUSTER])
        .runs(Runs::Elsewhere("exec run"))
        .changes(CLUSTER_CHANGES)
        .grant(AlwaysRule::our_words(2).never_subs("exec run")),
    Program::named("k")
        .beyond(CLUSTER_BEYOND)
        .critical(&[DELETES_FROM_A_CLUSTER])
        .runs(Runs::Elsewhere("exec run"))
        .grant(AlwaysRule::our_words(2).never_subs("exec run")),
    Program::named("helm")
        .roles(&[Role::Titled])
        .beyond(CLUSTER_BEYOND)
        .critical(&[destroys(Nth(0, "uninstall delete del un"))])
        .changes(&[judged(Nth(0, "uninstall delete del un"), uninstalls)])
        .grant(AlwaysRule::words(2)),
    Program::named("kind").critical(&[DELETES]).grant(AlwaysRule::words(2).three("create")),
    Program::named("minikube")
        .critical(&[DELETES])
        .runs(Runs::Elsewhere("ssh"))
        .grant(AlwaysRule::words(2)),
    Program::named("vagrant virsh multipass")
        .critical(&[destroys(Operand("destroy undefine delete purge"))])
        .runs(Runs::Elsewhere("ssh exec")),
    Program::named("qm pct").critical(&[destroys(Nth(0, "destroy"))]),
    Program::named("VBoxManage vboxmanage")
        .critical(&[destroys(All(&[Nth(0, "unregistervm"), Has("--delete --delete-all")]))]),
    Program::named("kustomize skaffold crictl").grant(AlwaysRule::words(2)),
    Program::named("lxc incus")
        .critical(&[destroys(Nth(0, "delete rm"))])
        .runs(Runs::Elsewhere("exec run")),
    Program::named("eksctl").critical(&[DELETES]).grant(AlwaysRule::words(2).three("create")),
    Program::named("kops k3d argocd").critical(&[DELETES]),
    Program::named("flux istioctl").critical(&[destroys(Operand("uninstall delete"))]),
    Program::named("nomad etcdctl").critical(&[PURGES]).runs(Runs::Elsewhere("exec")),
    Program::named("consul")
        .critical(&[PURGES])
        .runs(Runs::Elsewhere("exec"))
        .grant(AlwaysRule::words(2).three("kv")),
    Program::named("adb limactl colima distrobox toolbox")
        .critical(&[destroys(Nth(0, "delete rm"))])
        .runs(Runs::Elsewhere("shell enter run ssh")),
    Program::named("wsl wsl.exe")
        .critical(&[destroys(Has("--unregister"))])
        .runs(Runs::Package)
        .grant(AlwaysRule::NEVER),
];

const DOCKER: Program = Program::named("docker")
    .roles(&[Role::Titled])
    .global("-H --host --context -c --config -l --log-level")
    // No form only reads: the daemon may be on any host.
    .versions("--version")
    .beyond(&[case(options(DOCKER_OPTIONS, "H", "lv"), RUNS), LEAVES_THE_CONTAINER])
    .critical(DOCKER_CRITICAL)
    .runs(Runs::Elsewhere("exec run"))
    .changes(DOCKER_CHANGES)
    .reaches(&[Reach::Publishes { sub: "push", second: "", title: Title::Two, to: To::Second }]);
const DOCKER_CRITICAL: &[Case] = &[
    PRUNES,
    REMOVES_VOLUMES,
    REMOVES_ALL,
    REMOVES_A_STACK,
    TAKES_VOLUMES_DOWN,
    LEAVES_THE_SWARM,
    REACHES_THE_HOST,
];
const DOCKER_OPTIONS: Words = "\
    --host --context --config --privileged --tlscacert --url --connection";
// Work inside a container stays there; these reach the host or another machine.
const LEAVES_THE_CONTAINER: Case = case(
    Any(&[
        Test(mounts_outside),
        Outside("-f --file --project-directory"),
        Starts(CONTAINER_OPTIONS),
        Verb(DOCKER_REACHES),
        All(&[Verb("container image compose"), Second(DOCKER_REACHES)]),
        Second("bake"),
        options("--env-file --cidfile --volumes-from --runtime --log-opt", "", ""),
        All(&[Verb("volume"), Second("create"), options("--opt --driver", "od", "")]),
        All(&[Verb("secret config"), Test(names_outside)]),
        Has("host"),
        Holds(&["=host"]),
        All(&[
            Any(&[Verb("build"), All(&[Verb("image buildx builder"), Second("build")])]),
            Any(&[Test(names_outside), options("--secret --ssh --output", "o", "tf")]),
        ]),
    ]),
    "it reaches beyond the container",
);
const PRUNES: Case = destroys(All(&[
    Nth(0, "system volume image builder network container"),
    Nth(1, "prune"),
    Any(&[Nth(0, "system volume"), Has("-a -af --all")]),
]));
const REMOVES_VOLUMES: Case = destroys(All(&[Nth(0, "volume"), Nth(1, "rm remove")]));
const REMOVES_ALL: Case = destroys(All(&[
    Any(&[
        Nth(0, "rm rmi kill stop"),
        All(&[Nth(0, "container image"), Nth(1, "rm remove kill stop")]),
    ]),
    Test(names_a_list),
]));
const REMOVES_A_STACK: Case = destroys(Any(&[
    All(&[Nth(0, "stack service secret config"), Nth(1, "rm remove")]),
    All(&[Nth(0, "system"), Nth(1, "reset")]),
]));
const TAKES_VOLUMES_DOWN: Case =
    destroys(All(&[Nth(0, "compose"), Nth(1, "down"), Has("-v --volumes")])).values(COMPOSE);
/// Options of compose whose value is not its sub-command.
const COMPOSE: Words = "-f --file -p --project-name --profile --env-file --project-directory";
const LEAVES_THE_SWARM: Case = destroys(All(&[Nth(0, "swarm"), Nth(1, "leave")]));
// With these, root in the container is root on the host.
const REACHES_THE_HOST: Case = destroys(All(&[
    Any(&[
        Nth(0, "run exec create"),
        All(&[Nth(0, "container compose service"), Nth(1, "run exec create")]),
    ]),
    Any(&[Has("--privileged --cap-add=ALL"), Holds(&["/docker.sock"]), Test(mounts_the_host)]),
]))
.values(COMPOSE);
const KUBECTL_GLOBAL: Words = "\
    -n --namespace --context --kubeconfig --cluster --user -s --server --as";
const CLUSTER_OPTIONS: Words = "\
    --kubeconfig --server --token --as --context --cluster --user --post-renderer \
    --insecure-skip-tls-verify";
const CLUSTER_LOOKS: Words = "\
    get describe logs top version explain api-resources api-versions cluster-info diff list \
    status history show search template lint auth config events wait";
const DOCKER_REACHES: Words = "\
    push login logout plugin swarm save load import export cp commit context stack service trust \
    manifest";
const CONTAINER_OPTIONS: Words = "\
    --pid=host --net=host --network=host --cap-add --security-opt --device --use-api-socket";
const CLUSTER_BEYOND: &[Case] = &[
    case(Any(&[Test(names_secrets), Has("--raw")]), "it shows secrets"),
    // A `--kubeconfig` file may name programs that fetch credentials.
    case(options(CLUSTER_OPTIONS, "s", "nloLcfp"), STARTS_ANOTHER),
    case(
        Any(&[
            Not(&Any(&[Verb(CLUSTER_LOOKS), NoVerb])),
            All(&[Verb("config"), Not(&Has("view get-contexts current-context get-clusters"))]),
            All(&[Verb("auth"), Not(&Nth(1, "can-i whoami"))]),
        ]),
        "it changes a cluster",
    ),
];
// Deleting pods by their names is not critical: their controller starts others.
const DELETES_FROM_A_CLUSTER: Case = destroys(Any(&[
    Nth(0, "drain"),
    All(&[Nth(0, "delete"), Not(&Test(deletes_pods))]),
    All(&[Nth(0, "replace"), Has("--force")]),
    All(&[Nth(0, "apply"), Has("--prune --prune=true")]),
]));
const PURGES: Case = destroys(Any(&[Operand("delete del purge"), Has("-purge")]));

const DOCKER_CHANGES: &[Change] = &[
    deletes(Nth(0, "rm"), 1, "container"),
    deletes(All(&[Nth(0, "container"), Nth(1, "rm")]), 2, "container"),
    deletes(Nth(0, "rmi"), 1, "image"),
    deletes(All(&[Nth(0, "image"), Nth(1, "rm")]), 2, "image"),
    deletes(All(&[Nth(0, "volume"), Nth(1, "rm remove")]), 2, "volume"),
    deletes(All(&[Nth(0, "network"), Nth(1, "rm remove")]), 2, "network"),
    says(All(&[Nth(0, "volume"), Nth(1, "prune")]), "deletes unused volumes"),
    says(All(&[Nth(0, "image"), Nth(1, "prune")]), "deletes unused images"),
    says(All(&[Nth(0, "container"), Nth(1, "prune")]), "deletes stopped containers"),
    says(
        All(&[Nth(0, "system"), Nth(1, "prune"), Has("--volumes")]),
        "deletes unused containers, networks, images and volumes",
    ),
    says(
        All(&[Nth(0, "system"), Nth(1, "prune"), Not(&Has("--volumes"))]),
        "deletes unused containers, networks and images",
    ),
    says(All(&[Nth(0, "compose"), Nth(1, "down"), Has("-v --volumes")]), DOWN_WITH_VOLUMES),
    says(All(&[Nth(0, "compose"), Nth(1, "down"), Not(&Has("-v --volumes"))]), DOWN),
];
const DOWN: &str = "deletes this project's containers";
const DOWN_WITH_VOLUMES: &str = "deletes this project's containers and volumes";
const CLUSTER_CHANGES: &[Change] = &[
    judged(Nth(0, "delete"), deletes_from_a_cluster),
    judged(Nth(0, "drain"), |args| {
        Some(format!("moves everything off {}", changes::named(args, 1, "node")))
    }),
];

/// Returns what `kubectl delete` deletes.
fn deletes_from_a_cluster(args: &Arguments<'_, '_>) -> Option<String> {
    let within = changes::within(args);
    let files = args.values("-f --filename -k --kustomize");
    if let [file, ..] = files.as_slice() {
        return Some(format!("deletes what {file} describes{within}"));
    }
    let kind = args.operand(1);
    if kind.contains('/') {
        let all = args.named();
        let names: Vec<&str> = all.iter().skip(1).map(|word| &*word.text).collect();
        return Some(format!("deletes {}{within}", names.join(", ")));
    }
    let kind = KINDS.iter().find(|(short, _)| listed(short, kind)).map_or(kind, |(_, kind)| *kind);
    if args.has("--all") {
        return Some(format!("deletes all {kind}s{within}"));
    }
    let selector = args.values("-l --selector");
    if let [selector, ..] = selector.as_slice() {
        return Some(format!("deletes every {kind} with {selector}{within}"));
    }
    Some(format!("deletes {}{within}", changes::named(args, 2, kind)))
}

/// The kinds of things in a cluster, by the names that kubectl has for them.
const KINDS: &[(Words, &str)] = &[
    ("ns namespace namespaces", "namespace"),
    ("po pod pods", "pod"),
    ("deploy deployment deployments", "deployment"),
    ("svc service services", "service"),
    ("sts statefulset statefulsets", "stateful set"),
    ("ds daemonset daemonsets", "daemon set"),
    ("cm configmap configmaps", "config map"),
    ("secret secrets", "secret"),
    ("no node nodes", "node"),
    ("job jobs", "job"),
    ("cj cronjob cronjobs", "cron job"),
    ("ing ingress ingresses", "ingress"),
    ("pvc persistentvolumeclaim persistentvolumeclaims", "volume claim"),
    ("pv persistentvolume persistentvolumes", "volume"),
    ("crd crds customresourcedefinition customresourcedefinitions", "resource definition"),
];

/// Returns which releases helm uninstalls.
fn uninstalls(args: &Arguments<'_, '_>) -> Option<String> {
    Some(format!("deletes {}{}", changes::named(args, 1, "release"), changes::within(args)))
}

/// Returns true when a folder outside the project is mounted into a container.
fn mounts_outside(args: &Arguments<'_, '_>) -> bool {
    args.values("-v --volume --mount").iter().any(|mount| {
        let key = |part: &&str| part.starts_with("source=") || part.starts_with("src=");
        let source = mount.split(',').find(key).and_then(|part| part.split_once('='));
        let from = source.map_or(mount.split(':').next().unwrap_or_default(), |(_, from)| from);
        // A name without a slash is a volume and not a folder.
        (from.contains('/') || matches!(from, ".." | "~")) && args.path_outside(from)
    })
}

/// Returns true when a command's output will name the containers or images.
fn names_a_list(args: &Arguments<'_, '_>) -> bool {
    let lists = |text: &str| text.contains("ps") || text.contains("images") || text.contains(" ls");
    let mut named = args.named().into_iter();
    args.open || named.any(|word| word.kind == WordKind::Dynamic && lists(&word.text))
}

/// Returns true when a kind of things is that of secrets.
fn names_secrets(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| {
        let mut kinds = word.text.split(['/', ',']);
        kinds.any(|kind| matches!(kind.split('.').next(), Some("secret" | "secrets")))
    })
}

/// Returns true for `kubectl delete pod NAME…` and nothing else.
fn deletes_pods(args: &Arguments<'_, '_>) -> bool {
    const PODS: Words = "pod pods po";
    let named = args.named();
    let mut named = named.iter().map(|word| &*word.text).skip(1);
    let many = args
        .long("--all --all-namespaces --selector --field-selector --filename --kustomize")
        || args.short("Alfk", "n");
    let of = |text: &str| text.split_once('/').is_some_and(|(kind, _)| listed(PODS, kind));
    let pods = match named.next() {
        Some(first) if listed(PODS, first) => named.all(|name| !name.contains('/')),
        Some(first) => of(first) && named.all(of),
        None => false,
    };
    pods && !many && !args.open
}

/// Returns true when the whole host, a home or a folder of the system is mounted, or the host's
/// processes are shared.
fn mounts_the_host(args: &Arguments<'_, '_>) -> bool {
    let mounts = args.given("-v --volume --mount");
    mounts.iter().any(|mount| {
        let mut parts = mount.text.split(',');
        let source = parts.find_map(|it| it.strip_prefix("source=").or(it.strip_prefix("src=")));
        let from = source.or(mount.text.split(':').next()).unwrap_or_default();
        let path = from.replace("${HOME}", "~").replace("$HOME", "~");
        let top = path.trim_end_matches('/');
        path.starts_with(['/', '~'])
            && (listed("~ /etc /root /home /usr /var /boot /dev /sys /proc /run /var/run", top)
                || top.is_empty()
                || sensitive::guarded(&path))
    }) || args.values("--pid").contains(&"host")
}
