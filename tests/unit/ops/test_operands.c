// SPDX-License-Identifier: Apache-2.0
// Every operator of the table, at every version, with operands that do not fit: without a rank or with another one,
// with other extents or element types, constants without elements or with odd values, operands left out. Inference,
// expansion and lowering may refuse them. Operators that accept them must read and write nothing outside of their
// tensors. plausible.def has operands that fit; each is changed in turn.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "byoc/call.h"
#include "core/base/file.h"
#include "core/ir/module_text.h"
#include "core/kernel/interpret.h"
#include "core/kernel/lower_module.h"
#include "core/op/limit.h"
#include "core/op/op.h"
#include "fingerprint.h"
#include "plausible.h"
#include "tests/support/support.h"

enum { MOST_VALUES = 64, MOST_BYTES = 1 << 20 };

typedef struct {
  char text[TEXT_SIZE]; // of the current module
  uint32_t next;        // the change to continue with
  uint32_t accepted, refused, run;
  bool is_known; // the unchanged operands were accepted
  fingerprint_t prints[MOST_OPERANDS];
} progress_t;

// ---- operands ----

// A constant vector that holds `value` `count` times; a scalar if `count` is negative.
static void make_constant(operand_t *operand, int count, const char *value) {
  size_t used = (size_t)snprintf(operand->values, sizeof operand->values, "[");
  for (int i = 0; i < (count < 0 ? 1 : count) && used < sizeof operand->values - 32; ++i) {
    used += (size_t)snprintf(operand->values + used, sizeof operand->values - used, "%s%s", i ? ", " : "", value);
  }
  snprintf(operand->values + used, sizeof operand->values - used, "]");
  operand->is_constant = true;
  operand->rank = count < 0 ? 0 : 1;
  operand->dims[0] = count;
  write_operand(operand);
}

static void set_dtype(operand_t *operand, const char *dtype) {
  snprintf(operand->dtype, sizeof operand->dtype, "%s", dtype);
  operand->is_constant = false;
  write_operand(operand);
}

static bool is_float(const operand_t *operand) {
  return operand->dtype[0] == 'f' || operand->dtype[0] == 'b';
}

// ---- changes ----

enum {
  CHANGE_NONE,
  CHANGE_RANK_0,
  CHANGE_RANK_MOST, // ones in front
  CHANGE_RANK_MOST_BEHIND,
  CHANGE_UNRANKED,
  CHANGE_TO_STRING,
  CHANGE_TO_BOOL,
  CHANGE_TO_I64,
  CHANGE_TO_F32,
  CHANGE_TO_F64,
  CHANGE_TO_U8,
  CHANGE_SEQUENCE,
  CHANGE_EMPTY_CONSTANT,
  CHANGE_EMPTY,
  CHANGE_RANK_UP,
  CHANGE_RANK_UP_FRONT,
  CHANGE_RANK_DOWN,
  CHANGE_LEFT_OUT,
  CHANGE_SYMBOLIC,
  CHANGE_NOT_CONSTANT,
  CHANGE_CONSTANT_FEWER,
  CHANGE_CONSTANT_MORE,
  CHANGE_CONSTANT_SCALAR,
  CHANGE_CONSTANT_0,
  CHANGE_CONSTANT_NEGATIVE,
  CHANGE_CONSTANT_LARGE,
  CHANGE_CONSTANT_LEAST,
  CHANGE_DIM, // from here on: EXTENTS of them a dimension
  EXTENTS = 5,
};

static bool may_be_constant(const operand_t *operand) {
  return operand->is_constant || (operand->rank < 2 && operand->dims[0] < 9);
}

// "f32[", and how long that is.
static size_t begin_type(operand_t *operand) {
  size_t size = strlen(operand->dtype);
  memcpy(operand->text, operand->dtype, size);
  memcpy(operand->text + size, "[", sizeof "[");
  return size + 1;
}

