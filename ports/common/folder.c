/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_since(const struct stat *file, const struct timespec *since)
{
    return file->st_ctim.tv_sec > since->tv_sec ||
           (file->st_ctim.tv_sec == since->tv_sec && file->st_ctim.tv_nsec >= since->tv_nsec);
}

static void remove_files(DIR *dir, int at, const struct timespec *since)
{
    struct dirent *entry;
    struct stat file;

    while ((entry = readdir(dir)) != NULL)
        if (fstatat(at, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(file.st_mode) &&
            is_since(&file, since))
            (void)unlinkat(at, entry->d_name, 0);
}

/* The lock is kept until all is gone: who begins meanwhile finds it, and not half a folder. */
void port_folder_clear(const char *folder, const char *lock, const struct timespec *since)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    DIR *dir = opendir(folder);
    char path[PATH_MAX];
    int fd, at;

    if (dir == NULL)
        return;
    at = dirfd(dir);
    if (at < 0) {
        closedir(dir);
        return;
    }
    fd = openat(at, lock, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_SETLK, &whole) == 0)
        remove_files(dir, at, since);
    closedir(dir);
    snprintf(path, sizeof path, "%s", folder);
    if (rmdir(path) == 0)
        (void)rmdir(dirname(path));
    if (fd >= 0)
        close(fd);
}
