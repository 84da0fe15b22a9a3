//! Clouds, infrastructure and forges.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::changes::{Change, deletes, judged, says};
use crate::facts::programs::condition::When::{
    self, All, Always, Any, Has, Holds, Not, Nth, NthEnds, NthStarts, Operand, OperandEnds,
    OperandStarts, Outside, Says, Second, Secret, Starts, Surely, Test, Verb,
};
use crate::facts::programs::condition::{Case, LOOKS, case, destroys, options};
use crate::facts::programs::description::{
    AlwaysRule, Pipe, Program, Reach, Role, Runs, Title, To,
};
use crate::facts::programs::known::databases::RUNS_SUCH;
use crate::facts::programs::known::{
    DELETES, PUBLISHES, RUNS_ANYTHING, TO_THE_INFRASTRUCTURE, names_outside,
};
use crate::facts::programs::{LEAKS, Words, listed};

pub(crate) static ALL: &[Program] = &[
    Program::named("aws")
        .roles(&[Role::Titled])
        .beyond(&[CHANGES_AMAZON])
        .critical(&[
            destroys(Any(&[
                OperandStarts(AMAZON_DELETES),
                All(&[
                    Nth(0, "s3"),
                    Any(&[
                        Nth(1, "rb"),
                        All(&[Nth(1, "rm"), Has("--recursive")]),
                        // `sync --delete` removes what the source lacks.
                        All(&[Nth(1, "sync"), Has("--delete")]),
                    ]),
                ]),
            ]))
            .unless(Any(&[LOOKS, Surely("help")])),
            COPIES_A_SECRET,
        ])
        .reaches(&[Reach::Publishes {
            sub: "s3",
            second: "cp mv sync",
            title: Title::Two,
            to: To::Last,
        }])
        .changes(&[judged(Always, deletes_at_amazon)])
        .pipe(Pipe::tells(Any(&[
            Holds(&["session-token", "get-secret"]),
            Has("export-credentials assume-role"),
        ])))
        .grant(AlwaysRule::words(3)),
    Program::named("gcloud az")
        .roles(&[Role::Titled])
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[DELETES_IN_A_CLOUD, COPIES_A_SECRET])
        .changes(&[judged(Operand("delete purge destroy terminate"), deletes_in_a_cloud)])
        .runs(Runs::Elsewhere("ssh run-command"))
        .grant(AlwaysRule::words(3)),
    Program::named("oci ibmcloud aliyun").critical(&[DELETES_IN_A_CLOUD]),
    Program::named("doctl")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[DELETES])
        .grant(AlwaysRule::words(3)),
    // Where skopeo copies to may be a folder, so it publishes nothing for sure; its hosts are told.
    Program::named("skopeo regctl").critical(&[DELETES_FROM_A_REGISTRY]),
    Program::named("crane").roles(&[Role::Titled]).critical(&[DELETES_FROM_A_REGISTRY]).reaches(&[
        Reach::Publishes { sub: "push copy append", second: "", title: Title::Two, to: To::Last },
    ]),
    Program::named("oras hf huggingface-cli")
        .roles(&[Role::Titled])
        .critical(&[DELETES_FROM_A_REGISTRY])
        .reaches(&[
            Reach::Publishes { sub: "push upload", second: "", title: Title::Two, to: To::Second },
            Reach::Publishes { sub: "copy cp", second: "", title: Title::Two, to: To::Last },
        ]),
    Program::named(OTHER_CLOUDS).critical(&[DELETES]),
    Program::named("azcopy")
        .critical(&[destroys(Any(&[Nth(0, "remove rm"), Starts("--delete-destination=t")]))]),
    Program::named("gsutil s3cmd rclone").critical(&[EMPTIES_A_BUCKET, COPIES_A_SECRET]),
    Program::named("mc").critical(&[EMPTIES_A_BUCKET]).grant(AlwaysRule::words(2).three("admin")),
    TERRAFORM.grant(AlwaysRule::words(2).three("workspace")),
    TERRAFORM.renamed("tofu").grant(AlwaysRule::our_words(2)),
    Program::named("terragrunt")
        .beyond(&[CHANGES_INFRASTRUCTURE])
        .critical(&[DESTROYS_INFRASTRUCTURE])
        .grant(AlwaysRule::our_words(2)),
    Program::named("pulumi")
        .beyond(&[CHANGES_INFRASTRUCTURE])
        .critical(&[DESTROYS_A_STACK])
        .reaches(&[TO_THE_INFRASTRUCTURE])
        .changes(&[says(Nth(0, "destroy"), "deletes live infrastructure")])
        .grant(AlwaysRule::words(2).three("stack")),
    Program::named("copilot").critical(&[DELETES]),
    Program::named("cdk sls serverless")
        .beyond(&[CHANGES_INFRASTRUCTURE])
        .critical(&[DESTROYS_A_STACK])
        .grant(AlwaysRule::words(2)),
    Program::named("cdktf sam").critical(&[DESTROYS_A_STACK]),
    Program::named("cf").grant(AlwaysRule::words(2)),
    Program::named("heroku")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[destroys(Any(&[
            NthEnds(0, ":destroy :reset :delete :clear"),
            Nth(0, "destroy"),
        ]))])
        .runs(Runs::Elsewhere("run"))
        .grant(AlwaysRule::words(2)),
    Program::named("vercel flyctl firebase")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[DESTROYS_A_DEPLOYMENT])
        .runs(Runs::Elsewhere("ssh"))
        .grant(AlwaysRule::words(2)),
    Program::named("now render surge").critical(&[DESTROYS_A_DEPLOYMENT]),
    Program::named("railway").critical(&[DESTROYS_A_DEPLOYMENT, destroys(Nth(0, "down"))]),
    Program::named("netlify fly wrangler")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[DESTROYS_A_DEPLOYMENT, RUNS_SUCH])
        .runs(Runs::Elsewhere("ssh"))
        .grant(AlwaysRule::our_words(2)),
    Program::named("gh")
        .roles(&[Role::Titled])
        .versions("--version")
        .beyond(&[
            case(All(&[Verb("auth"), options("--show-token", "t", "h")]), "it shows a token"),
            case(
                Any(&[
                    All(&[Verb("repo"), Second("clone"), Has("--")]),
                    All(&[
                        Verb("api"),
                        options("--method --field --raw-field --input", "XfF", "Hqtp"),
                    ]),
                    Holds(&["\n", "\r"]),
                    All(&[
                        Any(&[Verb(GH_SETTINGS), Second("delete archive rename transfer")]),
                        Not(&Any(&[Second(GH_LOOKS), Verb("status search")])),
                    ]),
                ]),
                PUBLISHES,
            ),
            case(
                Any(&[
                    Outside("--body-file --notes-file"),
                    All(&[Verb("pr issue release"), Outside("-F")]),
                    All(&[Verb("gist release"), Test(names_outside)]),
                    All(&[Verb("repo"), Second("clone"), Test(names_outside)]),
                ]),
                LEAKS,
            ),
        ])
        .critical(&[DELETES_AT_THE_FORGE, SHOWS_A_REPOSITORY])
        .prose(FORGE_PROSE)
        .reaches(&[TO_THE_FORGE])
        .changes(FORGE_CHANGES)
        .pipe(Pipe::tells(Has("token")))
        .grant(AlwaysRule::words(3)),
    Program::named("glab")
        .roles(&[Role::Titled])
        .critical(&[DELETES_AT_THE_FORGE])
        .prose(FORGE_PROSE)
        .reaches(&[TO_THE_FORGE])
        .changes(FORGE_CHANGES),
    Program::named("restic")
        .critical(&[destroys(Any(&[Nth(0, "prune"), All(&[Nth(0, "forget"), Has("--prune")])]))]),
    Program::named("borg").critical(&[destroys(Nth(0, "delete prune"))]),
    Program::named("tarsnap").critical(&[destroys(Has("--nuke -d"))]),
    Program::named("velero").critical(&[DELETES]),
    Program::named("duplicity").critical(&[destroys(NthStarts(0, "remove-"))]),
    Program::named("ansible").beyond(&[RUNS_ANYTHING]).runs(Runs::Package),
    Program::named("ansible-playbook ansible-console").beyond(&[RUNS_ANYTHING]),
];

