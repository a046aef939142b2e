/* order.c: what the host asks of a running PC, one thing at a time, each a CALL whose input says
 * what and whose VALUE is the answer: a snapshot into a descriptor, or the machine's state. They
 * are done between two slices, and the heartbeat goes on meanwhile. */
#include "server.h"

#include <string.h>
#include <unistd.h>

#include "file.h"
#include "wire/body.h"
#include "wire/json.h"
#include "wire/json_write.h"

void order_arrived(struct server *server, const struct wire_frame *frame)
{
    struct wire_call call;
    struct json_value what;
    char word[16] = "";

    if (server->order.id)
        server_breach("an order before the last one was done");
    if (!wire_call_decode(&call, frame->body, frame->length) ||
        !json_check(call.json.bytes, call.json.length, NULL))
        server_breach("a malformed order");
    struct json_value root = json_root(call.json.bytes, call.json.length);
    if (json_member(root, "do", &what) && what.type == JSON_STRING)
        json_string(what, word, sizeof(word));
    server->order = (struct order){.id = frame->id, .fd = frame->nfds ? frame->fds[0] : -1};
    if (strcmp(word, "save") == 0 && frame->nfds == 1)
        server->order.what = ORDER_SAVE;
    else if (strcmp(word, "report") == 0 && frame->nfds == 0)
        server->order.what = ORDER_REPORT;
    else
        server_breach("an order that is none");
}

static void keep_alive(void *opaque)
{
    server_receive(opaque, 0);
}

const char *save_to(struct server *server, int fd, uint64_t *bytes)
{
    static struct file file;

    file_init(&file, fd);
    file.tick = keep_alive;
    file.opaque = server;
    disks_keep(&server->disks, server->runner.pc);
    bool good = pc_save(server->runner.pc, file_writer(&file)) &&
                disks_save(&server->disks, file_writer(&file)) && file_flush(&file);
    *bytes = file.bytes;
    if (!good)
        return file.error ? strerror(file.error) : "the snapshot could not be made";
    return NULL;
}

void order_do(struct server *server)
{
    struct order order = server->order;
    struct json_writer out;

    if (!order.id)
        return;
    json_writer_init(&out);
    if (order.what == ORDER_SAVE) {
        uint64_t bytes;
        const char *wrong = save_to(server, order.fd, &bytes);
        json_write(&out, "{\"bytes\":");
        json_write_integer(&out, (int64_t)bytes);
        json_write(&out, ",\"step\":"); /* where the script goes on, if it does from here */
        json_write_integer(&out, (int64_t)(server->script.at - (server->sending != NULL)));
        json_write(&out, ",\"sent\":");
        json_write_integer(&out, (int64_t)(server->sending ? server->sent + 1 : 0));
        if (wrong) {
            json_write(&out, ",\"wrong\":");
            json_write_string(&out, wrong, strlen(wrong));
        }
        json_write(&out, "}");
        close(order.fd);
    } else {
        json_write(&out, "{\"report\":[");
        end_report(server, &out);
        json_write(&out, "]}");
    }
    server->order.id = 0;
    if (!json_write_end(&out))
        server_breach("no memory for an answer");
    server_send(server, WIRE_VALUE, 0, order.id, out.text, out.length);
    json_writer_finish(&out);
}
