//! Files that other programs run or obey without asking; all of them are listed here.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::facts::paths::{self, Directories};
use crate::facts::programs::{ends, listed};
use crate::facts::shorten;

/// Folders in which every file counts.
const FOLDERS: &str = "\
    .git .husky .vscode .idea .claude .cursor .codex .gemini .opencode .copilot .omp .pi \
    .clinerules .countersign";

/// More such folders, for [`is_obeyed`] only: continuous integration, editors, agents, tools, and
/// packages that are there. Of a project, every hidden folder is one.
const MORE_FOLDERS: &str = "\
    .circleci .buildkite .gitlab .forgejo .gitea .woodpecker .devcontainer .zed .windsurf \
    .continue .roo .kiro .aider .githooks .lefthook .yarn .mvn .direnv .nvim .fleet .ssh .gnupg \
    .docker .kube .aws systemd autostart cron.d launchagents launchdaemons git-hooks \
    node_modules site-packages sitecustomize usercustomize gulpfile.js buildsrc";

/// Folders that count inside another folder.
const NESTED: &str = "\
    .github/workflows .github/actions .github/hooks .config/fish .config/git \
    .config/nvim .config/opencode cline/hooks \
    .cargo/bin .local/bin gradle/wrapper venv/bin vendor/bin";

/// File names.
const NAMES: &str = "\
    .gitattributes .gitmodules .envrc .mcp.json permissions.jsonc countersign.toml .npmrc \
    .yarnrc .yarnrc.yml .pnpmfile.cjs .gitconfig sitecustomize.py usercustomize.py \
    .pre-commit-config.yaml .gdbinit .exrc .vimrc .bashrc .profile .zshrc .tool-versions \
    .mise.toml .lldbinit .pdbrc .dir-locals.el .nvimrc opencode.json";

