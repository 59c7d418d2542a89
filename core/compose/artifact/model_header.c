// SPDX-License-Identifier: Apache-2.0
// Writes the header beside an artifact: the texts of byoc/artifact.h and of the headers that it includes, then typed
// functions for this model.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/compose/artifact/compose.h"
#include "core/compose/c/signature.h"
#include "core/compose/cc/tool.h"

typedef struct names_t {
  const char *entry;                                                 // NULL: the only one
  char file[BYOC_COMPOSE_PREFIX_BYTES];                              // "mnist", from the header's name
  char prefix[BYOC_COMPOSE_PREFIX_BYTES + BYOC_COMPOSE_ENTRY_BYTES]; // the same, or "mnist_decode" of an entry
  char upper[BYOC_COMPOSE_PREFIX_BYTES + BYOC_COMPOSE_ENTRY_BYTES];  // "MNIST"
  const char **arguments;                                            // inputs, then outputs: C identifiers
  const char **macros;                                               // the same in capitals
  byoc_dim_names_t dims;                                             // the model's names for them
} names_t;

// Words that cannot name a parameter: keywords of C and C++, macros of the included headers, and names that the
// functions use themselves. clang-format off
static const char *const reserved_words[] = {
    "alignas",      "alignof",       "and",         "and_eq",        "asm",       "auto",
    "bitand",       "bitor",         "bool",        "break",         "case",      "catch",
    "char",         "class",         "co_await",    "co_return",     "co_yield",  "compl",
    "concept",      "const",         "const_cast",  "consteval",     "constexpr", "constinit",
    "continue",     "decltype",      "default",     "delete",        "do",        "double",
    "dynamic_cast", "else",          "enum",        "explicit",      "export",    "extern",
    "false",        "float",         "for",         "friend",        "goto",      "if",
    "inline",       "int",           "long",        "mutable",       "namespace", "new",
    "noexcept",     "not",           "not_eq",      "nullptr",       "operator",  "or",
    "or_eq",        "private",       "protected",   "public",        "register",  "reinterpret_cast",
    "requires",     "restrict",      "return",      "short",         "signed",    "sizeof",
    "static",       "static_assert", "static_cast", "struct",        "switch",    "template",
    "this",         "thread_local",  "throw",       "true",          "try",       "typedef",
    "typeid",       "typename",      "typeof",      "typeof_unqual", "union",     "unsigned",
    "using",        "virtual",       "void",        "volatile",      "while",     "xor",
    "xor_eq",       "BUFSIZ",        "EOF",         "NULL",          "errno",     "linux",
    "main",         "stderr",        "stdin",       "stdout",        "unix",      "context",
    "inputs",       "memset",        "outputs",     "status"};
// clang-format on

static bool is_reserved(const char *word) {
  for (size_t i = 0; i < sizeof(reserved_words) / sizeof(reserved_words[0]); i++) {
    if (strcmp(word, reserved_words[i]) == 0) return true;
  }
  size_t length = strlen(word);
  bool is_type = length > 2 && strcmp(word + length - 2, "_t") == 0;
  bool is_ours = byoc_starts_with(word, "byoc_") || byoc_starts_with(word, "BYOC_");
  return is_type || is_ours || (word[0] == '_' && (word[1] == '_' || isupper((unsigned char)word[1])));
}

static void to_upper(const char *from, char *to, size_t size) {
  size_t i = 0;
  for (; from[i] != '\0' && i + 1 < size; i++) to[i] = (char)toupper((unsigned char)from[i]);
  to[i] = '\0';
}

// The suffix that makes the name of an input's dimensions out of the input's name.
#define DIMS_SUFFIX "_dims"

// The used names: arguments of an entry's functions, in capitals, and macros of all entries. A macro begins with the
// entry's name, and that of 'x' in an entry 'a_b' must differ from that of 'b_x' in an entry 'a'.
typedef struct taken_t {
  byoc_map_t arguments, *macros; // text maps
  const char *prefix;            // of the entry's macros
} taken_t;

