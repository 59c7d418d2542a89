// SPDX-License-Identifier: Apache-2.0
// Translates patterns of RE2 to POSIX patterns, within limits on the work of the C library that compiles them.
#include "core/ops/onnx/text/regex.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Any character beyond ASCII, as bytes.
#define WIDE "[\302-\364][\200-\277][\200-\277]?[\200-\277]?"

// RE2 refuses more than 1000 repetitions, where nested ones are multiplied, and groups deeper than 1000. The C library
// expands repetitions, X+ as XX*. Its work grows with the square of the number of characters after that, and faster
// with nested loops. It doubles with each loop over a group that may be empty, as in "(((a|)+|)+|)+" or "(a|)*(b|)*".
// It copies assertions (^, $, \b, \B) in loops, as in "((\B|)*(\B|)*)*", which takes minutes. So X+ becomes X* if X may
// be empty, and (X*)* becomes (X*): these are equivalent. More than eight loops over groups that may be empty are
// refused. A loop with assertions may contain no other loop of a group, and may not be in one.
enum { MAX_REPETITIONS = 1000, MAX_DEPTH = 1000, MAX_CHARACTERS = 2000, MAX_LOOPS = 32, MAX_EMPTY_LOOPS = 8 };
enum { MAX_ASSERTIONS = 32, MAX_LOOPED_ASSERTIONS = 8, MAX_ASSERTIONS_OF_LOOP = 4 };

// The measures of a character, of a group, or of the begin of a group.
typedef struct {
  int64_t characters;  // with repetitions written out
  int64_t assertions;  // with repetitions expanded, twice for each loop
  int64_t empty_loops; // loops over groups that may be empty, with repetitions expanded
  int loops;           // nested loops
  bool loops_groups;   // a group, or an assertion, is repeated without end
  bool is_empty;       // it may match the empty string everywhere
  bool is_star;        // it is X*; of a group, its last part is
  int parts;           // of a group: characters, groups, and bars between alternatives
} part_t;

typedef struct {
  const char *at;
  byoc_string_t *out;
  char *reason;
  int depth;                            // of open groups
  part_t open[MAX_DEPTH + 1];           // the begin of each open group; is_empty is that of its last alternative
  bool earlier_is_empty[MAX_DEPTH + 1]; // an earlier alternative may be empty
  part_t last, before;   // the last character or group, which a repetition repeats, and the part before it
  bool last_is_group;    // or an assertion
  const char *counted;   // the end of the last repetition
  const char *becomes;   // its equivalent in the translation; NULL: it stays
  bool loops_assertions; // some assertions are repeated without end
  bool is_repeated;      // a repetition was the last
} translator_t;

static bool refuse(translator_t *t, const char *what) {
  snprintf(t->reason, BYOC_REGEX_REASON_SIZE, "%s not supported at '%.40s'", what, t->at);
  return false;
}

// The translation of \d, \w and \s inside of brackets; NULL for other letters.
static const char *class_of(char letter) {
  switch (tolower((unsigned char)letter)) {
  case 'd':
    return "0-9";
  case 'w':
    return "0-9A-Za-z_";
  case 's':
    return " \t\n\f\r";
  default:
    return NULL;
  }
}

static char control_of(char letter) {
  switch (letter) {
  case 't':
    return '\t';
  case 'n':
    return '\n';
  case 'r':
    return '\r';
  case 'f':
    return '\f';
  case 'v':
    return '\v';
  case 'a':
    return '\a';
  default:
    return '\0';
  }
}

// A character outside of the class; characters beyond ASCII are always outside.
static void append_negated(translator_t *t, const char *content) {
  byoc_string_appendf(t->out, "([^%s\200-\377]|" WIDE ")", content);
}

static bool translate_escape(translator_t *t) {
  char letter = t->at[1];
  const char *content = class_of(letter);
  if (content && islower((unsigned char)letter)) {
    byoc_string_appendf(t->out, "[%s]", content);
  } else if (content) {
    append_negated(t, content);
  } else if (control_of(letter) != '\0') {
    byoc_string_appendf(t->out, "%c", control_of(letter));
  } else if (letter == 'b' || letter == 'B') { // not in POSIX, but in the C libraries of Linux
    byoc_string_appendf(t->out, "\\%c", letter);
  } else if (ispunct((unsigned char)letter)) {
    const char *special = strchr(".[]()*+?{}|^$\\", letter) ? "\\" : "";
    byoc_string_appendf(t->out, "%s%c", special, letter);
  } else {
    return refuse(t, "this escape is");
  }
  t->at += 2;
  return true;
}

