//! Package managers of languages.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{
    All, Any, AtLeast, Has, Holds, Not, Nth, Operand, OperandStarts, Outside, Starts, Test, Verb,
};
use crate::facts::programs::condition::{Case, case, critical, destroys, drops, options};
use crate::facts::programs::description::{
    AlwaysRule, Operands, Program, Reach, Role, Runs, Title, To, form,
};
use crate::facts::programs::known::names_outside;
use crate::facts::programs::known::system;
use crate::facts::programs::known::{
    FROM_ITS_REGISTRY, INSTALLS, NEEDED, OUTSIDE, PUBLISHES, RUNS, RUNS_A_FETCH, STARTS_ANOTHER,
};
use crate::facts::programs::{Words, listed};

pub(super) static ALL: &[Program] = &[
    Program::named("cargo")
        .written_out()
        .roles(&[Role::Titled])
        .global("-C --config -Z --color --manifest-path")
        .beyond(&[
            case(
                // `--config` can set runners and linkers; `+/path` names a toolchain.
                Any(&[
                    options("--config --config-file --tool-config-file", "ZC", "pFj"),
                    All(&[Verb("watch"), options("--shell", "s", "xw")]),
                    Test(names_a_target_file),
                    Test(names_a_toolchain),
                    Holds(&["linker="]),
                ]),
                STARTS_ANOTHER,
            ),
            case(Verb("install uninstall publish login logout owner yank"), PUBLISHES),
            case(
                Any(&[
                    Outside(CARGO_FOLDERS),
                    All(&[Verb("new init vendor"), Test(names_outside)]),
                ]),
                OUTSIDE,
            ),
        ])
        .critical(&[destroys(Nth(0, "yank"))])
        .reaches(&[TO_ITS_REGISTRY, FROM_ITS_REGISTRY])
        .grant(AlwaysRule::words(2).three("add run").own(CARGO_OWN)),
    Program::named("rustup")
        .roles(&[Role::Titled])
        .reads(&[form("toolchain list", "v", "", &[], Operands::None)])
        .beyond(&[case(
            Any(&[Verb("run self default override set"), Has("link uninstall remove")]),
            STARTS_ANOTHER,
        )])
        .grant(AlwaysRule::words(2)),
    Program::named("npm")
        .roles(&[Role::Titled])
        .global(NPM_GLOBAL)
        // No form only reads: even `npm ls` may contact the registry that the `.npmrc` of the clone
        // names, with the user's token.
        .versions("--version -v")
        .beyond(&[
            NPM_RUNS,
            NPM_GIVES,
            NPM_SETS,
            NPM_CREATES,
            NPM_LEAVES,
            // npm takes beginnings of its sub-commands: `npm publ`.
            case(Test(is_rare), PUBLISHES),
        ])
        .critical(&[
            critical(All(&[Nth(0, "uninstall remove rm un r"), Operand("npm")]), NEEDED),
            destroys(Nth(0, "unpublish")),
        ])
        .runs(Runs::Elsewhere("exec x dlx"))
        .reaches(&[TO_ITS_REGISTRY, FROM_ITS_REGISTRY])
        .grant(
            AlwaysRule::words(2).three("exec init run view").never_subs("exec x").narrow(NEW_CODE),
        ),
    Program::named("pnpm")
        .roles(&[Role::Titled])
        .global(NPM_GLOBAL)
        .beyond(NPM_BEYOND)
        .critical(&[destroys(Nth(0, "unpublish"))])
        .runs(Runs::Elsewhere("exec x dlx"))
        .reaches(&[TO_ITS_REGISTRY, FROM_ITS_REGISTRY])
        .grant(
            AlwaysRule::words(2)
                .three("dlx exec run")
                .never_subs("exec")
                .runners("dlx")
                .narrow(NEW_CODE),
        ),
    Program::named("yarn")
        .roles(&[Role::Titled])
        .global(NPM_GLOBAL)
        .beyond(NPM_BEYOND)
        .runs(Runs::Elsewhere("exec x dlx"))
        .reaches(&[TO_ITS_REGISTRY, FROM_ITS_REGISTRY])
        .grant(
            AlwaysRule::words(2)
                .three("dlx run")
                .never_subs("exec workspace workspaces")
                .runners("dlx")
                .narrow(NEW_CODE),
        ),
    Program::named("bun")
        .roles(&[Role::Interpreter, Role::Titled])
        .versions("--version -v")
        .beyond(NPM_BEYOND)
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Elsewhere("exec x dlx"))
        .reaches(&[TO_ITS_REGISTRY, FROM_ITS_REGISTRY])
        .grant(
            AlwaysRule::words(2)
                .three("run x")
                .never_subs("-e")
                .runners("x")
                .scripts("add build install pm run test x")
                .narrow(NEW_CODE),
        ),
    Program::named("npx uvx").roles(&[Role::Titled]).runs(Runs::Package).grant(AlwaysRule::NEVER),
    Program::named("bunx")
        .roles(&[Role::Titled])
        .runs(Runs::Package)
        .grant(AlwaysRule::words(2).runner()),
    Program::named("pnpx").roles(&[Role::Titled]).runs(Runs::Package),
    PIP.grant(AlwaysRule::words(2).narrow(NEW_CODE)),
    PIP.renamed("pip3").grant(AlwaysRule::our_words(2).narrow(NEW_CODE)),
    Program::named("uv")
        .roles(&[Role::Titled])
        .versions("--version")
        .beyond(&[
            case(Verb("publish tool self"), PUBLISHES),
            case(options(UV_OPTIONS, "ip", ""), STARTS_ANOTHER),
        ])
        .runs(Runs::Elsewhere("run"))
        .reaches(&[TO_ITS_REGISTRY])
        .grant(AlwaysRule::our_words(2).our_three("run").runners("run").narrow("add pip run")),
    Program::named("poetry")
        .roles(&[Role::Titled])
        .runs(Runs::Elsewhere("run"))
        .reaches(&[TO_ITS_REGISTRY])
        .grant(AlwaysRule::words(2).our_three("run").runners("run").narrow(NEW_CODE)),
    Program::named("pipenv")
        .runs(Runs::Elsewhere("run"))
        .grant(AlwaysRule::words(2).our_three("run").runners("run")),
    Program::named("rye pdm hatch mamba").runs(Runs::Elsewhere("run")),
    Program::named("conda").runs(Runs::Elsewhere("run")).grant(
        AlwaysRule::our_words(2).our_three("config env").never_subs("run").narrow("install create"),
    ),
    Program::named("pipx").runs(Runs::Elsewhere("run")).grant(AlwaysRule::NEVER),
    Program::named("vsce ovsx").critical(&[destroys(Nth(0, "unpublish"))]),
    Program::named("pod").critical(&[destroys(All(&[Nth(0, "trunk"), Nth(1, "delete")]))]),
    Program::named("gem")
        .beyond(&[INSTALLS])
        .critical(&[destroys(Nth(0, "yank"))])
        .reaches(&[FROM_ITS_REGISTRY]),
    Program::named("bundle")
        .beyond(&[RUNS_SCRIPTS])
        .critical(&[drops(OperandStarts("db:drop db:reset"))])
        .runs(Runs::Elsewhere("exec x"))
        .grant(AlwaysRule::our_words(2).our_three("exec").runners("exec")),
    Program::named("composer")
        .beyond(&[RUNS_SCRIPTS])
        .runs(Runs::Elsewhere("exec x"))
        .grant(AlwaysRule::words(2).never_subs("exec")),
    Program::named("twine").reaches(&[Reach::Publishes {
        sub: "upload",
        second: "",
        title: Title::Two,
        to: To::Known("its registry"),
    }]),
    Program::named("nvm volta pyenv rbenv").grant(AlwaysRule::words(2)),
    Program::named("direnv mise")
        .beyond(&[case(Verb("allow permit grant trust"), "it trusts a file that runs programs")])
        .runs(Runs::Elsewhere("exec x"))
        .grant(AlwaysRule::ONE_WORD.never_subs("exec")),
    Program::named("asdf").runs(Runs::Elsewhere("exec x")),
];

