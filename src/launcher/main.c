/*
 * halter-launcher, the program: a host starts it with the control socket on 3 and the shared page
 * on 4. With arguments it is a helper that child.c executes anew. Everything else is in run.c.
 */
#include "launcher/launcher.h"

int main(int argc, char **argv)
{
    return argc > 1 ? child_resume(argc, argv) : launcher_run();
}
