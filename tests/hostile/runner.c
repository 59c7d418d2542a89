// SPDX-License-Identifier: Apache-2.0
// Runs one artifact under the address and undefined-behaviour sanitizers: first with the right inputs, which must give
// the expected outputs, then repeatedly with hostile shapes and values. Each of those runs must give results or a
// reason.
//
//   hostile_runner ARTIFACT VALUES COUNT SEED compare|run|try
//
// `run`: nothing is known of the outputs, or they differ from the expected ones. `try`: the right inputs are a guess,
// and may be refused. If a sanitizer ends the program, it prints the inputs of that run.
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byoc/dtype.h"
#include "tests/hostile/values.h"

enum { RUN_SECONDS = 10, MOST_ELEMENTS = 1 << 16 };

void __asan_set_death_callback(void (*callback)(void));

// ---- random numbers ----

static uint64_t state;

static uint64_t below(uint64_t bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % bound;
}

// ---- reading values ----

static FILE *file;

static void read_bytes(void *data, size_t size) {
  if (size > 0 && fread(data, 1, size, file) != size) {
    (void)fprintf(stderr, "the file of values is damaged\n");
    exit(2);
  }
}

static uint32_t read_u32(void) {
  uint32_t value;
  read_bytes(&value, sizeof(value));
  return value;
}

static void *allocate(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  if (memory == NULL) exit(2);
  return memory;
}

static char *read_text(void) {
  size_t size = 0, room = 16;
  char *text = allocate(room);
  do {
    if (size == room) text = realloc(text, room *= 2);
    read_bytes(&text[size], 1);
  } while (text[size++] != '\0');
  return text;
}

static void read_value(byoc_argument_t *out) {
  *out = (byoc_argument_t){.kind = read_u32(), .dtype = read_u32(), .rank = read_u32()};
  int64_t *dims = allocate(HOSTILE_MAX_RANK * sizeof(*dims));
  read_bytes(dims, out->rank * sizeof(*dims));
  uint64_t count = 0;
  read_bytes(&count, sizeof(count));
  out->dims = dims;
  if (out->kind != BYOC_ARGUMENT_TENSOR) {
    out->count = count;
    out->items = allocate((size_t)count * sizeof(*out->items));
    for (uint64_t i = 0; i < count; i++) read_value(&out->items[i]);
  } else if (out->dtype == BYOC_DTYPE_STRING) {
    char **texts = allocate((size_t)count * sizeof(*texts));
    for (uint64_t i = 0; i < count; i++) texts[i] = read_text();
    out->data = texts;
  } else {
    out->data = allocate((size_t)count);
    read_bytes(out->data, (size_t)count);
  }
}

// ---- comparing ----

static uint64_t element_count(const byoc_argument_t *value) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < value->rank; d++) count *= (uint64_t)value->dims[d];
  return count;
}

static double number(const byoc_argument_t *value, uint64_t i) {
  switch (value->dtype) {
  case BYOC_DTYPE_F32:
    return ((const float *)value->data)[i];
  case BYOC_DTYPE_F64:
    return ((const double *)value->data)[i];
  case BYOC_DTYPE_I64:
    return (double)((const int64_t *)value->data)[i];
  case BYOC_DTYPE_I32:
    return ((const int32_t *)value->data)[i];
  case BYOC_DTYPE_U8:
  case BYOC_DTYPE_BOOL:
    return ((const uint8_t *)value->data)[i];
  case BYOC_DTYPE_I8:
    return ((const int8_t *)value->data)[i];
  default:
    return 0; // other types are compared in `byoc conform`
  }
}

