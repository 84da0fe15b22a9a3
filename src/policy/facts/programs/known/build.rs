//! Compilers, build tools, tests and linters.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{
    All, Any, Has, Holds, Nth, Operand, OperandStarts, Outside, Starts, Test, Verb,
};
use crate::facts::programs::condition::{Case, case, destroys, drops, options};
use crate::facts::programs::description::{AlwaysRule, Files, Operands, Program, Role, reading};
use crate::facts::programs::known::{
    FROM_ITS_REGISTRY, OUTSIDE, PUBLISHES, RUNS, STARTS_ANOTHER, WRITES, names_outside,
};
use crate::facts::programs::{Words, begins, listed};

pub(crate) static ALL: &[Program] = &[
    // A variable on the command line can replace the shell and every tool of the recipes.
    Program::named("make")
        .roles(&[Role::Titled, Role::Recipes])
        .versions("--version")
        .beyond(MAKE_BEYOND)
        .grant(AlwaysRule::words(2)),
    Program::named("gmake ninja").roles(&[Role::Recipes]).beyond(MAKE_BEYOND),
    Program::named("just").roles(&[Role::Titled, Role::Recipes]).beyond(MAKE_BEYOND),
    Program::named("cmake")
        .versions("--version")
        .beyond(&[case(options("--script", "PEC", "DGABSTU"), RUNS)])
        .grant(AlwaysRule::words(2).options("--build --install")),
    COMPILER.versions("--version"),
    COMPILER.renamed("cc c++"),
    Program::named("rustc").beyond(&[COMPILER_STARTS, case(Outside("-o"), OUTSIDE)]),
    // `go generate` runs the commands in source comments.
    Program::named("go")
        .roles(&[Role::Titled])
        .beyond(&[
            case(
                Any(&[
                    Test(go_runs),
                    Verb("generate"),
                    All(&[Verb("env"), Has("-w -u")]),
                    All(&[Verb("run install get"), Holds(&["@"])]),
                ]),
                STARTS_ANOTHER,
            ),
            case(Test(go_leaves), OUTSIDE),
        ])
        .reaches(&[FROM_ITS_REGISTRY])
        .grant(AlwaysRule::words(2).our_three("run").never_subs("generate")),
    Program::named("gofmt").reads(&[reading("lde", "", &[], Operands::Guarded)]),
    Program::named("java").roles(&[Role::Recipes]).versions("-version"),
    Program::named("javac").versions("-version"),
    Program::named("mvn").beyond(MAVEN_BEYOND).grant(AlwaysRule::words(2)),
    Program::named("mvnw").beyond(MAVEN_BEYOND).grant(AlwaysRule::our_words(2)),
    Program::named("gradle").beyond(GRADLE_BEYOND).grant(AlwaysRule::words(2)),
    Program::named("gradlew").beyond(GRADLE_BEYOND).grant(AlwaysRule::our_words(2)),
    Program::named("tsc").beyond(&[case(
        Any(&[Outside(TSC_FOLDERS), options("--plugins", "", ""), Starts("@")]),
        OUTSIDE,
    )]),
    Program::named("jest").beyond(&[case(options(JEST_OPTIONS, "c", "ti"), RUNS)]),
    Program::named("vitest").beyond(&[case(options(VITEST_OPTIONS, "cr", "t"), RUNS)]),
    Program::named("eslint").beyond(&[
        case(options(ESLINT_OPTIONS, "cof", ""), RUNS),
        case(Test(names_outside), OUTSIDE),
    ]),
    Program::named("prettier").beyond(&[
        case(options("--config --plugin --plugin-search-dir", "", ""), RUNS),
        case(Test(names_outside), OUTSIDE),
    ]),
    Program::named("pytest py.test").beyond(&[
        case(
            Any(&[
                Test(loads_a_plugin),
                options("--pdb --pdbcls --pastebin --override-ini", "o", "kmpcWrn"),
            ]),
            STARTS_ANOTHER,
        ),
        case(Any(&[Outside(PYTEST_FOLDERS), Test(names_outside)]), OUTSIDE).values("-k -m -W -n"),
    ]),
    Program::named("mypy").beyond(&[case(options("--config-file --install-types", "", ""), RUNS)]),
    Program::named("rubocop rspec").beyond(&[case(options("--require", "r", ""), RUNS)]),
    Program::named("ruff").versions("--version"),
    Program::named("bazel ng nx turbo hugo swift wp sst").grant(AlwaysRule::words(2)),
    RAILS.renamed("rake").roles(&[Role::Recipes]).grant(AlwaysRule::words(2)),
    RAILS,
    Program::named("mix")
        .critical(&[
            drops(Operand("ecto.drop ecto.reset")),
            destroys(All(&[Operand("hex.publish"), Has("--revert")])),
        ])
        .grant(AlwaysRule::our_words(2)),
    Program::named("prisma").critical(&[drops(Any(&[
        All(&[Nth(0, "migrate"), Nth(1, "reset")]),
        Has("--force-reset --accept-data-loss"),
    ]))]),
    Program::named("sequelize sequelize-cli typeorm knex drizzle-kit").critical(&[drops(Any(&[
        Operand("db:drop schema:drop drop db:migrate:undo:all"),
        All(&[Operand("migrate:rollback"), Has("--all")]),
    ]))]),
    Program::named("flask").critical(&[drops(All(&[
        Nth(0, "db"),
        Nth(1, "downgrade"),
        Nth(2, "base"),
    ]))]),
    Program::named("alembic").critical(&[drops(All(&[Nth(0, "downgrade"), Nth(1, "base")]))]),
    Program::named("gdb lldb")
        .beyond(&[case(options(GDB_OPTIONS, "exnosb", ""), RUNS)])
        .grant(AlwaysRule::NEVER),
    Program::named("ctags etags")
        .beyond(&[case(options("--options --output", "of", "LRI"), WRITES)]),
    Program::named("pandoc").beyond(&[case(options(PANDOC_OPTIONS, "FLod", "frtVMD"), RUNS)]),
    // The pager and the preprocessors may be any program.
    Program::named("man apropos whatis")
        .beyond(&[case(options(MAN_OPTIONS, "HPpCXTZtl", "SsMLeER"), RUNS)]),
    Program::named("sfdx").grant(AlwaysRule::words(3)),
    Program::named("hg")
        .beyond(&[case(options("--config --repository --cwd --debugger", "R", "rlmu"), RUNS)])
        .grant(AlwaysRule::our_words(2))
        .critical(&[destroys(Operand("strip purge"))]),
    Program::named("svn")
        .beyond(&[case(options(SVN_OPTIONS, "", ""), RUNS)])
        .grant(AlwaysRule::our_words(2)),
];

