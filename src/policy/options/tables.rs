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
    Some(match name {
        "rg" => options(&["--pre", "--hostname-bin", "--search-zip"], "z", "egtTABCmMjErd", RUNS),
        "ag" | "ack" => options(&["--pager", "--search-zip", "--ackrc", "--files-from"], "z", "ABCmGg", RUNS),
        "fd" | "fdfind" => options(&["--exec", "--exec-batch"], "xX", "edEtcjS", RUNS),
        "grep" | "egrep" | "fgrep" | "zgrep" => options(&["--file"], "f", "eABCmdD", READS),
        "sort" | "gsort" => options(&["--output", "--compress-program", "--temporary-directory", "--files0-from", "--random-source"], "oT", "ktS", WRITES),
        "shuf" => options(&["--output", "--random-source"], "o", "in", WRITES),
        "base64" | "base32" | "basenc" => options(&["--output", "--input"], "oi", "wb", WRITES),
        "tree" => options(&["--fromfile"], "oR", "LPIH", WRITES),
        "file" => options(&["--magic-file", "--files-from", "--compile", "--uncompress", "--uncompress-noreport"], "mfCzZ", "FeP", READS),
        "date" => options(&["--file", "--set"], "fs", "drI", READS),
        "wc" => options(&["--files0-from"], "", "", READS),
        "du" => options(&["--files0-from", "--exclude-from"], "X", "dBt", READS),
        "hostname" => options(&["--file", "--boot"], "Fb", "", WRITES),
        "xxd" => options(&[], "r", "cgloswnR", WRITES),
        "jq" | "gojq" | "jaq" => options(&["--rawfile", "--slurpfile", "--from-file", "--library-path", "--run-tests"], "fL", "", READS),
        "yq" => options(&["--inplace", "--in-place", "--from-file", "--split-exp", "--split-exp-file"], "is", "pIo", WRITES),
        "man" | "apropos" | "whatis" => options(&["--html", "--pager", "--preprocessor", "--config-file", "--local-file", "--troff-device", "--gxditview"], "HPpCXTZtl", "SsMLeER", RUNS),
        "less" | "more" | "most" => options(&["--log-file", "--LOG-FILE", "--lesskey-file", "--lesskey-src", "--cmd", "--tag-file", "--tag"], "oOkT+t", "bhjpPxyz", RUNS),
        "pandoc" => options(&["--filter", "--lua-filter", "--output", "--extract-media", "--pdf-engine", "--defaults", "--template"], "FLod", "frtVMD", RUNS),
        "ctags" | "etags" => options(&["--options", "--output", "-o"], "of", "LRI", WRITES),
        "openssl" => options(&["-engine", "-out", "-provider", "-writerand"], "", "", RUNS),
        "tcpdump" => options(&["--postrotate-command"], "zwWZ", "icsrEGCFTmBQy", RUNS),
        "nmap" => options(&["--script", "--script-args-file", "--datadir", "--interactive", "--resume", "--stylesheet", "--iL"], "o", "pg", RUNS),
        "gdb" | "lldb" => options(&["--command", "--eval-command", "--init-command", "--init-eval-command", "--args", "--batch", "--python"], "exnosb", "", RUNS),
        "hg" => options(&["--config", "--repository", "--cwd", "--debugger"], "R", "rlmu", RUNS),
        "svn" => options(&["--config-option", "--config-dir", "--diff-cmd", "--editor-cmd", "--diff3-cmd"], "", "", RUNS),
        "apt" | "apt-get" | "aptitude" => options(&["--option", "--config-file"], "oc", "t", RUNS),
        "dnf" | "yum" => options(&["--config", "--setopt", "--installroot"], "c", "", RUNS),
        "zip" => options(&["--unzip-command", "--output-file", "--out"], "O", "nxitbPmZ", RUNS),
        "cpio" => options(&["--rsh-command", "--rmt-command", "--absolute-filenames", "--file"], "FI", "HCEM", RUNS),
        "tar" | "gtar" | "bsdtar" => Rule { guarded: true, ..options(&["--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--rmt-command", "--info-script", "--new-volume-script", "--absolute-names", "--index-file", "--files-from", "--volno-file", "--listed-incremental"], "IPFTg", "fbNVXKLHC", RUNS) },
        "rsync" => Rule { guarded: true, ..options(&["--rsh", "--rsync-path", "--temp-dir", "--write-batch", "--only-write-batch", "--read-batch", "--log-file", "--daemon", "--config", "--password-file", "--remove-source-files", "--partial-dir", "--backup-dir", "--files-from"], "eM", "fTB", RUNS) },
        "scp" | "sftp" => options(&[], "SoJFDb", "cilPX", RUNS),
        "split" => options(&["--filter"], "", "abCln", RUNS),
        "patch" => options(&["--output", "--directory", "--reject-file", "--prefix", "--get"], "odrBYzg", "piDFV", WRITES),
        "cmake" => options(&["--script"], "PEC", "DGABSTU", RUNS),
        "gcc" | "g++" | "clang" | "clang++" | "cc" | "c++" => options(&["--specs", "--param"], "B", "IDLlOWfmoxu", RUNS),
        "jest" => options(&["--globalSetup", "--globalTeardown", "--config", "--setupFiles", "--setupFilesAfterEnv", "--transform", "--runner", "--testRunner", "--resolver", "--reporters", "--testEnvironment", "--rootDir", "--outputFile"], "c", "ti", RUNS),
        "vitest" => options(&["--config", "--globalSetup", "--reporter", "--root", "--outputFile", "--environment"], "cr", "t", RUNS),
        "eslint" => options(&["--config", "--rulesdir", "--resolve-plugins-relative-to", "--output-file", "--parser", "--plugin", "--format"], "co", "", RUNS),
        "prettier" => options(&["--config", "--plugin", "--plugin-search-dir"], "", "", RUNS),
        "gradle" | "gradlew" => options(&["--init-script", "--build-file", "--project-dir", "--settings-file", "--include-build", "--gradle-user-home"], "Ibpcg", "xPD", RUNS),
        "mvn" | "mvnw" => options(&["--file", "--settings", "--global-settings", "--toolchains"], "fsgt", "PpDT", RUNS),
        "busctl" | "systemctl" | "loginctl" => options(&["--address", "--host", "--root", "--image"], "H", "tnopM", RUNS),
        "docker" | "podman" => options(&["--host", "--context", "--config", "--privileged", "--tlscacert", "--url", "--connection"], "H", "lv", RUNS),
        "ansible" | "ansible-playbook" | "ansible-console" | "ed" | "ex" | "vi" | "vim" | "nvim" | "emacs"
        | "nano" | "pico" | "m4" | "expect" | "gnuplot" | "tclsh" | "ghci" | "irb" | "byebug" => ALWAYS,
        _ => return None,
    })
}

/// Whatever its arguments, it runs what it is given.
const ALWAYS: Rule = Rule { always: true, ..options(&[], "", "", "it runs whatever it is given") };