/// More names, for [`is_obeyed`] only, in lower case: continuous integration, git (a folder with
/// its own HEAD is a repository), builds, packages, tests, containers, agents, editors, and files
/// that shells load.
const MORE_NAMES: &str = "\
    .gitlab-ci.yml .gitlab-ci.yaml jenkinsfile azure-pipelines.yml azure-pipelines.yaml \
    .travis.yml .drone.yml .woodpecker.yml bitbucket-pipelines.yml appveyor.yml .cirrus.yml \
    cloudbuild.yaml buildspec.yml .sourcehut.yml .builds.yml renovate.json head lefthook.yml \
    lefthook.yaml .lefthook.yml .huskyrc .lintstagedrc .overcommit.yml package.json makefile \
    gnumakefile justfile .justfile taskfile.yml taskfile.yaml rakefile gemfile build.rs \
    cargo.toml setup.py setup.cfg pyproject.toml conftest.py tox.ini noxfile.py pytest.ini \
    cmakelists.txt configure configure.ac build.gradle build.gradle.kts settings.gradle \
    settings.gradle.kts gradlew gradle.properties pom.xml mvnw build.sbt meson.build build.zig \
    build.bazel workspace.bazel module.bazel .bazelrc composer.json mix.exs rebar.config go.work \
    deno.json deno.jsonc bunfig.toml nx.json turbo.json lerna.json gulpfile.js gruntfile.js \
    rust-toolchain rust-toolchain.toml global.json directory.build.props directory.build.targets \
    flake.nix shell.nix default.nix manage.py _config.yml binding.gyp pipfile environment.yml \
    snakefile dodo.py tasks.py fabfile.py sconstruct wscript earthfile dockerfile containerfile \
    docker-compose.yml docker-compose.yaml compose.yml compose.yaml vagrantfile procfile crontab \
    devcontainer.json skaffold.yaml tiltfile claude.md claude.local.md agents.md agent.md \
    gemini.md .cursorrules .windsurfrules .clinerules .aider.conf.yml .mcp.jsonc mcp.json \
    opencode.jsonc .goosehints .vimrc.local .nvim.lua .editorconfig .code-workspace \
    copilot-instructions.md .bash_profile .bash_login .bash_logout .bash_aliases .zshenv \
    .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .xinitrc .xprofile \
    .xsession .screenrc .tmux.conf .env .env.local .flaskenv .pythonrc .irbrc .rprofile \
    mise.toml .nvmrc .node-version .python-version .ruby-version authorized_keys .netrc .pypirc \
    .pam_environment .emacs package.yaml package.json5 pnpm-workspace.yaml .pnpmfile.mjs \
    yarn.config.cjs .mocharc.js .mocharc.cjs .mocharc.json .mocharc.yml .swcrc .nycrc \
    babel.config.json nodemon.json angular.json project.json wrangler.toml netlify.toml mypy.ini \
    .mypy.ini .pylintrc pylintrc .flake8 .coveragerc hatch.toml pdm.toml poetry.toml uv.toml \
    pixi.toml .rspec .rubocop.yml guardfile capfile brewfile podfile fastfile dangerfile thorfile \
    config.ru taskfile.dist.yml magefile.go .air.toml bacon.toml devbox.json ansible.cfg \
    terragrunt.hcl serverless.yml mise.local.toml .mise.local.toml .rtx.toml .sdkmanrc \
    procfile.dev serverless.yaml samconfig.toml vercel.json fly.toml render.yaml railway.json \
    railway.toml heroku.yml firebase.json amplify.yml cdk.json pulumi.yaml helmfile.yaml \
    devspace.yaml codefresh.yml codemagic.yaml screwdriver.yaml bitrise.yml wercker.yml \
    buildspec.yaml action.yml action.yaml lefthook-local.yml lefthook.toml lefthook.json prek.toml \
    captainhook.json grumphp.yml simple-git-hooks.js simple-git-hooks.cjs tox.toml pytest.toml \
    hatch_build.py environment.yaml uwsgi.ini gunicorn.conf.py alembic.ini celeryconfig.py \
    pavement.py ipython_config.py conf.py mkdocs.yml pip.conf pip.ini distutils.cfg \
    pydistutils.cfg pyvenv.cfg npmrc pnpmfile.js import_map.json jsr.json npm-shrinkwrap.json \
    ember-cli-build.js brocfile.js rush.json moon.yml workspace.json go.mod go.sum modules.txt \
    cross.toml trunk.toml dioxus.toml release.toml cliff.toml rust-project.json gems.rb gems.locked \
    build.xml ivy.xml build.sc build.mill build.properties local.properties libs.versions.toml \
    pants.toml cmakepresets.json cmakeuserpresets.json meson.options \
    meson_options.txt autogen.sh bootstrap.sh aclocal.m4 sconscript xmake.lua premake5.lua \
    conanfile.py conanfile.txt vcpkg.json compile_commands.json nuget.config dotnet-tools.json \
    launchsettings.json build.cake paket.dependencies rebar.config.script vm.args project.clj \
    deps.edn bb.edn build.boot shadow-cljs.edn cabal.project stack.yaml dune dune-project shard.yml \
    elm.json nim.cfg dub.json dub.sdl v.mod pubspec.yaml package.swift package.resolved \
    project.toml manifest.toml cpanfile build.pl makefile.pl phpunit.xml phpunit.xml.dist \
    phpstan.neon phpstan.neon.dist psalm.xml rector.php robofile.php castor.php php.ini web.config \
    guix.scm manifest.scm channels.scm devenv.yaml dvc.yaml nextflow.config berksfile puppetfile \
    cheffile foremanfile modelfile docker-bake.hcl docker-bake.json gdbinit _vimrc skill.md \
    agents.override.md qwen.md crush.md warp.md codex.md copilot.md jules.md conventions.md \
    replit.md hooks.json marketplace.json mcp_config.json crush.json autorun.inf desktop.ini \
    applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg \
    commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive post-receive \
    post-update push-to-checkout pre-auto-gc post-rewrite reference-transaction post-index-change \
    sendemail-validate fsmonitor-watchman bsdmakefile tupfile jamfile jamroot kbuild tslint.json \
    cypress.json schema.prisma";

/// Names that mean something else in lower case: `build` is a folder of results.
const WRITTEN_SO: &str = "BUILD WORKSPACE BUCK TARGETS";

