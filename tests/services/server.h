/*
 * A web server on loopback that behaves as the path says, well or badly. Threads; it ends with the
 * test.
 *
 *   /hello            a text              /json        {"a":[1,2]}
 *   /echo             the request's first line, headers and body, as text
 *   /to/URL           302 to URL          /status/N    an empty answer
 *   /see-other/URL    303 to URL          /keep/URL    307 to URL
 *   /twice            a header twice      /binary      bytes that are no UTF-8
 *   /slow             an answer after 30 seconds     /wait/MS   an answer after so long
 *   /endless          a body without an end
 *   /drip             a byte each 20 ms, without an end
 *   /truncated        less than its Content-Length
 *   /garbage          no HTTP             /hang-up     nothing
 *   /long/N           N bytes, without a Content-Length
 *   /connection       the number of its connection, which stays open
 */
#ifndef TESTS_SERVICES_SERVER_H
#define TESTS_SERVICES_SERVER_H

/* Starts it on `address`, on `port` or on any free one when that is 0; returns the port. */
int server_start(const char *address, int port);
/* Connections accepted so far, on all servers. */
int server_connections(void);

#endif
