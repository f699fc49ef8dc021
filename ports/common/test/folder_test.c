/* SPDX-License-Identifier: MIT */
/* What is removed of a folder that several processes share. */
#include "../folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../tests/unit/unit.h"

static char top[40], folder[60];

static void make_file(const char *name)
{
    char path[100];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (CHECK(file != NULL))
        fclose(file);
}

static int there(const char *name)
{
    char path[100];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static struct timespec now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return time;
}

static int make_folder(void)
{
    strcpy(top, "/tmp/tenon-folder-XXXXXX");
    if (!CHECK(mkdtemp(top) != NULL))
        return 0;
    snprintf(folder, sizeof folder, "%s/own", top);
    return CHECK(mkdir(folder, 0700) == 0);
}

UNIT_TEST(what_has_come_since_goes_with_the_folder)
{
    const struct timespec began = now();

    if (!make_folder())
        return;
    make_file("config");
    make_file("socket");
    port_folder_clear(folder, "config", &began);
    CHECK(access(folder, F_OK) != 0 && access(top, F_OK) != 0);
    port_folder_clear(folder, "config", &began); /* there is none */
}

UNIT_TEST(what_was_there_before_stays)
{
    struct timespec began;

    if (!make_folder())
        return;
    make_file("others");
    usleep(50000);
    began = now();
    make_file("ours");
    port_folder_clear(folder, "config", &began);
    CHECK(there("others") && !there("ours"));
    began.tv_sec -= 10;
    port_folder_clear(folder, "config", &began);
    CHECK(access(top, F_OK) != 0);
}

UNIT_TEST(nothing_goes_while_another_process_has_the_lock)
{
    const struct timespec began = now();
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char path[100], byte;
    int ready[2];
    pid_t child;

    if (!make_folder() || !CHECK(pipe(ready) == 0))
        return;
    make_file("config");
    make_file("socket");
    snprintf(path, sizeof path, "%s/config", folder);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        (void)!write(ready[1], fcntl(open(path, O_RDWR), F_SETLK, &whole) == 0 ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1 && byte == 'y');
    port_folder_clear(folder, "config", &began);
    CHECK(there("config") && there("socket"));
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    port_folder_clear(folder, "config", &began);
    CHECK(access(top, F_OK) != 0);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    UNIT_RUN(what_has_come_since_goes_with_the_folder);
    UNIT_RUN(what_was_there_before_stays);
    UNIT_RUN(nothing_goes_while_another_process_has_the_lock);
    return unit_end();
}