/// Name endings: configurations that are programs, builds, locks, units, and links that start
/// something.
const ENDS: &str = "\
    .config.js .config.mjs .config.cjs .config.ts .config.mts .config.cts .conf.js .conf.ts \
    .gemspec .mk .gyp .service .timer .desktop .plist .code-workspace .dockerfile .csproj .vcxproj \
    .cron rc.js rc.cjs rc.mjs .lock .lockb -lock.json -lock.yaml .lockfile .pth .egg-link .gradle \
    .gradle.kts .sbt .bzl .cmake .mak .props .targets .rsp .sln .slnx .fsproj .vbproj .nix .rake \
    .podspec .cabal .opam .nimble .nims .rockspec .just \
    .xcconfig .pbxproj .gdb -gdb.py .sublime-project .sublime-build .iml .socket .mount .lnk .scpt \
    .jenkinsfile .instructions.md .prompt.md .chatmode.md .mdc";

/// Names with a star for any text.
const SHAPES: &str = "\
    dockerfile.* containerfile.* docker-compose.* compose.*.yml compose.*.yaml makefile.* \
    jenkinsfile.* snakefile.* rakefile.* azure-pipelines*.yml .env.* .eslintrc* .babelrc* \
    .prettierrc* requirements*.txt requirements*.in constraints*.txt gulpfile.* gruntfile.* \
    webpack.*.js webpack.*.ts gatsby-*.js gatsby-*.ts knexfile.* ormconfig.* plopfile.* \
    jest.setup.* vitest.setup.* vitest.workspace.* jupyter_*_config.py";

/// Hidden files that a tool only reads as a list of names, or that are templates.
const HARMLESS: &str = "\
    ignore keep .nojekyll .mailmap .git-blame-ignore-revs .ds_store .example .sample .template .dist";

/// Returns true for files of a workspace that tools run or obey without asking: settings of git, of
/// editors and of agents, and files that shells load.
#[must_use]
pub fn runs_later(path: &str) -> bool {
    named_here(&paths::folded(&paths::clean(path, Directories::default())))
}

/// Does the same for a path that is cleaned and in lower case.
fn named_here(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut kept = false;
    let mut git = false;
    let mut hooks = false;
    for part in path.split('/') {
        git |= part == "git";
        hooks |= part == "hooks";
        kept |= listed(FOLDERS, part);
    }
    // Hooks may be outside of a `.git` folder: `~/.config/git/hooks`.
    kept || git && hooks
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
        || path.ends_with(".pth")
        || listed(NAMES, name)
}