static bool agrees(const byoc_argument_t *got, const byoc_argument_t *wanted) {
  if (got->kind != wanted->kind) return false;
  if (got->kind != BYOC_ARGUMENT_TENSOR) {
    bool all = got->count == wanted->count;
    for (uint64_t i = 0; all && i < got->count; i++) all = agrees(&got->items[i], &wanted->items[i]);
    return all;
  }
  if (got->rank != wanted->rank) return false;
  for (uint32_t d = 0; d < got->rank; d++) {
    if (got->dims[d] != wanted->dims[d]) return false;
  }
  uint64_t count = element_count(wanted);
  for (uint64_t i = 0; i < count; i++) {
    if (wanted->dtype == BYOC_DTYPE_STRING) {
      if (strcmp(((char *const *)got->data)[i], ((char *const *)wanted->data)[i]) != 0) return false;
      continue;
    }
    double a = number(got, i), b = number(wanted, i);
    if (isnan(a) != isnan(b)) return false;
    if (!isnan(a) && a != b && !(fabs(a - b) <= 1e-5 + 1e-3 * fabs(b))) return false;
  }
  return true;
}

// Reads every byte of a result, so that the sanitizer finds bytes that do not exist.
static uint64_t touch(const byoc_argument_t *value) {
  uint64_t sum = 0;
  if (value->kind != BYOC_ARGUMENT_TENSOR) {
    for (uint64_t i = 0; i < value->count; i++) sum += touch(&value->items[i]);
    return sum;
  }
  uint64_t count = element_count(value);
  if (value->dtype == BYOC_DTYPE_STRING) {
    for (uint64_t i = 0; i < count; i++) sum += strlen(((char *const *)value->data)[i]);
    return sum;
  }
  for (uint64_t i = 0; i < count * byoc_dtype_bits(value->dtype) / 8; i++) sum += ((const uint8_t *)value->data)[i];
  return sum;
}

// ---- hostile inputs ----

typedef enum { VALUES_RIGHT, VALUES_SMALL, VALUES_ODD, VALUES_WILD } values_t;

static int64_t shared_dims[8];
static const byoc_artifact_t *artifact;
static const byoc_argument_t *running; // the inputs of the run at hand

static int64_t hostile_dim(int64_t right) {
  switch (below(16)) {
  case 0:
    return 0;
  case 1:
    return 1;
  case 2:
    return right + 1;
  case 3:
    return right > 0 ? right - 1 : 0;
  case 4:
  case 5:
  case 6:
    return (int64_t)below(8);
  case 7:
    return 100;
  case 8:
    return right * 2;
  case 9:
    return 1 + (int64_t)below(3000);
  case 10:
  case 11:
  case 12:
    return shared_dims[below(8)];
  default:
    return right;
  }
}

static int64_t hostile_integer(values_t how, int64_t right) {
  static const int64_t odd[] = {0, 0, 1, 1, 2, 3, 4, 5, 7, 8, -1, -1, -2, -3, -5, 100, 1000, 65536};
  static const int64_t special[] = {INT32_MAX,           INT32_MIN,        INT64_C(1) << 32,   INT64_MAX,
                                    INT64_MIN,           INT64_MAX - 1,    INT64_MIN + 1,      INT64_C(1) << 40,
                                    -(INT64_C(1) << 40), INT64_C(1) << 62, -(INT64_C(1) << 62)};
  if (how == VALUES_RIGHT) return right;
  if (how == VALUES_SMALL) return (int64_t)below(4);
  if (how == VALUES_WILD && below(2) == 0) return special[below(sizeof(special) / sizeof(special[0]))];
  return below(3) == 0 ? right : odd[below(sizeof(odd) / sizeof(odd[0]))];
}

static double hostile_real(values_t how, double right) {
  static const double odd[] = {0, 1, -1, 0.5, -0.5, 2, 3, 255, 0.1, 7, 1000};
  static const double special[] = {1e30, -1e30, 1e-30, INFINITY, -INFINITY, NAN, 1e9, -1e9, 1e19, -1e19};
  if (how == VALUES_RIGHT) return right;
  if (how == VALUES_SMALL) return (double)below(100) / 50;
  if (how == VALUES_WILD && below(2) == 0) return special[below(sizeof(special) / sizeof(special[0]))];
  return below(3) == 0 ? right : odd[below(sizeof(odd) / sizeof(odd[0]))];
}

