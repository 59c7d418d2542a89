# SPDX-License-Identifier: Apache-2.0
"""The structs of byoc/_native.py are those of the headers, as a C compiler sees them. Structs that say their size may
have grown since."""

import ctypes
import inspect
import os
import re
import shutil
import subprocess
import unittest

from byoc import _native, _tensors
from support import InFolder

HEADERS = os.environ.get("BYOC_HEADERS", os.path.join(os.path.dirname(__file__), "..", "..", "include"))


@unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
class Layout(InFolder):
    def run_c(self, lines):
        source, program = self.path("layout.c"), self.path("layout")
        includes = ["stdio.h", "stddef.h", "byoc/artifact.h", "byoc/compiler.h"]
        with open(source, "w") as file:
            file.write("".join(f"#include <{header}>\n" for header in includes))
            file.write("int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n")
        subprocess.run(["cc", "-std=c11", f"-I{HEADERS}", source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()

    def test_structs(self):
        lines, expected = [], []
        for name, struct in inspect.getmembers(_native, inspect.isclass):
            if not name.startswith("byoc_"):
                continue
            size = ctypes.sizeof(struct)
            grows = struct._fields_[0][0] == "struct_size"
            lines.append(f'printf("{name} %d\\n", sizeof({name}) {">=" if grows else "=="} {size});')
            expected.append(f"{name} 1")
            for field, *_ in struct._fields_:
                place = getattr(struct, field)
                lines.append(
                    f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
                )
                expected.append(f"{name}.{field} {place.offset} {place.size}")
        self.assertGreater(len(expected), 100)
        self.assertEqual(self.run_c(lines), expected)

    def test_element_types(self):
        with open(os.path.join(HEADERS, "byoc", "dtype.h")) as file:
            rows = re.findall(r'X\([A-Z0-9]+, (\d+), "(\w+)", (\d+),', file.read())
        known = [row for row in rows if int(row[0]) in _tensors.ELEMENT_TYPES]
        self.assertEqual(len(known), len(_tensors.ELEMENT_TYPES))
        for number, name, bits in known:
            row = _tensors.ELEMENT_TYPES[int(number)]
            self.assertEqual((row.name, row.bits), (name, int(bits)))


if __name__ == "__main__":
    unittest.main()