/// Returns true for files that others run or obey: those of [`runs_later`], and the files that
/// control builds, tests, packages, containers and continuous integration. No wildcard in a rule or
/// grant covers them.
#[must_use]
pub fn is_obeyed(path: &str) -> bool {
    // A file system may ignore case: there `MAKEFILE` is the `makefile` that make reads.
    let path = paths::clean(path, Directories::default());
    if listed(WRITTEN_SO, path.rsplit('/').next().unwrap_or(&path)) {
        return true;
    }
    let path = &*paths::folded(&path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let nested = |folder: &str| {
        path.match_indices(folder).any(|(at, _)| {
            let before = path.get(..at).unwrap_or_default();
            let behind = path.get(at + folder.len()..).unwrap_or_default();
            (before.is_empty() || before.ends_with('/'))
                && (behind.is_empty() || behind.starts_with('/'))
        })
    };
    let fits = |shape: &str| {
        let parts = shape.split_once('*');
        parts.is_some_and(|(start, end)| name.starts_with(start) && name.ends_with(end))
    };
    named_here(path)
        || path.split('/').any(|part| listed(MORE_FOLDERS, part))
        || NESTED.split(' ').any(nested)
        || more_names().contains(name)
        || ends(ENDS, name)
        || SHAPES.split(' ').any(fits)
}

/// Returns true for files that others run or obey, and for those that they may: what is hidden in
/// the project.
#[must_use]
pub(crate) fn is_obeyed_or_hidden(path: &str, dirs: Directories<'_>) -> bool {
    is_obeyed(path) || hidden(path, dirs).is_some()
}

/// Returns true for a pattern that may stand for such a file: `Makefil?`, `{package,x}.json`.
#[must_use]
pub(crate) fn may_be_obeyed(pattern: &str) -> bool {
    paths::braces(pattern).iter().any(|one| {
        // A range of braces may be anything.
        let one = one.replace(paths::UNKNOWN, "*");
        is_obeyed(&one) || may_be_named(&paths::folded(&one))
    })
}

/// Does the same for a pattern without braces and in lower case.
fn may_be_named(pattern: &str) -> bool {
    let (folders, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let any = |list: &str, part: &str| list.split(' ').any(|one| paths::may_be_name(part, one));
    // A bare star stands for any folder, as the words of everyday commands do.
    let wild = |part: &&str| paths::is_pattern(part) && part.bytes().any(|byte| byte != b'*');
    let folder = |part: &str| [FOLDERS, MORE_FOLDERS].iter().any(|list| any(list, part));
    if folders.split('/').filter(wild).any(folder) {
        return true;
    }
    // `*.ts` may be a configuration by its name alone; in `*.loc?` the wildcard is in the ending.
    let tail = name.rsplit(['*', '?', ']']).next().unwrap_or(name);
    let ending = |end: &str| paths::may_be_name(name, &["*", end].concat());
    let is_open = || !tail.starts_with('.');
    paths::is_pattern(name)
        && ([NAMES, MORE_NAMES].iter().any(|list| any(list, name))
            || is_open() && (ENDS.split(' ').any(ending) || any(SHAPES, name)))
}

/// Returns the hidden part of a path in the project. Nearly every tool keeps what it obeys in files
/// and folders of which the name begins with a dot, so those that are not listed count as well,
/// except for what is known to be harmless; a wildcard covers them only if it names that part.
#[must_use]
pub fn hidden(path: &str, dirs: Directories<'_>) -> Option<String> {
    let hides = |part: &&str| part.starts_with('.') && !matches!(*part, "." | "..");
    let name = path.rsplit('/').next().unwrap_or(path);
    if !path.split('/').any(|part| hides(&part))
        || hides(&name) && ends(HARMLESS, &name.to_ascii_lowercase())
    {
        return None;
    }
    // The project itself may be in a hidden folder, such as the one for worktrees of an agent.
    let project = paths::workspace(dirs)?;
    let path = paths::clean(path, dirs);
    let below = path.strip_prefix(&*project)?.strip_prefix('/')?;
    below.split('/').find(hides).map(str::to_owned)
}

/// The longest list, which each written path is looked up in.
fn more_names() -> &'static HashSet<&'static str> {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| MORE_NAMES.split(' ').collect());
    &NAMES
}

// The programs that run or follow such a file without asking.

/// The programs, each with words of which one is a part of the file's path or the end of its name.
const FOLLOWERS: &[(&str, &str)] = &[
    ("Git runs", "hooks .githooks git-hooks .husky .lefthook lefthook.yml .pre-commit-config.yaml"),
    ("Git follows", ".git git .gitattributes .gitmodules .gitconfig head"),
    ("GitHub runs", ".github"),
    ("GitLab runs", ".gitlab .gitlab-ci.yml .gitlab-ci.yaml"),
    ("CI runs", ".circleci .buildkite .woodpecker jenkinsfile azure-pipelines.yml .travis.yml"),
    ("npm follows", "package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .yarn"),
    ("make runs", "makefile gnumakefile .mk"),
    ("Cargo follows", "cargo.toml .cargo build.rs rust-toolchain rust-toolchain.toml"),
    ("Python follows", "setup.py setup.cfg pyproject.toml conftest.py tox.ini pytest.ini .pth"),
    (
        "Agents follow",
        ".claude .cursor .codex .gemini .opencode claude.md claude.local.md agents.md gemini.md \
         .mcp.json .cursorrules .windsurf .continue .aider opencode.json copilot-instructions.md",
    ),
    ("Editors follow", ".vscode .idea .zed .editorconfig .vimrc .exrc .nvim .code-workspace"),
    ("direnv runs", ".envrc .direnv"),
    (
        "Shells run",
        ".bashrc .profile .zshrc .bash_profile .bash_login .bash_logout .bash_aliases .zshenv \
         .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc fish",
    ),
    ("Docker follows", "dockerfile containerfile .dockerfile docker-compose.yml compose.yaml"),
    ("SSH follows", ".ssh authorized_keys"),
    ("The system runs", "systemd autostart cron.d crontab .service .timer .desktop .plist"),
    ("countersign follows", ".countersign permissions.jsonc countersign.toml"),
];

/// Says who runs or follows the file: "Git runs this file automatically: .git/hooks/pre-push."
pub(crate) fn sentence(path: &str) -> String {
    [follower(path), " this file automatically: ", &shorten(path, 60), "."].concat()
}

fn follower(path: &str) -> &'static str {
    // Some file systems ignore case.
    let path = path.to_lowercase();
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let name = parts().next_back().unwrap_or_default();
    let is_word = |word: &str| parts().any(|part| part == word) || is_ending(name, word);
    let found = FOLLOWERS.iter().find(|(_, words)| words.split_whitespace().any(is_word));
    found.map_or("Other programs follow", |(who, _)| *who)
}

