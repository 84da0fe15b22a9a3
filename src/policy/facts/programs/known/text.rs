//! Programs that show and change text.

use super::common::{READS, RUNS, SEARCH_VALUES, STARTS_ANOTHER, TEXT_VALUES, WRITES};
use super::syntax;
use crate::facts::programs::case::{Case, case, judge};
use crate::facts::programs::checks::{awk, changes, sed};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::{Access, Depth, Files};
use crate::facts::programs::reach::Pipe;
use crate::facts::programs::reading::{Operands, reading};
use crate::facts::programs::when::{
    When::{Always, AtLeast, Has, Starts},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("cat tac rev")
        .reads(&[reading(
            "AbeEnstTuv",
            "",
            &["number", "show-all", "show-ends"],
            Operands::Contents,
        )])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("head")
        .reads(&[reading(
            "qvz#",
            "nc",
            &["lines=", "bytes=", "quiet", "verbose"],
            Operands::Contents,
        )])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("tail")
        .reads(&[reading(
            "qvzfF#",
            "ncs",
            &["lines=", "bytes=", "quiet", "verbose", "follow?"],
            Operands::Contents,
        )])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("wc")
        .options(syntax::WC)
        .reads(&[reading(
            "clLmw",
            "",
            &["lines", "words", "bytes", "chars", "max-line-length"],
            Operands::Contents,
        )])
        .beyond(&[case(options("--files0-from", "", ""), READS)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("nl")
        .reads(&[reading("p", "bdfhilnsvw", &[], Operands::Contents)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("od")
        .reads(&[reading("abcdfilosxv", "AjNtS", &[], Operands::Contents)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("hexdump")
        .reads(&[reading("bcCdovx", "ns", &[], Operands::Contents)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("xxd")
        // xxd writes its second operand.
        .reads(&[reading("abpui", "cglos", &[], Operands::OneFile)])
        .beyond(&[case(options("", "r", "cgloswnR"), WRITES)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens)
        .pipe(Pipe::decodes(Has("-d -D -di --decode -r enc -rp"))),
    Program::named("strings")
        .reads(&[reading("afw", "ntes", &["all", "bytes="], Operands::Contents)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("cut")
        .reads(&[reading("nsz", "bcdf", CUT, Operands::Guarded)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("tr")
        .reads(&[reading(
            "cCdst",
            "",
            &["complement", "delete", "squeeze-repeats"],
            Operands::Literals,
        )])
        .depth(Depth::Opens),
    // `-o` and `-T` name what to write; `--compress-program` runs a program.
    Program::named("sort")
        .options(syntax::SORT)
        .reads(&[reading("bdfghiMnRrVcCmsuz", "kt", SORT, Operands::Guarded)])
        .beyond(&[case(options(SORT_OPTIONS, "oT", "ktS"), WRITES)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("gsort")
        .options(syntax::SORT)
        .beyond(&[case(options(SORT_OPTIONS, "oT", "ktS"), WRITES)]),
    Program::named("uniq")
        .options(syntax::UNIQ)
        .reads(&[reading("cdDiuz", "fsw", UNIQ, Operands::OneFile)])
        .beyond(&[case(AtLeast(2), "its second operand is written").values("-f -s -w")])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("comm")
        .reads(&[reading("123iz", "", &[], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("join")
        .reads(&[reading("i", "12aeotvj", &[], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("paste")
        .reads(&[reading("sz", "d", &[], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("fold")
        .reads(&[reading("bsciu", "wt", &["width="], Operands::Guarded)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("fmt expand")
        .reads(&[reading("bsciu", "wt", &["width="], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("column")
        .reads(&[reading("txneJL", "scoNR", &["table"], Operands::Guarded)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("diff")
        .reads(&[reading("abBcdeEiNpqstTuvwy", "CIUWxF", DIFF, Operands::Guarded)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::WalksWith { letters: "rRad", longs: "--recursive --archive", here: false }),
    Program::named("cmp")
        .reads(&[reading(
            "bls",
            "in",
            &["silent", "quiet", "print-bytes", "verbose"],
            Operands::Guarded,
        )])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("split")
        .options(syntax::SPLIT)
        .beyond(&[
            // `--filter` runs a shell command for every part.
            case(options("--filter", "", "abCln"), RUNS),
            judge(changes::behind_the_first).values("-b -l -n -a -C"),
        ])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("csplit")
        .options(syntax::CSPLIT)
        .beyond(&[judge(changes::behind_the_first).values("-b -l -n -a -C")]),
    Program::named("shuf")
        .options(syntax::SHUF)
        .beyond(&[case(options("--output --random-source", "o", "in"), WRITES)])
        .depth(Depth::Opens),
    Program::named("less more")
        .beyond(&[
            case(options(LESS_OPTIONS, "oOkT+t", "bhjpPxyz"), RUNS),
            case(Starts("+"), STARTS_ANOTHER),
        ])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("most").beyond(&[case(options(LESS_OPTIONS, "oOkT+t", "bhjpPxyz"), RUNS)]),
    Program::named("bat")
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("iconv dos2unix pr sum").depth(Depth::Opens),
    Program::named("sed")
        .options(syntax::SED)
        .reads(&[reading("nErsuz", "e", SED, Operands::Sed)])
        .beyond(&[judge(sed::sed)])
        .files(Files::Edited)
        .depth(Depth::Opens),
    Program::named("gsed").options(syntax::SED).beyond(&[judge(sed::sed)]).files(Files::Edited),
    Program::named("awk gawk mawk")
        .roles(&[Role::Programmed])
        .reads(&[reading("", "vF", &["field-separator=", "assign="], Operands::Awk)])
        .beyond(&[AWK_OPTIONS, judge(awk::awk)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::Opens),
    Program::named("nawk busybox-awk")
        .roles(&[Role::Programmed])
        .beyond(&[AWK_OPTIONS, judge(awk::awk)]),
    Program::named("md5sum sha256sum")
        .reads(&[reading("btz", "", &["tag"], Operands::Contents)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens),
    Program::named("sha1sum sha512sum b2sum cksum")
        .reads(&[reading("btz", "", &["tag"], Operands::Contents)])
        .depth(Depth::Opens),
    Program::named("base64")
        .options(syntax::BASE)
        .reads(&[reading("di", "w", &["decode", "wrap="], Operands::OneFile)])
        .beyond(&[case(options("--output --input", "oi", "wb"), WRITES)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens)
        .pipe(Pipe::decodes(Has("-d -D -di --decode -r enc -rp"))),
    Program::named("base32")
        .options(syntax::BASE)
        .beyond(&[case(options("--output --input", "oi", "wb"), WRITES)])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .depth(Depth::Opens)
        .pipe(Pipe::decodes(Has("-d -D -di --decode -r enc -rp"))),
    Program::named("basenc").beyond(&[case(options("--output --input", "oi", "wb"), WRITES)]),
    Program::named("m4").beyond(&[case(Always, "it runs whatever it is given")]),
];

const AWK_OPTIONS: Case =
    case(options("--source --file --exec --include --load --extension", "eEfil", "vF"), RUNS);
const CUT: &[Words] = &["\
    bytes= characters= delimiter= fields= complement only-delimited output-delimiter="];
const SORT: &[Words] = &["\
    reverse unique numeric-sort human-numeric-sort version-sort general-numeric-sort ignore-case \
    key= field-separator= stable check? sort= month-sort random-sort dictionary-order \
    zero-terminated"];
const SORT_OPTIONS: Words = "\
    --output --compress-program --temporary-directory --files0-from --random-source";
const UNIQ: &[Words] = &["\
    count repeated all-repeated? unique ignore-case skip-fields= skip-chars= check-chars="];
const DIFF: &[Words] = &["\
    unified? brief context? side-by-side color? ignore-all-space ignore-space-change new-file \
    ignore-blank-lines ignore-case exclude= suppress-common-lines width= text label= \
    strip-trailing-cr report-identical-files minimal normal no-dereference"];
const LESS_OPTIONS: Words = "\
    --log-file --LOG-FILE --lesskey-file --lesskey-src --cmd --tag-file --tag";
const SED: &[Words] = &["\
    quiet silent expression= regexp-extended line-length= null-data separate unbuffered sandbox \
    posix"];
