"""Writes the typed control calls of the Python and the Node package from the control API's OpenAPI document.

    python3 mock-server/clients/generate.py < mock-server/documents/control.json

One run writes `python/shared_inbox_mock/control.py`, `node/control.js` and `node/control.d.ts`. They are in the repository so
that a reader sees what can be called; a test holds them to the document that the server gives today.
"""

import json
import keyword
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
NOTE = "Generated from the control API's OpenAPI document by `clients/generate.py`; do not edit."
STREAM = "text/event-stream"


def named(ref):
    return ref.rsplit("/", 1)[1]


def oneline(text):
    return " ".join(text.split()).replace("\\", "/")


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda it: "_" + it[1].lower(), name)


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class Python:
    word = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    anything = "Any"

    def either(self, kinds):
        return " | ".join(kinds)

    def literal(self, values):
        return f"Literal[{', '.join(map(repr, values))}]"

    def listed(self, kind):
        return f"list[{kind}]"

    def mapped(self, kind):
        return f"dict[str, {kind}]"

    def record(self, schema):
        return "dict[str, Any]"

    def ref(self, name):
        return name


class TypeScript:
    word = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
    anything = "unknown"

    def either(self, kinds):
        return " | ".join(kinds)

    def literal(self, values):
        return " | ".join(map(json.dumps, values))

    def listed(self, kind):
        return f"Array<{kind}>"

    def mapped(self, kind):
        return f"Record<string, {kind}>"

    def record(self, schema):
        required = schema.get("required", [])
        fields = (f"{name}{'' if name in required else '?'}: {kind(self, part)}" for name, part in schema["properties"].items())
        return f"{{ {'; '.join(fields)} }}"

    def ref(self, name):
        return name


def kind(language, schema):
    """The type of a schema, in the words of a language."""
    if schema is True or not isinstance(schema, dict):
        return language.anything
    if "$ref" in schema:
        return language.ref(named(schema["$ref"]))
    if "const" in schema:
        return language.literal([schema["const"]])
    if "enum" in schema:
        return language.literal(schema["enum"])
    for several in ("oneOf", "anyOf"):
        if several in schema:
            kinds = list(dict.fromkeys(kind(language, part) for part in schema[several]))
            return language.anything if language.anything in kinds else language.either(kinds)
    kinds = schema.get("type")
    if kinds is None:
        return language.record(schema) if "properties" in schema else language.anything
    if isinstance(kinds, list):
        return language.either([kind(language, {**schema, "type": one}) for one in kinds])
    if kinds == "array":
        return language.listed(kind(language, schema.get("items", True)))
    if kinds == "object":
        if "properties" in schema:
            return language.record(schema)
        return language.mapped(kind(language, schema.get("additionalProperties", True)))
    return language.word[kinds]


def operations(document):
    """Every call: its name, method, path, what it takes and what it gives. Streams are not calls."""
    for path, methods in sorted(document["paths"].items()):
        for method, it in sorted(methods.items()):
            body = it.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            content = next((answer.get("content", {}) for code, answer in it["responses"].items() if code.startswith("2")), {})
            if STREAM in content:
                continue
            parameters = it.get("parameters", [])
            yield {
                "name": it["operationId"],
                "says": it["summary"],
                "method": method.upper(),
                "path": path,
                "places": [part["name"] for part in parameters if part["in"] == "path"],
                "query": [part for part in parameters if part["in"] == "query"],
                "body": body,
                "optional": not it.get("requestBody", {}).get("required", False),
                "answer": content.get("application/json", {}).get("schema") if content else None,
            }