const COMPILER: Program = Program::named("gcc g++ clang clang++")
    .roles(&[Role::KnownPaths])
    .files(Files::Behind("-o"))
    .beyond(&[
        case(options("--specs --param", "B", "IDLlOWfmoxu"), RUNS),
        COMPILER_STARTS,
        case(Outside("-o"), OUTSIDE),
    ]);
const MAKE_BEYOND: &[Case] = &[CHANGES_RECIPES, case(Outside(MAKE_FOLDERS), OUTSIDE)];
const MAVEN_BEYOND: &[Case] = &[case(options(MVN_OPTIONS, "fsgt", "PpDT"), RUNS), MAVEN_RUNS];
const GRADLE_BEYOND: &[Case] = &[
    case(options(GRADLE_OPTIONS, "IbpcgPD", "x"), RUNS),
    case(OperandStarts("publish upload"), PUBLISHES),
];

const RAILS: Program = Program::named("rails")
    .critical(&[drops(Any(&[OperandStarts(DROPS_TABLES), Operand("db:truncate_all")]))]);
const DROPS_TABLES: Words = "\
    db:drop db:reset db:purge db:schema:load db:migrate:reset db:seed:replant";
// `make X='$(shell id)'` runs the value, and a path as the value may be a program.
const CHANGES_RECIPES: Case = case(
    Any(&[
        Starts(MAKE_VARIABLES),
        Test(sets_a_variable),
        options("--eval --shell --justfile", "E", "fCIjloOW"),
    ]),
    STARTS_ANOTHER,
);
const MAKE_VARIABLES: Words = "\
    SHELL= MAKEFLAGS= CC= CXX= LD= AR= MAKE= .SHELLFLAGS= RUSTC= CARGO= PYTHON=";
const MAKE_FOLDERS: Words = "-f --file --makefile --justfile -C --directory -I";
const COMPILER_STARTS: Case =
    case(Any(&[Starts(COMPILER_RUNS), Holds(&["linker="])]), STARTS_ANOTHER);
