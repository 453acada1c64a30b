/*
 * Preloaded into a process (LD_PRELOAD) by power-cut.ts: records what a disk would hold after a power cut.
 *
 * Each fsync or fdatasync of a file below POWER_CUT_ROOT copies its content to POWER_CUT_IMAGE/content/<inode>; each sync
 * of a folder writes the names in it to POWER_CUT_IMAGE/names/<inode>, one "<inode> <f or d> <name>" a line. What was never
 * synced is not in the image. While the file POWER_CUT_IMAGE/fail exists, every sync below the root fails with EIO.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void image_path(char *into, size_t size, const char *kind, ino_t inode, const char *end) {
  snprintf(into, size, "%s/%s/%lu%s", getenv("POWER_CUT_IMAGE"), kind, (unsigned long)inode, end);
}

static void copy_content(int descriptor, int to) {
  static char piece[1 << 16];
  off_t at = 0;
  ssize_t got;
  while ((got = pread(descriptor, piece, sizeof piece, at)) > 0) {
    if (write(to, piece, (size_t)got) != got) abort();
    at += got;
  }
}

static void copy_names(const char *folder, int to) {
  DIR *entries = opendir(folder);
  struct dirent *entry;
  if (!entries) return;
  while ((entry = readdir(entries))) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    dprintf(to, "%lu %c %s\n", (unsigned long)entry->d_ino, entry->d_type == DT_DIR ? 'd' : 'f', entry->d_name);
  }
  closedir(entries);
}

/* 0, or -1 where the sync is to fail. */
static int record(int descriptor) {
  const char *root = getenv("POWER_CUT_ROOT");
  char own[64], path[4096], unfinished[4096], finished[4096];
  struct stat status;
  if (!root || fstat(descriptor, &status)) return 0;
  snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(own, path, sizeof path - 1);
  if (length < 0 || strncmp(path, root, strlen(root))) return 0;
  snprintf(unfinished, sizeof unfinished, "%s/fail", getenv("POWER_CUT_IMAGE"));
  if (!access(unfinished, F_OK)) {
    errno = EIO;
    return -1;
  }
  path[length] = 0;
  const char *kind = S_ISDIR(status.st_mode) ? "names" : "content";
  /* The descriptor of a file may be for writing only. */
  int readable = S_ISDIR(status.st_mode) ? -1 : open(own, O_RDONLY);
  pthread_mutex_lock(&one_at_a_time);
  image_path(unfinished, sizeof unfinished, kind, status.st_ino, ".unfinished");
  image_path(finished, sizeof finished, kind, status.st_ino, "");
  int to = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (to < 0) abort();
  if (S_ISDIR(status.st_mode)) copy_names(path, to);
  else copy_content(readable, to);
  close(to);
  if (rename(unfinished, finished)) abort();
  pthread_mutex_unlock(&one_at_a_time);
  if (readable >= 0) close(readable);
  return 0;
}

int fsync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return record(descriptor) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return record(descriptor) ? -1 : real(descriptor);
}