// A set in brackets. In POSIX a backslash has no special meaning there, and the positions of ']', '^' and '-' matter.
static bool translate_set(translator_t *t) {
  byoc_string_t content;
  byoc_string_init(&content, t->out->allocator);
  const char *begin = t->at++;
  bool negated = *t->at == '^', bracket = false, dash = false, caret = false, fine = true;
  if (negated) ++t->at;
  for (bool first = true; fine && (*t->at != ']' || first); first = false) {
    char letter = *t->at;
    bool escaped = letter == '\\';
    if (escaped) letter = *++t->at;
    const char *content_of = escaped ? class_of(letter) : NULL;
    bool is_range = t->at[0] != '\0' && t->at[1] == '-' && t->at[2] != ']' && t->at[2] != '\0';
    if (letter == '\0' || (unsigned char)letter >= 0x80 || (!escaped && letter == '[' && t->at[1] == ':')) {
      fine = false;
    } else if (content_of && islower((unsigned char)letter)) {
      byoc_string_append(&content, content_of);
    } else if (escaped && control_of(letter) != '\0') {
      byoc_string_appendf(&content, "%c", control_of(letter));
    } else if (escaped && !ispunct((unsigned char)letter)) {
      fine = false;
    } else if (letter == ']' || letter == '-' || letter == '^') {
      if (is_range) fine = false;
      bracket |= letter == ']', dash |= letter == '-', caret |= letter == '^';
    } else if (is_range) {
      char end = t->at[2];
      if (end == '\\' || (unsigned char)end >= 0x80) fine = false;
      byoc_string_appendf(&content, "%c-%c", letter, end);
      t->at += 2;
    } else {
      byoc_string_appendf(&content, "%c", letter);
    }
    ++t->at;
  }
  if (fine) {
    ++t->at;
    if (caret && content.size == 0 && !bracket && !negated) {
      byoc_string_append(t->out, dash ? "[-^]" : "\\^");
    } else {
      byoc_string_appendf(t->out, "%s[%s%s%s%s%s", negated ? "(" : "", negated ? "^" : "", bracket ? "]" : "",
                          content.data, caret ? "^" : "", negated ? "\200-\377" : "");
      byoc_string_append(t->out, dash ? "-]" : "]");
      if (negated) byoc_string_append(t->out, "|" WIDE ")");
    }
  }
  byoc_string_deinit(&content);
  if (fine) return true;
  t->at = begin;
  return refuse(t, "this set is");
}

static bool is_lazy(const char *at) {
  return (*at == '*' || *at == '+' || *at == '?' || *at == '}') && (at[1] == '?' || at[1] == '+');
}

// It has no part yet that could be repeated.
static void begin_alternative(translator_t *t) {
  t->open[t->depth].is_empty = true;
  t->before = t->open[t->depth];
  t->last = (part_t){.is_empty = true};
  t->last_is_group = t->is_repeated = false;
}

static bool open_group(translator_t *t) {
  const bool plain = t->at[1] != '?';
  if (!plain && t->at[2] != ':') return refuse(t, "this group is");
  if (t->depth == MAX_DEPTH) return refuse(t, "a group inside of 1000 others is");
  t->open[++t->depth] = (part_t){.is_empty = true};
  t->earlier_is_empty[t->depth] = false;
  begin_alternative(t);
  byoc_string_append(t->out, "(");
  t->at += plain ? 1 : 3;
  return true;
}

// Appends the last part to the innermost open group.
static void put_last(translator_t *t) {
  part_t *open = &t->open[t->depth];
  const part_t *last = &t->last;
  *open = t->before;
  open->characters += last->characters;
  open->assertions += last->assertions;
  open->empty_loops += last->empty_loops;
  open->loops = last->loops > open->loops ? last->loops : open->loops;
  open->loops_groups |= last->loops_groups;
  open->is_empty &= last->is_empty;
  open->is_star = last->is_star;
  open->parts++;
}

// The last part, which is a group or an assertion, is repeated without end.
static bool check_loop(translator_t *t) {
  const part_t *last = &t->last;
  if (last->assertions == 0) return true;
  t->loops_assertions = true;
  if (last->assertions > MAX_ASSERTIONS_OF_LOOP) {
    return refuse(t, "a repetition of more than two of ^, $, \\b and \\B is");
  }
  return !last->loops_groups || refuse(t, "a repetition of a repetition with ^, $, \\b or \\B is");
}

// Checks a repetition of the last part, at least `least` times and perhaps without end. The C library makes `times`
// copies for it. RE2 refuses a repetition directly after another.
static bool count_copies(translator_t *t, int64_t least, int64_t times, bool is_endless) {
  if (t->is_repeated) return refuse(t, "a repetition of a repetition is");
  t->is_repeated = true;
  part_t *last = &t->last;
  const bool loops_group = is_endless && t->last_is_group;
  last->characters *= times;
  last->assertions *= is_endless && times < 2 ? 2 : times;
  last->empty_loops *= times;
  if (loops_group && !check_loop(t)) return false;
  if (loops_group && (last->is_empty || last->assertions > 0)) last->empty_loops += times;
  last->loops += is_endless;
  last->loops_groups |= loops_group;
  last->is_empty |= least == 0;
  last->is_star = is_endless && least == 0;
  put_last(t);
  return last->loops <= MAX_LOOPS || refuse(t, "a repetition of 32 others inside of one another is");
}

