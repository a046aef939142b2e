/*
 * What `run` and `boot` begin with: the signals that end a program as a descriptor in their own
 * poll(), and a host with its launcher. What goes wrong is told here.
 */
#ifndef HALTER_CLI_START_H
#define HALTER_CLI_START_H

#include <stdbool.h>

#include <halter/halter.h>

/* SIGINT, SIGTERM and SIGHUP become a descriptor, which the caller closes; -1 when they cannot.
 * A reader that leaves becomes an error of write(). */
int start_signals(void);
bool start_host(const struct halter_options *options, struct halter_host **host);

#endif