// An identifier for one tensor. It differs from the others in capitals too (they name macros). `with_dims`: so does the
// name of its dimensions.
static byoc_status_t name_tensor(const char *name, bool with_dims, taken_t *taken, byoc_arena_t *arena,
                                 const char **out_name, const char **out_macro) {
  char plain[256], candidate[280], upper[280], dims[300],
      macro[BYOC_COMPOSE_PREFIX_BYTES + BYOC_COMPOSE_ENTRY_BYTES + 300];
  byoc_make_identifier(name, plain, sizeof(plain));
  snprintf(candidate, sizeof(candidate), "%s%s", plain, is_reserved(plain) ? "_" : "");
  for (int number = 2;; number++) {
    to_upper(candidate, upper, sizeof(upper));
    snprintf(dims, sizeof(dims), "%s" DIMS_SUFFIX, candidate);
    to_upper(dims, dims, sizeof(dims));
    snprintf(macro, sizeof(macro), "%s_%s", taken->prefix, upper);
    bool is_taken =
        byoc_string_map_find(&taken->arguments, upper) != NULL || byoc_string_map_find(taken->macros, macro);
    if (!is_taken && !(with_dims && byoc_string_map_find(&taken->arguments, dims) != NULL)) break;
    snprintf(candidate, sizeof(candidate), "%s_%d", plain, number);
  }
  *out_name = byoc_arena_copy_string(arena, candidate);
  *out_macro = byoc_arena_copy_string(arena, upper);
  bool ok = *out_name != NULL && *out_macro != NULL && byoc_string_map_put(&taken->arguments, upper, taken) &&
            byoc_string_map_put(taken->macros, macro, taken);
  ok = ok && (!with_dims || byoc_string_map_put(&taken->arguments, dims, taken));
  return ok ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

// Tensors of known rank are passed as data and dimensions, all others as an argument made by the caller.
static bool has_dims(const byoc_type_t *type) {
  return byoc_type_is_tensor(type) && type->rank != BYOC_RANK_UNKNOWN;
}

static byoc_status_t make_names(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                byoc_map_t *macros, byoc_arena_t *arena, names_t *out_names) {
  const byoc_compose_place_t *place = &options->place;
  out_names->entry = place->count > 0 ? place->names[place->index] : NULL;
  byoc_compose_prefix(options, out_names->file);
  snprintf(out_names->prefix, sizeof(out_names->prefix), "%s%s%s", out_names->file, place->count > 0 ? "_" : "",
           place->count > 0 ? out_names->entry : "");
  to_upper(out_names->prefix, out_names->upper, sizeof(out_names->upper));
  size_t count = program->inputs.count + program->outputs.count;
  out_names->arguments = BYOC_ARENA_ARRAY(arena, const char *, count);
  out_names->macros = BYOC_ARENA_ARRAY(arena, const char *, count);
  if (out_names->arguments == NULL || out_names->macros == NULL) return BYOC_OUT_OF_MEMORY;
  if (!byoc_host_dim_names(program, arena, &out_names->dims)) return BYOC_OUT_OF_MEMORY;
  taken_t taken = {.macros = macros, .prefix = out_names->upper};
  byoc_string_map_init(&taken.arguments, arena->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; i++) {
    const byoc_host_buffer_t *buffer =
        i < program->inputs.count ? program->inputs.data[i] : program->outputs.data[i - program->inputs.count];
    bool with_dims = program->is_dynamic && i < program->inputs.count && has_dims(buffer->type);
    status = name_tensor(byoc_host_port_name(buffer), with_dims, &taken, arena, &out_names->arguments[i],
                         &out_names->macros[i]);
  }
  byoc_map_deinit(&taken.arguments);
  return status;
}

// The C type of a tensor's elements. Types that C lacks are passed as their bits; 4-bit ones two per byte, complex ones
// as pairs.
static const char *element_type(byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F32:
  case BYOC_DTYPE_C64:
    return "float";
  case BYOC_DTYPE_F64:
  case BYOC_DTYPE_C128:
    return "double";
  case BYOC_DTYPE_I8:
    return "int8_t";
  case BYOC_DTYPE_I16:
    return "int16_t";
  case BYOC_DTYPE_I32:
    return "int32_t";
  case BYOC_DTYPE_I64:
    return "int64_t";
  case BYOC_DTYPE_U16:
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
    return "uint16_t";
  case BYOC_DTYPE_U32:
    return "uint32_t";
  case BYOC_DTYPE_U64:
    return "uint64_t";
  case BYOC_DTYPE_STRING:
    return "char *const";
  default:
    return "uint8_t";
  }
}

static const byoc_host_buffer_t *tensor_at(const byoc_host_program_t *program, size_t index) {
  size_t inputs = program->inputs.count;
  return index < inputs ? program->inputs.data[index] : program->outputs.data[index - inputs];
}

