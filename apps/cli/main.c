/* SPDX-License-Identifier: MIT */
/* The program tenon: finds the subcommand and lets it run. */
#include <argp.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon/tenon.h>

#include "cli.h"
#include "common/log.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
};

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command commands[] = {
    { "serve", cmd_serve, "serve the files of a directory over HTTP" },
    { "get", cmd_get, "fetch a file over HTTP" },
    { "echo", cmd_echo, "send back what arrives, over TCP and UDP" },
    { "ping", cmd_ping, "ask a host for echo replies" },
    { "resolve", cmd_resolve, "ask for the addresses of a name" },
    { "listen", cmd_listen, "wait for a connection and join it to stdin and stdout" },
    { "connect", cmd_connect, "open a connection and join it to stdin and stdout" },
    { "top", cmd_top, "watch a running tenon" },
    { "trace", cmd_trace, "draw what happened on a TCP connection" },
    { "selftest", cmd_selftest, "let two instances talk over a network in memory" },
    { "bench", cmd_bench, "measure how fast this build of Tenon is" },
    { "help", cmd_help, "explain a subcommand" },
    { "version", cmd_version, "print the version" },
};

const char *argp_program_version = "tenon " TENON_VERSION;

static void print_commands(FILE *to)
{
    unsigned i;

    fprintf(to, "Usage: tenon COMMAND [OPTION...] [ARGUMENT...]\n"
                "A TCP/IP stack that lives in a program: this one, on a port of your choice.\n\n");
    for (i = 0; i < TENON_ARRAY_LEN(commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what);
    fprintf(to, "\n\"tenon help COMMAND\" explains one of them. To begin, as root:\n"
                "  ip tuntap add tenon0 mode tap && ip link set tenon0 up\n"
                "  ip address add 10.9.0.1/24 dev tenon0\n"
                "  tenon serve . &\n"
                "  curl http://10.9.0.2/\n");
}

static const struct command *find_command(const char *name)
{
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* How many letters must be changed, added or removed to make b of a (Levenshtein). */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[32], i, j, diagonal, least;
    unsigned n = (unsigned)strlen(b);

    if (n >= TENON_ARRAY_LEN(row))
        return 99;
    for (j = 0; j <= n; j++)
        row[j] = j;
    for (i = 0; a[i] != '\0'; i++) {
        diagonal = row[0];
        row[0] = i + 1;
        for (j = 1; j <= n; j++) {
            least = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < least)
                least = row[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[n];
}

static int unknown_command(const char *name)
{
    const struct command *best = NULL;
    unsigned i, d, least = 3;

    for (i = 0; i < TENON_ARRAY_LEN(commands); i++) {
        d = distance(name, commands[i].name);
        if (d < least) {
            least = d;
            best = &commands[i];
        }
    }
    fprintf(stderr, "tenon: \"%s\" is not a command", name);
    if (best != NULL)
        fprintf(stderr, "; did you mean \"%s\"?\n", best->name);
    else
        fprintf(stderr, "\n");
    fprintf(stderr, "\"tenon help\" lists the commands.\n");
    return CLI_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    static char name[64];

    snprintf(name, sizeof name, "tenon %s", command->name);
    argv[0] = name;
    log_open(name, LOG_NORMAL);
    return command->run(argc, argv);
}

static int cmd_help(int argc, char **argv)
{
    static char help[] = "--help";
    const struct command *command;
    char *help_argv[] = { NULL, help, NULL };

    if (argc < 2 || argv[1][0] == '-') {
        print_commands(stdout);
        return CLI_OK;
    }
    command = find_command(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    if (command->run == cmd_help || command->run == cmd_version) {
        printf("Usage: tenon %s\n%s\n", command->run == cmd_help ? "help [COMMAND]" : "version", command->what);
        return CLI_OK;
    }
    return run_command(command, 2, help_argv);
}

static int cmd_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts(argp_program_version);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    const struct command *command;

    if (argc < 2) {
        print_commands(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "-h") == 0)
        return cmd_help(1, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return cmd_version(1, argv);
    command = find_command(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    return run_command(command, argc - 1, argv + 1);
}

/* Of stdin, stdout and stderr none stays closed: what is opened first would have its number, be it a capture, and
 * get what is printed. To read and to write fails as before. */
static void keep_numbers(void)
{
    int fd;

    for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int main(int argc, char **argv)
{
    int code;

    keep_numbers();
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = CLI_USAGE;
    code = run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    log_error("stdout: could not be written completely");
    return code == CLI_OK ? CLI_FAILED : code;
}
