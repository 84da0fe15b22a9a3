//! The real binary in end-to-end tests: starts, kills and restarts it, and calls it over HTTP.

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::watch,
    task::JoinHandle,
};

/// The agents' token of every test.
pub const AGENT: &str = "agent-token-of-the-tests";
/// The approver's token of every test.
pub const APPROVER: &str = "approver-token-of-the-tests";
/// Longer than any operation here takes.
pub const LONG: Duration = Duration::from_secs(20);

/// A daemon in its own folder.
pub struct Daemon {
    pub dir: TempDir,
    /// The folder of its config, relative to its home folder `dir`.
    folder: &'static str,
    child: Option<Child>,
    stderr: watch::Receiver<String>,
    /// Its address, such as `http://127.0.0.1:4711`.
    pub url: String,
    /// The inbox's URL with its token, as printed on the ready line.
    pub inbox: String,
    pub http: reqwest::Client,
}

impl Daemon {
    /// Starts a daemon with this config, to which its own paths are added.
    pub async fn start(config: &str) -> Self {
        Self::start_with(config, &[]).await
    }

    /// The same, with these files beside its config.
    pub async fn start_with(config: &str, files: &[(&str, &str)]) -> Self {
        Self::start_at("", config, files).await
    }

    /// The same, with its config and files in a folder below its home.
    pub async fn start_at(folder: &'static str, config: &str, files: &[(&str, &str)]) -> Self {
        let mut daemon = Self::prepared(folder, config, files);
        daemon.run().await;
        daemon
    }

    /// The same, not started yet.
    pub fn prepared(folder: &'static str, config: &str, files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        for (name, text) in files {
            private_file(&dir.path().join(folder).join(name), text);
        }
        let daemon = Self {
            dir,
            folder,
            child: None,
            stderr: watch::channel(String::new()).1,
            url: String::new(),
            inbox: String::new(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        };
        daemon.write_config(config);
        daemon
    }

    /// Rewrites the config, which applies from the next start.
    pub fn write_config(&self, config: &str) {
        let at = self.dir.path().join(self.folder);
        let at = at.display().to_string();
        let at = at.trim_end_matches('/');
        let store = if config.contains("[store]") {
            String::new()
        } else {
            format!("[store]\nurl = \"sqlite:{at}/state/countersign.db\"\n")
        };
        let text = format!(
            // Port 0, because tests run in parallel.
            "{config}\n[daemon]\nsocket = \"{at}/countersign.sock\"\nlisten = \"127.0.0.1:0\"\n\
             state_dir = \"{at}/state\"\nagent_token = \"{AGENT}\"\napprover_token = \"{APPROVER}\"\n\
             {store}"
        );
        private_file(&self.config(), &text);
    }

    /// The config file.
    pub fn config(&self) -> PathBuf {
        self.dir.path().join(self.folder).join("countersign.toml")
    }

