//! Programs that contact other hosts.

use super::common::{RUNS, WRITES};
use crate::facts::programs::case::{case, judge};
use crate::facts::programs::checks::{copies, leaks, web};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::{Access, Files};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::reach::{Pipe, Reach};
use crate::facts::programs::reading::{Operands, reading};
use crate::facts::programs::reasons::{LEAKS, REMOTE};
use crate::facts::programs::runs::Runs;
use crate::facts::programs::when::{
    When,
    When::{Any, Has, Holds, Not, Starts, Test},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    // `-d @-` and `-T -` send what comes down the pipe.
    Program::named("curl")
        .whole("cookie output url")
        .roles(&[Role::Fetches])
        .beyond(&[judge(web::curl)])
        .critical(&[case(Test(leaks::uploads), LEAKS)])
        .files(Files::Behind("-o --output -D -c"))
        .reaches(&[Reach::Addresses])
        .pipe(Pipe::sends(Any(&[
            Holds(&["@-"]),
            Starts("-T --upload --data"),
            SENDS,
            Has("- -d -F"),
        ]))),
    Program::named("wget")
        .roles(&[Role::Fetches])
        .beyond(&[judge(web::wget)])
        .critical(&[case(Test(leaks::uploads), LEAKS)])
        .files(Files::Behind("-O --output-document -P -o"))
        .reaches(&[Reach::Addresses])
        .pipe(Pipe::sends(Any(&[Starts("--post --body"), SENDS]))),
    Program::named("http xh")
        .roles(&[Role::Fetches])
        .critical(&[case(Test(leaks::uploads), LEAKS)])
        .reaches(&[Reach::Addresses])
        .pipe(Pipe::sends(Any(&[
            Holds(&["@-"]),
            Starts("-T --upload --data"),
            SENDS,
            Has("- -d -F"),
        ]))),
    Program::named("https").roles(&[Role::Fetches]).critical(&[case(Test(leaks::uploads), LEAKS)]),
    Program::named("fetch aria2c lwp-download lynx axel ftp").roles(&[Role::Fetches]),
    Program::named("scp")
        .beyond(&[case(options("", "SoJFDb", "cilPX"), RUNS), judge(copies::copy)])
        .critical(&[case(Test(leaks::copies), LEAKS).values("-i -P -e -F -l")])
        .files(Files::Transfer(Access::Read))
        .reaches(&[Reach::Copies]),
    Program::named("sftp")
        .beyond(&[case(options("", "SoJFDb", "cilPX"), RUNS), judge(copies::copy)])
        .critical(&[case(Test(leaks::copies), LEAKS).values("-i -P -e -F -l")])
        .reaches(&[Reach::Copies]),
    Program::named("ssh")
        .runs(Runs::Remote)
        .reaches(&[Reach::Host])
        .pipe(Pipe::sends(Not(&Has("-z"))))
        .grant(AlwaysRule::NEVER),
    Program::named("mosh").runs(Runs::Remote).reaches(&[Reach::Host]).grant(AlwaysRule::NEVER),
    Program::named("autossh").runs(Runs::Remote),
    // `-z` only tests ports and sends nothing.
    Program::named("nc ncat netcat")
        .beyond(&[judge(copies::probe)])
        .critical(&[case(Test(leaks::serves_a_program), REMOTE)])
        .reaches(&[Reach::Host])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    Program::named("socat")
        .beyond(&[judge(copies::probe)])
        .critical(&[case(Test(leaks::connects_a_program), REMOTE)])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    Program::named("telnet")
        .beyond(&[judge(copies::probe)])
        .reaches(&[Reach::Host])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    // A look-up of `$(…).example.com` carries data even where connections are blocked.
    Program::named("ping ping6 dig nslookup host")
        .beyond(&[judge(copies::probe)])
        .critical(&[case(Test(leaks::looks_up), "sends a value to another host in a name look-up")])
        .reaches(&[Reach::Host]),
    Program::named("drill traceroute").beyond(&[judge(copies::probe)]).critical(&[case(
        Test(leaks::looks_up),
        "sends a value to another host in a name look-up",
    )]),
    Program::named("tracepath whois").beyond(&[judge(copies::probe)]),
    Program::named("mail sendmail mutt").pipe(Pipe::sends(Not(&Has("-z")))),
    Program::named("tcpdump")
        .beyond(&[case(options("--postrotate-command", "zwWZ", "icsrEGCFTmBQy"), RUNS)]),
    Program::named("nmap").beyond(&[case(options(NMAP_OPTIONS, "o", "pg"), RUNS)]),
    Program::named("hostname")
        .reads(&[reading("sI", "", &["short"], Operands::None)])
        .beyond(&[case(options("--file --boot", "Fb", ""), WRITES)]),
];

const SENDS: When =
    options("--upload-file --data --post-file --post-data --body-file --body-data", "", "");
const NMAP_OPTIONS: Words = "\
    --script --script-args-file --datadir --interactive --resume --stylesheet --iL";
