//! Databases, clouds and clusters.

use crate::facts::access::operands;
use crate::shell::{Command, RedirectOp, Word, WordKind};

#[rustfmt::skip]
pub(super) fn judge(name: &str, args: &[Word<'_>], command: &Command<'_>) -> Option<&'static str> {
    // Worked out only where a name asks for it: most commands are none of these.
    let has = |wanted: &[&str]| args.iter().any(|w| wanted.contains(&&*w.text));
    let words = || operands(args, VALUES);
    let word = |at: usize| words().get(at).map(|w| &*w.text).unwrap_or_default();
    let any = |test: &dyn Fn(&str) -> bool| words().iter().any(|w| test(&w.text));
    let looks = || has(&["--help", "-help", "--dry-run", "--dry-run=client", "--dryrun", "help"]);
    let infra = match name.as_bytes() {
        b"terraform" | b"tofu" | b"terragrunt" => word(0) == "destroy" || any(&|w| w == "run-all" || w == "run") && has(&["destroy"]) || matches!(word(0), "apply") && has(&["-destroy", "--destroy"]),
        b"pulumi" | b"cdk" | b"cdktf" | b"sls" | b"serverless" | b"copilot" | b"sam" => matches!(word(0), "destroy" | "remove" | "delete") || word(0) == "stack" && word(1) == "rm",
        b"kubectl" | b"oc" => matches!(word(0), "delete" | "drain") && (has(&["--all", "-A", "--all-namespaces", "-f", "-k"]) || matches!(word(1), "ns" | "namespace" | "namespaces" | "pv" | "pvc" | "node" | "nodes" | "crd" | "all" | "deployment" | "deploy" | "statefulset" | "sts") || word(1).split('/').next().is_some_and(|k| matches!(k, "ns" | "namespace" | "pv" | "pvc" | "node" | "crd")) || word(0) == "drain"),
        b"helm" => matches!(word(0), "uninstall" | "delete" | "del" | "un"),
        b"eksctl" | b"kops" | b"kind" | b"doctl" | b"linode-cli" | b"hcloud" | b"scw" | b"exo" => any(&|w| matches!(w, "delete" | "rm" | "destroy")) && name != "kind",
        b"aws" => any(&|w| w.starts_with("delete-") || w.starts_with("terminate-") || w.starts_with("deregister-") || w == "batch-delete-image") || word(0) == "s3" && (matches!(word(1), "rb") || word(1) == "rm" && has(&["--recursive"]) || word(1) == "sync" && has(&["--delete"])),
        b"gsutil" | b"s3cmd" | b"mc" | b"rclone" => matches!(word(0), "rm" | "rb" | "purge" | "del" | "delete" | "rd") || has(&["-m"]) && any(&|w| w == "rm"),
        b"gcloud" | b"az" | b"oci" | b"ibmcloud" | b"aliyun" => any(&|w| matches!(w, "delete" | "purge" | "destroy" | "terminate")),
        b"docker" | b"podman" | b"nerdctl" => docker(args, &words()),
        b"docker-compose" => word(0) == "down" && has(&["-v", "--volumes"]),
        b"heroku" => word(0).ends_with(":destroy") || word(0).ends_with(":reset") || word(0).ends_with(":delete"),
        b"gh" | b"glab" => matches!(word(0), "repo" | "release" | "secret" | "project") && word(1) == "delete" || word(0) == "api" && has(&["DELETE"]),
        b"vercel" | b"now" | b"netlify" | b"fly" | b"flyctl" | b"wrangler" | b"railway" | b"firebase" | b"render" | b"surge" => any(&|w| matches!(w, "rm" | "remove" | "destroy" | "delete" | "teardown") || w.ends_with(":delete") || w.ends_with(":destroy")),
        b"vault" => any(&|w| matches!(w, "destroy" | "delete" | "revoke" | "seal")),
        b"consul" | b"nomad" | b"etcdctl" => any(&|w| matches!(w, "delete" | "del" | "purge")) || has(&["-purge"]),
        b"npm" | b"pnpm" => matches!(word(0), "unpublish"),
        b"cargo" => word(0) == "yank",
        _ => false,
    };
    if infra {
        return (!looks()).then_some("destroys infrastructure or data elsewhere");
    }
    let database = match name.as_bytes() {
        b"psql" | b"mysql" | b"mariadb" | b"sqlite3" | b"sqlite" | b"cqlsh" | b"duckdb" | b"sqlcmd" | b"clickhouse-client" | b"clickhouse" | b"usql" | b"mycli" | b"pgcli" | b"bq" | b"snowsql" | b"cockroach" => {
            args.iter().any(|w| destroys(&w.text)) || input(command).any(destroys)
        }
        b"dropdb" | b"dropuser" => true,
        b"mysqladmin" => any(&|w| w == "drop"),
        b"redis-cli" | b"valkey-cli" | b"keydb-cli" => words().iter().find(|w| !w.text.bytes().all(|b| b.is_ascii_digit() || b == b'.')).map(|w| w.text.to_ascii_uppercase()).is_some_and(|w| matches!(w.as_str(), "FLUSHALL" | "FLUSHDB" | "SHUTDOWN")) || any(&|w| matches!(w, "FLUSHALL" | "FLUSHDB")) && word(0) != "GET" || any(&|w| matches!(w.to_ascii_lowercase().as_str(), "flushdb" | "flushall")) && !any(&|w| matches!(w.to_ascii_uppercase().as_str(), "GET" | "SET" | "DEL" | "EXISTS" | "TYPE" | "TTL" | "COMMAND" | "HELP")),
        b"mongosh" | b"mongo" => args.iter().any(|w| ["dropDatabase", ".drop()", "deleteMany({})", "remove({})"].iter().any(|p| w.text.contains(p))),
        b"rails" | b"rake" => any(&|w| w.starts_with("db:drop") || w.starts_with("db:reset") || w.starts_with("db:purge") || w.starts_with("db:schema:load") || w == "db:truncate_all"),
        b"prisma" => word(0) == "migrate" && word(1) == "reset" || has(&["--force-reset"]),
        b"artisan" | b"php" => any(&|w| matches!(w, "migrate:fresh" | "migrate:reset" | "migrate:refresh" | "db:wipe")),
        b"manage.py" | b"django-admin" | b"python" | b"python3" => any(&|w| matches!(w, "flush" | "reset_db" | "sqlflush")) && any(&|w| w.ends_with("manage.py")) || name.starts_with("django") && word(0) == "flush",
        b"mix" => any(&|w| matches!(w, "ecto.drop" | "ecto.reset")),
        b"sequelize" | b"sequelize-cli" | b"typeorm" | b"knex" | b"drizzle-kit" => any(&|w| matches!(w, "db:drop" | "schema:drop" | "drop" | "db:migrate:undo:all")),
        b"supabase" => word(0) == "db" && word(1) == "reset",
        b"alembic" => word(0) == "downgrade" && word(1) == "base",
        b"bundle" | b"bin/rails" => any(&|w| w.starts_with("db:drop") || w.starts_with("db:reset")),
        _ => false,
    };
    (database && !looks()).then_some("drops or empties a database")
}

