//! The built-in descriptions of programs, by family.

mod build;
mod builtins;
mod cloud;
mod containers;
pub(crate) mod databases;
mod files;
mod git;
mod interpreters;
pub(crate) mod listing;
mod network;
mod packages;
mod rights;
mod syntax;
mod system;
mod text;
mod wrappers;

use crate::facts::effects::INFRASTRUCTURE;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{
    All, Always, Any, Bare, Has, Not, Nth, Operand, OperandEnds, Test, Verb,
};
use crate::facts::programs::condition::{Case, case, destroys};
use crate::facts::programs::description::{Access, Depth, Files, Pipe, Program, Reach, Title, To};
use crate::facts::programs::{FETCHED, Words};

/// Every family.
pub(crate) static FAMILIES: &[&[Program]] = &[
    files::ARCHIVES,
    build::ALL,
    builtins::ALL,
    cloud::ALL,
    containers::ALL,
    databases::ALL,
    system::DISKS,
    text::EDITORS,
    files::ALL,
    system::NETWORK,
    git::ALL,
    interpreters::ALL,
    listing::ALL,
    network::ALL,
    packages::ALL,
    rights::ALL,
    text::SEARCH,
    interpreters::SHELLS,
    packages::OF_THE_SYSTEM,
    system::ALL,
    text::ALL,
    wrappers::ALL,
];

// Parts that descriptions of several families share.

const RAW: &str = "overwrites a raw device";
const NEEDED: &str = "removes what the system needs";
const RUNS: &str = "an option of it runs another program";
const WRITES: &str = "an option of it writes a file";
const READS: &str = "an option of it reads another file";
const STARTS_ANOTHER: &str = "it runs another program";
const OUTSIDE: &str = "it works outside the project";
const PUBLISHES: &str = "it publishes, installs or changes an account";
const PACKAGE_LOOKS: Words = "\
    list search show info policy depends rdepends config outdated deps which contents";
const PACKAGE_ASKS: Words = "-l -L -s -S -q -qa -qi -ql -Q -Qi -Ss --list --version";
// Only queries are listed. A sub-command that a new version adds then counts as installing.
const INSTALLS: Case = case(
    Not(&Any(&[Verb(PACKAGE_LOOKS), Has(PACKAGE_ASKS), Bare])),
    "it installs or removes software",
);
const FREE: &[Words] = &["all human-readable total si bytes kilo mega giga"];
const SEARCH_VALUES: Words = "-e -A -B -C -m -f -v -F -g -t --arg";
const WRITTEN: Files =
    Files::Each { access: Access::Write, skip: 0, values: "-s -m -r -t -d -i --size --mode" };
const RECURSIVE: Depth =
    Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false };
const DECODES: Pipe = Pipe::decodes(Has("-d -D -di --decode -r enc -rp"));
const FROM_ITS_REGISTRY: Reach = Reach::Registry("install add ci i get update upgrade");
const RUNS_A_FETCH: Case = case(Test(network::runs_a_fetch), FETCHED);
const RUNS_ANYTHING: Case = case(Always, "it runs whatever it is given");
const DELETES: Case = destroys(Operand("delete rm destroy terminate"));
const TO_THE_INFRASTRUCTURE: Reach = Reach::Publishes {
    sub: "apply up delete destroy",
    second: "",
    title: Title::Two,
    to: To::Known(INFRASTRUCTURE),
};

/// What destroys, whatever program it is.
// Most commands have none of these words, and their operands need no reading.
pub(crate) const UNDESCRIBED: &[Case] = &[destroys(Any(&[
    All(&[Has(DESTROYS), Any(&[Nth(0, DESTROYS), Nth(1, DESTROYS)])]),
    OperandEnds(":destroy :purge"),
]))];
const DESTROYS: Words = "destroy destroy-all purge";

/// Returns true when an operand is outside the project.
fn names_outside(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| args.outside(word))
}