/// Returns true for `deploy.service` and `.service`.
fn is_ending(name: &str, word: &str) -> bool {
    word.starts_with('.') && name.len() > word.len() && name.ends_with(word)
}

#[cfg(test)]
mod tests {
    use crate::facts::obeyed::*;

    #[test]
    fn a_sentence_names_the_program_that_runs_or_follows_the_file() {
        for (path, said) in [
            (".git/hooks/pre-push", "Git runs this file automatically: .git/hooks/pre-push."),
            ("/w/.git/config", "Git follows this file automatically: /w/.git/config."),
            ("web/package.json", "npm follows this file automatically: web/package.json."),
            ("MAKEFILE", "make runs this file automatically: MAKEFILE."),
            ("x.service", "The system runs this file automatically: x.service."),
            ("CLAUDE.md", "Agents follow this file automatically: CLAUDE.md."),
            ("flake.nix", "Other programs follow this file automatically: flake.nix."),
        ] {
            assert_eq!(sentence(path), said);
        }
    }

    #[test]
    fn what_builds_hooks_agents_and_shells_go_by_is_obeyed() {
        for path in "\
            .github/workflows/ci.yml /home/u/w/.github/workflows/x.yaml .gitlab-ci.yml \
            Jenkinsfile .circleci/config.yml .git/config .git/hooks/pre-commit \
            sub/.gitattributes .husky/pre-push package.json web/package.json Makefile \
            GNUmakefile build.rs Cargo.toml .cargo/config.toml setup.py pyproject.toml \
            tests/conftest.py CLAUDE.md AGENTS.md .claude/settings.json .vscode/tasks.json \
            .mcp.json .envrc .npmrc Dockerfile Dockerfile.dev compose.yaml vite.config.ts \
            MAKEFILE a/../Makefile ./package.json evil/HEAD ~/.ssh/config x.service \
            rust-toolchain.toml ma\u{212a}efile make\u{fb01}le pac\u{200b}kage.json .GIT/x \
            scripts/hooks/pre-push requirements-dev.txt Cargo.lock package-lock.json \
            app/build.gradle.kts node_modules/x/index.js x.cmake skills/x/SKILL.md"
            .split(' ')
        {
            assert!(is_obeyed(path), "{path}");
        }
        for path in "\
            src/main.rs README.md docs/makefile-notes.md header.h a.json github/x.yml \
            src/hooks/useX.ts docs/requirements.md src/lock.rs src/build/mod.rs größe.md"
            .split(' ')
        {
            assert!(!is_obeyed(path), "{path}");
        }
    }

    #[test]
    fn a_pattern_may_stand_for_such_a_file() {
        for pattern in "\
            Makefil? sub/M* * {package,x}.json [Mm]akefile x{1..9} [[:upper:]]akefile \
            [^]]akefile Cargo.loc? x.servi[c]e node_module?/x/a.js Dockerfile.?"
            .split(' ')
        {
            assert!(may_be_obeyed(pattern), "{pattern}");
        }
        for pattern in
            "src/a*.rs *.log {a,b}.txt src/a.rs out/*.o src/*.ts src/*/a.tsx a[0-9].csv".split(' ')
        {
            assert!(!may_be_obeyed(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_hidden_file_of_the_project_counts_unless_it_is_known_to_be_harmless() {
        let dirs = Directories { cwd: Some("/home/u/.work/w"), home: Some("/home/u") };
        for (path, part) in [
            (".storybook/main.js", Some(".storybook")),
            ("sub/.toolrc", Some(".toolrc")),
            ("/home/u/.work/w/.x/y", Some(".x")),
            ("/home/u/.work/w/src/a.rs", None),
            ("src/./a.rs", None),
            (".gitignore", None),
            ("src/.gitkeep", None),
            (".env.example", None),
            ("~/.cache/x", None),
        ] {
            assert_eq!(hidden(path, dirs).as_deref(), part, "{path}");
        }
    }
}
