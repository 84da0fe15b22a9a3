#!/usr/bin/env python3
"""Writes the JSON types of both clients from docs/openapi.json: `wire.py` and `wire.ts`.

`--check` writes nothing and fails where a file is not what it would write.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMAS = json.loads((HERE / "../../docs/openapi.json").read_text())["components"]["schemas"]

# In an order in which each follows what it holds.
NAMES = [
    "Choice", "Question", "Behind", "Batch", "Accepts", "BudgetCall", "Budget", "Appeal", "Existing",
    "SubmitRequest", "CallVerdict", "AskState", "Decision", "Scope", "By", "OverruledView",
    "AnswerView",
    "CallReply", "Call", "EditView", "RequirementView", "ReviewView", "AskView", "AsksPage",
    "GrantScope", "GrantView", "GrantsPage", "CancelReason", "CancelRequest", "SessionRequest",
    "NonceReply", "ErrorReply",
]  # fmt: skip

MADE = "Made by src/embed/wire.py from docs/openapi.json; do not edit."


class Python:
    file = HERE / "python/countersign/wire.py"
    head = (
        f'"""The JSON of the HTTP API. {MADE}"""\n\nfrom __future__ import annotations\n\n'
        "from typing import Any, Literal, TypeAlias, TypedDict\n"
    )
    words = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}
    any, record, union = "Any", "dict[str, Any]", " | "

    @staticmethod
    def list(item: str) -> str:
        return f"list[{item}]"

    @staticmethod
    def const(word: str) -> str:
        return f'Literal["{word}"]'

    @staticmethod
    def alias(name: str, about: str, members: list[str]) -> str:
        # Quoted, because a plain `|` of forward references is evaluated when the module is read.
        one = f'{name}: TypeAlias = "{" | ".join(members)}"'
        if len(one) > 100:
            lines = "\n".join(f'    "{"| " if at else ""}{m} "' for at, m in enumerate(members))
            one = f"{name}: TypeAlias = (\n{lines}\n)"
        if all(member.startswith("Literal[") for member in members):
            words = [member[8:-1] for member in members]
            one = f"{name}: TypeAlias = Literal[{', '.join(words)}]"
            if len(one) > 100:
                lines = "".join(f"    {word},\n" for word in words)
                one = f"{name}: TypeAlias = Literal[\n{lines}]"
        return f'\n\n{one}\n"""{about}"""'

    @staticmethod
    def record_type(name: str, about: str, fields: list[tuple[str, str, bool, str]]) -> str:
        # Its first line begins with three quotes more, and its last ends with them.
        about = textwrap.fill(about, 90).replace("\n", "\n    ")

        def part(title: str, wanted: bool) -> str:
            text = f'\n\nclass {title}:\n    """{about}"""\n\n'
            for field, kind, required, doc in fields:
                if required == wanted:
                    text += comment(doc, "    # ", "") + f"    {field}: {kind}\n"
            return text.rstrip("\n")

        # A class cannot name a field `with`.
        odd = [field for field in fields if keyword.iskeyword(field[0])]
        fields = [field for field in fields if field not in odd]
        before, more = "", ""
        if odd:
            kinds = ", ".join(f'"{field[0]}": "{field[1]}"' for field in odd)
            more = f"_{name}Keywords"
            before = f'\n\n{more} = TypedDict("{more}", {{{kinds}}}, total=False)\n'
        needs = any(field[2] for field in fields)
        may = not all(field[2] for field in fields)
        # Python 3.10 has no `NotRequired`, so what may be absent is a class of its own.
        if needs and may:
            base = part(f"_{name}(TypedDict)", True)
            bases = f"_{name}, {more}" if more else f"_{name}"
            return before + base + "\n" + part(f"{name}({bases}, total=False)", False)
        return part(f"{name}(TypedDict{', total=False' if may else ''})", needs)


class TypeScript:
    file = HERE / "typescript/src/wire.ts"
    head = f"// The JSON of the HTTP API. {MADE}\n"
    words = {"string": "string", "integer": "number", "boolean": "boolean", "null": "null"}
    any, record, union = "unknown", "Record<string, unknown>", " | "

    @staticmethod
    def list(item: str) -> str:
        return f"({item})[]" if "|" in item else f"{item}[]"

    @staticmethod
    def const(word: str) -> str:
        return f'"{word}"'

    @staticmethod
    def alias(name: str, about: str, members: list[str]) -> str:
        one = f"export type {name} = {' | '.join(members)};"
        if len(one) > 100:
            one = f"export type {name} =" + "".join(f"\n  | {member}" for member in members) + ";"
        return f"\n/** {about} */\n{one}"

    @staticmethod
    def record_type(name: str, about: str, fields: list[tuple[str, str, bool, str]]) -> str:
        text = f"\n/** {about} */\nexport interface {name} {{\n"
        for field, kind, required, doc in fields:
            absent = "" if required else "?"
            text += comment(doc, "  /** ", " */", "   * ") + f"  {field}{absent}: {kind};\n"
        return text + "}"


def comment(text: str, begin: str, end: str, more: str | None = None) -> str:
    lines = textwrap.wrap(text, 100 - len(begin) - len(end))
    out = [f"{begin if at == 0 else more or begin}{line}" for at, line in enumerate(lines)]
    return "\n".join(out) + end + "\n" if out else ""


def kind(schema: dict, to: type) -> str:
    """A schema as a type of this language."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name not in NAMES:
            sys.exit(f"{name} is used and not written: put it into NAMES")
        return name
    if "const" in schema:
        return to.const(schema["const"])
    if "anyOf" in schema:
        return to.union.join(kind(one, to) for one in schema["anyOf"])
    types = schema.get("type", "any")
    if isinstance(types, list):
        return to.union.join(kind({**schema, "type": one}, to) for one in types)
    if types == "array":
        return to.list(kind(schema["items"], to))
    return {**to.words, "object": to.record, "any": to.any}[types]


def fields(schema: dict, to: type) -> list[tuple[str, str, bool, str]]:
    required = schema.get("required", [])
    return [
        (name, kind(field, to), name in required, " ".join(field.get("description", "").split()))
        for name, field in schema["properties"].items()
    ]


def definition(name: str, to: type) -> str:
    schema = SCHEMAS[name]
    about = " ".join(schema.get("description", "").split())
    lines = textwrap.wrap(about, 92)
    about = ("\n    " if to is Python else "\n * ").join(lines)
    if "properties" in schema:
        return to.record_type(name, about, fields(schema, to))
    members, extra = [], ""
    for one in schema.get("oneOf", schema.get("anyOf", [])) or [schema]:
        if "properties" not in one:
            members.append(kind(one, to))
            continue
        # A variant with fields is named after its constant, such as `ByPerson`.
        part = name + "".join(w.title() for w in one["properties"]["kind"]["const"].split("_"))
        extra += to.record_type(part, one["description"], fields(one, to)) + "\n"
        members.append(part)
    # What this version does not know is no word of the wire.
    members = [member for member in members if not (name == "Accepts" and "other" in member)]
    if to is Python:
        about = about.replace("\n    ", "\n")
    return extra + to.alias(name, about, members)


def main() -> int:
    wrong = 0
    for to in (Python, TypeScript):
        text = to.head + "\n".join(definition(name, to) for name in NAMES) + "\n"
        if "--check" not in sys.argv[1:]:
            to.file.write_text(text)
        elif not to.file.exists() or to.file.read_text() != text:
            print(f"{to.file} is not what docs/openapi.json says; run src/embed/wire.py")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