const TERRAFORM: Program = Program::named("terraform")
    .roles(&[Role::Titled])
    .beyond(&[CHANGES_INFRASTRUCTURE])
    .critical(&[DESTROYS_INFRASTRUCTURE])
    .reaches(&[TO_THE_INFRASTRUCTURE])
    .changes(&[judged(
        Any(&[Nth(0, "destroy"), All(&[Nth(0, "apply"), Has("-destroy --destroy")])]),
        destroys_infrastructure,
    )]);
const CHANGES_INFRASTRUCTURE: Case = case(
    Any(&[
        Verb(INFRASTRUCTURE),
        All(&[Verb("state"), Not(&Has("list show pull"))]),
        All(&[Verb("workspace"), Has("delete new")]),
        Starts("-chdir -out -plugin-dir"),
    ]),
    "it changes infrastructure",
);
// `apply -destroy` is `destroy`, and `run-all destroy` puts the verb last.
const DESTROYS_INFRASTRUCTURE: Case = destroys(Any(&[
    Nth(0, "destroy destroy-all"),
    All(&[Operand("run-all run"), Has("destroy")]),
    All(&[Nth(0, "apply"), Has("-destroy --destroy")]),
    All(&[Nth(0, "state"), Nth(1, "rm push")]),
    All(&[Nth(0, "workspace"), Nth(1, "delete")]),
]));
const DESTROYS_A_STACK: Case = destroys(Any(&[
    Nth(0, "destroy remove delete down dn"),
    All(&[Nth(0, "stack state"), Nth(1, "rm delete")]),
]));
// Some of these spell the verb `functions:delete`.
const DESTROYS_A_DEPLOYMENT: Case = destroys(Any(&[
    Operand("rm remove destroy delete teardown"),
    OperandEnds(":delete :destroy :remove :disable"),
    All(&[Nth(0, "api"), OperandStarts("delete")]),
]));
const DELETES_IN_A_CLOUD: Case = destroys(Any(&[
    Operand("delete delete-batch purge destroy terminate"),
    // `gcloud storage rm`, also behind `alpha`.
    All(&[Operand("storage"), Operand("rm")]),
    Has("--delete-unmatched-destination-objects"),
]));
const EMPTIES_A_BUCKET: Case = destroys(Any(&[
    Nth(0, "rm rb purge del delete rd rmdirs deletefile"),
    All(&[Has("-m"), Operand("rm")]),
    // `rclone sync` deletes what the source lacks, `gsutil rsync` with `-d`.
    Nth(0, "sync"),
    All(&[Operand("rsync"), options("", "d", "x")]),
]));
const COPIES_A_SECRET: Case = case(All(&[Has("cp mv sync put copy upload"), Secret]), LEAKS);
const DELETES_AT_THE_FORGE: Case = destroys(Any(&[
    Nth(1, "delete delete-asset remove"),
    All(&[Nth(0, "api"), Test(sends_delete)]),
    All(&[Nth(0, "api"), Says(&["mutation"]), Says(&["delete"])]),
]))
.values(FORGE_VALUES);
const FORGE_VALUES: Words = "-R --repo -X --method -f -F --field --raw-field -H --header";
const SHOWS_A_REPOSITORY: Case = case(
    All(&[Nth(0, "repo"), Nth(1, "edit"), options("--visibility", "", "")]),
    "changes who can see a repository",
)
.values(FORGE_VALUES);
const AMAZON_DELETES: Words = "\
    delete- batch-delete- terminate- deregister- purge- schedule-key-deletion close-account \
    stop-logging";
