//! The location of the store: a local file, or a PostgreSQL server that several daemons share.

use countersign_tokens::secret::Secret;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The location of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// An SQLite file, owned by one daemon.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database, with its credentials.
    Postgres(Secret),
}

impl Database {
    /// Parses `sqlite:FILE` or `postgres://USER@HOST/DATABASE`; `resolve` makes a file's path
    /// absolute.
    ///
    /// # Errors
    /// Names the expected forms. It does not repeat the input, which may hold a password.
    pub fn read(text: &str, resolve: impl Fn(&str) -> PathBuf) -> Result<Self, String> {
        const WANTED: &str = "wants \"sqlite:FILE\" or \"postgres://USER@HOST/DATABASE\"";
        if let Some(rest) = text.strip_prefix("sqlite:") {
            // `:memory:` would lose every ask at a restart, so it is no store.
            return match rest.strip_prefix("//").unwrap_or(rest) {
                "" | ":memory:" => Err(WANTED.into()),
                file => Ok(Self::Sqlite(resolve(file))),
            };
        }
        match url::Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "postgres" | "postgresql") => {
                Ok(Self::Postgres(Secret::new(text)))
            }
            _ => Err(WANTED.into()),
        }
    }

    /// The file, if the store is a file.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(file) => Some(file),
            Self::Postgres(_) => None,
        }
    }

    /// The server's host and port, if the store is on a server.
    #[must_use]
    pub fn address(&self) -> Option<String> {
        let Self::Postgres(url) = self else { return None };
        let url = url::Url::parse(url.reveal()).ok()?;
        Some(format!("{}:{}", url.host_str()?, url.port().unwrap_or(5432)))
    }

    /// The URL that the drivers parse.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Postgres(url) => url.reveal().to_owned(),
            Self::Sqlite(file) => {
                let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                let name = file.to_string_lossy();
                // The driver decodes percent escapes and takes `?` for options, so a file name with
                // such characters would open another file.
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
                let spelled: String = name
                    .bytes()
                    .map(|byte| match plain(byte) {
                        true => char::from(byte).to_string(),
                        false => format!("%{byte:02X}"),
                    })
                    .collect();
                format!("sqlite://{spelled}?mode=rwc")
            }
        }
    }
}

// SECURITY: the password of a database is never shown.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Sqlite(file) => return write!(f, "{}", file.display()),
            Self::Postgres(url) => url,
        };
        let Ok(mut url) = url::Url::parse(url.reveal()) else { return f.write_str("postgres") };
        let _ = url.set_password(None);
        url.set_query(None);
        f.write_str(url.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn read(text: &str) -> Result<Database, String> {
        Database::read(text, |file| Path::new("/here").join(file))
    }

    #[test]
    fn a_store_is_a_file_or_a_server_and_nothing_else() {
        assert_eq!(read("sqlite:a.db"), Ok(Database::Sqlite("/here/a.db".into())));
        assert_eq!(read("sqlite:///x/a.db"), Ok(Database::Sqlite("/x/a.db".into())));
        assert!(matches!(read("postgres://a:b@c/d"), Ok(Database::Postgres(_))));
        for no in ["sqlite:", "sqlite::memory:", "mysql://a:secret@c/d", "a.db", ""] {
            let wanted = "wants \"sqlite:FILE\" or \"postgres://USER@HOST/DATABASE\"";
            assert_eq!(read(no), Err(wanted.into()), "{no}");
        }
    }

    #[test]
    fn the_password_of_a_database_is_never_shown() {
        let database =
            read("postgres://ana:hunter2@db.example:5433/asks?password=hunter2").unwrap();
        assert_eq!(database.to_string(), "postgres://ana@db.example:5433/asks");
        assert!(!format!("{database:?}").contains("hunter2"));
        assert_eq!(database.address(), Some("db.example:5433".into()));
    }

    #[test]
    fn every_file_name_reaches_the_driver_whole() {
        let database = Database::Sqlite("/a b/50%?#ü.db".into());
        assert_eq!(database.url(), "sqlite:///a%20b/50%25%3F%23%C3%BC.db?mode=rwc");
    }
}