def python(document):
    language = Python()
    out = [f'"""What people, customers, time and bad luck do, as typed calls.\n\n{NOTE}\n"""', ""]
    out += ["from __future__ import annotations", "", "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict", "", "from ._http import Caller, in_thread", "", "__tracebackhide__ = True", ""]
    for name, schema in document["components"]["schemas"].items():
        says = oneline(schema.get("description", ""))
        if "properties" not in schema:
            out += ["", f"# {says}" if says else "", f"{name}: TypeAlias = {kind(language, schema)!r}"]
            continue
        required = schema.get("required", [])
        fields = {}
        for field, part in schema["properties"].items():
            fields[field] = kind(language, part) if field in required else f"NotRequired[{kind(language, part)}]"
        if any(keyword.iskeyword(field) or not field.isidentifier() for field in fields):
            inner = ", ".join(f"{field!r}: {hint!r}" for field, hint in fields.items())
            out += ["", f"# {says}", f"{name} = TypedDict({name!r}, {{{inner}}})"]
            continue
        out += ["", f"class {name}(TypedDict):", f'    """{says or name}"""', ""]
        out += [f"    {field}: {hint}" for field, hint in fields.items()] or ["    pass"]
    out += ["", "", "class Control(Caller):", '    """The control API of one world."""']
    for it in operations(document):
        takes, returns = signature(language, it)
        path = re.sub(r"\{\w+\}", "{}", it["path"])
        sent = [f'"{it["method"]}"', f'"{path}"', *it["places"]]
        if it["body"] is not None:
            sent.append("body=body")
        if it["query"]:
            sent.append("query={" + ", ".join(f'"{part["name"]}": {safe(snake(part["name"]))}' for part in it["query"]) + "}")
        out += ["", f"    def {it['name']}({takes}) -> {returns}:", f'        """{oneline(it["says"])}."""']
        call = f"self._call({', '.join(sent)})"
        out += [f"        {call}"] if returns == "None" else [f"        response: {returns} = {call}", "        return response"]
    out += ["", "", "class AsyncControl:", '    """The control API of one world, for tests whose app runs in their own event loop."""', ""]
    out += ["    def __init__(self, control: Control) -> None:", "        self._control = control"]
    for it in operations(document):
        takes, answer = signature(language, it)
        passed = [f"self._control.{it['name']}", *it["places"], *(["body"] if it["body"] is not None else [])]
        passed += [f"{name}={name}" for name in (safe(snake(part["name"])) for part in it["query"])]
        call = f"await in_thread({', '.join(passed)})"
        out += ["", f"    async def {it['name']}({takes}) -> {answer}:", f'        """{oneline(it["says"])}."""']
        out += [f"        {call}" if answer == "None" else f"        return {call}"]
    return "\n".join(out) + "\n"


def signature(language, it):
    """What a call takes and gives, in Python."""
    takes = ["self", *(f"{name}: str" for name in it["places"])]
    if it["body"] is not None:
        takes.append(f"body: {kind(language, it['body'])}" + (" | None = None" if it["optional"] else ""))
    if it["query"]:
        takes.append("*")
    for part in it["query"]:
        hint = kind(language, part["schema"])
        takes.append(f"{safe(snake(part['name']))}: {hint if 'None' in hint else hint + ' | None'} = None")
    return ", ".join(takes), kind(language, it["answer"]) if it["answer"] is not None else "None"


def safe(name):
    return name + "_" if keyword.iskeyword(name) else name


def typescript(document):
    language = TypeScript()
    out = [f"// What people, customers, time and bad luck do, as typed calls. {NOTE}", "", "import type { Caller } from './http.js';", ""]
    for name, schema in document["components"]["schemas"].items():
        if schema.get("description"):
            out.append(f"/** {oneline(schema['description'])} */")
        out.append(f"export type {name} = {kind(language, schema)};")
    out += ["", "/** The control API of one world. */", "export class Control extends Caller {"]
    for it in operations(document):
        takes = [f"{name}: string" for name in it["places"]]
        if it["body"] is not None:
            takes.append(f"body{'?' if it['optional'] else ''}: {kind(language, it['body'])}")
        if it["query"]:
            fields = "; ".join(f"{part['name']}?: {kind(language, part['schema'])}" for part in it["query"])
            takes.append(f"query?: {{ {fields} }}")
        answer = kind(language, it["answer"]) if it["answer"] is not None else "void"
        out += [f"    /** {oneline(it['says'])}. */", f"    {camel(it['name'])}({', '.join(takes)}): Promise<{answer}>;"]
    return "\n".join([*out, "}"]) + "\n"


def javascript(document):
    out = [f"// What people, customers, time and bad luck do. {NOTE}", "", "import { Caller } from './http.js';", "", "export class Control extends Caller {"]
    for it in operations(document):
        takes = [*it["places"], *(["body"] if it["body"] is not None else []), *(["query"] if it["query"] else [])]
        path = re.sub(r"\{(\w+)\}", r"${encodeURIComponent(\1)}", it["path"])
        sent = [f"'{it['method']}'", f"`{path}`" if it["places"] else f"'{path}'"]
        if it["body"] is not None or it["query"]:
            sent.append("body" if it["body"] is not None else "undefined")
        if it["query"]:
            sent.append("query")
        out.append(f"    {camel(it['name'])}({', '.join(takes)}) {{ return this.call({', '.join(sent)}); }}")
    return "\n".join([*out, "}"]) + "\n"


def main():
    document = json.load(sys.stdin)
    into = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for file, text in {"python/shared_inbox_mock/control.py": python, "node/control.d.ts": typescript, "node/control.js": javascript}.items():
        (into / file).parent.mkdir(parents=True, exist_ok=True)
        (into / file).write_text(text(document), encoding="utf-8")


if __name__ == "__main__":
    main()
