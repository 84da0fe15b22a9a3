//! Databases.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::changes::{deletes, says};
use crate::facts::programs::condition::When::{
    All, Always, Any, Has, Holds, Nth, Operand, Says, Test,
};
use crate::facts::programs::condition::{case, drops, options};
use crate::facts::programs::description::{AlwaysRule, Program, Role};
use crate::facts::programs::known::STARTS_ANOTHER;
use crate::facts::programs::{Words, listed};
use crate::shell::Word;

pub(super) static ALL: &[Program] = &[
    Program::named("psql")
        .roles(&[Role::Database])
        .beyond(&[case(
            Any(&[Says(PSQL_RUNS), options("--file --output --log-file", "foL", "chpUdv")]),
            STARTS_ANOTHER,
        )])
        .critical(&[drops(Test(runs_such))])
        .grant(AlwaysRule::words(2)),
    Program::named("pgcli")
        .beyond(&[case(
            Any(&[Says(PSQL_RUNS), options("--file --output --log-file", "foL", "chpUdv")]),
            STARTS_ANOTHER,
        )])
        .critical(&[drops(Test(runs_such))]),
    Program::named("mysql")
        .roles(&[Role::Database])
        .beyond(&[case(Any(&[Says(MYSQL_RUNS), options(MYSQL_OPTIONS, "", "")]), STARTS_ANOTHER)])
        .critical(&[drops(Test(runs_such))])
        .grant(AlwaysRule::words(2)),
    Program::named("mariadb")
        .roles(&[Role::Database])
        .beyond(&[case(Any(&[Says(MYSQL_RUNS), options(MYSQL_OPTIONS, "", "")]), STARTS_ANOTHER)])
        .critical(&[drops(Test(runs_such))]),
    Program::named("sqlite3")
        .roles(&[Role::Database])
        .beyond(&[case(
            Any(&[Test(dot_command), Says(SQLITE_RUNS), Has("-cmd -init")]),
            STARTS_ANOTHER,
        )])
        .critical(&[drops(Test(runs_such))]),
    Program::named(DATABASES_NAMES).critical(&[drops(Test(runs_such))]),
    Program::named("cqlsh duckdb").roles(&[Role::Database]).critical(&[drops(Test(runs_such))]),
    Program::named("dropdb").critical(&[drops(Always)]).changes(&[deletes(Always, 0, "database")]),
    Program::named("dropuser").critical(&[drops(Always)]).changes(&[deletes(Always, 0, "user")]),
    Program::named("mysqladmin").critical(&[drops(Operand("drop"))]).changes(&[deletes(
        Nth(0, "drop"),
        1,
        "database",
    )]),
    // `EVAL` and `MODULE` run code in the server.
    Program::named("redis-cli")
        .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
        .critical(&[drops(Test(flushes))])
        .changes(&[says(Test(flushes), "deletes all keys")])
        .grant(AlwaysRule::words(2)),
    Program::named("valkey-cli keydb-cli").critical(&[drops(Test(flushes))]),
    Program::named("mongosh")
        .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
        .critical(&[drops(Holds(&["dropDatabase", ".drop()", "deleteMany({})", "remove({})"]))])
        .grant(AlwaysRule::words(2)),
    Program::named("mongo")
        .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
        .critical(&[drops(Holds(&["dropDatabase", ".drop()", "deleteMany({})", "remove({})"]))]),
    Program::named("flyway").critical(&[drops(Operand("clean"))]),
    Program::named("liquibase").critical(&[drops(Operand("drop-all dropAll"))]),
    Program::named("dotnet").critical(&[drops(All(&[
        Nth(0, "ef"),
        Nth(1, "database"),
        Nth(2, "drop"),
    ]))]),
    Program::named("kafka-topics kafka-topics.sh").critical(&[drops(Has("--delete"))]),
    Program::named("supabase").critical(&[drops(All(&[Nth(0, "db"), Nth(1, "reset")]))]).changes(
        &[says(All(&[Nth(0, "db"), Nth(1, "reset")]), "deletes all data of the database")],
    ),
];

