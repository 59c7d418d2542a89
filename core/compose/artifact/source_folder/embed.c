// SPDX-License-Identifier: Apache-2.0
// Writes the bytes of its input as a C array, for compilers without an assembler that has .incbin.
#include <stdio.h>

int main(void) {
  unsigned long count = 0;
  int byte;
  printf("#include <stdint.h>\n\n#include \"names.h\"\n\n_Alignas(64) const uint8_t byoc_data[] = {");
  while ((byte = getchar()) != EOF) printf("%s%d,", count++ % 24 == 0 ? "\n" : "", byte);
  printf("\n};\n");
  return ferror(stdin) || fflush(stdout) != 0;
}