static char *hostile_text(void) {
  static const char *const texts[] = {"",      "a",       "b c", "\xff\xfe", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                      "1e400", "-0x1p-3", "é",   "3.5",      "nan"};
  return strdup(texts[below(sizeof(texts) / sizeof(texts[0]))]);
}

static void fill(byoc_argument_t *value, const byoc_argument_t *right, values_t how) {
  uint64_t count = element_count(value), right_count = right != NULL ? element_count(right) : 0;
  size_t bits = byoc_dtype_bits(value->dtype), size = (count * bits + 7) / 8;
  if (value->dtype == BYOC_DTYPE_STRING) {
    char **texts = allocate((size_t)count * sizeof(*texts));
    for (uint64_t i = 0; i < count; i++) {
      bool keep = how == VALUES_RIGHT && right_count > 0;
      texts[i] = keep ? strdup(((char *const *)right->data)[i % right_count]) : hostile_text();
    }
    value->data = texts;
    return;
  }
  uint8_t *data = allocate(size);
  value->data = data;
  for (uint64_t i = 0; i < count && bits >= 8; i++) {
    uint8_t *at = data + i * bits / 8;
    double real = right_count > 0 ? number(right, i % right_count) : 1;
    int64_t integer = (int64_t)(fabs(real) < 1e18 ? real : 0);
    if (value->dtype == BYOC_DTYPE_F32) {
      float element = (float)hostile_real(how, real);
      memcpy(at, &element, sizeof(element));
    } else if (value->dtype == BYOC_DTYPE_F64) {
      double element = hostile_real(how, real);
      memcpy(at, &element, sizeof(element));
    } else if (value->dtype == BYOC_DTYPE_BOOL) {
      *at = how == VALUES_RIGHT ? integer != 0 : (uint8_t)below(2);
    } else {
      int64_t element[2] = {hostile_integer(how, integer), 0};
      memcpy(at, element, bits / 8);
    }
  }
  for (size_t i = 0; i < size && bits < 8; i++) data[i] = (uint8_t)below(256);
}

static void make_tensor(byoc_argument_t *value, const byoc_argument_t *right, const byoc_tensor_info_t *info,
                        bool is_shape_right, values_t how) {
  uint32_t rank = info->rank == BYOC_ARGUMENT_ANY_RANK ? (uint32_t)below(5) : info->rank;
  if (info->rank == BYOC_ARGUMENT_ANY_RANK && right != NULL && below(2) == 0) rank = right->rank;
  bool has_right = right != NULL && right->rank == rank;
  int64_t *dims = allocate(HOSTILE_MAX_RANK * sizeof(*dims));
  *value = (byoc_argument_t){.kind = BYOC_ARGUMENT_TENSOR, .dtype = info->dtype, .rank = rank, .dims = dims};
  int64_t count = 1;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t good = has_right ? right->dims[d] : 2;
    bool is_fixed = info->rank != BYOC_ARGUMENT_ANY_RANK && info->dims[d] >= 0;
    dims[d] = is_fixed ? info->dims[d] : is_shape_right && has_right ? good : hostile_dim(good);
    if (count * dims[d] > MOST_ELEMENTS) dims[d] = 1;
    count *= dims[d];
  }
  fill(value, right, how);
}

