//! Databases.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::changes::{deletes, says};
use crate::facts::programs::condition::When::{
    All, Always, Any, Has, Nth, NthStarts, Operand, Says, Starts, Test,
};
use crate::facts::programs::condition::{Case, case, destroys, drops, options};
use crate::facts::programs::description::{AlwaysRule, Program, Role};
use crate::facts::programs::known::{DELETES, STARTS_ANOTHER, names_outside};
use crate::facts::programs::{Words, listed};
use crate::shell::Word;

pub(super) static ALL: &[Program] = &[
    Program::named("psql")
        .roles(&[Role::Database])
        .beyond(&[PSQL_STARTS])
        .critical(&[RUNS_SUCH])
        .grant(AlwaysRule::words(2)),
    Program::named("pgcli").beyond(&[PSQL_STARTS]).critical(&[RUNS_SUCH]),
    MYSQL.grant(AlwaysRule::words(2)),
    MYSQL.renamed("mariadb"),
    Program::named("sqlite3")
        .roles(&[Role::Database])
        .beyond(&[case(
            Any(&[
                Test(dot_command),
                Says(SQLITE_RUNS),
                Has("-cmd -init --cmd --init"),
                Test(names_outside),
                Starts("-A --A"),
            ]),
            STARTS_ANOTHER,
        )])
        .critical(&[RUNS_SUCH]),
    Program::named(DATABASES_NAMES).critical(&[RUNS_SUCH]),
    Program::named("cqlsh duckdb").roles(&[Role::Database]).critical(&[RUNS_SUCH]),
    Program::named("dropdb").critical(&[drops(Always)]).changes(&[deletes(Always, 0, "database")]),
    Program::named("dropuser").critical(&[drops(Always)]).changes(&[deletes(Always, 0, "user")]),
    Program::named("mysqladmin mariadb-admin")
        .critical(&[drops(Operand("drop"))])
        .changes(&[deletes(Nth(0, "drop"), 1, "database")]),
    // `EVAL` and `MODULE` run code in the server.
    Program::named("redis-cli")
        .beyond(&[case(
            Any(&[Says(SCRIPTS_RUN), Test(rules_redis), Starts(REDIS_FILES)]),
            STARTS_ANOTHER,
        )])
        .roles(&[Role::Database])
        .critical(&[drops(Test(flushes))])
        .changes(&[says(Test(flushes), "deletes all keys")])
        .grant(AlwaysRule::words(2)),
    Program::named("valkey-cli keydb-cli").critical(&[drops(Test(flushes))]),
    MONGO.renamed("mongosh").grant(AlwaysRule::words(2)),
    MONGO,
    Program::named("mongorestore").critical(&[drops(Has("--drop"))]),
    Program::named("pg_restore").critical(&[drops(options("--clean", "c", "dfFhIjLnNpPSTtU"))]),
    Program::named("flyway").critical(&[drops(Operand("clean"))]),
    Program::named("liquibase").critical(&[drops(Operand("drop-all dropAll"))]),
    Program::named("dotnet").critical(&[
        drops(All(&[Nth(0, "ef"), Nth(1, "database"), Nth(2, "drop")])),
        destroys(All(&[Nth(0, "nuget"), Nth(1, "delete")])),
    ]),
    Program::named("diesel sqlx")
        .critical(&[drops(All(&[Nth(0, "database db"), Nth(1, "reset drop")]))]),
    Program::named("sea-orm-cli")
        .critical(&[drops(All(&[Nth(0, "migrate"), Nth(1, "fresh refresh reset")]))]),
    Program::named("dbmate goose migrate").critical(&[drops(Operand("drop reset"))]),
    Program::named("pg_dropcluster").critical(&[drops(Always)]),
    Program::named("influx").critical(&[drops(Any(&[
        Test(runs_such),
        Nth(0, "delete"),
        Nth(1, "delete"),
    ]))]),
    Program::named("rabbitmqctl rabbitmqadmin")
        .critical(&[drops(NthStarts(0, "reset force_reset delete purge"))]),
    Program::named("kafka-topics kafka-topics.sh").critical(&[drops(Has("--delete"))]),
    Program::named("supabase")
        .critical(&[drops(All(&[Nth(0, "db"), Nth(1, "reset")])), DELETES])
        .changes(&[says(
            All(&[Nth(0, "db"), Nth(1, "reset")]),
            "deletes all data of the database",
        )]),
    Program::named("bq").critical(&[RUNS_SUCH, destroys(Nth(0, "rm"))]),
];