const PIP: Program = Program::named("pip")
    .roles(&[Role::Titled])
    // No form only reads: `list` may contact the index, and `freeze` prints addresses with tokens.
    .versions("--version -V")
    .beyond(&[
        case(All(&[Verb("config"), Not(&Has("get list debug"))]), STARTS_ANOTHER),
        case(options(PIP_OPTIONS, "if", "rcetd"), STARTS_ANOTHER),
        case(
            Any(&[
                Outside("-t --target --prefix --root --log --cache-dir --src"),
                Test(names_outside),
            ]),
            OUTSIDE,
        ),
    ])
    .critical(&[critical(All(&[Nth(0, "uninstall"), Operand("pip setuptools wheel")]), NEEDED)])
    .reaches(&[FROM_ITS_REGISTRY]);
/// Sub-commands that fetch packages and run their code: a rule for one names the packages.
const NEW_CODE: Words = "install i add";
const RUNS_SCRIPTS: Case = case(Verb("exec config global run-script run plugin x"), STARTS_ANOTHER);
/// Any other is a program of the project or of the user, which may do anything: `cargo xtask deploy`.
const CARGO_OWN: Words = "\
    add b bench build c check clean clippy d doc expand fetch fix fmt generate-lockfile help \
    info init install llvm-cov locate-project login logout metadata miri new nextest outdated \
    owner package pkgid publish r read-manifest remove report rm run rustc rustdoc search t \
    test tree udeps uninstall update vendor verify-project version yank";
