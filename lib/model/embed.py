"""Turn JSON files into one C source: embed.py KIND OUTPUT INPUT...

KIND is what each of the files describes, machine or tuning. OUTPUT defines the
array ctn_builtin_KIND and its length ctn_builtin_KINDs (model/KINDs.h). The
"name" in a file must be the file's name."""

import json
import os
import sys


def c_string(text):
    return "\n".join(
        "     " + json.dumps(line + "\n", ensure_ascii=True)
        for line in text.splitlines()
    )


def main():
    kind, output, inputs = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(output, "w", encoding="ascii") as out:
        out.write(f'#include "model/{kind}s.h"\n\n')
        out.write(f"const ctn_builtin_{kind}_t ctn_builtin_{kind}[] = {{\n")
        for path in inputs:
            with open(path, encoding="ascii") as file:
                text = file.read()
            name = json.loads(text)["name"]
            if name + ".json" != os.path.basename(path):
                sys.exit(f"{path}: its name is {name}")
            out.write(f'    {{"{name}",\n{c_string(text)}}},\n')
        out.write("};\n\n")
        out.write(f"const size_t ctn_builtin_{kind}s = {len(inputs)};\n")


main()
