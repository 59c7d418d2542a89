// SPDX-License-Identifier: Apache-2.0
// Parts of the text forms that all printers share: words, names with a sigil, strings and numbers.
#ifndef BYOC_CORE_IR_TEXT_NAMES_H_
#define BYOC_CORE_IR_TEXT_NAMES_H_

#include "core/base/string.h"

// Is it made of letters, digits, '_' and '.', not starting with a digit or '.'? Then it prints without quotes.
bool byoc_text_is_word(const char *name);
// Prints the word; quoted if it is not one.
void byoc_text_print_word(const char *name, byoc_string_t *out);
// %name, @name, %"odd name". A name of digits alone is quoted, because %12 is the number of a value.
void byoc_text_print_name(char sigil, const char *name, byoc_string_t *out);
// A string literal: \n \t \r \" \\ and \xHH; text that is valid UTF-8 stays as it is. May hold NULs.
void byoc_text_print_quoted(const char *data, size_t size, byoc_string_t *out);
// The shortest form that reads back exactly, always with a point or an exponent. A number that is exact in f32 only
// carries an f: 0.1f.
void byoc_text_print_double(double value, byoc_string_t *out);
void byoc_text_print_float(float value, byoc_string_t *out); // without the f

#endif // BYOC_CORE_IR_TEXT_NAMES_H_