// These start programs, or read and write files of the client or the server.
const PSQL_RUNS: &[&str] = &[
    "\\!",
    "program",
    "\\copy",
    "\\o ",
    "\\g ",
    "\\i ",
    "\\w ",
    "pg_read",
    "pg_write",
    "lo_export",
    "lo_import",
    "|",
];
const MYSQL_RUNS: &[&str] = &[
    "\\!",
    "system ",
    "source ",
    "\\.",
    "outfile",
    "dumpfile",
    "load_file",
    "load data",
    "sys_exec",
];
const MYSQL_OPTIONS: Words = "\
    --tee --plugin-dir --init-command --defaults-file --defaults-extra-file --pager";
const SQLITE_RUNS: &[&str] =
    &["writefile", "load_extension", "readfile", "attach ", "edit(", "fts3_tokenizer", "\n."];
const DATABASES_NAMES: Words = "\
    sqlite sqlcmd clickhouse-client clickhouse usql mycli bq snowsql cockroach";
const SCRIPTS_RUN: &[&str] =
    &["eval", "config set", "module load", "slaveof", "replicaof", "debug", "script"];

/// Returns true when sqlite3 gets a dot command that does more than show the schema.
fn dot_command(args: &Arguments<'_, '_>) -> bool {
    args.any(|text| {
        let shows = matches!(
            text.trim(),
            ".tables" | ".schema" | ".help" | ".databases" | ".indexes" | ".dump"
        );
        let path = text.starts_with("./") || text.starts_with("../");
        text.trim_start().starts_with('.') && !shows && !path
    })
}

/// Returns true when a statement among the words or in the input does so.
fn runs_such(args: &Arguments<'_, '_>) -> bool {
    args.texts().any(destroys) || args.input().any(destroys)
}

/// Returns true when Redis empties or stops itself.
fn flushes(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let is = |word: &Word<'_>, list: &str| listed(list, &word.text.to_ascii_uppercase());
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let first = words.iter().find(|word| !number(&word.text));
    let some = |list: &str| words.iter().any(|word| is(word, list));
    let exact = words.iter().any(|word| listed("FLUSHALL FLUSHDB", &word.text));
    // The words may also be keys or values of another command: `GET FLUSHALL`.
    first.is_some_and(|word| is(word, "FLUSHALL FLUSHDB SHUTDOWN"))
        || exact && args.operand(0) != "GET"
        || some("FLUSHALL FLUSHDB") && !some("GET SET DEL EXISTS TYPE TTL COMMAND HELP")
}

/// Returns true when a statement drops, truncates or deletes without a condition. Quoted strings
/// are data.
pub(crate) fn destroys(sql: &str) -> bool {
    statements(sql).iter().any(|(_, bare)| {
        let words: Vec<&str> = bare.split_whitespace().collect();
        match words.as_slice() {
            ["DROP", what, ..] => matches!(
                *what,
                "DATABASE"
                    | "TABLE"
                    | "SCHEMA"
                    | "KEYSPACE"
                    | "USER"
                    | "VIEW"
                    | "INDEX"
                    | "ROLE"
                    | "OWNED"
                    | "COLLECTION"
                    | "TABLESPACE"
            ),
            ["TRUNCATE", ..] => words.len() > 1,
            ["DELETE", "FROM", rest @ ..] => !rest.contains(&"WHERE"),
            ["UPDATE", rest @ ..] => rest.contains(&"SET") && !rest.contains(&"WHERE"),
            ["ALTER", _, _, "DROP", ..] => true,
            _ => false,
        }
    })
}

/// Returns what the statements of a text change, a clause for each. For cards only: whether a
/// statement is harmless is never read from it.
pub(crate) fn changes(sql: &str) -> Vec<String> {
    let changing = |bare: &str| {
        let mut words = bare.split_whitespace();
        let verb = words.next().unwrap_or_default();
        listed(CHANGING, verb) && words.next().is_some()
    };
    let found = statements(sql).into_iter().filter(|(_, bare)| changing(bare));
    let clause = |(written, bare): (&str, String)| {
        let written = written.split_whitespace().collect::<Vec<_>>().join(" ");
        plainly(&written, &bare).unwrap_or(format!("changes a database: {written}"))
    };
    found.map(clause).collect()
}

