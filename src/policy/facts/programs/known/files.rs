//! Programs that copy, move, change and delete files.

use crate::facts::obeyed;
use crate::facts::paths::{self, Directories};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{Always, Any, Bare, Device, Not, Test, Uncertain};
use crate::facts::programs::condition::{Case, case, critical, judge, options};
use crate::facts::programs::description::{
    Access, Depth, Files, Pipe, Program, Reach, Role, SHOWN,
};
use crate::facts::programs::known::{RAW, RECURSIVE, RUNS, WRITES, WRITTEN};
use crate::facts::programs::known::{network, syntax, system};
use crate::facts::programs::sensitive::{cleaned, everything, history, vast};
use crate::facts::programs::{LEAKS, Words};
use crate::shell::{Word, WordKind};

pub(super) static ALL: &[Program] = &[
    // `rm -r` is ordinary; only a vast target makes it critical.
    Program::named("rm")
        .options(syntax::RM)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(removes)])
        .critical(&[judge(wipes)])
        .files(DELETED)
        .depth(RECURSIVE),
    Program::named("rmdir unlink")
        .options(syntax::RMDIR)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(removes)])
        .files(DELETED)
        .depth(Depth::Opens),
    Program::named("shred")
        .options(syntax::SHRED)
        .beyond(&[judge(overwrites).values("-n -s")])
        .critical(&[critical(Device, RAW), OVERWRITES_ALL])
        .files(DELETED),
    Program::named("srm trash").roles(&[Role::OnlyFiles]).critical(&[judge(wipes)]).files(DELETED),
    Program::named("rimraf").roles(&[Role::OnlyFiles]).critical(&[judge(wiped)]).files(DELETED),
    CP.beyond(&[judge(copies).values("-S")]).depth(RECURSIVE),
    CP.renamed("gcp"),
    Program::named("install")
        .options(syntax::INSTALL)
        .beyond(&[judge(installs).values("-m -o -g -S")])
        .files(Files::Transfer(Access::Read)),
    // A link in the workspace to a file outside is a way out, so both operands count.
    Program::named("ln")
        .options(syntax::LN)
        .beyond(&[judge(all).values("-S")])
        .files(Files::Transfer(Access::Read)),
    Program::named("mv")
        .options(syntax::MV)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(all).values("-S")])
        .critical(&[case(Test(moves_away), "moves away a root, a home or a system directory")
            .values("-t -S")])
        .files(Files::Transfer(Access::Move)),
    Program::named("mkdir")
        .options(syntax::MKDIR)
        .roles(&[Role::Creates, Role::OnlyFiles])
        .beyond(&[judge(all).values("-m")])
        .files(WRITTEN)
        .depth(Depth::Opens),
    Program::named("mkfifo mknod")
        .options(syntax::MKDIR)
        .roles(&[Role::Creates])
        .beyond(&[judge(all).values("-m")])
        .files(WRITTEN),
    Program::named("touch")
        .options(syntax::TOUCH)
        .roles(&[Role::Creates, Role::OnlyFiles])
        .beyond(&[judge(all).values("-d -t -r")])
        .files(WRITTEN)
        .depth(Depth::Opens),
    Program::named("truncate")
        .options(syntax::TRUNCATE)
        .beyond(&[judge(overwrites).values("-s -r")])
        .critical(&[OVERWRITES_ALL])
        .files(WRITTEN)
        .depth(Depth::Opens),
    Program::named("sponge")
        .files(Files::Each { access: Access::Write, skip: 0, values: "" })
        .depth(Depth::Opens),
    Program::named("tee")
        .options(syntax::TEE)
        .beyond(&[judge(overwrites)])
        .files(WRITTEN)
        .depth(Depth::Opens),
    Program::named("dd")
        .beyond(&[judge(dd)])
        .critical(&[critical(Test(system::writes_a_device), RAW)])
        .files(Files::Assigned)
        .depth(Depth::Opens),
    Program::named("chmod")
        .options(syntax::CHMOD)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(rights)])
        .critical(&[judge(modes).values(ACL)])
        .files(RIGHTS)
        .depth(RECURSIVE),
    Program::named("chown chgrp")
        .options(syntax::CHOWN)
        .roles(&[Role::OnlyFiles])
        .beyond(&[judge(behind_the_first)])
        .critical(&[judge(owners).values(ACL)])
        .files(RIGHTS)
        .depth(RECURSIVE),
    Program::named("setfacl")
        .critical(&[judge(attributes).values(ACL)])
        .files(RIGHTS)
        .depth(RECURSIVE),
    Program::named("chattr").critical(&[judge(attributes).values(ACL)]).files(RIGHTS),
    Program::named("setcap")
        .critical(&[case(Not(&Bare), "gives a program rights of the system")])
        .files(RIGHTS),
    Program::named("chcon").critical(&[judge(owners).values(ACL)]).files(RIGHTS),
    Program::named("rsync")
        .beyond(&[
            // `-e` and `--rsync-path` name programs to run.
            case(Any(&[options(RSYNC_OPTIONS, "eM", "fTB"), Uncertain]), RUNS),
            judge(network::copy),
        ])
        .critical(&[
            case(Test(empties), "deletes what is not in the source").values("-e"),
            case(Test(network::copies), LEAKS).values("-i -P -e -F -l"),
        ])
        .files(Files::Transfer(Access::Read))
        .reaches(&[Reach::Copies]),
    Program::named("patch")
        .options(syntax::PATCH)
        .beyond(&[case(options(PATCH_OPTIONS, "odrBYzg", "piDFV"), WRITES), judge(all)])
        .files(WRITTEN),
    Program::named("mktemp").depth(Depth::Opens),
];