// The operand under a change; false if the change gives nothing new.
static bool change_operand(uint32_t change, operand_t *operand) {
  int count = operand->rank == 0 ? -1 : (int)operand->dims[0];
  if (change == CHANGE_NONE) return true;
  if (change == CHANGE_LEFT_OUT) {
    bool left_out = strcmp(operand->text, "_") == 0;
    *operand = (operand_t){.text = "_"};
    return !left_out;
  }
  if (!operand->is_tensor) {
    bool stands = change == CHANGE_TO_F32 && strcmp(operand->text, "_") != 0;
    if (stands) *operand = (operand_t){.text = "f32[2]"};
    return stands;
  }
  if (change >= CHANGE_CONSTANT_FEWER && change < CHANGE_DIM && (!may_be_constant(operand) || operand->rank > 1)) {
    return false;
  }
  const char *zero = is_float(operand) ? "0.0" : "0", *one = is_float(operand) ? "1.0" : "1";
  switch (change) {
  case CHANGE_RANK_0:
    operand->rank = 0, operand->is_constant = false;
    break;
  case CHANGE_RANK_MOST:
  case CHANGE_RANK_MOST_BEHIND:
  case CHANGE_RANK_UP:
  case CHANGE_RANK_UP_FRONT: {
    bool front = change == CHANGE_RANK_MOST || change == CHANGE_RANK_UP_FRONT;
    int rank = change <= CHANGE_RANK_MOST_BEHIND ? BYOC_MAX_RANK : operand->rank + 1, by = rank - operand->rank;
    if (rank > BYOC_MAX_RANK) return false;
    if (front) memmove(operand->dims + by, operand->dims, (size_t)operand->rank * sizeof *operand->dims);
    for (int i = 0; i < by; ++i) operand->dims[front ? i : operand->rank + i] = by == 1 ? 2 : 1;
    operand->rank = rank, operand->is_constant = false;
    break;
  }
  case CHANGE_RANK_DOWN:
    if (operand->rank < 2) return false;
    operand->rank -= 1, operand->is_constant = false;
    break;
  case CHANGE_UNRANKED:
    operand->is_constant = false;
    begin_type(operand);
    strcat(operand->text, "*]");
    return true;
  case CHANGE_TO_STRING:
  case CHANGE_TO_BOOL:
  case CHANGE_TO_I64:
  case CHANGE_TO_F32:
  case CHANGE_TO_F64:
  case CHANGE_TO_U8: {
    static const char *const dtypes[] = {"string", "bool", "i64", "f32", "f64", "u8"};
    if (strcmp(dtypes[change - CHANGE_TO_STRING], operand->dtype) == 0) return false;
    set_dtype(operand, dtypes[change - CHANGE_TO_STRING]);
    return true;
  }
  case CHANGE_SEQUENCE: {
    char text[PART_SIZE];
    operand->is_constant = false;
    write_operand(operand);
    snprintf(text, sizeof text, "%s", operand->text);
    snprintf(operand->text, sizeof operand->text, "seq<%.400s>", text);
    return true;
  }
  case CHANGE_EMPTY_CONSTANT:
    make_constant(operand, 0, zero);
    return true;
  case CHANGE_EMPTY:
    operand->rank = 1, operand->dims[0] = 0, operand->is_constant = false;
    break;
  case CHANGE_SYMBOLIC: {
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    size_t used = begin_type(operand);
    if (operand->rank < 1 || operand->rank > 8) return false;
    for (int d = 0; d < operand->rank; ++d) {
      used += (size_t)snprintf(operand->text + used, sizeof operand->text - used, "%s%s", d ? "," : "", names[d]);
    }
    snprintf(operand->text + used, sizeof operand->text - used, "]");
    operand->is_constant = false;
    return true;
  }
  case CHANGE_NOT_CONSTANT:
    if (!operand->is_constant) return false;
    operand->is_constant = false;
    break;
  case CHANGE_CONSTANT_FEWER:
    if (count < 1) return false;
    make_constant(operand, count - 1, one);
    return true;
  case CHANGE_CONSTANT_MORE:
    make_constant(operand, count + (count < 0 ? 3 : 1), one);
    return true;
  case CHANGE_CONSTANT_SCALAR:
    if (count < 0) return false;
    make_constant(operand, -1, one);
    return true;
  case CHANGE_CONSTANT_0:
    make_constant(operand, count, zero);
    return true;
  case CHANGE_CONSTANT_NEGATIVE:
    make_constant(operand, count, is_float(operand) ? "-7.5" : "-7");
    return true;
  case CHANGE_CONSTANT_LARGE:
    make_constant(operand, count, is_float(operand) ? "1e+30" : "9223372036854775807");
    return true;
  case CHANGE_CONSTANT_LEAST:
    make_constant(operand, count, is_float(operand) ? "-1e+30" : "-9223372036854775808");
    return true;
  default: {
    static const long added[EXTENTS] = {1, -1, 0, 0, 0};
    int d = (int)(change - CHANGE_DIM) / EXTENTS, kind = (int)(change - CHANGE_DIM) % EXTENTS;
    if (d >= operand->rank) return false;
    long old = operand->dims[d];
    operand->dims[d] = kind < 2 ? old + added[kind] : kind == 2 ? 0 : kind == 3 ? 1 : 17;
    operand->is_constant = false;
    if (operand->dims[d] == old || operand->dims[d] < 0) return false;
    break;
  }
  }
  write_operand(operand);
  return true;
}