static void emit_macros(const byoc_host_program_t *program, const names_t *names, byoc_string_t *out) {
  size_t count = program->inputs.count + program->outputs.count;
  for (size_t i = 0; i < count; i++) {
    const byoc_host_buffer_t *buffer = tensor_at(program, i);
    const byoc_type_t *type = buffer->type;
    while (type->element != NULL) type = type->element;
    int64_t elements = byoc_type_is_static(buffer->type) ? byoc_type_element_count(buffer->type) : -1;
    byoc_string_appendf(out, "// %s ", i < program->inputs.count ? "Input" : "Output");
    byoc_string_append_c_quoted(out, byoc_host_port_name(buffer));
    byoc_string_append(out, ": ");
    byoc_type_print_named(buffer->type, &names->dims, out);
    byoc_type_print_formulas(buffer->type, &names->dims, out);
    byoc_string_appendf(out, "\n#define %s_%s_RANK %d\n#define %s_%s_DIMS", names->upper, names->macros[i],
                        (int)type->rank, names->upper, names->macros[i]);
    for (int32_t d = 0; d < type->rank; d++) {
      byoc_dim_t dim = type->dims[d];
      byoc_string_appendf(out, "%s%lld", d > 0 ? ", " : " ",
                          (long long)(byoc_dim_is_constant(dim) ? dim.constant : -1));
    }
    byoc_string_append(out, "\n");
    if (elements < 0) continue;
    byoc_string_appendf(out, "#define %s_%s_COUNT %lld\n#define %s_%s_SIZE_BYTES %llu\n", names->upper,
                        names->macros[i], (long long)elements, names->upper, names->macros[i],
                        (unsigned long long)buffer->size_bytes);
  }
}

// Replaces $ by the prefix, @ by the prefix in capitals and ~ by the prefix without the entry's name.
static void emit_template(const char *text, const names_t *names, byoc_string_t *out) {
  for (const char *at = text; *at != '\0'; at++) {
    if (*at == '$') byoc_string_append(out, names->prefix);
    if (*at == '@') byoc_string_append(out, names->upper);
    if (*at == '~') byoc_string_append(out, names->file);
    if (*at != '$' && *at != '@' && *at != '~') byoc_string_append_bytes(out, at, 1);
  }
}

static const char types_text[] = "\n"
                                 "// A loaded artifact. Shared by any number of contexts and threads.\n"
                                 "typedef struct $_model_t {\n"
                                 "  void *library; // NULL in a program that holds the model\n"
                                 "  const byoc_artifact_t *artifact;\n"
                                 "  char message[512]; // why $_load failed\n"
                                 "} $_model_t;\n"
                                 "\n"
                                 "// Everything that one thread needs to run the model.\n"
                                 "typedef struct $_context_t {\n"
                                 "  const byoc_artifact_t *artifact;\n"
                                 "  byoc_context_t *context;\n"
                                 "} $_context_t;\n"
                                 "\n";

static const char unload_text[] = "static inline void $_unload($_model_t *model) {\n"
                                  "  if (model->library != NULL) (void)dlclose(model->library);\n"
                                  "  model->library = NULL;\n"
                                  "  model->artifact = NULL;\n"
                                  "}\n"
                                  "\n";

static const char refuse_text[] =
    "static inline int32_t $_refuse($_model_t *model, int32_t status, const char *reason, const char *detail) {\n"
    "  (void)snprintf(model->message, sizeof(model->message), \"%s%s\", reason, detail);\n"
    "  $_unload(model);\n"
    "  return status;\n"
    "}\n"
    "\n";

static const char choose_text[] =
    "// Takes the entry that these functions are for, of those that the artifact has.\n"
    "static inline int $_choose($_model_t *model) {\n"
    "  const byoc_artifact_t *first = model->artifact;\n"
    "  uint32_t i;\n"
    "  if (first->struct_size < offsetof(byoc_artifact_t, entry_count) + sizeof(uint32_t)) return 0;\n"
    "  for (i = 0; i < first->entry_count; ++i) {\n"
    "    model->artifact = first->entries[i];\n"
    "    if (strcmp(model->artifact->entry, @_ENTRY) == 0) return 1;\n"
    "  }\n"
    "  return 0;\n"
    "}\n"
    "\n";

static const char matches_begin_text[] = "// Is the artifact the one that this header belongs to?\n"
                                         "static inline int $_matches($_model_t *model) {\n";