const CP: Program = Program::named("cp")
    .options(syntax::CP)
    .beyond(&[judge(copies)])
    .files(Files::Transfer(Access::Read));
const RIGHTS: Files = Files::Each { access: Access::Rights, skip: 1, values: "-m -x" };
const DELETED: Files = Files::Each { access: Access::Delete, skip: 0, values: "-n -s" };
const ACL: Words = "-m -x -M -X";
const RSYNC_OPTIONS: Words = "\
    --rsh --rsync-path --temp-dir --write-batch --only-write-batch --read-batch --log-file \
    --daemon --config --password-file --remove-source-files --partial-dir --backup-dir \
    --files-from";
const PATCH_OPTIONS: Words = "--output --directory --reject-file --prefix --get";

// Programs that pack and unpack.

pub(super) static ARCHIVES: &[Program] = &[
    TAR.renamed("tar gtar bsdtar").files(Files::Archive),
    Program::named("zip")
        .beyond(&[
            case(options("--unzip-command --output-file --out", "O", "nxitbPmZ"), RUNS),
            judge(archive),
            judge(all),
        ])
        .files(Files::Archive),
    Program::named("unzip").roles(&[Role::Overwrites]).beyond(&[judge(unzip)]),
    Program::named("7z").beyond(&[judge(seven_zip), judge(all)]).files(Files::Archive),
    Program::named("cpio")
        .beyond(&[case(options(CPIO_OPTIONS, "FI", "HCEM"), RUNS), judge(cpio)])
        .files(Files::Archive),
    Program::named("ar").roles(&[Role::Overwrites]).beyond(&[judge(archive), judge(all)]),
    Program::named("gzip bzip2 xz").roles(&[Role::Overwrites]).files(SHOWN),
    Program::named("zcat").files(SHOWN).pipe(Pipe::decodes(Always)),
    Program::named("gunzip uudecode").pipe(Pipe::decodes(Always)),
];

const TAR: Program = Program::named("tar").options(syntax::TAR).beyond(&[
    case(Any(&[options(TAR_OPTIONS, "IPFTg", "fbNVXKLHC"), Uncertain]), RUNS),
    judge(tar),
]);
const TAR_OPTIONS: Words = "\
    --to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command \
    --info-script --new-volume-script --absolute-names --index-file --files-from --volno-file \
    --listed-incremental";
const CPIO_OPTIONS: Words = "--rsh-command --rmt-command --absolute-filenames --file";

// Programs that create, change and delete files: normal in the workspace, more elsewhere.

const OUTSIDE: &str = "it changes files outside the project";

const UNKNOWN: &str = "what it deletes or overwrites is only known when it runs";

/// Checks every operand as a changed file.
fn all(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| touches(args, &args.named(), 0))
}

/// Checks every operand behind the first.
pub(super) fn behind_the_first(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| touches(args, &args.named(), 1))
}