// ---- runs ----

typedef struct {
  const byoc_value_t *value;
  void *data;
  bool is_alias;
} slot_t;

typedef struct {
  slot_t slots[MOST_VALUES];
  size_t count;
  uint64_t seed;
} run_t;

static void *data_of(const run_t *run, const byoc_value_t *value) {
  if (byoc_value_is_constant(value)) return (void *)(uintptr_t)value->constant->data;
  for (size_t i = 0; i < run->count; ++i) {
    if (run->slots[i].value == value) return run->slots[i].data;
  }
  return NULL;
}

// Exactly as many bytes as the type needs, holding small numbers of either sign.
static bool bind(run_t *run, const byoc_value_t *value) {
  const byoc_type_t *type = value->type;
  if (!byoc_type_is_tensor(type) || !byoc_type_is_static(type) || type->dtype == BYOC_DTYPE_STRING) return false;
  int64_t size = byoc_type_size_bytes(type), count = byoc_type_element_count(type);
  if (size < 0 || size > MOST_BYTES || run->count == MOST_VALUES) return false;
  char *data = malloc(size ? (size_t)size : 1);
  run->slots[run->count++] = (slot_t){value, data, false};
  int64_t bytes = count > 0 ? size / count : 0; // none of types below a byte
  for (int64_t i = 0; i < size; ++i) data[i] = 0;
  const bool is_number = bytes > 0 && bytes <= (int64_t)sizeof(double); // pairs of f64 stay 0
  for (int64_t i = 0; i < count && is_number; ++i) {
    run->seed = run->seed * 6364136223846793005u + 1442695040888963407u;
    int64_t small = (int64_t)(run->seed >> 33) % 12 - 4;
    float single = (float)small / 2;
    double number = (double)small / 2;
    if (type->dtype == BYOC_DTYPE_BOOL) small &= 1;
    const void *from = type->dtype == BYOC_DTYPE_F32   ? (void *)&single
                       : type->dtype == BYOC_DTYPE_F64 ? (void *)&number
                                                       : (void *)&small;
    memcpy(data + i * bytes, from, (size_t)bytes);
  }
  return true;
}

