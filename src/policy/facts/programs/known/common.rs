//! Parts that descriptions of several families share.

use crate::facts::effects::INFRASTRUCTURE;
use crate::facts::programs::condition::When::{Always, Any, Bare, Has, Not, Operand, Test, Verb};
use crate::facts::programs::condition::{Case, case, destroys};
use crate::facts::programs::description::{Reach, Title, To};
use crate::facts::programs::known::network;
use crate::facts::programs::{FETCHED, Words};

pub(crate) const RAW: &str = "overwrites a raw device";
pub(crate) const NEEDED: &str = "removes what the system needs";
pub(crate) const RUNS: &str = "an option of it runs another program";
pub(crate) const WRITES: &str = "an option of it writes a file";
pub(crate) const READS: &str = "an option of it reads another file";
pub(crate) const STARTS_ANOTHER: &str = "it runs another program";
pub(crate) const OUTSIDE: &str = "it works outside the project";
pub(crate) const PUBLISHES: &str = "it publishes, installs or changes an account";
pub(crate) const PACKAGE_LOOKS: Words = "\
    list search show info policy depends rdepends config outdated deps which contents";
pub(crate) const PACKAGE_ASKS: Words = "-l -L -s -S -q -qa -qi -ql -Q -Qi -Ss --list --version";
// Only queries are listed. A sub-command that a new version adds then counts as installing.
pub(crate) const INSTALLS: Case = case(
    Not(&Any(&[Verb(PACKAGE_LOOKS), Has(PACKAGE_ASKS), Bare])),
    "it installs or removes software",
);
pub(crate) const FREE: &[Words] = &["all human-readable total si bytes kilo mega giga"];
pub(crate) const SEARCH_VALUES: Words = "-e -A -B -C -m -f -v -F -g -t --arg";
pub(crate) const TEXT_VALUES: Words = "-n -c -t -k -f -d -w -s";
pub(crate) const WRITE_VALUES: Words = "-s -m -r -t -d -i --size --mode";
pub(crate) const FROM_ITS_REGISTRY: Reach = Reach::Registry("install add ci i get update upgrade");
pub(crate) const RUNS_A_FETCH: Case = case(Test(network::runs_a_fetch), FETCHED);
pub(crate) const RUNS_ANYTHING: Case = case(Always, "it runs whatever it is given");
pub(crate) const DELETES: Case = destroys(Operand("delete rm destroy"));
pub(crate) const TO_THE_INFRASTRUCTURE: Reach = Reach::Publishes {
    sub: "apply up delete destroy",
    second: "",
    title: Title::Two,
    to: To::Known(INFRASTRUCTURE),
};