/// Checks chmod: permissions, and the set-user-id bit.
fn rights(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let bit = || args.any(mode_gives_rights).then_some("it sets the set-user-id bit");
    into_a_folder(args).or_else(bit).or_else(|| touches(args, &args.named(), 1))
}

/// Checks rm. It may delete temporary files, because a rule names the program and nothing is put
/// there.
fn removes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut operands = args.named();
    // A name that is known only at run time stays in the list: it may be anything.
    operands.retain(|word| word.kind == WordKind::Dynamic || !paths::scratch(&word.text));
    into_a_folder(args).or_else(|| known(args, &operands))
}

const OVERWRITES_ALL: Case =
    critical(Test(names_everything), "deletes the content of everything here");

/// Returns true for `*` and the like among the operands.
fn names_everything(args: &Arguments<'_, '_>) -> bool {
    args.operands("-s -r -n").iter().any(|word| everything(word))
}

/// Checks tee, truncate and shred.
fn overwrites(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| known(args, &args.named()))
}

/// Checks cp: a source outside is only read, unless it is a secret.
fn copies(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| {
        let operands = args.named();
        let (to, from) = operands.split_last()?;
        let named = args.values("-t --target-directory").is_empty();
        // With `xargs` the target is not in the text.
        let to_outside = named && args.outside(to) || args.open;
        let secret = from.iter().any(|w| paths::secret(&w.text, args.dirs) && args.outside(w));
        (to_outside || secret).then_some(OUTSIDE)
    })
}

/// Checks install, which copies with permissions.
fn installs(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let bit = || args.any(mode_gives_rights).then_some("it sets the set-user-id bit");
    into_a_folder(args).or_else(bit).or_else(|| copies(args))
}

/// Checks dd, which writes the file of `of=`.
fn dd(args: &Arguments<'_, '_>) -> Option<&'static str> {
    into_a_folder(args).or_else(|| {
        let mut written = args.texts().filter_map(|text| text.strip_prefix("of="));
        let unknown = |w: &Word<'_>| w.kind == WordKind::Dynamic && w.text.contains("of=");
        (written.any(|file| args.path_outside(file)) || args.words.iter().any(unknown))
            .then_some(OUTSIDE)
    })
}

/// Returns a reason when `-t DIR` is outside the project.
fn into_a_folder(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let folders = args.values("-t --target-directory");
    folders.iter().any(|folder| args.path_outside(folder)).then_some(OUTSIDE)
}

