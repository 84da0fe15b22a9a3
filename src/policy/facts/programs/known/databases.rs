//! Databases.

use super::common::STARTS_ANOTHER;
use crate::facts::programs::case::{case, drops};
use crate::facts::programs::checks::{sql, tools};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::when::{
    When::{All, Always, Any, Has, Holds, Nth, Operand, Says, Test},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("psql")
        .roles(&[Role::Database])
        .beyond(&[case(
            Any(&[Says(PSQL_RUNS), options("--file --output --log-file", "foL", "chpUdv")]),
            STARTS_ANOTHER,
        )])
        .critical(&[drops(Test(sql::runs_such))])
        .grant(AlwaysRule::words(2)),
    Program::named("pgcli")
        .beyond(&[case(
            Any(&[Says(PSQL_RUNS), options("--file --output --log-file", "foL", "chpUdv")]),
            STARTS_ANOTHER,
        )])
        .critical(&[drops(Test(sql::runs_such))]),
    Program::named("mysql")
        .roles(&[Role::Database])
        .beyond(&[case(Any(&[Says(MYSQL_RUNS), options(MYSQL_OPTIONS, "", "")]), STARTS_ANOTHER)])
        .critical(&[drops(Test(sql::runs_such))])
        .grant(AlwaysRule::words(2)),
    Program::named("mariadb")
        .roles(&[Role::Database])
        .beyond(&[case(Any(&[Says(MYSQL_RUNS), options(MYSQL_OPTIONS, "", "")]), STARTS_ANOTHER)])
        .critical(&[drops(Test(sql::runs_such))]),
    Program::named("sqlite3")
        .roles(&[Role::Database])
        .beyond(&[case(
            Any(&[Test(tools::dot_command), Says(SQLITE_RUNS), Has("-cmd -init")]),
            STARTS_ANOTHER,
        )])
        .critical(&[drops(Test(sql::runs_such))]),
    Program::named(DATABASES_NAMES).critical(&[drops(Test(sql::runs_such))]),
    Program::named("cqlsh duckdb")
        .roles(&[Role::Database])
        .critical(&[drops(Test(sql::runs_such))]),
    Program::named("dropdb dropuser").critical(&[drops(Always)]),
    Program::named("mysqladmin").critical(&[drops(Operand("drop"))]),
    // `EVAL` and `MODULE` run code in the server.
    Program::named("redis-cli")
        .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
        .critical(&[drops(Test(sql::flushes))])
        .grant(AlwaysRule::words(2)),
    Program::named("valkey-cli keydb-cli").critical(&[drops(Test(sql::flushes))]),
    Program::named("mongosh")
        .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
        .critical(&[drops(Holds(&["dropDatabase", ".drop()", "deleteMany({})", "remove({})"]))])
        .grant(AlwaysRule::words(2)),
    Program::named("mongo")
        .beyond(&[case(Any(&[Says(SCRIPTS_RUN), Has("CONFIG MODULE EVAL")]), STARTS_ANOTHER)])
        .critical(&[drops(Holds(&["dropDatabase", ".drop()", "deleteMany({})", "remove({})"]))]),
    Program::named("supabase").critical(&[drops(All(&[Nth(0, "db"), Nth(1, "reset")]))]),
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