static void make_value(byoc_argument_t *value, const byoc_argument_t *right, const byoc_tensor_info_t *info,
                       const char *kinds, bool is_shape_right, values_t how) {
  if (kinds[0] == 't') {
    make_tensor(value, right != NULL && right->kind == BYOC_ARGUMENT_TENSOR ? right : NULL, info, is_shape_right, how);
    return;
  }
  bool is_sequence = kinds[0] == 's';
  *value = (byoc_argument_t){.kind = is_sequence ? BYOC_ARGUMENT_SEQUENCE : BYOC_ARGUMENT_OPTIONAL};
  value->count = is_shape_right && right != NULL ? right->count : below(is_sequence ? 5 : 2);
  value->items = allocate((size_t)value->count * sizeof(*value->items));
  for (uint64_t i = 0; i < value->count; i++) {
    bool has = right != NULL && right->kind != BYOC_ARGUMENT_TENSOR && right->count > 0;
    make_value(&value->items[i], has ? &right->items[i % right->count] : NULL, info, kinds + 1, is_shape_right, how);
  }
}

static void release(byoc_argument_t *value) {
  if (value->kind != BYOC_ARGUMENT_TENSOR) {
    for (uint64_t i = 0; i < value->count; i++) release(&value->items[i]);
    free(value->items);
    return;
  }
  if (value->dtype == BYOC_DTYPE_STRING) {
    uint64_t count = element_count(value);
    for (uint64_t i = 0; i < count; i++) free(((char **)value->data)[i]);
  }
  free(value->data);
  free((void *)(uintptr_t)value->dims);
}

// ---- what a run was made of ----

static uint64_t run_number;

static void print_value(const char *name, const byoc_argument_t *value) {
  printf("  %s", name);
  if (value->kind != BYOC_ARGUMENT_TENSOR) {
    printf(" of %" PRIu64 " items\n", value->count);
    for (uint64_t i = 0; i < value->count; i++) print_value("item", &value->items[i]);
    return;
  }
  printf(" %s[", byoc_dtype_name(value->dtype));
  for (uint32_t d = 0; d < value->rank; d++) printf("%s%" PRId64, d > 0 ? "," : "", value->dims[d]);
  printf("]");
  uint64_t count = element_count(value);
  for (uint64_t i = 0; i < count && i < 16; i++) {
    if (value->dtype == BYOC_DTYPE_I64) printf(" %" PRId64, ((const int64_t *)value->data)[i]);
    if (value->dtype != BYOC_DTYPE_I64 && value->dtype != BYOC_DTYPE_STRING) printf(" %g", number(value, i));
  }
  printf("\n");
}

static void print_run(void) {
  if (running == NULL) return;
  printf("in run %" PRIu64 ":\n", run_number);
  for (uint32_t i = 0; i < artifact->input_count; i++) print_value(artifact->inputs[i].name, &running[i]);
  (void)fflush(stdout);
}

static void too_slow(int signal_number) {
  (void)signal_number;
  print_run();
  printf(HOSTILE_VERDICT " slow\n");
  (void)fflush(stdout);
  _exit(0);
}

// ---- the runs ----

static byoc_context_t *context;

typedef enum { RIGHT_COMPARE, RIGHT_RUN, RIGHT_TRY } right_t;

static int run_right(const byoc_argument_t *inputs, const byoc_argument_t *wanted, right_t how) {
  byoc_argument_t results[HOSTILE_MAX_PORTS];
  running = inputs;
  int32_t status = artifact->run_arguments(context, inputs, results);
  if (status != BYOC_OK && how == RIGHT_TRY) return 0;
  if (status != BYOC_OK) {
    printf(HOSTILE_VERDICT " wrong: the right inputs are refused: %s\n", artifact->last_error(context));
    return HOSTILE_EXIT_WRONG;
  }
  for (uint32_t i = 0; i < artifact->output_count; i++) {
    if (how != RIGHT_COMPARE || agrees(&results[i], &wanted[i])) continue;
    print_value("got", &results[i]);
    print_value("expected", &wanted[i]);
    printf(HOSTILE_VERDICT " wrong: '%s' is not what is expected\n", artifact->outputs[i].name);
    return HOSTILE_EXIT_WRONG;
  }
  return 0;
}