static bool call_kernel(run_t *run, const byoc_node_t *node, byoc_diag_t *diag, byoc_status_t *out_status) {
  DLTensor tensors[MOST_VALUES] = {{0}};
  int64_t shapes[MOST_VALUES][BYOC_MAX_RANK];
  uint32_t count = node->operand_count + node->result_count;
  const byoc_loop_kernel_t *kernel = node->callee->kernel;
  if (count > MOST_VALUES || kernel->symbols.count > 0) return false;
  for (uint32_t i = 0; i < count; ++i) {
    bool input = i < node->operand_count;
    const byoc_value_t *value = input ? node->operands[i] : node->results[i - node->operand_count];
    if (!input && !bind(run, value)) return false;
    const byoc_type_t *type = value->type;
    DLTensor *tensor = &tensors[byoc_loop_tensor_index(kernel, i)];
    for (int32_t d = 0; d < type->rank; ++d) shapes[i][d] = type->dims[d].constant;
    *tensor = (DLTensor){.data = data_of(run, value), .ndim = type->rank, .shape = shapes[i], .device = {kDLCPU, 0}};
    if (!tensor->data) return false;
    tensor->dtype.code = byoc_dtype_dlpack_code(type->dtype);
    tensor->dtype.bits = (uint8_t)byoc_dtype_bits(type->dtype), tensor->dtype.lanes = 1;
  }
  byoc_interpreter_t *interpreter = NULL;
  *out_status = byoc_interpreter_create(kernel, byoc_allocator_system(), diag, &interpreter);
  if (*out_status != BYOC_OK) return true;
  byoc_call_t call = {sizeof call, node->operand_count, node->result_count, 0, tensors, NULL, NULL, 0};
  *out_status = byoc_interpreter_run(interpreter, &call);
  byoc_interpreter_destroy(interpreter);
  return true;
}

// Runs a lowered module whose types are static. The interpreter checks each index.
static byoc_status_t run_module(byoc_graph_module_t *module, byoc_diag_t *diag, progress_t *progress,
                                fingerprint_t *print) {
  run_t run = {.seed = 1};
  byoc_block_t *body = byoc_graph_module_main(module)->body;
  bool goes = true;
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < body->parameters.count && goes; ++i) goes = bind(&run, body->parameters.data[i]);
  BYOC_FOR_EACH_NODE(node, body) {
    if (!goes || status != BYOC_OK) break;
    const byoc_op_t *op = byoc_op_of(node);
    if (node->callee && node->callee->kind == BYOC_FUNCTION_KERNEL) {
      goes = call_kernel(&run, node, diag, &status);
    } else if (op && op->is_view && byoc_type_is_static(node->results[0]->type) && run.count < MOST_VALUES) {
      bool is_part = byoc_node_is(node, "byoc", "Part");
      goes = is_part || byoc_type_size_bytes(node->results[0]->type) == byoc_type_size_bytes(node->operands[0]->type);
      if (!goes) status = byoc_diag_error(diag, BYOC_INTERNAL, "a view of another size");
      run.slots[run.count++] = (slot_t){node->results[0], data_of(&run, node->operands[0]), true};
    } else {
      goes = false;
    }
  }
  if (goes) ++progress->run;
  for (size_t i = 0; i < body->results.count && goes && status == BYOC_OK; ++i) {
    const byoc_value_t *result = body->results.data[i];
    const void *data = data_of(&run, result);
    if (data) fingerprint_values(print, result->type, data);
  }
  for (size_t i = 0; i < run.count; ++i) {
    if (!run.slots[i].is_alias) free(run.slots[i].data);
  }
  return status;
}

// Later steps of Unique and TfIdfVectorizer use numbers of the steps before them as places.
static bool trusts_data(const byoc_op_t *op) {
  static const char *const steps[] = {"UniqueOrder",   "UniqueFirst", "UniquePlace",
                                      "UniqueResults", "CountGrams",  "PlaceGrams"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
    if (strcmp(op->name, steps[i]) == 0) return true;
  }
  return false;
}

static bool is_fault(byoc_status_t status) {
  return status == BYOC_INTERNAL || status == BYOC_OUT_OF_MEMORY;
}

