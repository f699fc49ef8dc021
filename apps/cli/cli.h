/* SPDX-License-Identifier: MIT */
/** @file
 *  The subcommands of the program tenon. Each gets its own argument vector, whose first string is
 *  "tenon NAME", and returns the exit status. */
#ifndef APPS_CLI_CLI_H
#define APPS_CLI_CLI_H

/** Exit statuses of all subcommands. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

int cmd_serve(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_echo(int argc, char **argv);
int cmd_ping(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_listen(int argc, char **argv);
int cmd_connect(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_bench(int argc, char **argv);

#endif
