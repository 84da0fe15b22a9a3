//! Programs that show and change text.

use crate::facts::programs::Words;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{AtLeast, Holds, Starts};
use crate::facts::programs::condition::{Case, case, judge, options};
use crate::facts::programs::description::{
    Access, AlwaysRule, Depth, Files, Operands, Program, Reading, Role, SHOWN, reading,
};
use crate::facts::programs::known::{
    DECODES, READS, RECURSIVE, RUNS, RUNS_ANYTHING, SEARCH_VALUES, STARTS_ANOTHER, WRITES, WRITTEN,
};
use crate::facts::programs::known::{files, syntax};
use crate::facts::programs::languages::{awk, jq, sed};
use crate::facts::reads::{SortedWords, scripts};

pub(super) static ALL: &[Program] = &[
    Program::named("cat tac rev")
        .reads(&[reading("AbeEnstTuv", "", &["number show-all show-ends"], Operands::Contents)])
        .shows_files(),
    Program::named("head")
        .reads(&[reading("qvz#", "nc", &["lines= bytes= quiet verbose"], Operands::Contents)])
        .shows_files(),
    Program::named("tail")
        .reads(&[reading(
            "qvzfF#",
            "ncs",
            &["lines= bytes= quiet verbose follow?"],
            Operands::Contents,
        )])
        .shows_files(),
    Program::named("wc")
        .options(syntax::WC)
        .reads(&[reading(
            "clLmw",
            "",
            &["lines words bytes chars max-line-length"],
            Operands::Contents,
        )])
        .beyond(&[case(options("--files0-from", "", ""), READS)])
        .shows_files(),
    Program::named("nl")
        .reads(&[reading("p", "bdfhilnsvw", &[], Operands::Contents)])
        .shows_files(),
    Program::named("od")
        .reads(&[reading("abcdfilosxv", "AjNtS", &[], Operands::Contents)])
        .shows_files(),
    Program::named("hexdump")
        .reads(&[reading("bcCdovx", "ns", &[], Operands::Contents)])
        .shows_files(),
    Program::named("xxd")
        // xxd writes its second operand.
        .reads(&[reading("", "", &[], Operands::Xxd)])
        .beyond(&[
            case(options("", "r", "cgloswnR"), WRITES),
            case(AtLeast(2), "its second operand is written").values("-c -g -l -o -s -n -R"),
        ])
        .shows_files()
        .pipe(DECODES),
    Program::named("strings")
        // `@file` holds more options, also as the value of an option. So values count as files.
        .reads(&[reading("afwntesodxbBlLS0123456789", "", &["all"], Operands::Guarded)])
        .shows_files(),
    Program::named("cut").reads(&[reading("nsz", "bcdf", CUT, Operands::Guarded)]).shows_files(),
    Program::named("tr")
        .reads(&[reading("cCdst", "", &["complement delete squeeze-repeats"], Operands::Literals)])
        .depth(Depth::Opens),
    // `-o` and `-T` name what to write; `--compress-program` runs a program.
    Program::named("sort")
        .options(syntax::SORT)
        .reads(&[reading("bdfghiMnRrVcCmsuz", "kt", SORT, Operands::Guarded)])
        .beyond(&[case(options(SORT_OPTIONS, "oT", "ktS"), WRITES)])
        .shows_files(),
    Program::named("gsort")
        .options(syntax::SORT)
        .beyond(&[case(options(SORT_OPTIONS, "oT", "ktS"), WRITES)]),
    Program::named("uniq")
        .options(syntax::UNIQ)
        .reads(&[reading("cdDiuz", "fsw", UNIQ, Operands::OneFile)])
        .beyond(&[case(AtLeast(2), "its second operand is written").values("-f -s -w")])
        .shows_files(),
    Program::named("comm")
        .reads(&[reading("123iz", "", &[], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("join")
        // To BSD's join `-a` alone takes no value, and the file follows. So values count as files.
        .reads(&[reading("i12aeotvj.,:;|", "", &[], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("paste")
        .reads(&[reading("sz", "d", &[], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("fold")
        .reads(&[reading("bsciu", "wt", &["width="], Operands::Guarded)])
        .shows_files(),
    Program::named("fmt")
        .reads(&[reading("cstu", "w", &["width="], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("expand")
        .reads(&[reading("i", "t", &["tabs= initial"], Operands::Guarded)])
        .depth(Depth::Opens),
    Program::named("column")
        .reads(&[reading("txneJL", "scoNR", &["table"], Operands::Guarded)])
        .shows_files(),
    Program::named("diff")
        .reads(&[reading("abBcdeEiNpqstTuvwy", "CIUWxF", DIFF, Operands::Guarded)])
        .files(SHOWN)
        .depth(RECURSIVE),
    Program::named("cmp")
        .reads(&[reading("bls", "in", &["silent quiet print-bytes verbose"], Operands::Guarded)])
        .shows_files(),
    Program::named("split")
        .roles(&[Role::Overwrites])
        .options(syntax::SPLIT)
        .beyond(&[
            // `--filter` runs a shell command for every part.
            case(options("--filter", "", "abCln"), RUNS),
            judge(files::behind_the_first).values("-b -l -n -a -C"),
        ])
        .shows_files(),
    Program::named("csplit")
        .roles(&[Role::Overwrites])
        .options(syntax::CSPLIT)
        .beyond(&[judge(files::behind_the_first).values("-b -l -n -a -C")]),
    Program::named("shuf")
        .options(syntax::SHUF)
        .beyond(&[case(options("--output --random-source", "o", "in"), WRITES)])
        .depth(Depth::Opens),
    Program::named("less more")
        .beyond(&[
            case(options(LESS_OPTIONS, "oOkT+t", "bhjpPxyz"), RUNS),
            case(Starts("+"), STARTS_ANOTHER),
        ])
        .shows_files(),
    Program::named("most").beyond(&[case(options(LESS_OPTIONS, "oOkT+t", "bhjpPxyz"), RUNS)]),
    Program::named("bat").beyond(&[case(options(BAT_OPTIONS, "", ""), RUNS)]).shows_files(),
    Program::named("iconv dos2unix pr sum").depth(Depth::Opens),
    Program::named("sed")
        .options(syntax::SED)
        .reads(&[sed::FORM])
        .versions("--version --help")
        .beyond(&[judge(sed)])
        .files(Files::Edited)
        .depth(Depth::Opens),
    Program::named("gsed").options(syntax::SED).beyond(&[judge(sed)]).files(Files::Edited),
    Program::named("awk gawk mawk")
        .roles(&[Role::Programmed])
        .reads(&[awk::FORM])
        .versions("--version --help")
        .beyond(&[AWK_OPTIONS, judge(awk)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::Opens),
    Program::named("nawk busybox-awk")
        .roles(&[Role::Programmed])
        .beyond(&[AWK_OPTIONS, judge(awk)]),
    Program::named("md5sum sha256sum")
        .reads(&[reading("btz", "", &["tag"], Operands::Contents)])
        .shows_files(),
    Program::named("shasum")
        .reads(&[reading("btU0", "a", &["algorithm=", "binary", "text"], Operands::Contents)])
        .depth(Depth::Opens),
    Program::named("sha1sum sha512sum b2sum cksum")
        .reads(&[reading("btz", "", &["tag"], Operands::Contents)])
        .depth(Depth::Opens),
    BASE.renamed("base64").reads(&[reading("di", "w", &["decode wrap="], Operands::OneFile)]),
    BASE,
    Program::named("basenc").beyond(&[case(options("--output --input", "oi", "wb"), WRITES)]),
];

const BASE: Program = Program::named("base32")
    .options(syntax::BASE)
    .beyond(&[case(options("--output --input", "oi", "wb"), WRITES)])
    .shows_files()
    .pipe(DECODES);
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
const BAT_OPTIONS: Words = "--pager --config-file --generate-config-file --source --target";
const LESS_OPTIONS: Words = "\
    --log-file --LOG-FILE --lesskey-file --lesskey-src --cmd --tag-file --tag";

// Programs that search text, and small query languages.

pub(super) static SEARCH: &[Program] = &[
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
        .reads(&[jq::FORM])
        .versions("--version --help")
        .beyond(&[judge(jq)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::Opens),
    Program::named("gojq jaq").beyond(&[judge(jq)]),
    Program::named("yq")
        .beyond(&[case(options(YQ_OPTIONS, "is", "pIo"), WRITES), judge(yq)])
        .files(Files::Each { access: Access::Read, skip: 1, values: SEARCH_VALUES })
        .depth(Depth::Opens),
];

// Without `context`: to BSD's grep it takes an attached value only.
const GREP: &[Words] = &["\
    after-context= before-context= binary-files= byte-offset color? colour? count \
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
const YQ_OPTIONS: Words = "--inplace --in-place --from-file --split-exp --split-exp-file";

pub(super) static EDITORS: &[Program] = &[
    Program::named("ed ex").beyond(&[RUNS_ANYTHING]).files(WRITTEN).grant(AlwaysRule::NEVER),
    Program::named("vi vim view").beyond(&[RUNS_ANYTHING]).files(SHOWN).grant(AlwaysRule::NEVER),
    Program::named("nvim emacs").beyond(&[RUNS_ANYTHING]).grant(AlwaysRule::NEVER),
    Program::named("nano").beyond(&[RUNS_ANYTHING]).files(SHOWN),
    // In dc a `!` runs a shell command, and `?` reads one.
    Program::named("pico dc m4").beyond(&[RUNS_ANYTHING]),
    Program::named("bc").beyond(&[case(Holds(&["!"]), STARTS_ANOTHER)]),
];

// Scripts on the command line of sed, awk, jq and yq.

const UNSEEN: &str = "a word that is only known when it runs may be an option or script of it";
const REACHES: &str = "its script may run a program, or read or write a file";

/// Checks sed for files edited in place, its options, and its script.
fn sed(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.short("i", "efl") || args.long("--in-place") {
        let files = args.operands("-e -f --expression --file");
        let explicit = args.short("e", "fl") || args.long("--expression");
        let outside = files.iter().skip(usize::from(!explicit)).any(|w| args.outside(w));
        if outside || args.open {
            return Some("it edits files outside the project in place");
        }
        return Some("it edits files in place");
    }
    reaches(&sed::FORM, args)
}

/// Checks the options and the program of awk.
fn awk(args: &Arguments<'_, '_>) -> Option<&'static str> {
    // gawk connects to a host by such a name.
    if args.any(|text| text.starts_with("/inet")) {
        return Some("it contacts a host");
    }
    reaches(&awk::FORM, args)
}

/// Checks the options and the filter of jq.
fn jq(args: &Arguments<'_, '_>) -> Option<&'static str> {
    reaches(&jq::FORM, args)
}

/// Checks the expression of yq, which is close to a filter of jq.
fn yq(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let words = args.operands("-p -o -I --indent --input-format --output-format");
    let mut words =
        words.iter().skip_while(|w| matches!(&*w.text, "e" | "eval" | "ea" | "eval-all"));
    let expression = words.next()?;
    (!expression.literal().is_some_and(jq::reads)).then_some(REACHES)
}

/// FAIL-CLOSED: an option that is not known, or a script that is not certainly harmless, goes
/// beyond a wildcard.
fn reaches(form: &Reading, args: &Arguments<'_, '_>) -> Option<&'static str> {
    if matches!(args.words, [one] if matches!(one.literal(), Some("--version" | "--help"))) {
        return None;
    }
    if args.uncertain() {
        return Some(UNSEEN);
    }
    let harmless = |words: SortedWords<'_, '_>| scripts(form.operands, &words).is_some();
    (!SortedWords::of(form, args.words).is_some_and(harmless)).then_some(REACHES)
}
