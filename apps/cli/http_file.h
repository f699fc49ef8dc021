/* SPDX-License-Identifier: MIT */
/** @file
 *  Files of an HTTP server: opened beneath a root, mapped into memory once however many connections
 *  send them, and handed to the stack without a copy. */
#ifndef APPS_CLI_HTTP_FILE_H
#define APPS_CLI_HTTP_FILE_H

#include <stdint.h>
#include <sys/stat.h>

#include <tenon/buf.h>

#include "common/text.h"

/** A mapped file. Reference-counted: http_file_open() and http_file_put(). The stack may keep spans of it
 *  for longer. */
struct http_file;

/** Call once: a file that is cut by somebody while it is being sent must not kill the server. */
void http_files_begin(void);

/** Open what lies at `path` beneath `root`.
 *  @param root          a directory
 *  @param path          as http_path_read() made it
 *  @param[out] st       what it is
 *  @return a descriptor, or -1 with errno; links that lead out of the root are EXDEV */
int http_open_beneath(int root, const char *path, struct stat *st);

/** Map a regular file. Takes the descriptor, also when it fails.
 *  @return NULL with errno */
struct http_file *http_file_open(int fd, const struct stat *st);
void http_file_put(struct http_file *file);

uint64_t http_file_size(const struct http_file *file);

/** 0 when the file has become shorter than what was mapped. */
int http_file_intact(const struct http_file *file);

/** As much as one span can hold of the file's bytes [at, end). */
struct tenon_span http_file_span(const struct http_file *file, uint64_t at, uint64_t end);

/** A page that lists a directory: what http_open_beneath() opens.
 *  @param fd    of the directory; taken
 *  @param path  of the request
 *  @return 0, or -1 with errno */
int http_listing(struct strbuf *page, int root, int fd, const char *path);

/** The media type for a file name. */
const char *http_content_type(const char *path);

#endif