/// Returns a reason when a name is known only at run time: `rm $x` may delete anything.
fn known(args: &Arguments<'_, '_>, operands: &[&Word<'_>]) -> Option<&'static str> {
    let unknown =
        args.open || operands.iter().any(|w| w.kind == WordKind::Dynamic && args.outside(w));
    if unknown { Some(UNKNOWN) } else { touches(args, operands, 0) }
}

/// Returns a reason when an operand from the given position on is outside.
fn touches(args: &Arguments<'_, '_>, operands: &[&Word<'_>], skip: usize) -> Option<&'static str> {
    let outside = operands.iter().skip(skip).any(|word| {
        !paths::sink(&word.text)
            && match word.kind {
                // A variable of the workspace's own scripts: its name is known, its value is not.
                WordKind::Dynamic => {
                    !word.text.starts_with('{') && args.outside(word) && !relative(&word.text)
                }
                WordKind::Glob => args.path_outside(&word.text),
                _ => args.outside(word),
            }
    });
    outside.then_some(OUTSIDE)
}

/// Returns true for `src/{a,b}` and the like: it starts with a plain directory of the workspace and
/// never goes up.
fn relative(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !text.contains("..")
        && text.contains('{')
        && !text.contains('$')
}

/// Detects `u+s`, `4755`, `-m4755`.
fn mode_gives_rights(text: &str) -> bool {
    let digits = text.trim_start_matches("-m").trim_start_matches("--mode=");
    let octal = digits.len() >= 4
        && digits.bytes().all(|b| matches!(b, b'0'..=b'7'))
        // The fourth digit from the right carries the special bits; 1 is only the sticky bit.
        && digits.as_bytes().get(digits.len() - 4).is_some_and(|&b| b != b'0' && b != b'1');
    let symbolic = text.contains(['+', '='])
        && text.split(',').any(|part| {
            part.split_once(['+', '=']).is_some_and(|(who, what)| {
                who.bytes().all(|b| b"ugoa".contains(&b)) && what.contains('s') && what.len() < 6
            })
        });
    octal || symbolic
}

// Roots, homes and system folders that are moved away, opened or given to others.

/// Returns true when mv discards a file, or moves a root, a home or a system folder.
fn moves_away(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let from = words.get(..words.len().saturating_sub(1)).unwrap_or_default();
    // A file moved to `/dev/null` is gone.
    words.last().is_some_and(|to| to.text == "/dev/null")
        || from.iter().any(|word| vast(word) && !everything(word))
}

/// Returns what rm and its like would delete with all that is in it.
fn wipes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if options("--recursive", "rR", "").holds(args) { wiped(args) } else { None }
}

/// What rm deletes with the folders that another command names, as behind `xargs`.
const UNSEEN_FOLDERS: &str = "deletes folders that are only known when it runs";

/// Returns the worst of what is deleted whole.
fn wiped(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let named = args.named();
    let vast = named.iter().filter(|word| vast(word)).map(|word| whole_of(word));
    let guard_off = args.any(|text| text.starts_with("--no-preserve"));
    let worst = vast.min_by_key(|what| WHOLE.iter().position(|one| one == what));
    let git = named.iter().any(|word| history(word));
    let history = git.then_some("deletes the history of a repository");
    worst
        .or(history)
        .or(args.open.then_some(UNSEEN_FOLDERS))
        .or(guard_off.then_some("deletes even a root directory, if that is what it names"))
}

/// What a vast word stands for, the worst first.
const WHOLE: [&str; 6] = [
    "deletes the whole system",
    "deletes a whole home directory",
    "deletes a directory of the system",
    "deletes a main directory of a home",
    "deletes everything here, or above",
    "deletes what may be a root, a home or a system directory",
];

fn whole_of(word: &Word<'_>) -> &'static str {
    let [system, home, directory, main, here, unknown] = WHOLE;
    let Some(path) = cleaned(word) else { return unknown };
    let path = path.trim_end_matches(['/', '*']).trim_end_matches("/.");
    if everything(word) || path == "." || path.starts_with("..") {
        return here;
    }
    match paths::in_home(path, Directories::default()) {
        _ if path.is_empty() => system,
        _ if path == "~" || matches!(path, "/home" | "/Users" | "/root") => home,
        Some("") => home,
        Some(_) => main,
        None if word.kind == WordKind::Dynamic => unknown,
        None => directory,
    }
}

/// Returns true when rsync deletes files of such a folder that the source lacks.
fn empties(args: &Arguments<'_, '_>) -> bool {
    let deletes = args.any(|text| text.starts_with("--delete") || text == "--del");
    deletes && args.named().last().is_some_and(|to| vast(to))
}

/// Checks chmod.
fn modes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let words = args.named();
    let files = words.get(1..).unwrap_or_default();
    let guarded = opens(&words) && paths(files).any(|path| paths::within(&path, "/etc"));
    whole(args, files).or(guarded.then_some(SYSTEM)).or_else(|| {
        words
            .first()
            .is_some_and(|mode| gives_rights(&mode.text))
            .then_some("sets the set-user-id bit")
    })
}

/// Checks chown, chgrp and chcon, whose first operand is not a file.
fn owners(args: &Arguments<'_, '_>) -> Option<&'static str> {
    others(args, args.named().get(1..).unwrap_or_default())
}

/// Checks setfacl and chattr.
fn attributes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    others(args, &args.named())
}

const SYSTEM: &str = "changes the rights of a file of the system";

fn others(args: &Arguments<'_, '_>, files: &[&Word<'_>]) -> Option<&'static str> {
    let guarded = paths(files)
        .any(|path| paths::within(&path, "/etc") || paths::secret(&path, Directories::default()));
    whole(args, files).or(guarded.then_some(SYSTEM))
}

/// Returns a reason when everything below a root, a home or a system folder changes.
fn whole(args: &Arguments<'_, '_>, files: &[&Word<'_>]) -> Option<&'static str> {
    let shortened = |text: &str| text.len() > 3 && "--recursive".starts_with(text);
    let recursive = args.flag("R") || args.any(shortened);
    let known = |w: &Word<'_>| vast(w) && !everything(w) && w.kind != WordKind::Dynamic;
    (recursive && files.iter().any(|w| known(w) || home_variable(w)))
        .then_some("changes the rights of a root, a home or a system directory")
}

fn paths(files: &[&Word<'_>]) -> impl Iterator<Item = String> {
    files.iter().filter_map(|word| cleaned(word)).map(|path| path.into_owned())
}

fn gives_rights(mode: &str) -> bool {
    mode.contains("+s")
        || mode.contains("=s")
        || mode.len() == 4
            && mode.starts_with(['2', '4', '6', '7'])
            && mode.bytes().all(|b| b.is_ascii_digit())
}

/// Returns true for a mode that lets others write or read: `666`, `777`, `o+w`, `a+rwx`.
fn opens(words: &[&Word<'_>]) -> bool {
    words.first().is_some_and(|w| {
        let mode = &*w.text;
        // The last digit is for others; 0 gives them nothing.
        let octal = mode.bytes().all(|b| b.is_ascii_digit()) && !mode.ends_with('0');
        octal
            || mode.contains("o+")
            || mode.contains("a+")
            || mode.starts_with('+')
            || mode.contains("+w")
    })
}

fn home_variable(word: &Word<'_>) -> bool {
    matches!(&*word.text, "$HOME" | "${HOME}" | "$HOME/" | "~" | "~/")
}

// tar, unzip and the like: the folder they unpack to, and programs they run.

/// Checks tar, whose first word may be a cluster of options without a dash (`tar xPf`).
fn tar(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let first = args.texts().next().unwrap_or_default();
    // `P` keeps absolute names, `I` names a program to compress with, `F` a script.
    let cluster = !first.starts_with('-') && first.contains(['P', 'I', 'F']);
    let why = "an option of it runs a program or writes outside";
    let writes = args.short("cruA", "") || args.long("--create --append --update --delete");
    let outside = || args.values("-f --file").iter().any(|file| args.path_outside(file));
    let written = (writes && outside()).then_some(OUTSIDE);
    let unpacks = args.short("x", "") || args.long("--extract --get");
    let obeyed = || (unpacks && names_obeyed(args)).then_some(OBEYED);
    runs(args).or(cluster.then_some(why)).or(written).or_else(|| archive(args)).or_else(obeyed)
}

/// Checks unzip, which unpacks into a folder.
fn unzip(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let folders = args.values("-d");
    let outside = folders.iter().any(|folder| args.path_outside(folder));
    let shows = args.short("lptvzZ", "dPx");
    let obeyed = || (!shows && names_obeyed(args)).then_some(OBEYED);
    runs(args)
        .or((outside || args.has("-:")).then_some(OUTSIDE))
        .or_else(|| archive(args))
        .or_else(obeyed)
}

const OBEYED: &str = "it unpacks what others run or obey";

/// Returns true when a folder or a file to unpack is one that others run or obey.
fn names_obeyed(args: &Arguments<'_, '_>) -> bool {
    let folders = args.values("-C --directory --cd --one-top-level -d");
    let names = args.operands("-C --directory -d -f --file");
    let mut all = folders.into_iter().chain(names.iter().map(|word| &*word.text));
    all.any(|path| obeyed::is_obeyed_or_hidden(path, args.dirs))
}

/// Checks 7z, which unpacks into the folder behind `-o`.
fn seven_zip(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut folders = args.texts().filter_map(|text| text.strip_prefix("-o"));
    let outside = folders.any(|folder| args.path_outside(folder));
    runs(args).or(outside.then_some(OUTSIDE)).or_else(|| archive(args))
}

/// Checks cpio, which may copy files to a folder.
fn cpio(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let passes = args.short("p", "HCEFIMO") && args.each_named().any(|w| args.outside(w));
    runs(args).or(passes.then_some(OUTSIDE)).or_else(|| archive(args))
}

/// Checks what they have in common: the folder to work in, and an archive on another host.
fn archive(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let folders = args.values("-C --directory --cd --one-top-level");
    let archives = args.values("-f --file");
    let outside = folders.iter().any(|folder| args.path_outside(folder));
    // `host:file` makes tar start a remote shell.
    let remote = archives.iter().any(|file| file.contains(':') && !file.starts_with("./"));
    runs(args).or((outside || remote).then_some(OUTSIDE))
}

fn runs(args: &Arguments<'_, '_>) -> Option<&'static str> {
    // `zip -TT CMD` runs the command to test the archive.
    args.any(|text| text.starts_with('-') && text.contains("TT")).then_some(RUNS)
}
