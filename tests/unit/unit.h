/* SPDX-License-Identifier: MIT */
/* The whole of our unit testing. One program per file:
 *
 *     UNIT_TEST(seq_lt_wraps)
 *     {
 *         CHECK(tn_seq_lt(0xFFFFFFFFUL, 0));
 *         CHECK_EQ_U(1 + 1, 2);
 *     }
 *
 *     int main(void)
 *     {
 *         UNIT_RUN(seq_lt_wraps);
 *         return unit_end();
 *     }
 *
 * A test that goes through a table calls unit_row("name of the row") first; a failed check prints it.
 * A failed check does not end its test: what must not go on after it says `if (!CHECK(...)) return;`. */
#ifndef TN_TESTS_UNIT_H
#define TN_TESTS_UNIT_H

#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
#define UNIT_INLINE static __inline__ __attribute__((unused))
#elif defined(__cplusplus)
#define UNIT_INLINE static inline
#else
#define UNIT_INLINE static
#endif

struct unit_state {
    const char *test;
    const char *row;
    unsigned long checks;        /* done in all tests */
    unsigned long failed_checks; /* in the test that runs */
    unsigned passed, failed;     /* tests */
};

static struct unit_state unit = { "", NULL, 0, 0, 0, 0 };

enum { UNIT_PRINT_MAX = 20 };    /* failures printed per test: a broken loop must not fill the disk */

/* What the following checks are about, until the next call or the end of the test. */
UNIT_INLINE void unit_row(const char *name)
{
    unit.row = name;
}

UNIT_INLINE int unit_failed(const char *file, int line, const char *what)
{
    unit.failed_checks++;
    if (unit.failed_checks > UNIT_PRINT_MAX)
        return 0;
    printf("%s:%d: %s", file, line, unit.test);
    if (unit.row != NULL)
        printf(" [%s]", unit.row);
    printf(": %s", what);
    return 1;
}

UNIT_INLINE int unit_check(int good, const char *file, int line, const char *text)
{
    unit.checks++;
    if (!good && unit_failed(file, line, text))
        printf(" is not true\n");
    return good;
}

UNIT_INLINE int unit_check_eq_u(unsigned long a, unsigned long b, const char *file, int line, const char *text)
{
    unit.checks++;
    if (a != b && unit_failed(file, line, text))
        printf(": %lu (0x%lX), not %lu (0x%lX)\n", a, a, b, b);
    return a == b;
}

UNIT_INLINE int unit_check_eq_i(long a, long b, const char *file, int line, const char *text)
{
    unit.checks++;
    if (a != b && unit_failed(file, line, text))
        printf(": %ld, not %ld\n", a, b);
    return a == b;
}

UNIT_INLINE int unit_check_eq_s(const char *a, const char *b, const char *file, int line, const char *text)
{
    const int good = a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);

    unit.checks++;
    if (!good && unit_failed(file, line, text))
        printf(": \"%s\", not \"%s\"\n", a != NULL ? a : "(null)", b != NULL ? b : "(null)");
    return good;
}

UNIT_INLINE int unit_check_eq_mem(const void *a, const void *b, size_t n, const char *file, int line,
                                  const char *text)
{
    const unsigned char *x = (const unsigned char *)a;
    const unsigned char *y = (const unsigned char *)b;
    size_t i = 0;

    unit.checks++;
    while (i < n && x[i] == y[i])
        i++;
    if (i < n && unit_failed(file, line, text))
        printf(": byte %lu of %lu is 0x%02X, not 0x%02X\n", (unsigned long)i, (unsigned long)n, x[i], y[i]);
    return i == n;
}

/* Pseudo-random numbers of 32 bits (xorshift), the same on every machine; *state is any number but 0. */
UNIT_INLINE unsigned long unit_random(unsigned long *state)
{
    unsigned long x = *state;

    x ^= x << 13 & 0xFFFFFFFFUL;
    x ^= x >> 17;
    x ^= x << 5 & 0xFFFFFFFFUL;
    *state = x;
    return x;
}

UNIT_INLINE void unit_run(const char *name, void (*test)(void))
{
    unit.test = name;
    unit.row = NULL;
    unit.failed_checks = 0;
    test();
    if (unit.failed_checks == 0) {
        unit.passed++;
        return;
    }
    unit.failed++;
    printf("FAILED %s (%lu checks)\n", name, unit.failed_checks);
    fflush(stdout);
}

/* The closing line. @return what main() returns. A program that checked nothing has failed. */
UNIT_INLINE int unit_end(void)
{
    printf("%u passed, %u failed (%lu checks)\n", unit.passed, unit.failed, unit.checks);
    return unit.failed != 0 || unit.checks == 0;
}

#define UNIT_TEST(name) static void name(void)
#define UNIT_RUN(name) unit_run(#name, name)

/* Each gives back whether the check was good. The first value is the one under test. */
#define CHECK(cond) unit_check(!!(cond), __FILE__, __LINE__, #cond)
#define CHECK_EQ_U(a, b) unit_check_eq_u((unsigned long)(a), (unsigned long)(b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_EQ_I(a, b) unit_check_eq_i((long)(a), (long)(b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_EQ_S(a, b) unit_check_eq_s((a), (b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_EQ_MEM(a, b, n) unit_check_eq_mem((a), (b), (n), __FILE__, __LINE__, #a " == " #b)

#endif
