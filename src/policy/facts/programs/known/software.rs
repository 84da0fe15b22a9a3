//! Package managers of the system.

use super::common::{FROM_ITS_REGISTRY, INSTALLS, NEEDED, RUNS};
use crate::facts::programs::case::{Case, case, critical};
use crate::facts::programs::checks::machine;
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::runs::Runs;
use crate::facts::programs::when::{
    When::{All, Has, Test},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("apt apt-get")
        .roles(&[Role::Titled])
        // `-o` can set hooks that apt runs, such as `APT::Update::Pre-Invoke`.
        .beyond(&[case(options("--option --config-file", "oc", "t"), RUNS), INSTALLS])
        .critical(&[REMOVES_THE_SYSTEM])
        .reaches(&[FROM_ITS_REGISTRY]),
    Program::named("aptitude")
        .beyond(&[case(options("--option --config-file", "oc", "t"), RUNS)])
        .critical(&[REMOVES_THE_SYSTEM]),
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
        .runs(Runs::Elsewhere("run"))
        .grant(AlwaysRule::ONE_WORD.never_subs("run")),
];

// Removing any other package only goes beyond a grant.
const REMOVES_THE_SYSTEM: Case =
    critical(All(&[Has(REMOVES), Test(machine::vital_package)]), NEEDED);
const REMOVES: Words = "\
    remove purge erase autoremove uninstall del autopurge -R -Rs -Rns -e -P --purge";
