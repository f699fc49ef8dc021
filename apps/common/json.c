/* SPDX-License-Identifier: MIT */
/* A reader of JSON by recursive descent. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { JSON_DEPTH_MAX = 32 };

static struct json *read_value(const char **at, unsigned depth);

static void skip_space(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static int hex4(const char *at, unsigned *out)
{
    unsigned i;

    *out = 0;
    for (i = 0; i < 4; i++) {
        const char *digit = at[i] != '\0' ? strchr("0123456789abcdef0123456789ABCDEF", at[i]) : NULL;

        if (digit == NULL)
            return -1;
        *out = *out << 4 | (unsigned)(digit - "0123456789abcdef0123456789ABCDEF") % 16;
    }
    return 0;
}

static void add_utf8(struct strbuf *sb, unsigned code)
{
    char bytes[3];

    if (code < 0x80) {
        bytes[0] = (char)code;
        sb_add(sb, bytes, 1);
    } else if (code < 0x800) {
        bytes[0] = (char)(0xC0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3F));
        sb_add(sb, bytes, 2);
    } else {
        bytes[0] = (char)(0xE0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[2] = (char)(0x80 | (code & 0x3F));
        sb_add(sb, bytes, 3);
    }
}

/* One escape after the backslash. @return 0 or -1 */
static int read_escape(const char **at, struct strbuf *sb)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;
    unsigned code;

    if (**at == 'u') {
        if (hex4(*at + 1, &code) != 0 || code == 0)
            return -1;
        add_utf8(sb, code);
        *at += 5;
        return 0;
    }
    found = **at != '\0' ? strchr(from, **at) : NULL;
    if (found == NULL)
        return -1;
    sb_add(sb, &to[found - from], 1);
    ++*at;
    return 0;
}

/* @return the string (free it), or NULL */
static char *read_string(const char **at)
{
    struct strbuf sb = { NULL, 0, 0 };
    size_t plain;

    if (**at != '"')
        return NULL;
    ++*at;
    sb_add(&sb, "", 0);
    for (;;) {
        plain = strcspn(*at, "\"\\");
        sb_add(&sb, *at, plain);
        *at += plain;
        if (**at == '"') {
            ++*at;
            return sb.s;
        }
        if (**at == '\0' || (++*at, read_escape(at, &sb)) != 0) {
            sb_free(&sb);
            return NULL;
        }
    }
}

static int read_word(const char **at, const char *word)
{
    if (strncmp(*at, word, strlen(word)) != 0)
        return 0;
    *at += strlen(word);
    return 1;
}

/* A member of an object or an element of an array. */
static struct json *read_part(const char **at, int named, unsigned depth)
{
    struct json *part;
    char *name = NULL;

    skip_space(at);
    if (named) {
        name = read_string(at);
        skip_space(at);
        if (name == NULL || **at != ':') {
            free(name);
            return NULL;
        }
        ++*at;
    }
    part = read_value(at, depth + 1);
    if (part == NULL)
        free(name);
    else
        part->name = name;
    skip_space(at);
    return part;
}

/* @return 0 or -1 */
static int read_parts(struct json *json, const char **at, char end, unsigned depth)
{
    struct json **last = &json->first;

    ++*at;
    skip_space(at);
    if (**at == end) {
        ++*at;
        return 0;
    }
    for (;;) {
        *last = read_part(at, end == '}', depth);
        if (*last == NULL)
            return -1;
        last = &(*last)->next;
        if (**at == end) {
            ++*at;
            return 0;
        }
        if (**at != ',')
            return -1;
        ++*at;
    }
}

static int read_scalar(struct json *json, const char **at)
{
    char *end;

    if (read_word(at, "null"))
        return 0;
    if (read_word(at, "true")) {
        json->kind = JSON_TRUE;
        return 0;
    }
    if (read_word(at, "false")) {
        json->kind = JSON_FALSE;
        return 0;
    }
    json->kind = JSON_NUMBER;
    if (**at == '\0' || strchr("-0123456789", **at) == NULL)
        return -1;
    json->number = strtod(*at, &end);
    if (end == *at)
        return -1;
    *at = end;
    return 0;
}

static struct json *read_value(const char **at, unsigned depth)
{
    struct json *json;
    int failed;

    if (depth > JSON_DEPTH_MAX)
        return NULL;
    json = must_alloc(sizeof *json);
    memset(json, 0, sizeof *json);
    skip_space(at);
    if (**at == '{' || **at == '[') {
        json->kind = **at == '{' ? JSON_OBJECT : JSON_ARRAY;
        failed = read_parts(json, at, **at == '{' ? '}' : ']', depth);
    } else if (**at == '"') {
        json->kind = JSON_STRING;
        json->string = read_string(at);
        failed = json->string == NULL;
    } else {
        failed = read_scalar(json, at);
    }
    if (!failed)
        return json;
    json_free(json);
    return NULL;
}

struct json *json_read(const char *text)
{
    struct json *json = read_value(&text, 0);

    skip_space(&text);
    if (json != NULL && *text != '\0') {
        json_free(json);
        return NULL;
    }
    return json;
}

void json_free(struct json *json)
{
    while (json != NULL) {
        struct json *next = json->next;

        json_free(json->first);
        free(json->name);
        free(json->string);
        free(json);
        json = next;
    }
}

const struct json *json_get(const struct json *json, const char *name)
{
    const struct json *part;

    for (part = json != NULL ? json->first : NULL; part != NULL; part = part->next) {
        if (part->name != NULL && strcmp(part->name, name) == 0)
            return part;
    }
    return NULL;
}

double json_number(const struct json *json, const char *name)
{
    const struct json *part = json_get(json, name);

    return part != NULL && part->kind == JSON_NUMBER ? part->number : 0;
}

const char *json_string(const struct json *json, const char *name)
{
    const struct json *part = json_get(json, name);

    return part != NULL && part->kind == JSON_STRING ? part->string : "";
}
