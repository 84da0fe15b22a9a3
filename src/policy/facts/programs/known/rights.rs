//! Programs that run commands as another user, and stores of secrets.

use crate::facts::programs::Words;
use crate::facts::programs::condition::When::{
    Always, Any, Bare, Has, Not, Nth, Operand, OperandStarts, Starts,
};
use crate::facts::programs::condition::{Case, case, critical, destroys, options};
use crate::facts::programs::description::{
    AlwaysRule, Passage, Pipe, Program, Role, Runs, Wrapper,
};
use crate::facts::programs::known::syntax;
use crate::facts::programs::known::{DECODES, STARTS_ANOTHER};

pub(crate) static ALL: &[Program] = &[
    Program::named("sudo")
        .options(syntax::SUDO)
        .roles(&[Role::HandsOn, Role::Privilege])
        .critical(&[OPENS_A_SHELL])
        .runs(Runs::Behind(SUDO))
        .grant(AlwaysRule::NEVER),
    Program::named("doas")
        .options(syntax::DOAS)
        .roles(&[Role::Privilege])
        .critical(&[OPENS_A_SHELL])
        .runs(Runs::Behind(DOAS))
        .grant(AlwaysRule::NEVER),
    Program::named("su")
        .roles(&[Role::Privilege])
        .critical(&[critical(Not(&Has("-c --command")), "opens a shell as another user")])
        .runs(Runs::AsUser)
        .grant(AlwaysRule::NEVER),
    Program::named("runuser").roles(&[Role::Privilege]).runs(Runs::AsUser).grant(AlwaysRule::NEVER),
    Program::named("pkexec")
        .roles(&[Role::Privilege])
        .critical(&[critical(Not(&Has("-c --command")), "opens a shell as another user")])
        .runs(Runs::Anywhere { opens_shell: false })
        .grant(AlwaysRule::NEVER),
    Program::named("passwd").critical(&[critical(Not(&Has("-S --status -Sa")), ACCOUNTS)]),
    Program::named(RIGHTS_NAMES).critical(&[critical(Always, ACCOUNTS)]),
    Program::named("visudo")
        .critical(&[critical(Not(&Has("-c --check -cf")), "changes who may become root")]),
    Program::named("dscl")
        .critical(&[critical(Starts("-create -delete -append -passwd"), ACCOUNTS)]),
    Program::named("ssh-keygen ssh-add ssh-copy-id")
        .beyond(&[case(Always, "it handles keys and secrets")]),
    Program::named("secret-tool").critical(&[destroys(Nth(0, "clear"))]),
    Program::named("gpg")
        .critical(&[DELETES_KEYS])
        .beyond(&[case(Always, "it handles keys and secrets")])
        .pipe(DECODES.and_tells(Starts("--export-secret"))),
    Program::named("gpg2").critical(&[DELETES_KEYS]).pipe(Pipe::tells(Starts("--export-secret"))),
    Program::named("pass security op")
        .beyond(&[case(Always, "it handles keys and secrets")])
        .critical(&[DELETES_SECRETS])
        .pipe(Pipe::tells(Always)),
    Program::named("vault")
        .beyond(&[case(Always, "it handles keys and secrets")])
        .critical(&[destroys(Operand("destroy delete revoke seal disable"))])
        .pipe(Pipe::tells(Always))
        .grant(AlwaysRule::words(2).three("auth kv")),
    Program::named("bw gopass").critical(&[DELETES_SECRETS]).pipe(Pipe::tells(Always)),
    Program::named("openssl")
        .beyond(&[case(Has(OPENSSL_RUNS), STARTS_ANOTHER)])
        .pipe(DECODES)
        .grant(AlwaysRule::words(2).three("req x509")),
];

// An allow never passes through: the inner command gets rights that its rule did not consider.
const SUDO: Wrapper =
    Wrapper { assigns: true, opens_shell: true, ..Wrapper::new(Passage::DenyOnly) };
const DOAS: Wrapper = Wrapper { opens_shell: true, ..Wrapper::new(Passage::DenyOnly) };
const OPENS_A_SHELL: Case = critical(
    Any(&[options("--login --shell", "is", ""), Nth(0, "su"), Bare]),
    "opens a shell as root",
);
const DELETES_KEYS: Case = critical(Starts("--delete-secret"), "deletes secret keys");
const DELETES_SECRETS: Case =
    destroys(Any(&[Operand("delete rm remove"), OperandStarts("delete-")]));
const ACCOUNTS: &str = "changes accounts";
const RIGHTS_NAMES: Words = "\
    useradd adduser usermod userdel deluser groupadd groupmod groupdel addgroup delgroup gpasswd \
    chpasswd vipw vigr newusers chsh chage dseditgroup sysadminctl";
const OPENSSL_RUNS: Words = "\
    -engine -out -provider -provider-path -writerand s_client s_server engine";