const DELETES_FROM_A_REGISTRY: Case = destroys(Any(&[Nth(0, "delete"), Nth(1, "delete")]));
const OTHER_CLOUDS: Words = "\
    linode-cli hcloud scw exo neonctl pscale turso atlas amplify eb civo upctl vultr-cli b2 \
    openstack";
const TO_THE_FORGE: Reach = Reach::Publishes {
    sub: "pr mr release gist issue",
    second: FORGE_ACTS,
    title: Title::Three,
    to: To::Known("the forge"),
};
// A title or body names no path, whatever it mentions.
const FORGE_PROSE: Words = "-t --title -b --body -m --message --notes";
const CHANGES_A_CLOUD: Case = case(
    Any(&[
        Not(&Starts(CLOUD_LOOKS)),
        Operand(CLOUD_CHANGES),
        options("--endpoint-url --profile --cli-input-json --flags-file --configuration", "", ""),
        Has(CLOUD_SECRETS),
    ]),
    CHANGES,
);
const CHANGES: &str = "it changes something in a cloud";
// The operation is the second operand; any other word may be a name.
const CHANGES_AMAZON: Case = case(
    Any(&[
        Not(&Any(&[NthStarts(1, "describe- list- get- head- ls status"), AMAZON_LOOKS])),
        NthStarts(1, AMAZON_SECRETS),
        options("--endpoint-url --profile --cli-input-json", "", ""),
        Holds(&["file://", "fileb://"]),
    ]),
    CHANGES,
)
.values(AMAZON_GLOBAL);
const AMAZON_LOOKS: When = Any(&[
    Nth(1, "help"),
    Nth(0, "help"),
    Has("--version"),
    All(&[Nth(0, "configure"), Nth(1, "list list-profiles")]),
    All(&[Nth(0, "logs"), Nth(1, "tail")]),
]);
const AMAZON_SECRETS: Words = "\
    get-secret get-session-token get-login get-object get-parameter get-authorization \
    get-password get-federation get-role-credentials get-access-key get-credentials";
