//! Programs whose reach shows in plain options.

use super::arguments::Arguments;

/// The options of one program that go beyond its name.
pub(super) struct Rule {
    longs: &'static [&'static str],
    shorts: &'static str,
    /// Short options that take a value: what follows them in a cluster is no option.
    values: &'static str,
    /// A word that is only known when it runs may be such an option.
    guarded: bool,
    /// No argument makes it harmless.
    always: bool,
    why: &'static str,
}

impl Rule {
    pub(super) fn judge(&self, args: &Arguments<'_, '_>) -> Option<&'static str> {
        let named = args.long(self.longs) || args.short(self.shorts, self.values);
        let unseen = self.guarded && args.uncertain();
        (self.always || named || unseen).then_some(self.why)
    }
}

const RUNS: &str = "an option of it runs another program";
const WRITES: &str = "an option of it writes a file";
const READS: &str = "an option of it reads another file";

const fn options(
    longs: &'static [&'static str],
    shorts: &'static str,
    values: &'static str,
    why: &'static str,
) -> Rule {
    Rule { longs, shorts, values, guarded: false, always: false, why }
}

/// The rule for a program.
#[rustfmt::skip]
pub(super) fn rule(name: &str) -> Option<Rule> {
    Some(match name.as_bytes() {
        b"rg" => options(&["--pre", "--hostname-bin", "--search-zip"], "z", "egtTABCmMjErd", RUNS),
        b"ag" | b"ack" => options(&["--pager", "--search-zip", "--ackrc", "--files-from"], "z", "ABCmGg", RUNS),
        b"fd" | b"fdfind" => options(&["--exec", "--exec-batch"], "xX", "edEtcjS", RUNS),
        b"grep" | b"egrep" | b"fgrep" | b"zgrep" => options(&["--file"], "f", "eABCmdD", READS),
        b"sort" | b"gsort" => options(&["--output", "--compress-program", "--temporary-directory", "--files0-from", "--random-source"], "oT", "ktS", WRITES),
        b"shuf" => options(&["--output", "--random-source"], "o", "in", WRITES),
        b"base64" | b"base32" | b"basenc" => options(&["--output", "--input"], "oi", "wb", WRITES),
        b"tree" => options(&["--fromfile"], "oR", "LPIH", WRITES),
        b"file" => options(&["--magic-file", "--files-from", "--compile", "--uncompress", "--uncompress-noreport"], "mfCzZ", "FeP", READS),
        b"date" => options(&["--file", "--set"], "fs", "drI", READS),
        b"wc" => options(&["--files0-from"], "", "", READS),
        b"du" => options(&["--files0-from", "--exclude-from"], "X", "dBt", READS),
        b"hostname" => options(&["--file", "--boot"], "Fb", "", WRITES),
        b"xxd" => options(&[], "r", "cgloswnR", WRITES),
        b"jq" | b"gojq" | b"jaq" => options(&["--rawfile", "--slurpfile", "--from-file", "--library-path", "--run-tests"], "fL", "", READS),
        b"yq" => options(&["--inplace", "--in-place", "--from-file", "--split-exp", "--split-exp-file"], "is", "pIo", WRITES),
        b"man" | b"apropos" | b"whatis" => options(&["--html", "--pager", "--preprocessor", "--config-file", "--local-file", "--troff-device", "--gxditview"], "HPpCXTZtl", "SsMLeER", RUNS),
        b"less" | b"more" | b"most" => options(&["--log-file", "--LOG-FILE", "--lesskey-file", "--lesskey-src", "--cmd", "--tag-file", "--tag"], "oOkT+t", "bhjpPxyz", RUNS),
        b"pandoc" => options(&["--filter", "--lua-filter", "--output", "--extract-media", "--pdf-engine", "--defaults", "--template"], "FLod", "frtVMD", RUNS),
        b"ctags" | b"etags" => options(&["--options", "--output", "-o"], "of", "LRI", WRITES),
        b"openssl" => options(&["-engine", "-out", "-provider", "-writerand"], "", "", RUNS),
        b"tcpdump" => options(&["--postrotate-command"], "zwWZ", "icsrEGCFTmBQy", RUNS),
        b"nmap" => options(&["--script", "--script-args-file", "--datadir", "--interactive", "--resume", "--stylesheet", "--iL"], "o", "pg", RUNS),
        b"gdb" | b"lldb" => options(&["--command", "--eval-command", "--init-command", "--init-eval-command", "--args", "--batch", "--python"], "exnosb", "", RUNS),
        b"hg" => options(&["--config", "--repository", "--cwd", "--debugger"], "R", "rlmu", RUNS),
        b"svn" => options(&["--config-option", "--config-dir", "--diff-cmd", "--editor-cmd", "--diff3-cmd"], "", "", RUNS),
        b"apt" | b"apt-get" | b"aptitude" => options(&["--option", "--config-file"], "oc", "t", RUNS),
        b"dnf" | b"yum" => options(&["--config", "--setopt", "--installroot"], "c", "", RUNS),
        b"zip" => options(&["--unzip-command", "--output-file", "--out"], "O", "nxitbPmZ", RUNS),
        b"cpio" => options(&["--rsh-command", "--rmt-command", "--absolute-filenames", "--file"], "FI", "HCEM", RUNS),
        b"tar" | b"gtar" | b"bsdtar" => Rule { guarded: true, ..options(&["--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--rmt-command", "--info-script", "--new-volume-script", "--absolute-names", "--index-file", "--files-from", "--volno-file", "--listed-incremental"], "IPFTg", "fbNVXKLHC", RUNS) },
        b"rsync" => Rule { guarded: true, ..options(&["--rsh", "--rsync-path", "--temp-dir", "--write-batch", "--only-write-batch", "--read-batch", "--log-file", "--daemon", "--config", "--password-file", "--remove-source-files", "--partial-dir", "--backup-dir", "--files-from"], "eM", "fTB", RUNS) },
        b"scp" | b"sftp" => options(&[], "SoJFDb", "cilPX", RUNS),
        b"split" => options(&["--filter"], "", "abCln", RUNS),
        b"patch" => options(&["--output", "--directory", "--reject-file", "--prefix", "--get"], "odrBYzg", "piDFV", WRITES),
        b"cmake" => options(&["--script"], "PEC", "DGABSTU", RUNS),
        b"gcc" | b"g++" | b"clang" | b"clang++" | b"cc" | b"c++" => options(&["--specs", "--param"], "B", "IDLlOWfmoxu", RUNS),
        b"jest" => options(&["--globalSetup", "--globalTeardown", "--config", "--setupFiles", "--setupFilesAfterEnv", "--transform", "--runner", "--testRunner", "--resolver", "--reporters", "--testEnvironment", "--rootDir", "--outputFile"], "c", "ti", RUNS),
        b"vitest" => options(&["--config", "--globalSetup", "--reporter", "--root", "--outputFile", "--environment"], "cr", "t", RUNS),
        b"eslint" => options(&["--config", "--rulesdir", "--resolve-plugins-relative-to", "--output-file", "--parser", "--plugin", "--format"], "co", "", RUNS),
        b"prettier" => options(&["--config", "--plugin", "--plugin-search-dir"], "", "", RUNS),
        b"gradle" | b"gradlew" => options(&["--init-script", "--build-file", "--project-dir", "--settings-file", "--include-build", "--gradle-user-home"], "Ibpcg", "xPD", RUNS),
        b"mvn" | b"mvnw" => options(&["--file", "--settings", "--global-settings", "--toolchains"], "fsgt", "PpDT", RUNS),
        b"busctl" | b"systemctl" | b"loginctl" => options(&["--address", "--host", "--root", "--image"], "H", "tnopM", RUNS),
        b"docker" | b"podman" => options(&["--host", "--context", "--config", "--privileged", "--tlscacert", "--url", "--connection"], "H", "lv", RUNS),
        b"ansible" | b"ansible-playbook" | b"ansible-console" | b"ed" | b"ex" | b"vi" | b"vim" | b"nvim" | b"emacs"
        | b"nano" | b"pico" | b"m4" | b"expect" | b"gnuplot" | b"tclsh" | b"ghci" | b"irb" | b"byebug" => ALWAYS,
        _ => return None,
    })
}

/// Whatever its arguments, it runs what it is given.
const ALWAYS: Rule = Rule { always: true, ..options(&[], "", "", "it runs whatever it is given") };
