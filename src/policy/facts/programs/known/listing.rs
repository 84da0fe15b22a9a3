//! Programs that find and list files.

use super::common::{FREE, READS, RUNS, TEXT_VALUES, WRITES};
use super::syntax;
use crate::facts::programs::case::{case, judge};
use crate::facts::programs::checks::find;
use crate::facts::programs::description::Program;
use crate::facts::programs::files::{Access, Depth, Files};
use crate::facts::programs::reading::{Operands, reading};
use crate::facts::programs::runs::Runs;
use crate::facts::programs::when::options;
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("ls dir vdir")
        .reads(&[reading("aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "", LS, Operands::Names)])
        .depth(Depth::WalksWith { letters: "R", longs: "--recursive", here: true }),
    Program::named("find")
        .reads(&[reading("", "", &[], Operands::Find)])
        .beyond(&[judge(find::acts)])
        .critical(&[judge(find::deletes)])
        .files(Files::Searched)
        .depth(Depth::WalksHere)
        .runs(Runs::UpTo("-exec -execdir -ok -okdir")),
    Program::named("gfind bfind")
        .beyond(&[judge(find::acts)])
        .critical(&[judge(find::deletes)])
        .files(Files::Searched)
        .depth(Depth::WalksHere)
        .runs(Runs::UpTo("-exec -execdir -ok -okdir")),
    Program::named("fd fdfind")
        .reads(&[reading("aHIsgiplFu10", "dEetc", FD, Operands::Pattern(""))])
        .beyond(&[case(options("--exec --exec-batch", "xX", "edEtcjS"), RUNS)])
        .depth(Depth::WalksHere)
        .runs(Runs::Last { long: "--exec", short: "xX" }),
    Program::named("tree")
        .reads(&[reading("adfiprsugDFtcUvCnhJX", "LPI", TREE, Operands::Names)])
        .versions("--version")
        .beyond(&[case(options("--fromfile", "oR", "LPIH"), WRITES)])
        .depth(Depth::WalksHere),
    Program::named("stat")
        .reads(&[reading(
            "Ltx",
            "c",
            &["format=", "printf=", "terse", "dereference"],
            Operands::Names,
        )])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("du")
        .options(syntax::DU)
        .reads(&[reading("abchkmsxSHPl0", "dt", DU, Operands::Names)])
        .beyond(&[case(options("--files0-from --exclude-from", "X", "dBt"), READS)])
        .depth(Depth::WalksHere),
    Program::named("df")
        .reads(&[reading("apsVbkmghHTitl", "", FREE, Operands::Names)])
        .depth(Depth::Opens),
    // `-m` reads a magic file and `-C` writes one.
    Program::named("file")
        .options(syntax::FILE)
        .reads(&[reading(
            "bikNnprs0E",
            "F",
            &["brief", "mime", "mime-type", "mime-encoding"],
            Operands::Names,
        )])
        .beyond(&[case(options(FILE_OPTIONS, "mfCzZ", "FeP"), READS)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("realpath readlink")
        .reads(&[reading("efmnqsvz", "", READLINK, Operands::Names)])
        .depth(Depth::Opens),
    Program::named("basename dirname")
        .reads(&[reading("", "", &[], Operands::Words)])
        .depth(Depth::Names),
    Program::named("lsattr").depth(Depth::Opens),
];

const LS: &[Words] = &["\
    all almost-all author classify? color? directory file-type format= full-time \
    group-directories-first human-readable hyperlink? ignore= indicator-style= inode no-group \
    numeric-uid-gid quote-name recursive reverse si size sort= time= time-style= width= zero"];
const FD: &[Words] = &["\
    absolute-path case-sensitive color= exclude= extension= full-path glob hidden ignore-case \
    list-details max-depth= max-results= min-depth= no-ignore no-ignore-vcs print0 regex size= \
    type= unrestricted changed-within= changed-before= fixed-strings quiet strip-cwd-prefix"];
const TREE: &[Words] = &["\
    noreport dirsfirst filesfirst sort= gitignore prune charset= filelimit= du"];
const DU: &[Words] = &["\
    all apparent-size bytes block-size= total human-readable max-depth= si summarize threshold= \
    exclude= one-file-system time? separate-dirs null"];
const FILE_OPTIONS: Words = "\
    --magic-file --files-from --compile --uncompress --uncompress-noreport";
const READLINK: &[Words] = &["\
    canonicalize canonicalize-existing canonicalize-missing relative-to: relative-base: zero"];