static int run_hostile(const byoc_argument_t *right, uint64_t *ran, uint64_t *refused) {
  byoc_argument_t inputs[HOSTILE_MAX_PORTS], results[HOSTILE_MAX_PORTS];
  for (size_t i = 0; i < sizeof(shared_dims) / sizeof(shared_dims[0]); i++) shared_dims[i] = (int64_t)below(6);
  uint64_t mode = below(4); // 0: only the values are hostile; 1: only the shapes; else both
  uint32_t chosen = (uint32_t)below(artifact->input_count + 1); // mostly one input alone
  bool only_chosen = below(2) == 0 && chosen < artifact->input_count;
  running = NULL;
  for (uint32_t i = 0; i < artifact->input_count; i++) {
    bool is_right = only_chosen && i != chosen;
    values_t how = is_right || mode == 1 ? VALUES_RIGHT : (values_t)below(4);
    make_value(&inputs[i], &right[i], &artifact->inputs[i], artifact->input_kinds[i], is_right || mode == 0, how);
  }
  running = inputs;
  (void)alarm(RUN_SECONDS);
  int32_t status = artifact->run_arguments(context, inputs, results);
  (void)alarm(0);
  int answer = 0;
  uint64_t sum = 0;
  if (status != BYOC_OK) {
    const char *reason = artifact->last_error(context);
    *refused += 1;
    if (reason == NULL || reason[0] == '\0') {
      print_run();
      printf(HOSTILE_VERDICT " silent: status %d without a reason\n", (int)status);
      answer = HOSTILE_EXIT_SILENT;
    }
  } else {
    *ran += 1;
    for (uint32_t i = 0; i < artifact->output_count; i++) sum += touch(&results[i]);
  }
  running = NULL;
  for (uint32_t i = 0; i < artifact->input_count; i++) release(&inputs[i]);
  return sum == UINT64_MAX ? 1 : answer;
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  const right_t how = strcmp(argv[5], "compare") == 0 ? RIGHT_COMPARE
                      : strcmp(argv[5], "run") == 0   ? RIGHT_RUN
                                                      : RIGHT_TRY;
  uint64_t count = strtoull(argv[3], NULL, 10);
  state = strtoull(argv[4], NULL, 10) * 77777 + 1;
  file = fopen(argv[2], "rb");
  if (file == NULL) return 2;
  byoc_argument_t right[HOSTILE_MAX_PORTS], wanted[HOSTILE_MAX_PORTS];
  uint32_t inputs = read_u32(), outputs = read_u32();
  for (uint32_t i = 0; i < inputs; i++) read_value(&right[i]);
  for (uint32_t i = 0; i < outputs; i++) read_value(&wanted[i]);
  (void)fclose(file);
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  byoc_artifact_entry_t entry = NULL;
  if (library != NULL) *(void **)&entry = dlsym(library, BYOC_ARTIFACT_ENTRY);
  artifact = entry != NULL ? entry(BYOC_ARTIFACT_ABI) : NULL;
  if (artifact == NULL) {
    printf(HOSTILE_VERDICT " wrong: it does not load: %s\n", dlerror());
    return HOSTILE_EXIT_WRONG;
  }
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  if (artifact->create(&options, &context) != BYOC_OK) {
    printf(HOSTILE_VERDICT " wrong: no context: %s\n", artifact->last_error(NULL));
    return HOSTILE_EXIT_WRONG;
  }
  __asan_set_death_callback(print_run);
  (void)signal(SIGALRM, too_slow);
  int answer = run_right(right, wanted, how);
  uint64_t ran = 0, refused = 0;
  for (run_number = 1; run_number <= count && answer == 0; run_number++) answer = run_hostile(right, &ran, &refused);
  if (answer == 0) answer = run_right(right, wanted, how); // hostile runs left nothing behind
  artifact->destroy(context);
  if (answer == 0) printf(HOSTILE_VERDICT " fine: %" PRIu64 " ran, %" PRIu64 " refused\n", ran, refused);
  return answer;
}