/// Programs of packages that change databases.
pub(crate) const MIGRATES: Words = "prisma sequelize sequelize-cli typeorm knex drizzle-kit";
const PSQL_STARTS: Case = case(
    Any(&[
        Says(PSQL_RUNS),
        Test(talks_to_psql),
        options("--file --output --log-file", "foL", "chpUdv"),
    ]),
    STARTS_ANOTHER,
);
const MYSQL: Program =
    Program::named("mysql").roles(&[Role::Database]).beyond(&[MYSQL_STARTS]).critical(&[RUNS_SUCH]);
const MONGO: Program = Program::named("mongo")
    .roles(&[Role::Database])
    .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
    .critical(&[drops(Test(empties_a_collection))]);
const MYSQL_STARTS: Case = case(
    Any(&[Says(MYSQL_RUNS), Test(talks_to_mysql), options(MYSQL_OPTIONS, "", "")]),
    STARTS_ANOTHER,
);

// These start programs, or read and write files of the client or the server.
pub(super) const RUNS_SUCH: Case = drops(Test(runs_such));
const PSQL_RUNS: &[&str] = &[
    "\\!",
    "program",
    "\\copy",
    "\\o ",
    "\\g ",
    "\\i ",
    "\\w ",
    "pg_read",
    "pg_ls",
    "dblink",
    "extension",
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
const SQLITE_RUNS: &[&str] = &[
    "writefile",
    "load_extension",
    "readfile",
    "attach",
    "vacuum",
    "edit(",
    "fts3_tokenizer",
    "\n.",
];
const DATABASES_NAMES: Words = "\
    sqlite sqlcmd clickhouse-client clickhouse usql mycli snowsql cockroach";
const REDIS_FILES: Words = "--rdb --pipe --eval --functions-rdb";
const REDIS_RULES: Words = "\
    CONFIG MODULE EVAL EVALSHA SCRIPT FUNCTION FCALL ACL DEBUG SLAVEOF REPLICAOF MIGRATE RESTORE \
    SAVE BGSAVE SHUTDOWN CLUSTER FAILOVER SENTINEL MONITOR";
const SCRIPTS_RUN: &[&str] =
    &["eval", "config set", "module load", "slaveof", "replicaof", "debug", "script"];

/// Returns true for a backslash among the words of psql, unless it lists tables and the like, and
/// for `COPY`.
fn talks_to_psql(args: &Arguments<'_, '_>) -> bool {
    const LISTS: &str = " +._*";
    given(args).any(|text| {
        let lists = text.strip_prefix("\\").is_some_and(|text| {
            text.starts_with(['d', 'l'])
                && !text.starts_with("lo")
                && text.chars().all(|c| c.is_alphanumeric() || LISTS.contains(c))
        });
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        text.contains('\\') && !lists || words.any(|it| it.eq_ignore_ascii_case("copy"))
    })
}

/// Returns true when a line or a statement is not one of SQL: mysql has commands of its own.
fn talks_to_mysql(args: &Arguments<'_, '_>) -> bool {
    const SQL: Words = "\
        SELECT SHOW DESCRIBE DESC EXPLAIN USE INSERT UPDATE DELETE REPLACE CREATE ALTER DROP \
        TRUNCATE BEGIN START COMMIT ROLLBACK SET WITH CALL ANALYZE OPTIMIZE GRANT REVOKE";
    let foreign = |part: &str| {
        let first = part.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        first.is_some_and(|word| !listed(SQL, &word.to_ascii_uppercase()))
    };
    let scripts = args.values("-e --execute").into_iter().chain(args.input());
    scripts.into_iter().any(|text| text.contains('\\') || text.split(';').any(foreign))
}

/// Returns true for a command of Redis that rules the server or runs a script.
fn rules_redis(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| listed(REDIS_RULES, &word.text.to_ascii_uppercase()))
}

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
    given(args).any(drops_rows)
}

/// Iterates over the words, the values in them (`-cTEXT`, `--command=TEXT`) and the input.
fn given<'w>(args: &Arguments<'w, '_>) -> impl Iterator<Item = &'w str> {
    let values = args.texts().filter_map(|text| match text.strip_prefix("--") {
        Some(long) => long.split_once('=').map(|(_, value)| value),
        None => text.strip_prefix('-').and_then(|_| text.get(2..)),
    });
    args.texts().chain(values).chain(args.input())
}

/// Returns true when MongoDB drops a collection or more, or deletes without a condition.
fn empties_a_collection(args: &Arguments<'_, '_>) -> bool {
    given(args).any(empties)
}

fn empties(script: &str) -> bool {
    let bare: String = script.chars().filter(|c| !c.is_whitespace()).collect();
    let ways =
        ["dropDatabase(", ".drop(", ".deleteMany({})", ".deleteMany()", ".remove({})", ".remove()"];
    ways.iter().any(|way| bare.contains(way))
}