static const char matches_choose_text[] = "  if (!$_choose(model)) return 0;\n";
static const char matches_end_text[] =
    "  if (model->artifact->struct_size < offsetof(byoc_artifact_t, signature_hash) + sizeof(uint64_t)) return 0;\n"
    "  return model->artifact->signature_hash == @_SIGNATURE && strcmp(model->artifact->model_name, @_NAME) == 0;\n"
    "}\n"
    "\n";

static const char explain_text[] =
    "// Why dlopen failed. Of a file for another kind of processor it says that there is none.\n"
    "static inline int32_t $_explain(const char *path, const char *reason, $_model_t *model) {\n"
    "  const size_t length = strlen(path);\n"
    "  FILE *file = NULL;\n"
    "  if (strchr(path, '/') != NULL && strncmp(reason, path, length) == 0 && strstr(reason + length, \"No such "
    "file\")) {\n"
    "    file = fopen(path, \"rb\");\n"
    "  }\n"
    "  if (file == NULL) return $_refuse(model, BYOC_IO, \"cannot be loaded: \", reason);\n"
    "  (void)fclose(file);\n"
    "  return $_refuse(model, BYOC_UNSUPPORTED, path,\n"
    "                  \" was made for another kind of processor than this one: byoc inspect tells which\");\n"
    "}\n"
    "\n";

static const char load_text[] =
    "// Loads the artifact at `path` (without a slash it is looked for as dlopen does) and checks that it is this "
    "model\n"
    "// and that this processor can run it. With BYOC_VERIFY=1 in the environment and a slash in `path`, it is first\n"
    "// checked that the file is what byoc wrote. BYOC_OK, or another status with the reason in model->message.\n"
    "static inline int32_t $_load(const char *path, $_model_t *model) {\n"
    "  byoc_artifact_entry_t entry = NULL;\n"
    "  const char *verify = getenv(\"BYOC_VERIFY\");\n"
    "  struct stat info;\n"
    "  void *symbol;\n"
    "  int32_t status;\n"
    "  memset(model, 0, sizeof(*model));\n"
    "  if (path == NULL) {\n"
    "    return $_refuse(model, BYOC_INVALID_ARGUMENT, \"this header is that of a shared object, which has to be "
    "named: \"\n"
    "                    \"the header that byoc writes beside a .a or .o is another one\", \"\");\n"
    "  }\n"
    "  if (strchr(path, '/') != NULL && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {\n"
    "    return $_refuse(model, BYOC_INVALID_DATA, path, \" is not a regular file\");\n"
    "  }\n"
    "  if (verify != NULL && strcmp(verify, \"1\") == 0 && strchr(path, '/') != NULL) {\n"
    "    status = byoc_verify_file(path, model->message, sizeof(model->message));\n"
    "    if (status != BYOC_OK) return status;\n"
    "  }\n"
    "  model->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);\n"
    "  if (model->library == NULL) return $_explain(path, dlerror(), model);\n"
    "  symbol = dlsym(model->library, BYOC_ARTIFACT_ENTRY);\n"
    "  if (symbol == NULL) return $_refuse(model, BYOC_INVALID_DATA, path, \" is not an artifact\");\n"
    "  memcpy(&entry, &symbol, sizeof(entry));\n"
    "  model->artifact = entry(BYOC_ARTIFACT_ABI);\n"
    "  if (model->artifact == NULL) return $_refuse(model, BYOC_VERSION, path, \" was made by an older byoc\");\n"
    "  if (!$_matches(model)) {\n"
    "    return $_refuse(model, BYOC_INVALID_ARGUMENT, path,\n"
    "                    \" is another model, or another version of it, than this header is for\");\n"
    "  }\n"
    "  status = model->artifact->check(model->message, sizeof(model->message));\n"
    "  if (status != BYOC_OK) $_unload(model);\n"
    "  return status;\n"
    "}\n"
    "\n";

static const char static_unload_text[] = "static inline void $_unload($_model_t *model) {\n"
                                         "  model->artifact = NULL;\n"
                                         "}\n"
                                         "\n";

