/*
 * Preloaded into a process (LD_PRELOAD) by faulty-disk.ts: a disk that turns read-only or slow while the process runs and
 * keeps its files open, which no mount can be made to do.
 *
 * The file FAULTY_DISK_STATE says how writes below FAULTY_DISK_ROOT end: empty or missing: as usual; "ro": EROFS; a number:
 * after so many milliseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* 0, or -1 with errno where the write is to fail. */
static int delay_or_fail(const char *path) {
  const char *root = getenv("FAULTY_DISK_ROOT"), *state = getenv("FAULTY_DISK_STATE");
  char said[16] = "";
  if (!root || !state || strncmp(path, root, strlen(root))) return 0;
  int from = REAL(open64)(state, O_RDONLY | O_CLOEXEC);
  if (from < 0) return 0;
  ssize_t length = read(from, said, sizeof said - 1);
  close(from);
  if (length <= 0) return 0;
  if (!strncmp(said, "ro", 2)) {
    errno = EROFS;
    return -1;
  }
  usleep((useconds_t)atoi(said) * 1000);
  return 0;
}

static int delay_or_fail_at(int descriptor) {
  char own[64], path[4096];
  snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(own, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return delay_or_fail(path);
}

ssize_t write(int fd, const void *from, size_t size) {
  return delay_or_fail_at(fd) ? -1 : REAL(write)(fd, from, size);
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
  return delay_or_fail_at(fd) ? -1 : REAL(pwrite64)(fd, from, size, at);
}
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
  return delay_or_fail_at(fd) ? -1 : REAL(pwrite)(fd, from, size, at);
}
ssize_t writev(int fd, const struct iovec *from, int count) {
  return delay_or_fail_at(fd) ? -1 : REAL(writev)(fd, from, count);
}
int ftruncate64(int fd, off64_t size) { return delay_or_fail_at(fd) ? -1 : REAL(ftruncate64)(fd, size); }
int ftruncate(int fd, off_t size) { return delay_or_fail_at(fd) ? -1 : REAL(ftruncate)(fd, size); }
int rename(const char *from, const char *to) { return delay_or_fail(to) ? -1 : REAL(rename)(from, to); }
int unlink(const char *path) { return delay_or_fail(path) ? -1 : REAL(unlink)(path); }
int mkdir(const char *path, mode_t mode) { return delay_or_fail(path) ? -1 : REAL(mkdir)(path, mode); }

int access(const char *path, int mode) {
  return mode & W_OK && delay_or_fail(path) ? -1 : REAL(access)(path, mode);
}

#define OPEN(name)                                                       \
  int name(const char *path, int flags, ...) {                           \
    va_list rest;                                                        \
    va_start(rest, flags);                                               \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                        \
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && delay_or_fail(path)) return -1; \
    return REAL(name)(path, flags, mode);                                \
  }
OPEN(open)
OPEN(open64)