/// Returns true when one of the commands of a text empties Redis.
fn flushes_all(text: &str) -> bool {
    let first = |line: &str| line.split_whitespace().next().map(str::to_ascii_uppercase);
    text.lines().filter_map(first).any(|word| listed("FLUSHALL FLUSHDB", &word))
}

/// Returns true when a text that flows into a database drops or empties something in it.
pub(crate) fn destroys_as_input(text: &str) -> bool {
    drops_rows(text) || empties(text) || flushes_all(text)
}

/// Returns true when Redis empties or stops itself.
fn flushes(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let is = |word: &Word<'_>, list: &str| listed(list, &word.text.to_ascii_uppercase());
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let first = words.iter().find(|word| !number(&word.text));
    let some = |list: &str| words.iter().any(|word| is(word, list));
    let exact = words.iter().any(|word| listed("FLUSHALL FLUSHDB", &word.text));
    let scripted = || args.any(|text| text.to_ascii_lowercase().contains("flush"));
    let evaluates = first.is_some_and(|word| is(word, "EVAL")) && scripted();
    // The keys of `| xargs redis-cli DEL` may be all.
    let keys = args.open && first.is_some_and(|word| is(word, "DEL UNLINK"));
    // The words may also be keys or values of another command: `GET FLUSHALL`.
    args.input().any(flushes_all)
        || evaluates
        || keys
        || first.is_some_and(|word| is(word, "FLUSHALL FLUSHDB SHUTDOWN"))
        || exact && args.operand(0) != "GET"
        || some("FLUSHALL FLUSHDB") && !some("GET SET DEL EXISTS TYPE TTL COMMAND HELP")
}

/// Returns true when a statement drops, truncates or deletes without a condition. Quoted strings
/// are data, and comments are nothing: to MySQL also those that start with `#`.
pub(crate) fn drops_rows(sql: &str) -> bool {
    [false, true].into_iter().any(|mysql| {
        let text = without_comments(sql, mysql);
        statements(&text).iter().any(|(_, bare)| removes(bare))
    })
}

fn removes(bare: &str) -> bool {
    let apart = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',');
    let words: Vec<&str> = bare.split(apart).filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    let condition = || {
        let at = words.iter().rposition(|word| *word == "WHERE");
        let condition = at.and_then(|at| words.get(at + 1..)).unwrap_or_default().concat();
        !matches!(&*condition, "" | "1" | "1=1" | "TRUE")
    };
    let loses = |pair: &[&str]| match pair {
        ["DROP", what] => !matches!(*what, "NOT" | "DEFAULT" | "IDENTITY" | "EXPRESSION"),
        _ => false,
    };
    match words.as_slice() {
        ["DROP", _, ..] | ["TRUNCATE", _, ..] => true,
        ["DELETE", _, ..] => !condition(),
        ["UPDATE", ..] => has("SET") && !condition(),
        ["ALTER", ..] => words.windows(2).any(loses),
        // These carry another statement.
        ["WITH" | "EXPLAIN", ..] => (has("DELETE") || has("UPDATE") && has("SET")) && !condition(),
        ["DO", ..] => has("DROP") || has("TRUNCATE") || has("DELETE") && !condition(),
        _ => false,
    }
}

/// Returns the text with a blank for each comment; `/*! … */` is none to MySQL. Quoted comments are
/// text.
fn without_comments(sql: &str, mysql: bool) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    let mut quote = None;
    while let Some(c) = rest.chars().next() {
        let line = rest.starts_with("--")
            && (!mysql || rest.chars().nth(2).is_none_or(char::is_whitespace))
            || mysql && c == '#';
        let skipped = match quote {
            None if line => rest.find('\n').unwrap_or(rest.len()),
            None if rest.starts_with("/*!") => {
                let digits = rest.bytes().skip(3).take_while(u8::is_ascii_digit).count();
                3 + digits
            }
            None if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            None if rest.starts_with("*/") => 2,
            _ => 0,
        };
        if skipped > 0 {
            out.push(' ');
            rest = rest.get(skipped..).unwrap_or_default();
            continue;
        }
        match quote {
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            Some(open) if c == open => quote = None,
            // To MySQL a backslash protects a quote.
            Some(_) if mysql && c == '\\' => {
                out.push('x');
                rest = rest.get(1..).unwrap_or_default();
                let behind = rest.chars().next().map_or(0, char::len_utf8);
                rest = rest.get(behind..).unwrap_or_default();
                continue;
            }
            _ => {}
        }
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
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
    let mut from = 0;
    let mut bare = String::with_capacity(sql.len());
    let mut quote = None;
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
