//! Programs that copy, move, change and delete files.

use super::common::{RAW, RUNS, WRITE_VALUES, WRITES};
use super::syntax;
use crate::facts::programs::case::{case, critical, judge};
use crate::facts::programs::checks::{changes, copies, leaks, machine, rights};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::{Access, Depth, Files};
use crate::facts::programs::reach::Reach;
use crate::facts::programs::reasons::LEAKS;
use crate::facts::programs::when::{
    When::{All, Any, Bare, Device, Not, Starts, Test, Uncertain, Vast},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    // `rm -r` is ordinary; only a vast target makes it critical.
    Program::named("rm")
        .options(syntax::RM)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(changes::removes)])
        .critical(&[case(
            All(&[options("--recursive", "rR", ""), Any(&[Vast, Starts("--no-preserve")])]),
            DELETES,
        )])
        .files(Files::Each { access: Access::Delete, skip: 0, values: "-n -s" })
        .depth(Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false }),
    Program::named("rmdir unlink")
        .options(syntax::RMDIR)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(changes::removes)])
        .files(Files::Each { access: Access::Delete, skip: 0, values: "-n -s" })
        .depth(Depth::Opens),
    Program::named("shred")
        .options(syntax::SHRED)
        .beyond(&[judge(changes::overwrites).values("-n -s")])
        .critical(&[critical(Device, RAW)])
        .files(Files::Each { access: Access::Delete, skip: 0, values: "-n -s" }),
    Program::named("srm trash")
        .roles(&[Role::OnlyFiles])
        .critical(&[case(
            All(&[options("--recursive", "rR", ""), Any(&[Vast, Starts("--no-preserve")])]),
            DELETES,
        )])
        .files(Files::Each { access: Access::Delete, skip: 0, values: "-n -s" }),
    Program::named("rimraf")
        .roles(&[Role::OnlyFiles])
        .critical(&[case(Any(&[Vast, Starts("--no-preserve")]), DELETES)])
        .files(Files::Each { access: Access::Delete, skip: 0, values: "-n -s" }),
    Program::named("cp")
        .options(syntax::CP)
        .beyond(&[judge(changes::copies).values("-S")])
        .files(Files::Transfer(Access::Read))
        .depth(Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false }),
    Program::named("gcp")
        .options(syntax::CP)
        .beyond(&[judge(changes::copies)])
        .files(Files::Transfer(Access::Read)),
    Program::named("install")
        .options(syntax::INSTALL)
        .beyond(&[judge(changes::installs).values("-m -o -g -S")])
        .files(Files::Transfer(Access::Read)),
    // A link in the workspace to a file outside is a way out, so both operands count.
    Program::named("ln")
        .options(syntax::LN)
        .beyond(&[judge(changes::all).values("-S")])
        .files(Files::Transfer(Access::Read)),
    Program::named("mv")
        .options(syntax::MV)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(changes::all).values("-S")])
        .critical(&[case(
            Test(rights::moves_away),
            "moves away a root, a home or a system directory",
        )
        .values("-t -S")])
        .files(Files::Transfer(Access::Move)),
    Program::named("mkdir")
        .options(syntax::MKDIR)
        .roles(&[Role::Creates, Role::OnlyFiles])
        .beyond(&[judge(changes::all).values("-m")])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES })
        .depth(Depth::Opens),
    Program::named("mkfifo mknod")
        .options(syntax::MKDIR)
        .roles(&[Role::Creates])
        .beyond(&[judge(changes::all).values("-m")])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES }),
    Program::named("touch")
        .options(syntax::TOUCH)
        .roles(&[Role::Creates, Role::OnlyFiles])
        .beyond(&[judge(changes::all).values("-d -t -r")])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES })
        .depth(Depth::Opens),
    Program::named("truncate")
        .options(syntax::TRUNCATE)
        .beyond(&[judge(changes::overwrites).values("-s -r")])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES })
        .depth(Depth::Opens),
    Program::named("tee")
        .options(syntax::TEE)
        .beyond(&[judge(changes::overwrites)])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES })
        .depth(Depth::Opens),
    Program::named("dd")
        .beyond(&[judge(changes::dd)])
        .critical(&[critical(Test(machine::writes_a_device), RAW)])
        .files(Files::Assigned)
        .depth(Depth::Opens),
    Program::named("chmod")
        .options(syntax::CHMOD)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(changes::rights)])
        .critical(&[judge(rights::modes).values(ACL)])
        .files(Files::Each { access: Access::Rights, skip: 1, values: "-m -x" })
        .depth(Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false }),
    Program::named("chown chgrp")
        .options(syntax::CHOWN)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(changes::behind_the_first)])
        .critical(&[judge(rights::owners).values(ACL)])
        .files(Files::Each { access: Access::Rights, skip: 1, values: "-m -x" })
        .depth(Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false }),
    Program::named("setfacl")
        .critical(&[judge(rights::attributes).values(ACL)])
        .files(Files::Each { access: Access::Rights, skip: 1, values: "-m -x" })
        .depth(Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false }),
    Program::named("chattr")
        .critical(&[judge(rights::attributes).values(ACL)])
        .files(Files::Each { access: Access::Rights, skip: 1, values: "-m -x" }),
    Program::named("setcap")
        .critical(&[case(Not(&Bare), "gives a program rights of the system")])
        .files(Files::Each { access: Access::Rights, skip: 1, values: "-m -x" }),
    Program::named("chcon").critical(&[judge(rights::owners).values(ACL)]).files(Files::Each {
        access: Access::Rights,
        skip: 1,
        values: "-m -x",
    }),
    Program::named("rsync")
        .beyond(&[
            // `-e` and `--rsync-path` name programs to run.
            case(Any(&[options(RSYNC_OPTIONS, "eM", "fTB"), Uncertain]), RUNS),
            judge(copies::copy),
        ])
        .critical(&[
            case(Test(rights::empties), "deletes what is not in the source").values("-e"),
            case(Test(leaks::copies), LEAKS).values("-i -P -e -F -l"),
        ])
        .files(Files::Transfer(Access::Read))
        .reaches(&[Reach::Copies]),
    Program::named("patch")
        .options(syntax::PATCH)
        .beyond(&[case(options(PATCH_OPTIONS, "odrBYzg", "piDFV"), WRITES), judge(changes::all)])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES }),
    Program::named("mktemp").depth(Depth::Opens),
];

const DELETES: &str = "deletes a root, a home, a system directory or everything here";
const ACL: Words = "-m -x -M -X";
const RSYNC_OPTIONS: Words = "\
    --rsh --rsync-path --temp-dir --write-batch --only-write-batch --read-batch --log-file \
    --daemon --config --password-file --remove-source-files --partial-dir --backup-dir \
    --files-from";
const PATCH_OPTIONS: Words = "--output --directory --reject-file --prefix --get";
