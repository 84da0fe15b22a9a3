import unittest
from typing import Any

from countersign import (
    Accepts,
    Answered,
    Approved,
    By,
    ByAnswer,
    ByRule,
    Call,
    Cancelled,
    Denied,
    Edited,
    Expired,
    Question,
    StillOpen,
)
from countersign.decode import Odd, asked, submitted

from .fake import OPEN, PERSON, answered, call

PLAIN = call(accepts=[Accepts.UPDATED_INPUT, Accepts.STOP])
ASKING = Call.asking("a", "s", Question("Which?"))
ANA = By("person", name="Ana", platform="telegram", id="5")
AT = "2026-11-23T00:00:00Z"


class Replies(unittest.TestCase):
    def test_a_rule_an_open_ask_and_answers_are_told_apart(self) -> None:
        ruled = {"verdict": "deny", "reason": "no", "rule": "r", "message": "No."}
        self.assertEqual(submitted(ruled, PLAIN), Denied("no", ByRule("r"), "No."))
        self.assertEqual(submitted(OPEN, PLAIN), StillOpen("a1"))
        by = ByAnswer("a1", ANA, AT, scope="10m", note="well done")
        approved = answered("allow", "approve", scope="10m", reason="well done")
        self.assertEqual(submitted(approved, PLAIN), Approved("by Ana", by, None))
        self.assertEqual(asked(approved, PLAIN), Approved("by Ana", by, None))
        edited = answered("edited", "edit", updated_input={"command": "ls"})
        by = ByAnswer("a1", ANA, AT)
        self.assertEqual(asked(edited, PLAIN), Edited("by Ana", by, None, {"command": "ls"}))
        said = answered("answered", "answer", answers={"Which?": ["a", "b"]})
        self.assertEqual(asked(said, ASKING), Answered("by Ana", by, None, {"Which?": ["a", "b"]}))
        stop = answered("deny", "deny", stop=True)
        self.assertEqual(
            asked(stop, PLAIN), Denied("by Ana", ByAnswer("a1", ANA, AT, stop=True), None)
        )
        for state, ending in [("expired", Expired("a1")), ("cancelled", Cancelled("a1"))]:
            view = {"id": "a1", "state": state, "verdict": "deny", "reason": "nobody"}
            self.assertEqual(asked(view, PLAIN), Denied("nobody", ending, None))

    def test_no_reply_but_a_plain_allow_is_an_approval(self) -> None:
        nobody = {"decision": "approve", "at": "T", "by": {"kind": "timeout"}}
        closed: dict[str, Any] = {"ask": "a1", "id": "a1", "state": "answered"}
        for reply in [
            {},
            {"verdict": True},
            {"verdict": "Allow"},
            {"verdict": ["allow"]},
            {"verdict": "ask"},
            {"verdict": "ask", "ask": 5},
            {"verdict": "ask", "ask": "a1", "state": "answered"},
            {"verdict": "allow", "ask": "a1", "state": "open"},
            {"verdict": "allow", "ask": "a1", "state": "cancelled"},
            {"verdict": "allow", "ask": "a1", "state": "new"},
            {"verdict": "allow", "ask": "a1", "state": ["answered"]},
            {"verdict": "allow", **closed},
            {"verdict": "allow", **closed, "answer": []},
            {"verdict": "allow", **closed, "answer": {**nobody, "by": {"kind": "me"}}},
            {"verdict": "allow", **closed, "answer": {**nobody, "by": {"kind": []}}},
            {"verdict": "allow", **closed, "answer": {**nobody, "by": {"kind": "person"}}},
            {"verdict": "allow", **closed, "answer": {**nobody, "decision": "yes"}},
            {"verdict": "allow", **closed, "answer": {**nobody, "stop": "no"}},
            {"verdict": "allow", **closed, "answer": {**nobody, "answers": {"q": "Deny"}}},
            {"verdict": "allow", **closed, "answer": {**nobody, "updated_input": {}}},
            {"verdict": "allow", "reason": 5},
            {"verdict": "answered", "reason": "r"},
            {"verdict": "answered", **closed, "answer": {**nobody, "answers": {"q": 5}}},
            {"verdict": "answered", **closed, "answer": {**nobody, "answers": {"q": "Deny"}}},
            {"verdict": "answered", "ask": "a1", "state": "expired"},
            {"verdict": "edited", "reason": "r"},
            {"verdict": "edited", **closed, "answer": {**nobody, "decision": "edit"}},
        ]:
            with self.subTest(reply=reply), self.assertRaises(Odd):
                submitted(reply, PLAIN)

    def test_a_decision_that_does_not_fit_its_call_is_an_error(self) -> None:
        edited = answered("edited", "edit", updated_input={"command": "ls"})
        for reply, given in [
            (edited, call()),
            (answered("allow", "approve"), ASKING),
            (answered("answered", "answer", answers={"Which?": "a"}), PLAIN),
        ]:
            with self.subTest(reply=reply), self.assertRaises(Odd):
                asked(reply, given)

    def test_no_decision_is_a_bool(self) -> None:
        for decision in (Denied("no", ByRule(None), None), StillOpen("a1")):
            with self.assertRaisesRegex(TypeError, "is no bool"):
                bool(decision)

    def test_the_text_for_the_model_names_the_rule_once(self) -> None:
        for denied, text in [
            (
                Denied("denied by your rule", ByRule("Bash(rm *)"), None),
                "denied by your rule (Bash(rm *))",
            ),
            (Denied("denied by Bash(rm *)", ByRule("Bash(rm *)"), None), "denied by Bash(rm *)"),
            (Denied("denied by Ana: not today", Expired("a1"), None), "denied by Ana: not today"),
            (Denied("r", ByRule("x"), "Use pnpm."), "Use pnpm."),
            (Denied("", ByRule(None), None), "denied"),
        ]:
            self.assertEqual(denied.text_for_model, text)

    def test_a_person_is_who_is_named(self) -> None:
        approved = asked(answered("allow", "approve"), PLAIN)
        assert isinstance(approved.ending, ByAnswer)  # type: ignore[union-attr]
        self.assertEqual(vars(approved.ending.by), {**PERSON, "grant": None})  # type: ignore[union-attr]