static const char static_load_text[] =
    "const byoc_artifact_t *~" BYOC_COMPOSE_STATIC_ENTRY "(uint32_t abi_version);\n"
    "\n"
    "// Checks that the artifact in this program is the one that the header is for, and that this processor can run "
    "it.\n"
    "// `path` is not used: it is there so that programs need not know how the model was built. BYOC_OK, or another "
    "status\n"
    "// with the reason in model->message.\n"
    "static inline int32_t $_load(const char *path, $_model_t *model) {\n"
    "  int32_t status;\n"
    "  (void)path;\n"
    "  memset(model, 0, sizeof(*model));\n"
    "  model->artifact = ~" BYOC_COMPOSE_STATIC_ENTRY "(BYOC_ARTIFACT_ABI);\n"
    "  if (model->artifact == NULL) {\n"
    "    return $_refuse(model, BYOC_VERSION, \"the artifact in this program was made by an older byoc\", \"\");\n"
    "  }\n"
    "  if (!$_matches(model)) {\n"
    "    return $_refuse(model, BYOC_INVALID_ARGUMENT, \"the artifact in this program is another model, or another \"\n"
    "                    \"version of it, than this header is for\", \"\");\n"
    "  }\n"
    "  status = model->artifact->check(model->message, sizeof(model->message));\n"
    "  if (status != BYOC_OK) $_unload(model);\n"
    "  return status;\n"
    "}\n"
    "\n";

static const char context_text[] =
    "// Makes a context; `options` may be NULL. BYOC_OK, or another status with the reason from $_error(NULL, model).\n"
    "static inline int32_t $_create(const $_model_t *model, const byoc_context_options_t *options,\n"
    "                               $_context_t *context) {\n"
    "  context->artifact = model->artifact;\n"
    "  return model->artifact->create(options, &context->context);\n"
    "}\n"
    "\n"
    "static inline void $_destroy($_context_t *context) {\n"
    "  if (context->artifact != NULL) context->artifact->destroy(context->context);\n"
    "  context->context = NULL;\n"
    "}\n"
    "\n"
    "// Why the last run of this context failed; with NULL, why this thread's last $_create did, or why the model was "
    "not\n"
    "// loaded.\n"
    "static inline const char *$_error(const $_context_t *context, const $_model_t *model) {\n"
    "  if (context != NULL) return context->artifact->last_error(context->context);\n"
    "  return model->artifact != NULL ? model->artifact->last_error(NULL) : model->message;\n"
    "}\n"
    "\n";

static const char run_text[] =
    "// One inference; tensors are dense and row-major, outputs are overwritten. BYOC_OK, or another status with the\n"
    "// reason from $_error.\n"
    "static inline int32_t $_run($_context_t *context";

static const char run_dynamic_text[] =
    "// One inference with the shapes given. Inputs are dense and row-major, each with its dimensions behind it; "
    "outputs\n"
    "// are filled with type, shape and data, which belong to the context and stay until the run after the next one "
    "or\n"
    "// $_destroy: they may be inputs of the next run.\n"
    "// BYOC_OK, or another status with the reason from $_error.\n"
    "static inline int32_t $_run($_context_t *context";

static void emit_run_dynamic(const byoc_host_program_t *program, const names_t *names, byoc_string_t *out) {
  size_t inputs = program->inputs.count, count = inputs + program->outputs.count;
  emit_template(run_dynamic_text, names, out);
  for (size_t i = 0; i < count; i++) {
    const byoc_type_t *type = tensor_at(program, i)->type;
    const char *name = names->arguments[i];
    if (i >= inputs) {
      byoc_string_appendf(out, ",\n    byoc_argument_t *%s", name);
    } else if (!has_dims(type)) {
      byoc_string_appendf(out, ",\n    const byoc_argument_t *%s", name);
    } else {
      byoc_string_appendf(out, ",\n    const %s *%s", element_type(type->dtype), name);
      if (type->rank > 0)
        byoc_string_appendf(out, ", const int64_t *%s" DIMS_SUFFIX " /* %d */", name, (int)type->rank);
    }
  }
  byoc_string_appendf(out, ") {\n  byoc_argument_t inputs[%zu], outputs[%zu];\n  int32_t status;\n",
                      inputs > 0 ? inputs : 1, count > inputs ? count - inputs : 1);
  byoc_string_append(out, "  memset(inputs, 0, sizeof(inputs));\n  memset(outputs, 0, sizeof(outputs));\n");
  for (size_t i = 0; i < inputs; i++) {
    const byoc_type_t *type = tensor_at(program, i)->type;
    const char *name = names->arguments[i];
    if (!has_dims(type)) {
      byoc_string_appendf(out, "  inputs[%zu] = *%s;\n", i, name);
      continue;
    }
    char dtype[24];
    to_upper(byoc_dtype_name(type->dtype), dtype, sizeof(dtype));
    byoc_string_appendf(out, "  inputs[%zu].dtype = BYOC_DTYPE_%s;\n  inputs[%zu].rank = %du;\n", i, dtype, i,
                        (int)type->rank);
    if (type->rank > 0) byoc_string_appendf(out, "  inputs[%zu].dims = %s" DIMS_SUFFIX ";\n", i, name);
    byoc_string_appendf(out, "  inputs[%zu].data = (void *)(uintptr_t)%s;\n", i, name);
  }
  byoc_string_append(out, "  status = context->artifact->run_arguments(context->context, inputs, outputs);\n");
  for (size_t i = inputs; i < count; i++) {
    byoc_string_appendf(out, "  *%s = outputs[%zu];\n", names->arguments[i], i - inputs);
  }
  byoc_string_append(out, "  return status;\n}\n");
}