const CARGO_FOLDERS: Words = "\
    --manifest-path --target-dir --out-dir --artifact-dir --lockfile-path";
const TO_ITS_REGISTRY: Reach = Reach::Publishes {
    sub: "publish",
    second: "",
    title: Title::Two,
    to: To::Known("its registry"),
};
const NPM_GLOBAL: Words = "--prefix -C --cwd --dir -w --workspace --filter -F";
const NPM_BEYOND: &[Case] = &[NPM_RUNS, NPM_GIVES, NPM_SETS, NPM_CREATES, NPM_LEAVES];
const NPM_CREATES: Case = case(
    Any(&[
        Verb("explore create plugin self-update setup env"),
        All(&[Verb("init innit"), AtLeast(2)]),
        All(&[Verb("pkg"), Not(&Nth(1, "get"))]),
    ]),
    STARTS_ANOTHER,
);
const NPM_LEAVES: Case =
    case(Any(&[Outside(NPM_FOLDERS), All(&[Verb("install i add"), Test(names_outside)])]), OUTSIDE);
const NPM_EVERYDAY: Words = "\
    run run-script rum urn test t tst start stop restart install i in add ci cit it clean-install \
    install-test update up upgrade uninstall un rm r remove dedupe ddp prune rebuild rb ls list la \
    ll view v info show outdated audit fund why explain query search s docs repo bugs issues home \
    doctor ping whoami root prefix bin help help-search version pack get cache sbom diff \
    completion init innit pkg config c edit shrinkwrap";
const NPM_RUNS: Case =
    case(Any(&[options(NPM_OPTIONS, "", ""), Starts("--config.")]), STARTS_ANOTHER);
const NPM_GIVES: Case =
    case(Any(&[Verb(NPM_PUBLISHES), Has("-g"), options("--global --location", "", "")]), PUBLISHES);
const NPM_SETS: Case =
    case(Any(&[All(&[Verb("config c"), Not(&Has("get list ls"))]), Verb("set")]), STARTS_ANOTHER);
