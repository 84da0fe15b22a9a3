/* A clock for tests: the time of day is 11 minutes later once the file $LATE_CLOCK exists. Preloaded into the
   program, which needs no hook for that. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    int done = (int)syscall(SYS_clock_gettime, clock, at);
    const char *file = getenv("LATE_CLOCK");
    if (done == 0 && clock == CLOCK_REALTIME && file && access(file, F_OK) == 0)
        at->tv_sec += 11 * 60;
    return done;
}
