// SPDX-License-Identifier: Apache-2.0
// Emits loops that look bytes up in a table of 256 as a function that does 16 to 64 of them at a time: an instruction
// picks bytes by the lower half of an index from 16 entries, so that there is one pick for each upper half.
#include "core/kernel/emit.h"

typedef struct look_up_t {
  const byoc_loop_stmt_t *store;
  const byoc_loop_expr_t *from; // the load of the index
  const byoc_loop_buffer_t *table;
} look_up_t;

static bool is_byte(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8 || dtype == BYOC_DTYPE_I8;
}

// for i in begin..end { to[... + i] = table[u8(from[... + i])] }
static bool read_loop(const byoc_loop_stmt_t *loop, look_up_t *out) {
  enum { ENTRIES = 256 };
  const byoc_loop_variable_t *variable = loop->loop.variable;
  if (loop->loop.kind != BYOC_LOOP_VECTOR || loop->loop.body->block.statements.count != 1) return false;
  out->store = loop->loop.body->block.statements.data[0];
  if (out->store->kind != BYOC_LOOP_STORE || out->store->store.value->kind != BYOC_LOOP_LOAD) return false;
  out->table = out->store->store.value->load.buffer;
  const byoc_loop_expr_t *entry = out->store->store.value->load.index;
  while (entry->kind == BYOC_LOOP_CAST) entry = entry->cast;
  out->from = entry;
  const bool is_table = is_byte(out->table->dtype) && out->table->rank == 1 &&
                        byoc_dim_is_constant(out->table->dims[0]) && out->table->dims[0].constant == ENTRIES;
  return is_table && entry->kind == BYOC_LOOP_LOAD && is_byte(entry->dtype) && is_byte(entry->load.buffer->dtype) &&
         out->store->store.buffer->dtype == out->table->dtype && out->store->store.buffer != out->table &&
         byoc_loop_steps_by_one(out->store->store.index, variable) &&
         byoc_loop_steps_by_one(entry->load.index, variable);
}

static void emit_place(byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index) {
  byoc_string_appendf(emitter->out, "&%s[", buffer->name);
  byoc_emit_expr(emitter, index, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, "], ");
}

bool byoc_emit_look_up_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  look_up_t look_up;
  if (!read_loop(loop, &look_up)) return false;
  byoc_string_t *out = emitter->out;
  byoc_string_indent(out, indent);
  byoc_string_append(out, "{\n");
  byoc_string_indent(out, indent + 2);
  byoc_string_appendf(out, "const int64_t %s = ", loop->loop.variable->name);
  byoc_emit_expr(emitter, loop->loop.begin, BYOC_C_CONDITIONAL);
  byoc_string_append(out, "; // and the elements from there\n");
  byoc_string_indent(out, indent + 2);
  emitter->uses_look_up = true;
  byoc_string_append(out, "byoc_look_up(");
  emit_place(emitter, look_up.store->store.buffer, look_up.store->store.index);
  emit_place(emitter, look_up.from->load.buffer, look_up.from->load.index);
  byoc_string_appendf(out, "%s, ", look_up.table->name);
  byoc_emit_expr(emitter, loop->loop.end, BYOC_C_SUM);
  byoc_string_appendf(out, " - %s);\n", loop->loop.variable->name);
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}\n");
  return true;
}

// Processors with AVX512-VBMI pick from half the table at once. They are found when the code runs, so that it needs no
// more than AVX512BW.
static const char pick_from_halves[] =
    "#if defined(__GNUC__) && defined(__x86_64__) && defined(__AVX512BW__)\n"
    "#include <cpuid.h>\n"
    "#include <immintrin.h>\n"
    "#define BYOC_MAY_HAVE_VBMI 1\n"
    "static inline int byoc_has_vbmi(void) {\n"
    "  static int known; // several threads may find out\n"
    "  int found = __atomic_load_n(&known, __ATOMIC_RELAXED);\n"
    "  if (found == 0) {\n"
    "    unsigned a = 0, b = 0, c = 0, d = 0;\n"
    "    found = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & 2) ? 2 : 1;\n"
    "    __atomic_store_n(&known, found, __ATOMIC_RELAXED);\n"
    "  }\n"
    "  return found == 2;\n"
    "}\n"
    "__attribute__((target(\"avx512vbmi,avx512bw\"))) static void byoc_look_up_vbmi(\n"
    "    uint8_t *y, const uint8_t *x, const uint8_t *entries, int64_t count) {\n"
    "  const __m512i a = _mm512_loadu_si512(entries), b = _mm512_loadu_si512(entries + 64);\n"
    "  const __m512i c = _mm512_loadu_si512(entries + 128), d = _mm512_loadu_si512(entries + 192);\n"
    "  for (int64_t i = 0; i < count; i += 64) {\n"
    "    const __mmask64 some = count - i < 64 ? (UINT64_C(1) << (count - i)) - 1 : ~UINT64_C(0);\n"
    "    const __m512i at = _mm512_maskz_loadu_epi8(some, x + i);\n"
    "    const __m512i low = _mm512_permutex2var_epi8(a, at, b), high = _mm512_permutex2var_epi8(c, at, d);\n"
    "    _mm512_mask_storeu_epi8(y + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));\n"
    "  }\n"
    "}\n"
    "#endif\n";

