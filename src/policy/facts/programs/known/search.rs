//! Programs that search text, and small query languages.

use super::common::{READS, RUNS, SEARCH_VALUES, WRITES};
use super::syntax;
use crate::facts::programs::case::case;
use crate::facts::programs::checks::tools;
use crate::facts::programs::description::Program;
use crate::facts::programs::files::{Access, Depth, Files};
use crate::facts::programs::reading::{Operands, reading};
use crate::facts::programs::when::{When::Test, options};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    // `-f` reads patterns from a file, which may be outside the project.
    Program::named("grep egrep fgrep")
        .options(syntax::GREP)
        .reads(&[reading("abcEFGHhIilLnoPqrsTUvwxyzZ#", "ABCemdD", GREP, GREPPED)])
        .beyond(&[case(options("--file", "f", "eABCmdD"), READS)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::WalksWith { letters: "rRd", longs: WALKING, here: true }),
    Program::named("zgrep")
        .options(syntax::GREP)
        .beyond(&[case(options("--file", "f", "eABCmdD"), READS)])
        .depth(Depth::WalksWith { letters: "rRd", longs: WALKING, here: true }),
    Program::named("rg")
        .reads(&[reading("acFhHiIlnNopPqsSuUvVwx0", "ABCdegjmMrtTE", RG, SEARCHED)])
        .versions("--version")
        // `--pre` runs a program for every file, `-z` a decompressor.
        .beyond(&[case(options("--pre --hostname-bin --search-zip", "z", "egtTABCmMjErd"), RUNS)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::WalksHere),
    Program::named("ag ack")
        .beyond(&[case(options("--pager --search-zip --ackrc --files-from", "z", "ABCmGg"), RUNS)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::WalksHere),
    // A jq program can print the environment and read other files.
    Program::named("jq")
        .written_out()
        .reads(&[reading("acCejMnrRsS", "", JQ, Operands::Jq)])
        .versions("--version")
        .beyond(&[
            case(options(JQ_OPTIONS, "fL", ""), READS),
            case(Test(tools::prints_environment), "it prints the environment"),
        ])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::Opens),
    Program::named("gojq").beyond(&[
        case(options(JQ_OPTIONS, "fL", ""), READS),
        case(Test(tools::prints_environment), "it prints the environment"),
    ]),
    Program::named("jaq").beyond(&[case(options(JQ_OPTIONS, "fL", ""), READS)]),
    Program::named("yq")
        .beyond(&[case(options(YQ_OPTIONS, "is", "pIo"), WRITES)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::Opens),
];

const GREP: &[Words] = &["\
    after-context= before-context= binary-files= byte-offset color? colour? context= count \
    extended-regexp files-with-matches files-without-match fixed-strings ignore-case include: \
    exclude: exclude-dir: invert-match line-buffered line-number line-regexp max-count= \
    no-filename no-messages null only-matching perl-regexp quiet regexp= recursive text \
    with-filename word-regexp basic-regexp initial-tab no-ignore-case silent"];
const GREPPED: Operands = Operands::Pattern("e regexp");
const WALKING: Words = "--recursive --dereference --directories";
const RG: &[Words] = &["\
    after-context= before-context= binary block-buffered case-sensitive color= colors= column \
    context= context-separator= count count-matches crlf encoding= engine= \
    field-context-separator= field-match-separator= files files-with-matches files-without-match \
    fixed-strings glob: heading hidden iglob: ignore-case include-zero invert-match json \
    line-buffered line-number line-regexp max-columns= max-columns-preview max-count= max-depth= \
    max-filesize= multiline multiline-dotall no-config no-filename no-heading no-hidden \
    no-ignore no-ignore-dot no-ignore-exclude no-ignore-global no-ignore-parent no-ignore-vcs \
    no-line-number no-messages no-unicode null one-file-system only-matching passthru pcre2 \
    pretty quiet regexp= replace= smart-case sort= sortr= stats stop-on-nonmatch text threads= \
    trim type= type-list type-not= unrestricted vimgrep with-filename word-regexp"];
const SEARCHED: Operands = Operands::Pattern("e regexp files type-list");
const JQ: &[Words] = &["\
    compact-output raw-output join-output ascii-output sort-keys tab indent= null-input slurp \
    raw-input exit-status color-output monochrome-output seq stream"];
const JQ_OPTIONS: Words = "--rawfile --slurpfile --from-file --library-path --run-tests";
const YQ_OPTIONS: Words = "--inplace --in-place --from-file --split-exp --split-exp-file";
