// SPDX-License-Identifier: Apache-2.0
// Decides which names kernels may use, because their C code has names of its own.
#include <ctype.h>
#include <string.h>

#include "core/ir/loop.h"

// The words of C and gnu11, and the names that the emitter and its helpers use.
static const char *const reserved_words[] = {
    "asm",     "auto",     "bool",     "break",    "case",     "char",     "const",     "continue", "default",
    "do",      "double",   "else",     "enum",     "extern",   "false",    "float",     "for",      "goto",
    "if",      "inline",   "int",      "long",     "register", "restrict", "return",    "short",    "signed",
    "sizeof",  "static",   "struct",   "switch",   "true",     "typedef",  "typeof",    "union",    "unsigned",
    "void",    "volatile", "while",    "linux",    "unix",     "i386",     "main",      "errno",    "stdin",
    "stdout",  "stderr",   "memcpy",   "NAN",      "INFINITY", "NULL",     "int8_t",    "int16_t",  "int32_t",
    "int64_t", "uint8_t",  "uint16_t", "uint32_t", "uint64_t", "INT64_C",  "INT64_MIN", "UINT64_C", "argument",
    "args",    "begin",    "call",     "end",      "worker",
};

// Functions of math.h, each also with a final f.
static const char *const functions[] = {
    "acos",  "acosh", "asin",  "asinh", "atan", "atan2", "atanh", "ceil", "cos",  "cosh",  "erf", "exp",   "exp2",
    "exp10", "expm1", "fabs",  "floor", "fmod", "isinf", "isnan", "j0",   "j1",   "jn",    "log", "log1p", "log2",
    "log10", "pow",   "pow10", "rint",  "sin",  "sinh",  "sqrt",  "tan",  "tanh", "trunc", "y0",  "y1",    "yn",
};

static bool is_reserved(const char *name) {
  for (size_t i = 0; i < sizeof(reserved_words) / sizeof(reserved_words[0]); ++i)
    if (strcmp(reserved_words[i], name) == 0) return true;
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    size_t length = strlen(functions[i]);
    if (strncmp(functions[i], name, length) == 0 && (name[length] == '\0' || strcmp(name + length, "f") == 0))
      return true;
  }
  return strncmp(name, "byoc_", 5) == 0 || strncmp(name, "BYOC_", 5) == 0 ||
         (name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1])));
}

// t_0, dim_0, args_0, ...
static bool is_numbered_by_emitter(const char *name) {
  static const char *const stems[] = {"t_", "dim_", "args_"};
  for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); ++i) {
    size_t length = strlen(stems[i]);
    if (strncmp(stems[i], name, length) == 0 && name[length] != '\0' &&
        name[length + strspn(name + length, "0123456789")] == '\0')
      return true;
  }
  return false;
}

// Suffixes that the emitter adds to the name of a variable: for the end of its loop, the first element and the size of
// a block, its next term, and a NaN.
static bool is_extended_by_emitter(const char *name) {
  static const char *const suffixes[] = {"_end", "_first", "_count", "_nan", "_term"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); ++i) {
    size_t size = strlen(suffixes[i]);
    if (length > size && strcmp(name + length - size, suffixes[i]) == 0) return true;
  }
  return false;
}

bool byoc_loop_name_is_free(const char *name) {
  return !is_reserved(name) && !is_numbered_by_emitter(name) && !is_extended_by_emitter(name);
}