// "y may be x's memory: then only what is new is written"
static void emit_pairs(const byoc_host_program_t *program, const names_t *names, byoc_string_t *out) {
  for (size_t i = 0; i < program->outputs.count; i++) {
    for (size_t k = 0; k < program->inputs.count; k++) {
      if (program->outputs.data[i]->over != program->inputs.data[k]) continue;
      byoc_string_appendf(out, "// %s may be the memory of %s, which then changes in place.\n",
                          names->arguments[program->inputs.count + i], names->arguments[k]);
    }
  }
}

static void emit_run(const byoc_host_program_t *program, const names_t *names, byoc_string_t *out) {
  size_t inputs = program->inputs.count, count = inputs + program->outputs.count;
  emit_pairs(program, names, out);
  emit_template(run_text, names, out);
  for (size_t i = 0; i < count; i++) {
    byoc_string_appendf(out, ",\n    %s%s *%s", i < inputs ? "const " : "",
                        element_type(tensor_at(program, i)->type->dtype), names->arguments[i]);
  }
  byoc_string_appendf(out, ") {\n  const void *inputs[%zu];\n  void *outputs[%zu];\n", inputs > 0 ? inputs : 1,
                      count > inputs ? count - inputs : 1);
  if (inputs == 0) byoc_string_append(out, "  inputs[0] = NULL;\n");
  if (inputs == count) byoc_string_append(out, "  outputs[0] = NULL;\n");
  for (size_t i = 0; i < count; i++) {
    if (i < inputs) byoc_string_appendf(out, "  inputs[%zu] = %s;\n", i, names->arguments[i]);
    if (i >= inputs) byoc_string_appendf(out, "  outputs[%zu] = %s;\n", i - inputs, names->arguments[i]);
  }
  byoc_string_append(out, "  return context->artifact->run(context->context, inputs, outputs);\n}\n");
}

// `artifact` is the path of the file that it loads, which lies beside the program; NULL: named after the functions.
// `is_static`: the program holds the model, and loads no file.
static void emit_example(const names_t *names, const char *artifact, bool is_static, byoc_string_t *out) {
  const char *slash = artifact != NULL ? strrchr(artifact, '/') : NULL;
  emit_template("//   $_model_t model;\n"
                "//   $_context_t context;\n"
                "//   if ($_load(",
                names, out);
  byoc_string_t file;
  byoc_string_init(&file, out->allocator);
  byoc_string_appendf(&file, "./%s%s",
                      artifact == NULL ? names->prefix
                      : slash != NULL  ? slash + 1
                                       : artifact,
                      artifact == NULL ? ".so" : "");
  if (is_static) byoc_string_append(out, "NULL");
  if (!is_static) byoc_string_append_c_quoted(out, file.data);
  out->failed |= file.failed;
  byoc_string_deinit(&file);
  emit_template(", &model) != BYOC_OK) ... model.message ...\n"
                "//   if ($_create(&model, NULL, &context) != BYOC_OK) ... $_error(NULL, &model) ...\n"
                "//   if ($_run(&context, ...) != BYOC_OK) ... $_error(&context, &model) ...\n"
                "//   $_destroy(&context);\n"
                "//   $_unload(&model);\n",
                names, out);
}