// The same for *, + and {least,}.
static bool count_loop(translator_t *t, int64_t least) {
  if (t->last.is_star && !t->is_repeated) { // it stays unchanged
    t->is_repeated = true;
    t->becomes = "";
    return true;
  }
  if (t->last.is_empty && least > 0) {
    t->becomes = "*";
    least = 0;
  }
  return count_copies(t, least, least + 1, true);
}

static bool count_braces(translator_t *t) {
  char *end;
  const long long least = strtoll(t->at + 1, &end, 10);
  const bool is_endless = *end == ',' && !isdigit((unsigned char)end[1]);
  const long long most = *end == ',' && !is_endless ? strtoll(end + 1, &end, 10) : least;
  if (is_endless) end++;
  if (least > MAX_REPETITIONS || most > MAX_REPETITIONS) return refuse(t, "more than 1000 repetitions are");
  t->counted = end;
  if (is_endless && *end == '}') return count_loop(t, least);
  return count_copies(t, least, most > 1 ? most : 1, false);
}

static bool is_assertion(const char *at) {
  return *at == '^' || *at == '$' || (*at == '\\' && (at[1] == 'b' || at[1] == 'B'));
}

// Reads one more character to match at `t->at`, the end of a group, or a repetition.
static bool count(translator_t *t) {
  const char at = *t->at;
  if (t->counted != NULL && t->at <= t->counted) return true;
  if (is_lazy(t->at)) return true; // refused soon
  if (at == '?') {
    if (!count_copies(t, 0, 1, false)) return false;
  } else if (at == '*' || at == '+') {
    if (!count_loop(t, at == '+')) return false;
  } else if (at == '{' && (isdigit((unsigned char)t->at[1]) || t->at[1] == ',')) {
    if (!count_braces(t)) return false;
  } else if (at == '|') {
    t->earlier_is_empty[t->depth] |= t->open[t->depth].is_empty;
    t->open[t->depth].parts++;
    begin_alternative(t);
  } else if (at != '(') {
    const bool is_end = at == ')';
    if (is_end && t->depth == 0) return refuse(t, "a parenthesis that closes no group is");
    t->last = is_end ? t->open[t->depth] : (part_t){.characters = 1, .assertions = is_assertion(t->at)};
    t->last.is_empty |= is_end && t->earlier_is_empty[t->depth];
    t->last.is_star &= t->last.parts == 1;
    t->last_is_group = is_end || t->last.assertions > 0;
    t->depth -= is_end;
    t->is_repeated = false;
    t->before = t->open[t->depth];
    put_last(t);
  }
  if (t->open[t->depth].empty_loops > MAX_EMPTY_LOOPS) {
    return refuse(t, "more than eight repetitions without end of groups that may be empty are");
  }
  return t->open[t->depth].characters <= MAX_CHARACTERS ||
         refuse(t, "more than 2000 characters, with repetitions expanded, are");
}

static bool translate_one(translator_t *t) {
  if (is_lazy(t->at)) return refuse(t, "lazy or possessive repetition is");
  if (t->becomes != NULL) {
    byoc_string_append(t->out, t->becomes);
    t->at = t->counted != NULL && t->counted > t->at ? t->counted + 1 : t->at + 1;
    t->becomes = NULL;
    return true;
  }
  if (*t->at == '\\') return translate_escape(t);
  if (*t->at == '[') return translate_set(t);
  if (*t->at == '(') return open_group(t);
  if (*t->at == '.') {
    byoc_string_append(t->out, "([\001-\011\013-\177]|" WIDE ")");
    ++t->at;
    return true;
  }
  if ((unsigned char)*t->at < 0x80) {
    byoc_string_appendf(t->out, "%c", *t->at++);
    return true;
  }
  byoc_string_append(t->out, "("); // so that repetition applies to all bytes of the character
  do byoc_string_appendf(t->out, "%c", *t->at++);
  while (((unsigned char)*t->at & 0xc0) == 0x80);
  byoc_string_append(t->out, ")");
  return true;
}

// Compiles the pattern: the C library decides about it.
static bool compiles(translator_t *t) {
  regex_t compiled;
  const int error = t->out->failed ? 0 : regcomp(&compiled, t->out->data, REG_EXTENDED | REG_NOSUB);
  if (error == 0 && !t->out->failed) regfree(&compiled);
  if (error != 0) regerror(error, &compiled, t->reason, BYOC_REGEX_REASON_SIZE);
  return error == 0;
}

bool byoc_regex_translate(const char *pattern, byoc_string_t *out, char reason[BYOC_REGEX_REASON_SIZE]) {
  translator_t t = {.at = pattern, .out = out, .reason = reason, .open = {{.is_empty = true}}};
  begin_alternative(&t);
  byoc_string_append(out, "^(");
  while (*t.at != '\0') {
    if (!count(&t) || !translate_one(&t)) return false;
  }
  byoc_string_append(out, ")$");
  if (t.depth == 0 && t.open[0].assertions > (t.loops_assertions ? MAX_LOOPED_ASSERTIONS : MAX_ASSERTIONS)) {
    t.at = pattern;
    return refuse(&t, "so many of ^, $, \\b and \\B are");
  }
  return compiles(&t);
}