const CHANGING: Words = "\
    INSERT UPDATE DELETE REPLACE MERGE UPSERT TRUNCATE DROP ALTER CREATE RENAME GRANT REVOKE COPY \
    LOAD CALL";

/// Returns a statement in plain words; `None` where it is of no simple form.
fn plainly(written: &str, bare: &str) -> Option<String> {
    // A comment may hide words, or show some that do not count.
    if ["--", "/*", "#"].iter().any(|comment| written.contains(comment)) {
        return None;
    }
    let upper = written.to_ascii_uppercase();
    let mut words: Vec<&str> = upper.split(' ').collect();
    let mut names: Vec<&str> = written.split(' ').collect();
    for optional in [&["IF", "EXISTS"][..], &["IF", "NOT", "EXISTS"], &["ONLY"]] {
        let Some(at) = words.windows(optional.len()).position(|it| it == optional) else {
            continue;
        };
        if at <= 2 {
            words.drain(at..at + optional.len());
            names.drain(at..at + optional.len());
        }
    }
    let name = |at: usize| names.get(at).copied().and_then(plain_name);
    let has = |word: &str| bare.split_whitespace().any(|other| other == word);
    Some(match words.as_slice() {
        ["DELETE", "FROM", _] => format!("deletes all rows of {}", name(2)?),
        ["DELETE", "FROM", _, "WHERE", ..] => {
            format!("deletes rows of {} {}", name(2)?, names.get(3..)?.join(" "))
        }
        ["TRUNCATE", "TABLE", _] => format!("deletes all rows of {}", name(2)?),
        ["TRUNCATE", _] => format!("deletes all rows of {}", name(1)?),
        ["DROP", kind, _] if listed(KINDS, kind) => {
            format!("deletes the {} {}", kind.to_ascii_lowercase(), name(2)?)
        }
        ["DROP", kind, _, "CASCADE"] if listed(KINDS, kind) => {
            let kind = kind.to_ascii_lowercase();
            format!("deletes the {kind} {} and what depends on it", name(2)?)
        }
        ["UPDATE", _, "SET", ..] if has("WHERE") => format!("changes rows of {}", name(1)?),
        ["UPDATE", _, "SET", ..] => format!("changes all rows of {}", name(1)?),
        ["INSERT", "INTO", ..] => format!("adds rows to {}", name(2)?),
        ["ALTER", kind, ..] if listed(KINDS, kind) => {
            format!("changes the {} {}", kind.to_ascii_lowercase(), name(2)?)
        }
        ["CREATE", kind, ..] if listed(KINDS, kind) => {
            format!("creates the {} {}", kind.to_ascii_lowercase(), name(2)?)
        }
        _ => return None,
    })
}

const KINDS: Words = "TABLE VIEW INDEX SCHEMA DATABASE ROLE USER KEYSPACE SEQUENCE";

/// Returns a name at the beginning of a word, quoted or not: `orders(` is `orders`.
fn plain_name(word: &str) -> Option<&str> {
    let name = word.split('(').next().unwrap_or_default();
    let quotes = name.matches(['"', '`', '\'']).count();
    let plain = |c: char| c.is_alphanumeric() || "_.$\"`[]".contains(c);
    (!name.is_empty() && quotes.is_multiple_of(2) && name.chars().all(plain)).then_some(name)
}

/// Splits a text into its statements: each as it is written, and in capitals with a placeholder
/// for what is quoted.
fn statements(sql: &str) -> Vec<(&str, String)> {
    let mut all = Vec::new();
    let (mut from, mut bare, mut quote) = (0, String::with_capacity(sql.len()), None);
    for (at, c) in sql.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' || c == '`' => {
                quote = Some(c);
                // The placeholder keeps the words around a string apart.
                bare.push('x');
            }
            None if c == ';' => {
                all.push((sql.get(from..at).unwrap_or_default(), std::mem::take(&mut bare)));
                from = at + 1;
            }
            None => bare.push(c.to_ascii_uppercase()),
        }
    }
    all.push((sql.get(from..).unwrap_or_default(), bare));
    all
}