static char *path_beside(const char *output, const char *ending, byoc_allocator_t allocator) {
  size_t length = strlen(output), ending_bytes = strlen(ending) + 1;
  if (byoc_ends_with(output, ".so")) length -= 3;
  if (byoc_compose_form(output) != BYOC_COMPOSE_SHARED) length -= 2;
  char *path = byoc_allocate(allocator, length + ending_bytes, 1);
  if (path == NULL) return NULL;
  memcpy(path, output, length);
  memcpy(path + length, ending, ending_bytes);
  return path;
}

char *byoc_compose_header_path(const char *output, byoc_allocator_t allocator) {
  return path_beside(output, ".h", allocator);
}

char *byoc_compose_weights_path(const char *output, byoc_allocator_t allocator) {
  return path_beside(output, ".weights", allocator);
}

// In the comment at the top of headers of shared objects, and of no others.
static const char linked_by_dl[] = "-ldl";

byoc_status_t byoc_compose_note_header(const char *output, byoc_diag_t *diag) {
  byoc_file_view_t view;
  char *path = byoc_compose_header_path(output, byoc_allocator_system());
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  if (!byoc_file_is_special(output) && byoc_file_view_open(path, NULL, &view) == BYOC_OK) {
    static const char words[] = "link with ";
    const char *at = memmem(view.data, view.size_bytes, words, strlen(words));
    const size_t left = at != NULL ? view.size_bytes - (size_t)(at - (const char *)view.data) - strlen(words) : 0;
    const bool was_shared =
        left > strlen(linked_by_dl) && memcmp(at + strlen(words), linked_by_dl, strlen(linked_by_dl)) == 0;
    const bool is_shared = byoc_compose_form(output) == BYOC_COMPOSE_SHARED;
    if (at != NULL && was_shared != is_shared) {
      byoc_log(BYOC_LOG_WARNING,
               "'%s' was the header of %s and becomes that of '%s': programs with the other one need theirs back; "
               "give one of the two another name or folder",
               path, was_shared ? "a shared object" : "a static library or object", output);
    }
    byoc_file_view_close(&view);
  }
  byoc_free(byoc_allocator_system(), path);
  return BYOC_OK;
}

// The headers of byoc that a user of an artifact needs, each after those that it includes.
static const char *const public_headers[] = {"byoc/status.h", "byoc/dtype.h", "byoc/artifact.h", "byoc/verify.h"};

// The text of a header without its #include lines of the others.
static void emit_public_header(const char *path, byoc_string_t *out) {
  static const char inclusion[] = "#include \"byoc/";
  byoc_embedded_header_t header = byoc_embedded_header_find(path);
  const char *at = (const char *)header.data, *end = at + header.size_bytes;
  while (at < end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    size_t size = line_end != NULL ? (size_t)(line_end - at) + 1 : (size_t)(end - at);
    bool is_inclusion = size >= sizeof(inclusion) && memcmp(at, inclusion, sizeof(inclusion) - 1) == 0;
    if (!is_inclusion) byoc_string_append_bytes(out, at, size);
    at += size;
  }
  byoc_string_append(out, "\n");
}

// The part of the header above the functions of all entries.
static void emit_top(const byoc_compose_options_t *options, const names_t *names, bool is_static, byoc_string_t *out) {
  byoc_string_append(out, "// Typed functions for the model ");
  byoc_string_append_c_quoted(out, options->model_name);
  byoc_string_appendf(out,
                      ", generated by byoc " BYOC_VERSION_TEXT " beside its artifact. Needs nothing else of byoc's;\n"
                      "// C99 or later, or C++; link with %s.\n//\n",
                      byoc_compose_is_source(options->output) ? "the library that the Makefile beside it builds and -lm"
                      : is_static                             ? "the artifact, -lm and -lpthread"
                                                              : linked_by_dl);
  emit_example(names, options->output, is_static, out);
}

static void emit_includes(bool is_static, byoc_string_t *out) {
  byoc_string_appendf(out, "%s#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n\n",
                      is_static ? "" : "#include <dlfcn.h>\n#include <sys/stat.h>\n");
  for (size_t i = 0; i < sizeof(public_headers) / sizeof(public_headers[0]); i++) {
    if (is_static && strcmp(public_headers[i], "byoc/verify.h") == 0) continue; // there is no file to check
    emit_public_header(public_headers[i], out);
  }
}

