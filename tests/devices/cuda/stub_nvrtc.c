// SPDX-License-Identifier: Apache-2.0
// A libnvrtc.so.12 that compiles nothing: its cubin and its PTX hold the names of the text's kernels, which is what the
// stub of libcuda.so.1 reads of them. With it the whole pipeline of `cutlass -device=cuda` runs where neither a GPU nor
// NVIDIA's packages are.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STUB __attribute__((visibility("default")))

enum { MOST_NAMES = 8, NAME_BYTES = 80, CODE_BYTES = 4096, ELF_HEADER_BYTES = 64, SECTION_BYTES = 64 };

typedef struct program_t {
  char *text;
  char names[MOST_NAMES][NAME_BYTES];
  int count;
  char ptx[CODE_BYTES], cubin[CODE_BYTES];
  size_t ptx_bytes, cubin_bytes;
} program_t;

STUB int nvrtcCreateProgram(program_t **program, const char *text, const char *name, int header_count,
                            const char *const *headers, const char *const *names);
int nvrtcCreateProgram(program_t **program, const char *text, const char *name, int header_count,
                       const char *const *headers, const char *const *names) {
  (void)name;
  (void)header_count;
  (void)headers;
  (void)names;
  *program = calloc(1, sizeof(**program));
  if (!*program || !((*program)->text = strdup(text))) abort();
  return 0;
}

static void add_name(program_t *program, const char *name) {
  snprintf(program->names[program->count++], NAME_BYTES, "%.*s", (int)strcspn(name, "( \n"), name);
}

// "#define ENTRY name", or what stands behind `__global__ void`.
static void find_names(program_t *program) {
  static const char define[] = "#define ENTRY ", global[] = "__global__ void ";
  const char *found = strstr(program->text, define);
  if (found) {
    add_name(program, found + strlen(define));
    return;
  }
  for (found = program->text; (found = strstr(found, global)) != NULL && program->count < MOST_NAMES;) {
    found += strlen(global);
    add_name(program, found);
  }
}

static void put(program_t *program, size_t at, const void *data, size_t size) {
  memcpy(program->cubin + at, data, size);
}

// An ELF file of empty sections ".text.NAME" and their names.
static void write_cubin(program_t *program) {
  uint16_t section_bytes = SECTION_BYTES, count = (uint16_t)(program->count + 2), strings = (uint16_t)(count - 1);
  uint64_t table = ELF_HEADER_BYTES, names = table + (uint64_t)count * SECTION_BYTES, end = names + 1;
  put(program, 0, "\177ELF", 4);
  put(program, 40, &table, 8);
  put(program, 58, &section_bytes, 2);
  put(program, 60, &count, 2);
  put(program, 62, &strings, 2);
  for (int i = 0; i < program->count; ++i) {
    uint32_t name = (uint32_t)(end - names);
    put(program, table + (uint64_t)(i + 1) * SECTION_BYTES, &name, 4);
    end += (uint64_t)snprintf(program->cubin + end, CODE_BYTES - end, ".text.%s", program->names[i]) + 1;
  }
  put(program, table + (uint64_t)strings * SECTION_BYTES + 24, &names, 8);
  program->cubin_bytes = end;
}

STUB int nvrtcCompileProgram(program_t *program, int option_count, const char *const *options);
int nvrtcCompileProgram(program_t *program, int option_count, const char *const *options) {
  bool has_architecture = false;
  for (int i = 0; i < option_count; ++i) has_architecture |= strncmp(options[i], "--gpu-architecture=sm_", 22) == 0;
  find_names(program);
  if (!has_architecture || !program->count) return 6;
  program->ptx_bytes = (size_t)snprintf(program->ptx, CODE_BYTES, ".version 8.0\n.target sm_80\n");
  for (int i = 0; i < program->count; ++i) {
    program->ptx_bytes += (size_t)snprintf(program->ptx + program->ptx_bytes, CODE_BYTES - program->ptx_bytes,
                                           ".visible .entry %s()\n", program->names[i]);
  }
  write_cubin(program);
  return 0;
}

STUB int nvrtcGetProgramLogSize(program_t *program, size_t *size);
int nvrtcGetProgramLogSize(program_t *program, size_t *size) {
  (void)program;
  *size = sizeof("nothing to compile");
  return 0;
}

STUB int nvrtcGetProgramLog(program_t *program, char *log);
int nvrtcGetProgramLog(program_t *program, char *log) {
  (void)program;
  strcpy(log, "nothing to compile");
  return 0;
}

STUB int nvrtcGetCUBINSize(program_t *program, size_t *size);
int nvrtcGetCUBINSize(program_t *program, size_t *size) {
  *size = program->cubin_bytes;
  return 0;
}

STUB int nvrtcGetCUBIN(program_t *program, char *code);
int nvrtcGetCUBIN(program_t *program, char *code) {
  memcpy(code, program->cubin, program->cubin_bytes);
  return 0;
}

STUB int nvrtcGetPTXSize(program_t *program, size_t *size);
int nvrtcGetPTXSize(program_t *program, size_t *size) {
  *size = program->ptx_bytes + 1;
  return 0;
}

STUB int nvrtcGetPTX(program_t *program, char *code);
int nvrtcGetPTX(program_t *program, char *code) {
  memcpy(code, program->ptx, program->ptx_bytes + 1);
  return 0;
}
