"""Turn JSON files into one C source: embed.py KIND OUTPUT INPUT...

KIND is what each of the files describes. machine: OUTPUT defines the array
ctn_builtin_machine of texts and its length (model/machines.h). tuning: OUTPUT
defines ctn_tuning_default (model/tuning.h) from the only file. The "name" in a
file must be the file's name."""

import json
import os
import sys

ACCEPTS = {None: "BOTH", False: "FALSE", True: "TRUE"}
NO_BOUNDS = [None, None]
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def c_string(text):
    return "\n".join(
        "     " + json.dumps(line + "\n", ensure_ascii=True)
        for line in text.splitlines()
    )


def machines(texts, out):
    out.write('#include "model/machines.h"\n\n')
    out.write("const ctn_builtin_machine_t ctn_builtin_machine[] = {\n")
    for name, text in texts.items():
        out.write(f'    {{"{name}",\n{c_string(text)}}},\n')
    out.write("};\n\n")
    out.write(f"const size_t ctn_builtin_machines = {len(texts)};\n")


def size(value):
    if value is None:
        return "SIZE_MAX"
    if isinstance(value, str) and value[-1] in UNITS:
        value = int(value[:-1]) * UNITS[value[-1]]
    return str(value)


def bounds(value):
    low, high = value if isinstance(value, list) else (value, value)
    return f"{{{low or 1}, {high or 'UINT32_MAX'}}}"


def identifier(name):
    return name.upper().replace("-", "_")


def rule(name, number, keys):
    """A ctn_rule_t. tests/unit/model compares it with what tuning_read.c makes
    of the file."""
    take = lambda key, usual=None: keys.pop(key, usual)
    members = {"tuning": f'"{name}"', "number": number}
    for key in ("ranks", "nodes", "ppn"):
        members[key] = bounds(take(key, NO_BOUNDS))
    for key in ("oversubscribed", "blocking", "keys"):
        members[key] = "CTN_ACCEPTS_" + ACCEPTS[take(key)]
    for key in ("bytes_to", "bytes_to_by_rank", "direct_above", "direct_above_w"):
        members[key] = size(take(key))
    members["algorithm"] = "CTN_ALGORITHM_" + identifier(take("algorithm"))
    for key in list(keys):
        members[key] = take(key)
    return "{" + ", ".join(f".{m} = {v}" for m, v in members.items()) + "}"


def tuning(texts, out):
    ((name, text),) = texts.items()
    lists = {k: v for k, v in json.loads(text).items() if isinstance(v, list)}
    out.write('#include "model/tuning_parts.h"\n\n')
    for key, rules in lists.items():
        made = [rule(name, i + 1, dict(r)) for i, r in enumerate(rules)]
        rows = ",\n    ".join(made)
        out.write(f"static const ctn_rule_t {key}[] = {{\n    {rows}}};\n\n")
    out.write(f'const ctn_tuning_t ctn_tuning_default = {{\n    .name = "{name}",\n')
    for key, rules in lists.items():
        out.write(
            f"    .list[CTN_RULES_{identifier(key)}] = {{{key}, {len(rules)}}},\n"
        )
    out.write("};\n")


def main():
    kind, output, inputs = sys.argv[1], sys.argv[2], sys.argv[3:]
    texts = {}
    for path in inputs:
        with open(path, encoding="ascii") as file:
            text = file.read()
        name = json.loads(text)["name"]
        if name + ".json" != os.path.basename(path):
            sys.exit(f"{path}: its name is {name}")
        texts[name] = text
    with open(output, "w", encoding="ascii") as out:
        {"machine": machines, "tuning": tuning}[kind](texts, out)


main()
