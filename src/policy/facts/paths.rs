//! Paths: their location, and the kind of file. Lexical; the file system is never consulted.

mod braces;
mod clean;
mod directories;
mod home;
mod readings;
mod secrets;
mod workspace;

pub(crate) use braces::{UNKNOWN, braces};
pub use clean::{clean, expand_home, of_word, within};
pub use directories::Directories;
pub use home::{in_home, startup};
pub(crate) use readings::readings;
pub use secrets::{PatternOf, may_be_secret, secret};
pub use workspace::{outside, scratch, sink, source, system, workspace};

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Directories<'_> = Directories { cwd: Some("/home/me/work"), home: Some("/home/me") };

    #[test]
    fn paths_are_cleaned_from_the_working_directory() {
        for (path, cleaned) in [
            ("a/./b//c", "/home/me/work/a/b/c"),
            ("../../x", "/home/x"),
            ("~/x", "/home/me/x"),
            ("/a/../../b", "/b"),
            (".", "/home/me/work"),
        ] {
            assert_eq!(clean(path, AT), cleaned);
        }
        assert_eq!(clean("a/../..", Directories::default()), "..");
    }

    #[test]
    fn outside_is_what_does_not_lie_below_the_workspace() {
        for path in ["../x", "/etc/passwd", "~/.bashrc", "/home/me/worker", "a/../../x"] {
            assert!(outside(path, AT), "{path}");
        }
        for path in ["x", "./a/../b", "/home/me/work/x", "~/work/x"] {
            assert!(!outside(path, AT), "{path}");
        }
        assert!(outside("../x", Directories::default()) && !outside("x", Directories::default()));
    }

    #[test]
    fn folders_of_the_system_and_of_programs_are_no_workspace() {
        let at = |cwd| Directories { cwd: Some(cwd), home: Some("/home/me") };
        for cwd in [
            "/",
            "//",
            "/.",
            "/root/..",
            "///",
            "/usr",
            "/usr/local",
            "/usr/local/",
            "/usr/./local",
            "/etc",
            "/etc/nginx",
            "/bin",
            "/opt",
            "/var",
            "/home",
            "/home/me/..",
            "/root",
            "/home/me/.local/bin",
            "/home/me/.cargo/bin",
            "/tmp",
        ] {
            assert_eq!(workspace(at(cwd)), None, "{cwd}");
            assert!(outside("bin/git", at(cwd)), "{cwd}");
            assert!(outside("/usr/local/bin/git", at(cwd)), "{cwd}");
        }
        for cwd in ["/home/me", "/home/me/work", "/opt/shop", "/srv/shop/", "/tmp/x", "/var/www/x"]
        {
            assert!(!outside("bin/git", at(cwd)), "{cwd}");
        }
    }

    #[test]
    fn secrets_and_startup_files_are_known_by_place_and_name() {
        for path in [
            "~/.ssh/id_rsa",
            ".env",
            "x/.env.local",
            "~/.aws/credentials",
            "/etc/shadow",
            "~/.bash_history",
        ] {
            assert!(secret(path, AT), "{path}");
        }
        for path in ["~/.ssh/id_rsa.pub", ".env.example", "src/main.rs", "~/.ssh/config"] {
            assert!(!secret(path, AT), "{path}");
        }
        for path in ["~/.bashrc", "/root/.ssh/authorized_keys", "/etc/cron.d/x", "/home/you/.zshrc"]
        {
            assert!(startup(path, AT), "{path}");
        }
        assert!(
            !startup("notes.txt", AT)
                && crate::facts::obeyed::runs_later(".git/hooks/pre-commit")
                && !crate::facts::obeyed::runs_later("src/git.rs")
        );
    }
}
