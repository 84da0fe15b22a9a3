import os
import re
import unittest
from pathlib import Path

TOP = Path(__file__).parents[4]
# Samples begin with the path of the file that they are.
SAMPLE = re.compile(r"```\w+\n(?:#|//) (src/embed/\S+|docs/\S+)\n(.*?)```", re.DOTALL)


class Documents(unittest.TestCase):
    def test_every_sample_of_the_pages_is_a_file_that_the_tests_run(self) -> None:
        here = Path(__file__).parent
        tests = "".join(path.read_text() for path in here.glob("test_*.py"))
        tests += "".join(path.read_text() for path in here.glob("../../*/test/*.ts"))
        for page, count in [("docs/embed.md", 3), ("docs/own-agent.md", 1)]:
            text = (TOP / page).read_text()
            samples = SAMPLE.findall(text)
            self.assertEqual(len(samples), count, page)
            self.assertEqual(len(re.findall(r"```(?:python|ts|sh)\n", text)), count, page)
            for name, code in samples:
                self.assertEqual((TOP / name).read_text(), code, name)
                self.assertIn(os.path.basename(name).split(".")[0], tests, f"no test runs {name}")
