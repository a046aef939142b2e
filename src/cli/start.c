/* What `run` and `boot` begin with: see start.h. */
#include "cli/start.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "cli/say.h"

int start_signals(void)
{
    sigset_t set;
    int fd = -1;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        say("signals cannot be taken over: %s", strerror(errno));
    return fd;
}

bool start_host(const struct halter_options *options, struct halter_host **host)
{
    int status = halter_create(options, host);

    if (status == HALTER_ESYSTEM && errno == ENOENT)
        say("halter-launcher was not found beside this program or where it is installed; "
            "HALTER_LAUNCHER can name it");
    else if (status != HALTER_OK)
        say("the launcher cannot be started: %s",
            status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    return status == HALTER_OK;
}
