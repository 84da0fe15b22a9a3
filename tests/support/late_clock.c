/* A clock for tests: once the file $LATE_CLOCK exists, the time of day is later by as many seconds as it says, or
   by 11 minutes if it is empty. Preloaded into the program, which needs no hook for that. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    int done = (int)syscall(SYS_clock_gettime, clock, at);
    const char *name = getenv("LATE_CLOCK");
    if (done != 0 || clock != CLOCK_REALTIME || !name)
        return done;
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return done;
    char text[32];
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = 0;
    at->tv_sec += size > 0 ? atol(text) : 11 * 60;
    return done;
}
