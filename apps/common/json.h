/* SPDX-License-Identifier: MIT */
/** @file
 *  Reading JSON (RFC 8259): the text becomes a tree. */
#ifndef APPS_COMMON_JSON_H
#define APPS_COMMON_JSON_H

#include <stddef.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_kind kind;
    char *name;              /**< in an object; else NULL */
    char *string;            /**< JSON_STRING */
    double number;           /**< JSON_NUMBER */
    struct json *first;      /**< what an array or object holds */
    struct json *next;
};

/** @param text  0-terminated
 *  @return the tree, or NULL when the text is not JSON or deeper than 32 */
struct json *json_read(const char *text);
void json_free(struct json *json);

/** A member of an object; NULL when `json` is NULL or has none of that name. */
const struct json *json_get(const struct json *json, const char *name);
double json_number(const struct json *json, const char *name);        /**< 0 when it is not there */
const char *json_string(const struct json *json, const char *name);   /**< "" when it is not there */

#endif
