//! Clouds, infrastructure and forges.

use super::common::PUBLISHES;
use crate::facts::programs::case::{Case, case, destroys};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::grant::Grant;
use crate::facts::programs::reach::{Pipe, Reach, Title, To};
use crate::facts::programs::reasons::LEAKS;
use crate::facts::programs::when::{
    When::{
        All, Always, Any, Has, Holds, Not, Nth, NthEnds, Operand, OperandEnds, OperandStarts,
        Second, Secret, Starts, Verb,
    },
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("aws")
        .roles(&[Role::Titled])
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[
            destroys(Any(&[
                OperandStarts("delete- terminate- deregister-"),
                Operand("batch-delete-image"),
                All(&[
                    Nth(0, "s3"),
                    Any(&[
                        Nth(1, "rb"),
                        All(&[Nth(1, "rm"), Has("--recursive")]),
                        All(&[Nth(1, "sync"), Has("--delete")]),
                    ]),
                ]),
            ])),
            case(All(&[Has("cp mv sync put copy upload"), Secret]), LEAKS),
        ])
        .reaches(&[Reach::Publishes {
            sub: "s3",
            second: "cp mv sync",
            title: Title::Two,
            to: To::Last,
        }])
        .pipe(Pipe::tells(Any(&[
            Holds(&["session-token", "get-secret"]),
            Has("export-credentials assume-role"),
        ])))
        .grant(Grant::words(3)),
    Program::named("gcloud az")
        .roles(&[Role::Titled])
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[
            destroys(Operand("delete purge destroy terminate")),
            case(All(&[Has("cp mv sync put copy upload"), Secret]), LEAKS),
        ])
        .grant(Grant::words(3)),
    Program::named("oci ibmcloud aliyun")
        .critical(&[destroys(Operand("delete purge destroy terminate"))]),
    Program::named("doctl")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[destroys(Operand("delete rm destroy"))])
        .grant(Grant::words(3)),
    Program::named("linode-cli hcloud scw exo").critical(&[destroys(Operand("delete rm destroy"))]),
    Program::named("gsutil s3cmd rclone").critical(&[
        destroys(Any(&[Nth(0, "rm rb purge del delete rd"), All(&[Has("-m"), Operand("rm")])])),
        case(All(&[Has("cp mv sync put copy upload"), Secret]), LEAKS),
    ]),
    Program::named("mc")
        .critical(&[destroys(Any(&[
            Nth(0, "rm rb purge del delete rd"),
            All(&[Has("-m"), Operand("rm")]),
        ]))])
        .grant(Grant::words(2).three("admin")),
    Program::named("terraform")
        .roles(&[Role::Titled])
        .beyond(&[case(
            Any(&[
                Verb(INFRASTRUCTURE),
                All(&[Verb("state"), Not(&Has("list show pull"))]),
                All(&[Verb("workspace"), Has("delete new")]),
                Starts("-chdir -out -plugin-dir"),
            ]),
            "it changes infrastructure",
        )])
        .critical(&[destroys(Any(&[
            Nth(0, "destroy"),
            All(&[Operand("run-all run"), Has("destroy")]),
            All(&[Nth(0, "apply"), Has("-destroy --destroy")]),
        ]))])
        .reaches(&[Reach::Publishes {
            sub: "apply up delete destroy",
            second: "",
            title: Title::Two,
            to: To::Known("the infrastructure"),
        }])
        .grant(Grant::words(2).three("workspace")),
    Program::named("tofu")
        .roles(&[Role::Titled])
        .beyond(&[case(
            Any(&[
                Verb(INFRASTRUCTURE),
                All(&[Verb("state"), Not(&Has("list show pull"))]),
                All(&[Verb("workspace"), Has("delete new")]),
                Starts("-chdir -out -plugin-dir"),
            ]),
            "it changes infrastructure",
        )])
        .critical(&[destroys(Any(&[
            Nth(0, "destroy"),
            All(&[Operand("run-all run"), Has("destroy")]),
            All(&[Nth(0, "apply"), Has("-destroy --destroy")]),
        ]))])
        .reaches(&[Reach::Publishes {
            sub: "apply up delete destroy",
            second: "",
            title: Title::Two,
            to: To::Known("the infrastructure"),
        }])
        .grant(Grant::our_words(2)),
    Program::named("terragrunt")
        .beyond(&[case(
            Any(&[
                Verb(INFRASTRUCTURE),
                All(&[Verb("state"), Not(&Has("list show pull"))]),
                All(&[Verb("workspace"), Has("delete new")]),
                Starts("-chdir -out -plugin-dir"),
            ]),
            "it changes infrastructure",
        )])
        .critical(&[destroys(Any(&[
            Nth(0, "destroy"),
            All(&[Operand("run-all run"), Has("destroy")]),
            All(&[Nth(0, "apply"), Has("-destroy --destroy")]),
        ]))]),
    Program::named("pulumi")
        .beyond(&[case(
            Any(&[
                Verb(INFRASTRUCTURE),
                All(&[Verb("state"), Not(&Has("list show pull"))]),
                All(&[Verb("workspace"), Has("delete new")]),
                Starts("-chdir -out -plugin-dir"),
            ]),
            "it changes infrastructure",
        )])
        .critical(&[destroys(Any(&[
            Nth(0, "destroy remove delete"),
            All(&[Nth(0, "stack"), Nth(1, "rm")]),
        ]))])
        .reaches(&[Reach::Publishes {
            sub: "apply up delete destroy",
            second: "",
            title: Title::Two,
            to: To::Known("the infrastructure"),
        }])
        .grant(Grant::words(2).three("stack")),
    Program::named("cdk sls serverless")
        .beyond(&[case(
            Any(&[
                Verb(INFRASTRUCTURE),
                All(&[Verb("state"), Not(&Has("list show pull"))]),
                All(&[Verb("workspace"), Has("delete new")]),
                Starts("-chdir -out -plugin-dir"),
            ]),
            "it changes infrastructure",
        )])
        .critical(&[destroys(Any(&[
            Nth(0, "destroy remove delete"),
            All(&[Nth(0, "stack"), Nth(1, "rm")]),
        ]))])
        .grant(Grant::words(2)),
    Program::named("cdktf copilot sam").critical(&[destroys(Any(&[
        Nth(0, "destroy remove delete"),
        All(&[Nth(0, "stack"), Nth(1, "rm")]),
    ]))]),
    Program::named("cf").grant(Grant::words(2)),
    Program::named("heroku")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[destroys(NthEnds(0, ":destroy :reset :delete"))])
        .grant(Grant::words(2)),
    Program::named("vercel flyctl firebase")
        .beyond(&[CHANGES_A_CLOUD])
        .critical(&[destroys(Any(&[
            Operand("rm remove destroy delete teardown"),
            OperandEnds(":delete :destroy"),
        ]))])
        .grant(Grant::words(2)),
    Program::named("now railway render surge").critical(&[destroys(Any(&[
        Operand("rm remove destroy delete teardown"),
        OperandEnds(":delete :destroy"),
    ]))]),
    Program::named("netlify fly wrangler").beyond(&[CHANGES_A_CLOUD]).critical(&[destroys(Any(
        &[Operand("rm remove destroy delete teardown"), OperandEnds(":delete :destroy")],
    ))]),
    Program::named("gh")
        .roles(&[Role::Titled])
        .versions("--version")
        .beyond(&[case(
            Any(&[
                All(&[Verb("api"), options("--method --field --raw-field --input", "XfF", "Hqtp")]),
                Holds(&["\n", "\r"]),
                All(&[
                    Any(&[Verb(GH_SETTINGS), Second("delete archive rename transfer")]),
                    Not(&Any(&[Second(GH_LOOKS), Verb("status search")])),
                ]),
            ]),
            PUBLISHES,
        )])
        .critical(&[destroys(Any(&[
            All(&[Nth(0, "repo release secret project"), Nth(1, "delete")]),
            All(&[Nth(0, "api"), Has("DELETE")]),
        ]))])
        .prose("-t --title -b --body -m --message --notes")
        .reaches(&[Reach::Publishes {
            sub: "pr mr release gist issue",
            second: FORGE_ACTS,
            title: Title::Three,
            to: To::Known("the forge"),
        }])
        .pipe(Pipe::tells(Has("token")))
        .grant(Grant::words(3)),
    Program::named("glab")
        .roles(&[Role::Titled])
        .critical(&[destroys(Any(&[
            All(&[Nth(0, "repo release secret project"), Nth(1, "delete")]),
            All(&[Nth(0, "api"), Has("DELETE")]),
        ]))])
        .prose("-t --title -b --body -m --message --notes")
        .reaches(&[Reach::Publishes {
            sub: "pr mr release gist issue",
            second: FORGE_ACTS,
            title: Title::Three,
            to: To::Known("the forge"),
        }]),
    Program::named("ansible ansible-playbook ansible-console")
        .beyond(&[case(Always, "it runs whatever it is given")]),
];

const CHANGES_A_CLOUD: Case = case(
    Any(&[
        Not(&Starts(CLOUD_LOOKS)),
        options("--endpoint-url --profile --cli-input-json", "", ""),
        Has(CLOUD_SECRETS),
    ]),
    "it changes something in a cloud",
);
const INFRASTRUCTURE: Words = "\
    apply destroy import taint untaint up deploy remove console force-unlock login logout test";
const GH_SETTINGS: Words = "\
    extension ext alias secret auth ssh-key gpg-key config variable codespace";
const GH_LOOKS: Words = "view list status diff checks checkout watch";
const FORGE_ACTS: Words = "create merge comment edit upload close";
const CLOUD_LOOKS: Words = "describe list get- ls show help logs status info whoami head-";
const CLOUD_SECRETS: Words = "secretsmanager get-secret-value get-session-token assume-role";