const NPM_FOLDERS: Words = "--prefix --cwd --dir -C --cache --modules-folder";
// Another index, or settings for the build, decide which code an install runs.
const PIP_OPTIONS: Words = "\
    --index-url --extra-index-url --find-links --trusted-host --config-settings --global-option \
    --python";
const UV_OPTIONS: Words = "\
    --index --default-index --index-url --extra-index-url --find-links --config-setting --python \
    --config-file";
// `--ignore-scripts=false` turns the scripts of packages back on.
const NPM_OPTIONS: Words = "\
    --script-shell --node-options --userconfig --globalconfig --shell --registry --init-module \
    --git --python \
    --ignore-scripts=false";
const NPM_PUBLISHES: Words = "\
    publish unpublish deprecate owner access adduser login logout token dist-tag profile team \
    hook org star link exec x dlx npm tag";

/// Returns true for a sub-command of npm that is not used every day.
fn is_rare(args: &Arguments<'_, '_>) -> bool {
    let verbs = args.verbs();
    !verbs.is_empty() && !verbs.iter().any(|verb| listed(NPM_EVERYDAY, verb))
}

/// Returns true for `--target x.json`, which may name a linker.
fn names_a_target_file(args: &Arguments<'_, '_>) -> bool {
    args.values("--target").iter().any(|target| target.ends_with(".json"))
}

/// Returns true for `cargo +/path/to/toolchain`.
fn names_a_toolchain(args: &Arguments<'_, '_>) -> bool {
    args.any(|text| text.starts_with('+') && text.contains('/'))
}

pub(super) static OF_THE_SYSTEM: &[Program] = &[
    Program::named("apt apt-get")
        .roles(&[Role::Titled])
        // `-o` can set hooks that apt runs, such as `APT::Update::Pre-Invoke`.
        .beyond(&[case(options("--option --config-file", "oc", "t"), RUNS), INSTALLS])
        .critical(&[REMOVES_THE_SYSTEM])
        .reaches(&[FROM_ITS_REGISTRY]),
    Program::named("aptitude")
        .beyond(&[case(options("--option --config-file", "oc", "t"), RUNS)])
        .critical(&[REMOVES_THE_SYSTEM])
        .grant(AlwaysRule::our_words(2).narrow(NEW_CODE)),
    Program::named("dnf yum")
        .roles(&[Role::Titled])
        .beyond(&[case(options("--config --setopt --installroot", "c", ""), RUNS), INSTALLS])
        .critical(&[REMOVES_THE_SYSTEM]),
    Program::named("zypper").critical(&[REMOVES_THE_SYSTEM]),
    Program::named("pacman apk rpm dpkg").beyond(&[INSTALLS]).critical(&[REMOVES_THE_SYSTEM]),
    Program::named("brew")
        .roles(&[Role::Titled])
        .beyond(&[INSTALLS])
        .critical(&[REMOVES_THE_SYSTEM])
        .reaches(&[FROM_ITS_REGISTRY])
        .grant(AlwaysRule::words(2)),
    Program::named("snap").roles(&[Role::Titled]).beyond(&[INSTALLS]),
    Program::named("flatpak port nix-env").beyond(&[INSTALLS]),
    Program::named("nix")
        .beyond(&[case(Verb("develop shell"), STARTS_ANOTHER)])
        .runs(Runs::Elsewhere("run develop shell"))
        .grant(
            AlwaysRule::our_words(2)
                .our_three("derivation flake profile registry store")
                .never_subs("run develop shell"),
        ),
];

// Removing any other package only goes beyond a grant.
const REMOVES_THE_SYSTEM: Case =
    critical(All(&[Has(REMOVES), Test(system::vital_package)]), NEEDED);
const REMOVES: Words = "\
    remove purge erase autoremove uninstall del autopurge -R -Rs -Rns -Rn -Rc -Rsc -Rdd -e -P --purge";