    /// A command of the same binary with the same config.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        // A test that panics leaves no daemon behind.
        command.arg("--config").arg(self.config()).args(args).kill_on_drop(true);
        // A developer's own variables must not change the config under test.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.dir.path()).env("RUST_LOG", "countersign=info");
        // What a test expects of a time is told in its own zone.
        command.envs(std::env::var_os("TZ").map(|zone| ("TZ", zone)));
        command
    }

    /// Starts the daemon and waits for its ready line.
    pub async fn run(&mut self) {
        self.run_with(&[]).await;
    }

    /// The same with these options.
    pub async fn run_with(&mut self, options: &[&str]) {
        let command = self.command(&[&["serve"], options].concat());
        self.run_by(command).await;
    }

    /// The same with this umask.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub async fn run_under(&mut self, umask: &str) {
        let umask = format!("umask {umask}; exec \"$0\" \"$@\"");
        let command = started_by(&["sh", "-c", &umask], &self.command(&["serve"]));
        self.run_by(command).await;
    }

    /// The same with this number of worker threads.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub async fn run_on_workers(&mut self, workers: usize) {
        let mut command = self.command(&["serve"]);
        command.env("TOKIO_WORKER_THREADS", workers.to_string());
        self.run_by(command).await;
    }

    /// The same by a clock that is later by so many seconds as it says in the file `late` of its
    /// home, once that exists; whether there is a C compiler to make that clock.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub async fn run_by_late_clock(&mut self) -> bool {
        let [clock, late] = ["clock.so", "late"].map(|name| self.dir.path().join(name));
        if !clock.exists() {
            let mut made = Command::new("cc");
            made.args(["-shared", "-fPIC", "-o"]).arg(&clock).arg("tests/support/late_clock.c");
            if !made.status().await.is_ok_and(|made| made.success()) {
                println!("skipped: no C compiler for this platform's clock");
                return false;
            }
        }
        let mut serve = self.command(&["serve"]);
        serve.env("LD_PRELOAD", &clock).env("LATE_CLOCK", &late);
        self.run_by(serve).await;
        true
    }

    /// Sets the clock of a daemon that runs by a late one.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub fn late_by(&self, seconds: i64) {
        // At once, because the daemon reads it all the time.
        let [new, late] = ["late.new", "late"].map(|name| self.dir.path().join(name));
        std::fs::write(&new, seconds.to_string()).unwrap();
        std::fs::rename(new, late).unwrap();
    }

    async fn run_by(&mut self, mut command: Command) {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (said, stderr) = watch::channel(String::new());
        let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
        // Read all the time: a full pipe would block the daemon.
        tokio::spawn(async move {
            while let Ok(Some(line)) = errors.next_line().await {
                said.send_modify(|text| {
                    text.push_str(&line);
                    text.push('\n');
                });
            }
        });
        self.stderr = stderr;
        self.child = Some(child);
        let ready = tokio::time::timeout(LONG, lines.next_line()).await.unwrap().unwrap();
        let Some(ready) = ready else { panic!("no ready line; it said: {}", self.said()) };
        self.inbox = ready.strip_prefix("ready ").unwrap().to_owned();
        self.url = self.inbox.split("/?").next().unwrap().to_owned();
    }

    /// Its output on stderr so far.
    pub fn said(&self) -> String {
        self.stderr.borrow().clone()
    }

    /// Waits until this is in its output.
    pub async fn says(&mut self, words: &str) {
        let heard = self.stderr.wait_for(|text| text.contains(words));
        let heard = matches!(tokio::time::timeout(LONG, heard).await, Ok(Ok(_)));
        assert!(heard, "it never said `{words}`; it said: {}", self.said());
    }

    /// Waits until this is in its output so often.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub async fn says_so_often(&mut self, words: &str, times: usize) {
        let heard = self.stderr.wait_for(|text| text.matches(words).count() >= times);
        let heard = matches!(tokio::time::timeout(LONG, heard).await, Ok(Ok(_)));
        assert!(heard, "it did not say `{words}` {times} times; it said: {}", self.said());
    }

    /// Kills it without warning, as a power cut would.
    pub async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id().unwrap()
    }

    /// Sends a signal, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Stops it as a service manager would; returns whether it exited successfully.
    pub async fn stop(&mut self) -> bool {
        self.signal("TERM");
        let mut child = self.child.take().unwrap();
        tokio::time::timeout(LONG, child.wait()).await.unwrap().unwrap().success()
    }

    /// Submits a call; returns status and body.
    pub async fn call(&self, call: &Value) -> (u16, Value) {
        self.post("/v1/calls", AGENT, call).await
    }

    /// Submits a call that has to be asked; returns the ask's id.
    pub async fn ask(&self, call: &Value) -> String {
        let (status, body) = self.call(call).await;
        assert_eq!((status, &body["verdict"]), (202, &json!("ask")), "{body}");
        body["ask"].as_str().unwrap().to_owned()
    }

    /// Submits a call, and waits for the answer in a task.
    pub fn waiting(&self, call: Value) -> JoinHandle<Value> {
        let request =
            self.http.post(format!("{}/v1/calls?wait=30", self.url)).bearer_auth(AGENT).json(&call);
        tokio::spawn(async move { request.send().await.unwrap().json().await.unwrap() })
    }

    /// The ask, of any agent.
    pub async fn read(&self, id: &str) -> Value {
        self.get(&format!("/v1/asks/{id}"), APPROVER).await.1
    }

    /// Waits until the ask is closed, and returns it.
    pub async fn closed(&self, id: &str) -> Value {
        // As an approver: an agent that waits would become a caller of the ask.
        let ask = self.get(&format!("/v1/asks/{id}?wait=20"), APPROVER).await.1;
        assert_ne!(ask["state"], "open", "{ask}");
        ask
    }

    /// All open asks.
    pub async fn open(&self) -> Vec<Value> {
        self.all_in("open").await
    }

    /// All asks in a state, from all pages.
    pub async fn all_in(&self, state: &str) -> Vec<Value> {
        let (mut asks, mut path) = (Vec::new(), format!("/v1/asks?state={state}"));
        loop {
            let (status, page) = self.get(&path, APPROVER).await;
            assert_eq!(status, 200, "{page}");
            asks.extend(page["asks"].as_array().unwrap().iter().cloned());
            let Some(next) = page["next"].as_str() else { return asks };
            path = format!("/v1/asks?state={state}&after={next}");
        }
    }

    /// Answers with the approver's token.
    pub async fn answer(&self, id: &str, answer: &Value) -> (u16, Value) {
        self.post(&format!("/v1/asks/{id}/answer"), APPROVER, answer).await
    }

    /// Sends a GET with a token.
    pub async fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let request = self.http.get(format!("{}{path}", self.url)).bearer_auth(token);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or(Value::Null))
    }

    /// The reply to an approver's GET, once it is as wanted: what the store is told a moment later
    /// has no event of its own.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let since = tokio::time::Instant::now();
        loop {
            let (_, reply) = self.get(path, APPROVER).await;
            if wanted(&reply) {
                return reply;
            }
            assert!(since.elapsed() < LONG, "{path} stays {reply}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a POST with a token.
    pub async fn post(&self, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let request = self.http.post(format!("{}{path}", self.url)).bearer_auth(token);
        let response = request.json(body).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or(Value::Null))
    }

    /// Lets the deadline of an open ask pass. A short deadline would race what a test awaits first.
    /// That somebody was reached is known once its card stands, a moment after a chat shows it.
    #[allow(dead_code, reason = "not every test program has need of it")]
    pub async fn deadline_passes(&self, id: &str) {
        let file = self.dir.path().join(self.folder).join("state/countersign.db");
        let mut store =
            SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
        let past = "UPDATE ask SET deadline_at = created_at WHERE id = $1 AND state = 'open'";
        let passed = sqlx::query(past).bind(id).execute(&mut store).await.unwrap();
        assert_eq!(passed.rows_affected(), 1, "{id} has a deadline to pass");
        store.close().await.unwrap();
    }

    /// Waits until the ask is closed, and asserts its state.
    pub async fn ask_reaches(&self, id: &str, state: &str) -> Value {
        let ask = self.closed(id).await;
        assert_eq!(ask["state"], state, "{ask}");
        ask
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the daemon said:\n{}", self.said());
        }
    }
}

/// This command, started by another one: `nohup`, or `env` and `sh` with their options.
#[allow(dead_code, reason = "not every test program has need of it")]
pub fn started_by(starter: &[&str], command: &Command) -> Command {
    let command = command.as_std();
    let mut started = Command::new(starter[0]);
    started.args(&starter[1..]).arg(command.get_program()).args(command.get_args());
    started.env_clear().kill_on_drop(true);
    started.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    started
}

pub fn private_file(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, mode).unwrap();
}

/// A shell call in the session `one`.
pub fn shell(command: &str) -> Value {
    json!({"agent": "tester", "session": "one", "cwd": "/home/ana/shop", "host": "mill",
        "tool": "shell_exec", "args": {"command": command}})
}
