import stat
import tempfile
import unittest
from pathlib import Path

from countersign import ClientSettings, SetUp
from countersign.places import Places
from countersign.session import derived, secret


class Settings(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        self.config = self.home / ".config/countersign/countersign.toml"
        self.config.parent.mkdir(parents=True)

    def load(self, text: str | None = None, **env: str) -> ClientSettings:
        if text is not None:
            self.config.write_text(text)
        return ClientSettings.load(env={"HOME": str(self.home), **env})

    def servers(self, text: str | None = None, **env: str) -> list[str]:
        return [str(server) for server in self.load(text, **env).servers]

    def test_without_a_config_the_socket_is_the_daemons(self) -> None:
        state = f"unix:{self.home}/.local/state/countersign/countersign.sock"
        self.assertEqual(self.servers(), [state])
        self.assertEqual(self.servers(XDG_RUNTIME_DIR="run"), [state])
        runtime = self.servers(XDG_RUNTIME_DIR="/run/user/5")
        self.assertEqual(runtime, ["unix:/run/user/5/countersign/countersign.sock"])
        self.assertEqual(
            self.servers(XDG_STATE_HOME="/s"), ["unix:/s/countersign/countersign.sock"]
        )

    def test_the_daemons_section_moves_the_socket(self) -> None:
        here = self.config.parent
        self.assertEqual(self.servers('[daemon]\nsocket = "s"'), [f"unix:{here}/s"])
        self.assertEqual(
            self.servers('[daemon]\nstate_dir = "~/st"'), [f"unix:{self.home}/st/countersign.sock"]
        )
        self.assertEqual(self.servers(COUNTERSIGN__DAEMON__SOCKET="/x"), ["unix:/x"])

    def test_the_clients_section_names_daemons_and_a_token(self) -> None:
        urls = 'url = ["unix:s", "unix://~/t", "https://h:1/p/"]'
        text = f'[client]\n{urls}\ntoken = " t "\nca_file = "ca"'
        here = self.config.parent
        self.assertEqual(
            self.servers(text), [f"unix:{here}/s", f"unix:{self.home}/t", "https://h:1/p"]
        )
        loaded = self.load(text)
        self.assertEqual((loaded.token, loaded.ca_file), ("t", here / "ca"))
        self.assertNotIn("token", repr(loaded))

    def test_the_environment_overrides_the_file(self) -> None:
        file = self.home / "token"
        file.write_text("from a file\n")
        text = '[client]\nurl = "unix:/a"\ntoken = "t"'
        self.assertEqual(self.servers(text, COUNTERSIGN__CLIENT__URL="unix:/b"), ["unix:/b"])
        both = self.servers(text, COUNTERSIGN__CLIENT__URL='["unix:/b", "unix:/c"]')
        self.assertEqual(both, ["unix:/b", "unix:/c"])
        self.assertEqual(self.load(text, COUNTERSIGN__CLIENT__TOKEN="123").token, "123")
        self.assertEqual(
            self.load(text, COUNTERSIGN__CLIENT__TOKEN_FILE=str(file)).token, "from a file"
        )
        named = self.home / "other.toml"
        named.write_text('[client]\nurl = "unix:o"')
        self.assertEqual(self.servers(text, COUNTERSIGN_CONFIG=str(named)), [f"unix:{self.home}/o"])

    def test_mistakes_are_sentences(self) -> None:
        for text, env, sentence in [
            ('[client]\nurl = "http://h.example"', {}, "plain http to another machine"),
            ('[client]\nurl = "ftp://h"', {}, "must be `unix:PATH` or"),
            ('[client]\nurl = "https://u:p@h"', {}, "must be `unix:PATH` or"),
            ('[client]\nurl = "http://[::1"', {}, "must be `unix:PATH` or"),
            ("[client]\nurl = []", {}, "is empty"),
            ("[client]\nurl = 5", {}, "an address or a list"),
            ("[client]\ntoken = 5", {}, "must be a text"),
            ('[client]\ninsecure_http = "yes"', {}, "must be true or false"),
            ("client = 5", {}, "must be a section"),
            ("[client", {}, "cannot be read"),
            ("", {"COUNTERSIGN_CONFIG": "/nowhere.toml"}, "does not exist"),
            ("", {"COUNTERSIGN__CLIENT__TOKEN_FILE": "/nowhere"}, "cannot be read"),
        ]:
            with self.subTest(text=text), self.assertRaisesRegex(SetUp, sentence):
                self.load(text, **env)

    def test_plain_http_is_for_loopback_unless_the_config_says_so(self) -> None:
        for url in ("http://127.0.0.1:7117", "http://localhost", "http://[::1]:7"):
            self.assertEqual(self.servers(f'[client]\nurl = "{url}"'), [url])
        far = '[client]\nurl = "http://far.example"\ninsecure_http = true'
        self.assertEqual(self.servers(far), ["http://far.example"])

    def test_a_key_is_made_once_for_its_owner_alone(self) -> None:
        places = Places.of_this_user({"HOME": str(self.home)})
        made = secret("a", "s", places)
        self.assertEqual(secret("a", "s", places), made)
        file = places.state / "client.key"
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)]
        self.assertEqual(modes, [0o600, 0o700])
        self.assertEqual(list(places.state.iterdir()), [file])
        file.write_text("cut")
        self.assertIsNone(secret("a", "s", places))
        self.assertEqual(file.read_text(), "cut")

    def test_every_session_of_every_agent_has_a_secret_of_its_own(self) -> None:
        secrets = {derived("a-key", *names) for names in [("a", "bc"), ("ab", "c"), ("", "abc")]}
        self.assertEqual(len(secrets), 3)
        self.assertNotEqual(derived("another", "a", "bc"), derived("a-key", "a", "bc"))