const AMAZON_GLOBAL: Words =
    "--profile --region --output --endpoint-url --query --color --ca-bundle";
const CLOUD_CHANGES: Words = "\
    create delete update add set remove start stop restart reset run deploy ssh scp cp mv rm rsync \
    import export apply patch enable disable grant revoke attach detach move rename resize scale \
    suspend resume invoke call execute login logout activate restore rollback promote failover \
    purge assign publish submit cancel sign decrypt access print-access-token \
    print-identity-token rest put post";
const INFRASTRUCTURE: Words = "\
    apply destroy import taint untaint up deploy remove console force-unlock login logout test";
const GH_SETTINGS: Words = "\
    extension ext alias secret auth ssh-key gpg-key config variable codespace";
const GH_LOOKS: Words = "view list status diff checks checkout watch";
const FORGE_ACTS: Words = "create merge comment edit upload close";
// A cloud's command line has too many verbs to list. Those that read are listed; any other counts
// as a change.
const CLOUD_LOOKS: Words = "describe list get- ls show help logs status info whoami head-";
const CLOUD_SECRETS: Words = "secretsmanager get-secret-value get-session-token assume-role";

const FORGE_CHANGES: &[Change] = &[
    deletes(All(&[Nth(0, "repo"), Nth(1, "delete")]), 2, "repository"),
    deletes(All(&[Nth(0, "release"), Nth(1, "delete")]), 2, "release"),
    deletes(All(&[Nth(0, "secret"), Nth(1, "delete remove")]), 2, "secret"),
    deletes(All(&[Nth(0, "project"), Nth(1, "delete")]), 2, "project"),
];

/// Returns true for `-X DELETE`, however it is written.
fn sends_delete(args: &Arguments<'_, '_>) -> bool {
    args.values("-X --method").iter().any(|method| method.eq_ignore_ascii_case("delete"))
}

/// Returns what terraform destroys: all that it manages, or what `-target` names.
fn destroys_infrastructure(args: &Arguments<'_, '_>) -> Option<String> {
    let target = |text: &'_ str| {
        let target = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
        target.strip_prefix("target=").map(str::to_owned)
    };
    let targets: Vec<String> = args.texts().filter_map(target).collect();
    Some(match targets.as_slice() {
        [] => "deletes live infrastructure".to_owned(),
        targets => format!("deletes live infrastructure: {}", targets.join(", ")),
    })
}

/// Returns what a command of `aws` deletes.
fn deletes_at_amazon(args: &Arguments<'_, '_>) -> Option<String> {
    let service = args.operand(0);
    let verb = args.operand(1);
    let at = || args.texts().find(|text| text.starts_with("s3://")).unwrap_or("a bucket");
    let last =
        || args.texts().filter(|text| text.starts_with("s3://")).last().unwrap_or("a bucket");
    match (service, verb) {
        ("s3", "rm") if args.has("--recursive") => {
            Some(format!("deletes everything below {}", at()))
        }
        ("s3", "rm") => Some(format!("deletes {}", at())),
        ("s3", "rb") if args.has("--force") => {
            Some(format!("deletes the bucket {} with all in it", at()))
        }
        ("s3", "rb") => Some(format!("deletes the bucket {}", at())),
        ("s3", "sync") if args.has("--delete") => {
            Some(format!("deletes from {} what its source lacks", last()))
        }
        (_, verb) => {
            let deletes = ["delete-", "terminate-", "deregister-"];
            let what = deletes.iter().find_map(|start| verb.strip_prefix(start))?;
            Some(format!("deletes {} of {service}", what.replace('-', " ")))
        }
    }
}

/// Returns what a command of a cloud deletes: its words around `delete`, as they are written.
fn deletes_in_a_cloud(args: &Arguments<'_, '_>) -> Option<String> {
    let is = |text: &&str| listed("delete purge destroy terminate", text);
    let before: Vec<&str> = args.texts().take_while(|text| !is(text)).collect();
    let behind: Vec<&str> = args.texts().skip_while(|text| !is(text)).skip(1).collect();
    Some(format!("deletes {}: {}", before.join(" "), behind.join(" ")))
}
