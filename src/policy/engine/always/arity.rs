//! How many words of a command name what it does: `git push` is two, `npm run build` three.

/// The words of `tokens` that name what the command does.
#[must_use]
pub fn prefix<'t, 'w>(tokens: &'t [&'w str]) -> &'t [&'w str] {
    let words = match tokens {
        [one, two, ..] if ALSO_THREE_BY_TWO.contains(&(*one, *two)) => 3,
        [one, ..] if ALSO_TWO.contains(one) => 2,
        _ => return molf_prefix(tokens),
    };
    tokens.get(..words).unwrap_or(tokens)
}

/// The same by molf's table, which ours adds to.
#[must_use]
pub fn molf_prefix<'t, 'w>(tokens: &'t [&'w str]) -> &'t [&'w str] {
    tokens.get(..arity(tokens)).unwrap_or(tokens)
}

fn arity(tokens: &[&str]) -> usize {
    match tokens {
        [] => 0,
        [one, two, ..] if THREE_BY_TWO.contains(&(*one, *two)) => 3,
        [one, ..] if THREE.contains(one) => 3,
        [one, ..] if TWO.contains(one) => 2,
        _ => 1,
    }
}

/// What is not in molf's table.
const ALSO_TWO: &[&str] = &["pip3", "tofu", "uv"];

/// Runners whose rule names what they run.
const ALSO_THREE_BY_TWO: &[(&str, &str)] =
    &[("bundle", "exec"), ("go", "run"), ("pipenv", "run"), ("poetry", "run"), ("uv", "run")];

/// Programs with sub-commands of sub-commands throughout.
const THREE: &[&str] = &["aws", "az", "doctl", "gcloud", "gh", "sfdx"];

/// Programs with sub-commands.
const TWO: &[&str] = &[
    "bazel",
    "brew",
    "bun",
    "bunx",
    "cargo",
    "cdk",
    "cf",
    "cmake",
    "composer",
    "consul",
    "crictl",
    "deno",
    "docker",
    "eksctl",
    "firebase",
    "flyctl",
    "git",
    "go",
    "gradle",
    "helm",
    "heroku",
    "hugo",
    "ip",
    "kind",
    "kubectl",
    "kustomize",
    "make",
    "mc",
    "minikube",
    "mongosh",
    "mvn",
    "mysql",
    "ng",
    "npm",
    "nvm",
    "nx",
    "openssl",
    "pip",
    "pipenv",
    "pnpm",
    "podman",
    "poetry",
    "psql",
    "pulumi",
    "pyenv",
    "python",
    "rake",
    "rbenv",
    "redis-cli",
    "rustup",
    "serverless",
    "skaffold",
    "sls",
    "sst",
    "swift",
    "systemctl",
    "terraform",
    "tmux",
    "turbo",
    "ufw",
    "vault",
    "vercel",
    "volta",
    "wp",
    "yarn",
];

/// Sub-commands with sub-commands of their own.
const THREE_BY_TWO: &[(&str, &str)] = &[
    ("bun", "run"),
    ("bun", "x"),
    ("cargo", "add"),
    ("cargo", "run"),
    ("consul", "kv"),
    ("deno", "task"),
    ("docker", "builder"),
    ("docker", "compose"),
    ("docker", "container"),
    ("docker", "image"),
    ("docker", "network"),
    ("docker", "volume"),
    ("eksctl", "create"),
    ("git", "config"),
    ("git", "remote"),
    ("git", "stash"),
    ("ip", "addr"),
    ("ip", "link"),
    ("ip", "netns"),
    ("ip", "route"),
    ("kind", "create"),
    ("kubectl", "kustomize"),
    ("kubectl", "rollout"),
    ("mc", "admin"),
    ("npm", "exec"),
    ("npm", "init"),
    ("npm", "run"),
    ("npm", "view"),
    ("openssl", "req"),
    ("openssl", "x509"),
    ("pnpm", "dlx"),
    ("pnpm", "exec"),
    ("pnpm", "run"),
    ("podman", "container"),
    ("podman", "image"),
    ("pulumi", "stack"),
    ("terraform", "workspace"),
    ("vault", "auth"),
    ("vault", "kv"),
    ("yarn", "dlx"),
    ("yarn", "run"),
];
