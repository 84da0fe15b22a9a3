//! Containers and clusters.

use crate::facts::programs::Words;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{
    All, Any, Has, Holds, NoVerb, Not, Nth, NthStarts, Operand, Starts, Test, Verb,
};
use crate::facts::programs::condition::{Case, case, destroys, options};
use crate::facts::programs::description::{
    AlwaysRule, Pipe, Program, Reach, Role, Runs, Title, To,
};
use crate::facts::programs::known::common::{DELETES, RUNS, STARTS_ANOTHER, TO_THE_INFRASTRUCTURE};
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
        .runs(Runs::Elsewhere("exec run")),
    Program::named("docker-compose")
        .beyond(&[LEAVES_THE_CONTAINER])
        .critical(&[destroys(All(&[Nth(0, "down"), Has("-v --volumes")]))]),
    Program::named("kubectl")
        .roles(&[Role::Titled])
        .global(KUBECTL_GLOBAL)
        .beyond(CLUSTER_BEYOND)
        .critical(&[DELETES_FROM_A_CLUSTER])
        .runs(Runs::Elsewhere("exec run"))
        .reaches(&[TO_THE_INFRASTRUCTURE])
        .pipe(Pipe::tells(Starts("secret")))
        .grant(AlwaysRule::words(2).three("kustomize rollout").never_subs("exec run")),
    Program::named("oc")
        .beyond(CLUSTER_BEYOND)
        .critical(&[DELETES_FROM_A_CLUSTER])
        .runs(Runs::Elsewhere("exec run")),
    Program::named("k").beyond(CLUSTER_BEYOND),
    Program::named("helm")
        .roles(&[Role::Titled])
        .beyond(CLUSTER_BEYOND)
        .critical(&[destroys(Nth(0, "uninstall delete del un"))])
        .grant(AlwaysRule::words(2)),
    Program::named("kind").grant(AlwaysRule::words(2).three("create")),
    Program::named("minikube kustomize skaffold crictl").grant(AlwaysRule::words(2)),
    Program::named("lxc").runs(Runs::Elsewhere("exec run")),
    Program::named("eksctl").critical(&[DELETES]).grant(AlwaysRule::words(2).three("create")),
    Program::named("kops").critical(&[DELETES]),
    Program::named("nomad etcdctl").critical(&[PURGES]),
    Program::named("consul").critical(&[PURGES]).grant(AlwaysRule::words(2).three("kv")),
];

const DOCKER: Program = Program::named("docker")
    .roles(&[Role::Titled])
    .global("-H --host --context -c --config -l --log-level")
    // No form only reads: the daemon may be on any host.
    .versions("--version")
    .beyond(&[case(options(DOCKER_OPTIONS, "H", "lv"), RUNS), LEAVES_THE_CONTAINER])
    .critical(DOCKER_CRITICAL)
    .runs(Runs::Elsewhere("exec run"))
    .reaches(&[Reach::Publishes { sub: "push", second: "", title: Title::Two, to: To::Second }]);
const DOCKER_CRITICAL: &[Case] =
    &[PRUNES, REMOVES_VOLUMES, REMOVES_ALL, TAKES_VOLUMES_DOWN, LEAVES_THE_SWARM, REACHES_THE_HOST];
const DOCKER_OPTIONS: Words = "\
    --host --context --config --privileged --tlscacert --url --connection";
// Work inside a container stays there; these reach the host or another machine.
const LEAVES_THE_CONTAINER: Case = case(
    Any(&[
        Test(mounts_outside),
        Starts(CONTAINER_OPTIONS),
        Verb("push login logout plugin swarm save export cp commit"),
    ]),
    "it reaches beyond the container",
);
const PRUNES: Case = destroys(All(&[
    Nth(0, "system volume image builder network container"),
    Nth(1, "prune"),
    Any(&[Nth(0, "system volume"), Has("-a -af --all")]),
]));
const REMOVES_VOLUMES: Case = destroys(All(&[Nth(0, "volume"), Nth(1, "rm remove")]));
const REMOVES_ALL: Case = destroys(All(&[Nth(0, "rm rmi kill stop"), Test(names_a_list)]));
const TAKES_VOLUMES_DOWN: Case =
    destroys(All(&[Nth(0, "compose"), Nth(1, "down"), Has("-v --volumes")]));
const LEAVES_THE_SWARM: Case = destroys(All(&[Nth(0, "swarm"), Nth(1, "leave")]));
// With these, root in the container is root on the host.
const REACHES_THE_HOST: Case = destroys(All(&[
    Nth(0, "run exec create"),
    Any(&[
        Has("--privileged --pid=host"),
        Starts("/: -v/: --volume=/:"),
        Holds(&["/var/run/docker.sock"]),
    ]),
]));
const KUBECTL_GLOBAL: Words = "\
    -n --namespace --context --kubeconfig --cluster --user -s --server --as";
const CLUSTER_OPTIONS: Words = "\
    --kubeconfig --server --token --as --context --cluster --user --post-renderer \
    --insecure-skip-tls-verify";
const CLUSTER_LOOKS: Words = "\
    get describe logs top version explain api-resources api-versions cluster-info diff list \
    status history show search template lint auth config events wait";
const CLUSTER_KINDS: Words = "\
    ns namespace namespaces pv pvc node nodes crd all deployment deploy statefulset sts";
const CONTAINER_OPTIONS: Words = "\
    --pid=host --net=host --network=host --cap-add --security-opt --device";
const CLUSTER_BEYOND: &[Case] = &[
    // A `--kubeconfig` file may name programs that fetch credentials.
    case(options(CLUSTER_OPTIONS, "s", "nloLcfp"), STARTS_ANOTHER),
    case(
        Any(&[
            Not(&Any(&[Verb(CLUSTER_LOOKS), NoVerb])),
            All(&[Verb("config"), Not(&Has("view get-contexts current-context get-clusters"))]),
        ]),
        "it changes a cluster",
    ),
];
// A single pod is not listed: its controller starts another.
const DELETES_FROM_A_CLUSTER: Case = destroys(All(&[
    Nth(0, "delete drain"),
    Any(&[
        Has("--all -A --all-namespaces -f -k"),
        Nth(0, "drain"),
        Nth(1, CLUSTER_KINDS),
        NthStarts(1, "ns/ namespace/ pv/ pvc/ node/ crd/"),
    ]),
]));
const PURGES: Case = destroys(Any(&[Operand("delete del purge"), Has("-purge")]));

/// Returns true when a folder outside the project is mounted into a container.
fn mounts_outside(args: &Arguments<'_, '_>) -> bool {
    args.values("-v --volume --mount").iter().any(|mount| {
        let from = mount.split(':').next().unwrap_or_default();
        // A name without a slash is a volume and not a folder.
        from.contains('/') && args.path_outside(from)
            || from.contains("source=/")
            || from.contains("src=/")
    })
}

/// Returns true when a command's output will name the containers or images.
fn names_a_list(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().any(|word| {
        word.kind == WordKind::Dynamic && word.text.contains("ps")
            || word.text.contains("docker images")
    })
}
