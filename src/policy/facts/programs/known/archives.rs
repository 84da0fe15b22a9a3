//! Programs that pack and unpack.

use super::common::{RUNS, TEXT_VALUES};
use super::syntax;
use crate::facts::programs::case::{case, judge};
use crate::facts::programs::checks::archives;
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::{Access, Files};
use crate::facts::programs::reach::Pipe;
use crate::facts::programs::when::{
    When::{Always, Any, Uncertain},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("tar")
        .options(syntax::TAR)
        .beyond(&[
            case(Any(&[options(TAR_OPTIONS, "IPFTg", "fbNVXKLHC"), Uncertain]), RUNS),
            judge(archives::tar),
        ])
        .files(Files::Archive),
    Program::named("gtar bsdtar").options(syntax::TAR).beyond(&[
        case(Any(&[options(TAR_OPTIONS, "IPFTg", "fbNVXKLHC"), Uncertain]), RUNS),
        judge(archives::tar),
    ]),
    Program::named("zip")
        .beyond(&[
            case(options("--unzip-command --output-file --out", "O", "nxitbPmZ"), RUNS),
            judge(archives::archive),
        ])
        .files(Files::Archive),
    Program::named("unzip").roles(&[Role::Overwrites]).beyond(&[judge(archives::unzip)]),
    Program::named("7z").beyond(&[judge(archives::seven_zip)]).files(Files::Archive),
    Program::named("cpio")
        .beyond(&[case(options(CPIO_OPTIONS, "FI", "HCEM"), RUNS), judge(archives::cpio)])
        .files(Files::Archive),
    Program::named("ar").beyond(&[judge(archives::archive)]),
    Program::named("gzip bzip2 xz").files(Files::Each {
        access: Access::Read,
        skip: 0,
        values: TEXT_VALUES,
    }),
    Program::named("zcat")
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .pipe(Pipe::decodes(Always)),
    Program::named("gunzip uudecode").pipe(Pipe::decodes(Always)),
];

const TAR_OPTIONS: Words = "\
    --to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command \
    --info-script --new-volume-script --absolute-names --index-file --files-from --volno-file \
    --listed-incremental";
const CPIO_OPTIONS: Words = "--rsh-command --rmt-command --absolute-filenames --file";