// Infers, lowers and runs the module in `progress`. False if it failed for a reason other than the operands.
static bool try_module(const byoc_op_t *op, progress_t *progress, fingerprint_t *print, bool is_first) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_status_t status = byoc_graph_parse(progress->text, "test", byoc_allocator_system(), &diag, &module);
  if (status != BYOC_OK) {
    if (is_first) printf("%s\n%s", diag.message, progress->text);
    return !is_first; // constants that their types do not hold
  }
  bool inferred = false;
  assert_true(byoc_indices_set_clamped(module)); // made-up operands hold any indices
  status = byoc_infer_module(module, &diag);
  fingerprint_case(print, progress->text, status, byoc_graph_module_main(module)->body);
  if (status == BYOC_OK) {
    inferred = true;
    status = byoc_kernel_lower_module(module, NULL, &diag);
  }
  bool runs = op->domain[0] == '\0' || !trusts_data(op);
  if (status == BYOC_OK && runs) status = run_module(module, &diag, progress, print);
  *(status == BYOC_OK ? &progress->accepted : &progress->refused) += 1;
  if (is_first && inferred) progress->is_known = true;
  bool fine = !is_fault(status);
  if (!fine || (is_first && !inferred)) {
    printf("%s: %s\n%s", byoc_status_name(status), diag.message, fine ? "" : progress->text);
  }
  byoc_graph_module_destroy(module);
  return fine;
}

// ---- operators ----

// Tries all changes of the operands of one row, from progress->next on. Returns the number of failures that operands
// did not cause.
static uint32_t try_row(const byoc_op_t *op, progress_t *progress) {
  uint32_t at = 0, wrong = 0;
  for (size_t k = 0; k < sizeof plausible / sizeof *plausible; ++k) {
    operand_t operands[MOST_OPERANDS], changed[MOST_OPERANDS];
    if (!is_of(&plausible[k], op)) continue;
    int count = read_operands(plausible[k].operands, operands);
    for (int i = 0; i < (count ? count : 1); ++i) {
      uint32_t changes = CHANGE_DIM + (uint32_t)(EXTENTS * operands[i].rank);
      for (uint32_t change = i == 0 ? 0 : 1; change < changes; ++change) {
        memcpy(changed, operands, sizeof changed);
        if (at++ < progress->next) continue;
        progress->next = at;
        if (count && !change_operand(change, &changed[i])) continue;
        write_module(op, &plausible[k], changed, count, progress->text);
        if (!try_module(op, progress, &progress->prints[i], change == CHANGE_NONE)) ++wrong;
        if (count == 0) break;
      }
    }
  }
  return wrong;
}

// Runs in a process of its own, and after a crash starts again behind the change that caused it.
static uint32_t try_apart(const byoc_op_t *op, progress_t *progress) {
  enum { MOST_CRASHES = 40, SECONDS = 60 };
  uint32_t wrong = 0;
  for (int crashes = 0; crashes < MOST_CRASHES; ++crashes) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}; // that cmocka handles
      for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) signal(signals[i], SIG_DFL);
      alarm(SECONDS);
      uint32_t bad = try_row(op, progress);
      fflush(NULL);
      _exit(bad > 100 ? 100 : (int)bad);
    }
    int state = 0;
    assert_int_equal(waitpid(child, &state, 0), child);
    if (WIFEXITED(state)) return wrong + (uint32_t)WEXITSTATUS(state);
    printf("signal %d\n%s", WTERMSIG(state), progress->text);
    ++wrong;
  }
  return wrong;
}

// ---- fingerprints ----