const MVN_OPTIONS: Words = "--file --settings --global-settings --toolchains";
const GRADLE_OPTIONS: Words = "\
    --init-script --build-file --project-dir --settings-file --include-build --gradle-user-home \
    --system-prop --project-prop";
const MAVEN_RUNS: Case =
    case(Any(&[Starts("antrun deploy release"), Test(maven_runs)]), STARTS_ANOTHER);
const TSC_FOLDERS: Words = "\
    -p --project --outDir --outFile --declarationDir --rootDir --tsBuildInfoFile -b --build";
const JEST_OPTIONS: Words = "\
    --globalSetup --globalTeardown --config --setupFiles --setupFilesAfterEnv --transform \
    --runner --testRunner --resolver --reporters --testEnvironment --rootDir --outputFile";
const VITEST_OPTIONS: Words = "\
    --config --globalSetup --reporter --root --outputFile --environment";
const ESLINT_OPTIONS: Words = "\
    --config --rulesdir --resolve-plugins-relative-to --output-file --parser --plugin --format \
    --inspect-config --init";
const PYTEST_FOLDERS: Words = "\
    -c --config-file --rootdir --confcutdir --basetemp --junitxml --junit-xml --cov-config \
    --log-file --debug";
const GDB_OPTIONS: Words = "\
    --command --eval-command --init-command --init-eval-command --args --batch --python";
const PANDOC_OPTIONS: Words = "\
    --filter --lua-filter --output --extract-media --pdf-engine --defaults --template";
const MAN_OPTIONS: Words = "\
    --html --pager --preprocessor --config-file --local-file --troff-device --gxditview";
const SVN_OPTIONS: Words = "--config-option --config-dir --diff-cmd --editor-cmd --diff3-cmd";
// `@file` holds more options; `-fplugin` and `-wrapper` bring code to run.
const COMPILER_RUNS: Words = "-wrapper -fplugin -specs @ -Clinker -fuse-ld=/ -Xclang -load";

/// Returns true for `NAME=value`, unless the value is a plain word.
fn sets_a_variable(args: &Arguments<'_, '_>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".,:_-+".contains(c);
    args.texts()
        .filter(|text| !text.starts_with('-'))
        .any(|text| text.split_once('=').is_some_and(|(_, value)| !value.chars().all(plain)))
}

/// Returns true when maven runs a plug-in by its name, or is given a property that may name a
/// program.
fn maven_runs(args: &Arguments<'_, '_>) -> bool {
    const HARMLESS: Words = "-DskipTests -DskipITs -Dtest= -Dit.test= -Dmaven.test.skip -DfailIfNo";
    args.each_named().any(|word| word.text.contains(':') && !word.text.starts_with('-'))
        || args.any(|text| text.starts_with("-D") && !begins(HARMLESS, text))
        || args.long("--define")
}

/// Returns true when an option of go runs a program; go accepts one dash as well as two.
fn go_runs(args: &Arguments<'_, '_>) -> bool {
    let options = "vettool toolexec exec overlay modfile gccgoflags compiler pkgdir";
    args.any(|text| {
        // As part of `-ldflags`, wherever it stands there.
        if text.contains("-extld") {
            return true;
        }
        let text = text.trim_start_matches('-');
        options.split(' ').any(|option| {
            text.strip_prefix(option).is_some_and(|more| more.is_empty() || more.starts_with('='))
        })
    })
}

/// Returns true when go builds or runs a package outside the project, or writes there; it accepts
/// `-o x`, `--o=x` and the like.
fn go_leaves(args: &Arguments<'_, '_>) -> bool {
    let builds = |verb: &&str| listed("run test build vet install fmt fix", verb);
    let builds = args.verbs().iter().any(builds);
    let option = |text: &str| {
        let name = text.trim_start_matches('-');
        text.starts_with('-') && listed("C o coverprofile cpuprofile memprofile outputdir", name)
    };
    let attached = args.texts().filter_map(|text| text.split_once('='));
    let separate = args.texts().zip(args.texts().skip(1));
    builds && args.named().get(1).is_some_and(|package| args.outside(package))
        || attached.chain(separate).any(|(name, path)| option(name) && args.path_outside(path))
}

/// Returns true when pytest loads a plug-in.
fn loads_a_plugin(args: &Arguments<'_, '_>) -> bool {
    args.values("-p").iter().any(|plugin| !plugin.starts_with("no:"))
}
