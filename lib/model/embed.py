"""Turn machine files into one C source: embed.py OUTPUT INPUT..."""

import json
import os
import sys


def c_string(text):
    return "\n".join(
        "     " + json.dumps(line + "\n", ensure_ascii=True)
        for line in text.splitlines()
    )


def main():
    output, inputs = sys.argv[1], sys.argv[2:]
    with open(output, "w", encoding="ascii") as out:
        out.write('#include "model/machines.h"\n\n')
        out.write("const ctn_builtin_machine_t ctn_builtin_machine[] = {\n")
        for path in inputs:
            with open(path, encoding="ascii") as file:
                text = file.read()
            name = json.loads(text)["name"]
            if name + ".json" != os.path.basename(path):
                sys.exit(f"{path}: its name is {name}")
            out.write(f'    {{"{name}",\n{c_string(text)}}},\n')
        out.write("};\n\n")
        out.write(f"const size_t ctn_builtin_machines = {len(inputs)};\n")


main()