void byoc_emit_look_up_prelude(byoc_string_t *out) {
  byoc_string_append(out, pick_from_halves);
  byoc_string_append(out,
                     "#if defined(__GNUC__) && defined(__has_builtin)\n"
                     "#if defined(__AVX512BW__) && __has_builtin(__builtin_ia32_pshufb512_mask)\n"
                     "#define BYOC_PICK_BYTES 64\n"
                     "#define BYOC_PICK(entries, at) __builtin_ia32_pshufb512_mask(entries, at, at, (uint64_t)-1)\n"
                     "#elif defined(__AVX512BW__) && __has_builtin(__builtin_ia32_pshufb512)\n"
                     "#define BYOC_PICK_BYTES 64\n"
                     "#define BYOC_PICK(entries, at) __builtin_ia32_pshufb512(entries, at)\n"
                     "#elif defined(__AVX2__) && __has_builtin(__builtin_ia32_pshufb256)\n"
                     "#define BYOC_PICK_BYTES 32\n"
                     "#define BYOC_PICK(entries, at) __builtin_ia32_pshufb256(entries, at)\n"
                     "#elif defined(__SSSE3__) && __has_builtin(__builtin_ia32_pshufb128)\n"
                     "#define BYOC_PICK_BYTES 16\n"
                     "#define BYOC_PICK(entries, at) __builtin_ia32_pshufb128(entries, at)\n"
                     "#endif\n"
                     "#endif\n"
                     "// Bytes by a table of 256, many at a time: sixteen entries for each upper half of an index.\n"
                     "static inline void byoc_look_up(void *to, const void *from, const void *table, int64_t count) {\n"
                     "  uint8_t *y = (uint8_t *)to;\n"
                     "  const uint8_t *x = (const uint8_t *)from, *entries = (const uint8_t *)table;\n"
                     "  int64_t i = 0;\n"
                     "#if defined(BYOC_MAY_HAVE_VBMI)\n"
                     "  if (byoc_has_vbmi()) {\n"
                     "    byoc_look_up_vbmi(y, x, entries, count);\n"
                     "    return;\n"
                     "  }\n"
                     "#endif\n"
                     "#if defined(BYOC_PICK_BYTES)\n"
                     "  typedef char lanes_t __attribute__((vector_size(BYOC_PICK_BYTES)));\n"
                     "  typedef unsigned char bytes_t __attribute__((vector_size(BYOC_PICK_BYTES)));\n"
                     "  lanes_t parts[16];\n"
                     "  for (int part = 0; part < 16; ++part) {\n"
                     "    for (int copy = 0; copy < BYOC_PICK_BYTES / 16; ++copy) {\n"
                     "      memcpy((char *)&parts[part] + 16 * copy, entries + 16 * part, 16);\n"
                     "    }\n"
                     "  }\n"
                     "  for (; i + BYOC_PICK_BYTES <= count; i += BYOC_PICK_BYTES) {\n"
                     "    bytes_t at, found = {0};\n"
                     "    memcpy(&at, x + i, sizeof at);\n"
                     "    const lanes_t low = (lanes_t)(at & 15);\n"
                     "    const bytes_t high = at >> 4;\n"
                     "    for (int part = 0; part < 16; ++part) {\n"
                     "      found |= (bytes_t)BYOC_PICK(parts[part], low) & (bytes_t)(high == (unsigned char)part);\n"
                     "    }\n"
                     "    memcpy(y + i, &found, sizeof found);\n"
                     "  }\n"
                     "#endif\n"
                     "  for (; i < count; ++i) y[i] = entries[x[i]];\n"
                     "}\n\n");
}
