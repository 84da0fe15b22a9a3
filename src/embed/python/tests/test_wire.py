import subprocess
import sys
import unittest
from pathlib import Path


class Wire(unittest.TestCase):
    def test_the_types_of_the_wire_are_those_of_the_openapi_document(self) -> None:
        made = Path(__file__).parents[2] / "wire.py"
        ran = subprocess.run([sys.executable, made, "--check"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (0, ""))