// The functions of one entry.
static byoc_status_t emit_functions(const byoc_compose_entry_t *entry, const names_t *names, bool is_static,
                                    byoc_string_t *out) {
  const byoc_host_program_t *program = entry->program;
  const uint64_t signature = byoc_compose_signature(program, out->allocator);
  if (signature == 0) out->failed = true;
  byoc_string_append(out, "// What follows belongs to this model");
  if (names->entry != NULL) byoc_string_appendf(out, "'s entry '%s'", names->entry);
  byoc_string_appendf(out, ".\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n#define %s_NAME ", names->upper);
  byoc_string_append_c_quoted(out, entry->options.model_name);
  if (names->entry != NULL) byoc_string_appendf(out, "\n#define %s_ENTRY \"%s\"", names->upper, names->entry);
  byoc_string_appendf(out, "\n#define %s_INPUTS %zuu\n#define %s_OUTPUTS %zuu\n", names->upper, program->inputs.count,
                      names->upper, program->outputs.count);
  emit_macros(program, names, out);
  byoc_string_appendf(out,
                      "// Of names, types and dimensions of all inputs and outputs.\n"
                      "#define %s_SIGNATURE UINT64_C(0x%016llx)\n",
                      names->upper, (unsigned long long)signature);
  emit_template(types_text, names, out);
  emit_template(is_static ? static_unload_text : unload_text, names, out);
  emit_template(refuse_text, names, out);
  if (names->entry != NULL) emit_template(choose_text, names, out);
  emit_template(matches_begin_text, names, out);
  if (names->entry != NULL) emit_template(matches_choose_text, names, out);
  emit_template(matches_end_text, names, out);
  if (!is_static) emit_template(explain_text, names, out);
  emit_template(is_static ? static_load_text : load_text, names, out);
  emit_template(context_text, names, out);
  if (program->is_dynamic) {
    emit_run_dynamic(program, names, out);
  } else {
    emit_run(program, names, out);
  }
  byoc_string_append(out, "\n#ifdef __cplusplus\n}\n#endif\n");
  return out->failed ? BYOC_OUT_OF_MEMORY : BYOC_OK;
}

// The declarations of the header, once in a translation unit. The guard's value tells them from those of other headers
// under the same names.
static void emit_guarded(const char *file, const byoc_string_t *text, byoc_string_t *out) {
  char upper[BYOC_COMPOSE_PREFIX_BYTES];
  to_upper(file, upper, sizeof(upper));
  const unsigned value = (unsigned)byoc_content_hash(text->data, text->size).low & 0x7fffffffu;
  byoc_string_appendf(out, "#ifndef %s_MODEL_H_\n#define %s_MODEL_H_ 0x%08x\n\n", upper, upper, value);
  byoc_string_append_bytes(out, text->data, text->size);
  byoc_string_appendf(out,
                      "#elif %s_MODEL_H_ != 0x%08x\n#error \"two models have functions that begin with %s_: build one "
                      "with another --name\"\n#endif // %s_MODEL_H_\n",
                      upper, value, file, upper);
}

byoc_status_t byoc_compose_emit_header(const byoc_compose_entry_t *entries, size_t count, byoc_string_t *out,
                                       byoc_diag_t *diag) {
  const byoc_compose_options_t *options = &entries[0].options;
  const bool is_static = options->output != NULL && byoc_compose_form(options->output) != BYOC_COMPOSE_SHARED;
  byoc_status_t status = BYOC_OK;
  byoc_string_t text;
  byoc_map_t macros;
  byoc_string_init(&text, out->allocator);
  byoc_string_map_init(&macros, out->allocator);
  emit_includes(is_static, &text);
  for (size_t k = 0; k < count && status == BYOC_OK; k++) {
    names_t names;
    byoc_arena_t arena;
    byoc_arena_init(&arena, out->allocator);
    status = make_names(entries[k].program, &entries[k].options, &macros, &arena, &names);
    if (status == BYOC_OK && k == 0) emit_top(options, &names, is_static, out);
    if (status == BYOC_OK && k > 0) byoc_string_append(&text, "\n");
    if (status == BYOC_OK) status = emit_functions(&entries[k], &names, is_static, &text);
    byoc_arena_deinit(&arena);
  }
  char prefix[BYOC_COMPOSE_PREFIX_BYTES];
  byoc_compose_prefix(options, prefix);
  if (status == BYOC_OK && text.failed) status = BYOC_OUT_OF_MEMORY;
  if (status == BYOC_OK) emit_guarded(prefix, &text, out);
  byoc_string_deinit(&text);
  byoc_map_deinit(&macros);
  return status == BYOC_OK && !out->failed ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