// The line of an operator's operand in fingerprints.txt; false if there is none. Under the address sanitizer, functions
// of strings read what they are given to its end: they get one line, not the file.
static bool find_line(const char *lines, const char *key, fingerprint_t *out) {
  const size_t size = strlen(key);
  const char *const end = lines ? lines + strlen(lines) : NULL;
  for (const char *at = lines, *next; at && at < end; at = next) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    next = newline ? newline + 1 : end;
    if ((size_t)(next - at) <= size || memcmp(at, key, size) != 0 || at[size] != ' ') continue;
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)(next - at - (ptrdiff_t)size), at + size);
    return sscanf(line, " accepted %u of %u types %" SCNx64 " values %lf %lf", &out->accepted, &out->tried, &out->types,
                  &out->shape, &out->size) == 5;
  }
  return false;
}

static bool is_near(double a, double b, uint32_t cases) {
  return fabs(a - b) <= 1e-4 * (1 + cases);
}

// Compares what was found with the file, or writes it. Returns the number of lines that differ.
static uint32_t check_fingerprints(const byoc_op_t *op, const progress_t *progress, const char *lines, FILE *out) {
  uint32_t wrong = 0;
  for (int i = 0; i < MOST_OPERANDS; ++i) {
    const fingerprint_t *found = &progress->prints[i];
    fingerprint_t expected = {0};
    char key[128];
    snprintf(key, sizeof key, "%s%s%s@%d %d", op->domain, op->domain[0] ? "::" : "", op->name, op->since_version, i);
    bool known = find_line(lines, key, &expected);
    if (out && found->tried > 0) {
      fprintf(out, "%s accepted %u of %u types %016" PRIx64 " values %.6g %.6g\n", key, found->accepted, found->tried,
              found->types, found->shape, found->size);
    }
    if (out || (!known && found->tried == 0)) continue;
    bool same = known && found->accepted == expected.accepted && found->tried == expected.tried &&
                found->types == expected.types && is_near(found->shape, expected.shape, found->tried) &&
                is_near(found->size, expected.size, found->tried);
    if (same) continue;
    printf("%s: %u of %u are accepted, types %016" PRIx64
           ", values %.6g %.6g; in fingerprints.txt %u of %u, types %016" PRIx64 ", values %.6g %.6g\n",
           key, found->accepted, found->tried, found->types, found->shape, found->size, expected.accepted,
           expected.tried, expected.types, expected.shape, expected.size);
    ++wrong;
  }
  return wrong;
}

static void test_operands_that_do_not_fit(void **state) {
  (void)state;
  progress_t *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(progress != MAP_FAILED);
  uint32_t wrong = 0, unknown = 0, accepted = 0, refused = 0, run = 0, changed = 0;
  const char *only = getenv("BYOC_TEST_OPERATOR"), *path = getenv("BYOC_TEST_FINGERPRINTS");
  FILE *out = path ? fopen(path, "w") : NULL;
  if (out) fprintf(out, "# One line per operator, version and operand: see fingerprint.h.\n");
  char *lines = NULL;
  size_t size = 0;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_read(BYOC_TEST_SOURCE_DIR "/tests/unit/ops/fingerprints.txt", byoc_allocator_system(), &diag,
                              &lines, &size),
               &diag);
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (only && strcmp(only, op->name) != 0) continue;
    *progress = (progress_t){0};
    wrong += try_apart(op, progress);
    accepted += progress->accepted, refused += progress->refused, run += progress->run;
    changed += check_fingerprints(op, progress, lines, out);
    if (progress->is_known) continue;
    printf("%s %d has no plausible operands\n", op->name, op->since_version);
    ++unknown;
  }
  munmap(progress, sizeof *progress);
  byoc_free(byoc_allocator_system(), lines);
  if (out) assert_int_equal(fclose(out), 0);
  printf("%u accepted (%u run), %u refused\n", accepted, run, refused);
  if (wrong > 0 || unknown > 0) fail_msg("%u faults, %u rows without plausible operands", wrong, unknown);
  if (changed > 0)
    fail_msg("%u lines of tests/unit/ops/fingerprints.txt are not so any more (see fingerprint.h)", changed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operands_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
