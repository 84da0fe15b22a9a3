//! Row 3: the bridge's own program, in any words that its parser understands.

use crate::guardrail::{at_home, home, shell};

#[tokio::test]
async fn row_3_no_words_of_our_program_let_an_agent_answer() {
    let daemon = at_home("").await;
    let program = env!("CARGO_BIN_EXE_countersign");
    let link = daemon.dir.path().join("shop/tool");
    std::os::unix::fs::symlink(program, &link).unwrap();
    std::fs::create_dir_all(daemon.dir.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(program, daemon.dir.path().join("bin/cs")).unwrap();
    let _ = std::fs::hard_link(program, daemon.dir.path().join("shop/hard"));
    for command in [
        "countersign approve x",
        "countersign --config ask approve x",
        "countersign --config=ask approve x",
        "countersign --config pending approve x --config ask",
        "countersign grants --config ask revoke x",
        "countersign grants --json revoke x",
        "countersign --help approve x",
        "countersign -- approve x",
        "countersign --conf x approve y",
        "countersign app* x",
        "countersign \"$x\" y",
        "countersign init --force",
        "countersign serve --config x",
        "countersign connect claude-code",
        "countersign backup x",
        "countersign restore x",
        "countersign up --yes",
        "countersign docs",
        "env A=1 nice -n 5 countersign deny x",
        "sudo -u ana countersign answer x y",
        "exec -a ls countersign approve x",
        "countersign acp -- countersign approve x",
        "countersign acp --race --mode plan -- env A=1 countersign approve x",
        "countersign host wcore -- sh -c 'countersign approve x'",
        "countersign mcp-proxy --name a -- countersign approve x",
        "bash -c 'countersign approve x'",
        "echo x | xargs countersign approve",
        "$(which countersign) approve x",
        "cs approve x",
        "~/bin/cs approve x",
        "./tool --config ask approve x",
        "./tool acp -- ./tool approve x",
        "cpulimit -l 5 -- countersign token add x",
        "@/shop/tool approve x",
        "cargo run -q -- approve x",
        "npx countersign approve x",
        "python3 -c 'import os; os.system(\"countersign approve x\")'",
        "/lib64/ld-linux-x86-64.so.2 countersign approve x",
    ] {
        assert_eq!(shell(&daemon, command).await, "deny", "{command}");
    }
    assert_eq!(shell(&daemon, &format!("{program} approve x")).await, "deny");
    if daemon.dir.path().join("shop/hard").exists() {
        assert_eq!(shell(&daemon, "./hard approve x").await, "deny");
    }
    for command in [
        "countersign --version",
        "countersign grants",
        "countersign policy check",
        "ccache countersign pending",
        "git add countersign docs",
        "echo countersign approve x",
        "grep -rn 'countersign approve' docs",
    ] {
        assert_eq!(shell(&daemon, command).await, "allow", "{command} in {}", home(&daemon));
    }
    for command in [
        "countersign --config evil.toml run -- rm x",
        "countersign --config evil.toml acp -- ls",
        "~/bin/cs host wcore -- ls",
        "ccache countersign approve x",
        "xterm -e countersign --config y deny x",
        "tar -I 'countersign approve x' -cf x y",
        "rg --pre 'countersign approve x' y",
        "rsync -e 'countersign approve x' a b",
        "GIT_EDITOR='countersign approve x' git commit",
    ] {
        assert_eq!(shell(&daemon, command).await, "ask", "{command}");
    }
}
