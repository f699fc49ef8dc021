/* SPDX-License-Identifier: MIT */
/* tenon-script: run scripted packet tests. */
#include "script.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct options {
    bool verbose, covers;
    int af;                     /* 4, 6 or 0: both */
    const char *caps;
};

struct totals {
    unsigned passed, failed, not_run;    /* not_run: TENON_WITH_IPV6 is 0 */
};

struct capset {
    const char *name;
    uint32_t caps;
    uint16_t gather;
};

static const struct capset capsets[] = {
    { "none", 0, 0 },
    { "tx_csum", TENON_CAP_TX_CSUM, 0 },
    { "tso", TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO, 0 },
    { "gather1", 0, 1 },
    { "no_link", TENON_CAP_NO_LINK, 0 },
};
enum { NCAPSETS = sizeof(capsets) / sizeof(capsets[0]) };

static char running_now[600];

/* A script that makes the core crash or spin must say which it was. */
static void on_signal(int number)
{
    static const char spins[] = ": no end after 60 s of CPU time\n", crashes[] = ": crashed\n";
    const char *text = number == SIGVTALRM ? spins : crashes;

    if (write(1, running_now, strlen(running_now)) < 0 || write(1, text, strlen(text)) < 0)
        _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

static void usage(FILE *out)
{
    fprintf(out,
            "usage: tenon-script [-v] [--af 4|6|both] [--caps NAME[,NAME...]|all] FILE.pkt...\n"
            "       tenon-script --list-covers FILE.pkt...\n"
            "Run scripted packet tests (docs/packet-scripts.md) against Tenon.\n"
            "  -v             print what happened, not only when it was wrong\n"
            "  --af           IP version; scripts that need one run with that only (default both)\n"
            "  --caps         what the imagined network card can do: none, tx_csum, tso, gather1, no_link,\n"
            "                 or all, one after the other (default)\n"
            "  --list-covers  print which requirement is covered by which script\n"
            "Exit status: 0 all passed, 1 some failed, 2 wrong usage.\n");
}

static void print_cover(void *arg, const char *id)
{
    printf("%-20s %s\n", id, (const char *)arg);
}

/* Which versions a script is for: said by lines of their own, "ipv4" or "ipv6", or by packets of one. */
static int versions_of(const char *file)
{
    char line[4096];
    FILE *f = fopen(file, "r");
    int found = 0;

    while (f != NULL && found == 0 && fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, " \t\r\n#")] = '\0';
        if (strcmp(line, "ipv4") == 0)
            found = 4;
        else if (strcmp(line, "ipv6") == 0)
            found = 6;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

static bool caps_wanted(const char *list, const char *name)
{
    size_t n = strlen(name);

    if (strcmp(list, "all") == 0)
        return true;
    for (const char *p = list; p != NULL; p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == '\0' || p[n] == ','))
            return true;
    return false;
}

/* @return false: the script makes no sense, whatever the interface can do */
static bool run_one(const struct options *o, const char *file, int af, const struct capset *set, struct totals *totals)
{
    const bool is_bare = (set->caps & TENON_CAP_NO_LINK) != 0;
    static struct script s;
    struct itimerval limit = { { 0, 0 }, { 60, 0 } };

    snprintf(running_now, sizeof(running_now), "%s (IPv%d, %s)", file, af, set->name);
    if (!script_read(&s, file, af)) {
        totals->failed++;
        return false;
    }
    if ((s.only4 && af == 6) || (s.only6 && af == 4) || (s.has_caps && set != &capsets[0]) ||
        (is_bare ? s.needs_link || (TENON_WITH_ETHERNET && !TENON_WITH_LINKS) : !TENON_WITH_ETHERNET) ||
        (TENON_WITH_PIECES && !TENON_WITH_LINEAR && set->gather != 0)) {
        script_free(&s);
        return true;
    }
    if (!s.has_caps) {
        s.netif.caps = set->caps;
        s.netif.gather_max = set->gather;
    }
    fflush(stdout);
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    if (run_script(&s, set->name, o->verbose))
        totals->passed++;
    else
        totals->failed++;
    script_free(&s);
    return true;
}

static void run_file(const struct options *o, const char *file, struct totals *totals)
{
    int only = versions_of(file);
    unsigned before = totals->passed + totals->failed;

    for (int af = 4; af <= 6; af += 2) {
        if ((o->af != 0 && o->af != af) || (only != 0 && only != af))
            continue;
        if (af == 6 && !TENON_WITH_IPV6) {
            totals->not_run++;
            continue;
        }
        for (int i = 0; i < NCAPSETS; i++)
            if (caps_wanted(o->caps, capsets[i].name) && !run_one(o, file, af, &capsets[i], totals))
                return;
    }
    if (before == totals->passed + totals->failed && o->verbose)
        printf("%s: not for these options\n", file);
}

static bool good_caps(const char *list)
{
    char text[200], *save = NULL;

    if (strcmp(list, "all") == 0)
        return true;
    snprintf(text, sizeof(text), "%s", list);
    for (char *p = strtok_r(text, ",", &save); p != NULL; p = strtok_r(NULL, ",", &save)) {
        bool known = false;

        for (int i = 0; i < NCAPSETS; i++)
            known = known || strcmp(capsets[i].name, p) == 0;
        if (!known)
            return false;
    }
    return true;
}

static _Noreturn void complain(const char *text, const char *arg)
{
    fprintf(stderr, "tenon-script: %s%s\n", text, arg);
    usage(stderr);
    exit(2);
}

static int parse_options(struct options *o, int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "--list-covers") == 0)
            o->covers = true;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage(stdout);
            exit(0);
        } else if (i + 1 < argc && strcmp(argv[i], "--af") == 0) {
            i++;
            if (strcmp(argv[i], "both") != 0 && strcmp(argv[i], "4") != 0 && strcmp(argv[i], "6") != 0)
                complain("--af takes 4, 6 or both, not ", argv[i]);
            o->af = atoi(argv[i]);
        } else if (i + 1 < argc && strcmp(argv[i], "--caps") == 0) {
            o->caps = argv[++i];
            if (!good_caps(o->caps))
                complain("--caps takes none, tx_csum, tso, gather1, no_link or all, not ", o->caps);
        } else
            complain("unknown option, or its value is missing: ", argv[i]);
    }
    if (i == argc)
        complain("which scripts?", "");
    return i;
}

int main(int argc, char **argv)
{
    struct options o = { false, false, 0, "all" };
    struct totals totals = { 0, 0, 0 };
    int first = parse_options(&o, argc, argv);

    if (o.covers) {
        for (int i = first; i < argc; i++)
            if (!script_covers(argv[i], print_cover, argv[i]))
                complain("cannot be opened: ", argv[i]);
        return 0;
    }
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    signal(SIGVTALRM, on_signal);
    for (int i = first; i < argc; i++)
        run_file(&o, argv[i], &totals);
    if (totals.not_run > 0)
        printf("%u scripts not run over IPv6, which this build does not have\n", totals.not_run);
    if (world_unchecked > 0)
        printf("%u counters not looked at, which this build does not have\n", world_unchecked);
    printf("%u passed, %u failed\n", totals.passed, totals.failed);
    return totals.failed > 0;
}