/// Options in front of a sub-command whose value is no operand.
const VALUES: &[&str] =
    &["-h", "-p", "-n", "-a", "-u", "-U", "-d", "--host", "--port", "--namespace", "--context"];

fn docker(args: &[Word<'_>], words: &[&Word<'_>]) -> bool {
    let has = |wanted: &[&str]| args.iter().any(|w| wanted.contains(&&*w.text));
    let word = |at: usize| words.get(at).map(|w| &*w.text).unwrap_or_default();
    let host = args.iter().any(|w| {
        let text = &*w.text;
        text == "--privileged"
            || text.starts_with("/:")
            || text.starts_with("-v/:")
            || text.starts_with("--volume=/:")
            || text == "--pid=host"
            || text.contains("/var/run/docker.sock")
    });
    match word(0) {
        "system" | "volume" | "image" | "builder" | "network" | "container" => {
            word(1) == "prune"
                && (word(0) == "system" || word(0) == "volume" || has(&["-a", "-af", "--all"]))
                || word(0) == "volume" && matches!(word(1), "rm" | "remove")
        }
        "rm" | "rmi" | "kill" | "stop" => words.iter().any(|w| {
            w.kind == WordKind::Dynamic && w.text.contains("ps") || w.text.contains("docker images")
        }),
        "compose" => word(1) == "down" && has(&["-v", "--volumes"]),
        "swarm" => word(1) == "leave",
        "run" | "exec" | "create" => host,
        _ => false,
    }
}

/// What stands on a command's standard input as text.
fn input<'c>(command: &'c Command<'_>) -> impl Iterator<Item = &'c str> {
    let texts = command
        .redirects
        .iter()
        .filter(|r| matches!(r.op, RedirectOp::HereString | RedirectOp::HereDocument));
    texts.map(|r| &*r.target.text)
}

/// A statement that drops, truncates or deletes without a condition. Quoted strings are data.
pub(super) fn destroys(sql: &str) -> bool {
    let mut bare = String::with_capacity(sql.len());
    let mut quote = None;
    for c in sql.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' || c == '`' => {
                quote = Some(c);
                bare.push('x');
            }
            None => bare.push(c.to_ascii_uppercase()),
        }
    }
    bare.split(';').any(|statement| {
        let words: Vec<&str> = statement.split_whitespace().collect();
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
