/* serve.h: a PC as a helper: confined, its files passed in, its console a stream of frames. */
#ifndef HALTER_SERVE_H
#define HALTER_SERVE_H

/* Serves one PC over the socket that the launcher left (`halter-pc --helper PROFILE`). The result
 * is the exit status: 0, or one of enum helper_exit. */
int serve(int argc, char **argv);

#endif
