/* An intrusive doubly linked list: a head is a node that points at itself. */
#ifndef HALTER_HOST_LIST_H
#define HALTER_HOST_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *previous;
};

#define list_entry(node, type, member) ((type *)((char *)(node) - offsetof(type, member)))
/* The node may be removed in the body. */
#define list_for_each(node, head)                                                                  \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);              \
         node = node##_next, node##_next = node->next)

static inline void list_init(struct list *head)
{
    head->next = head->previous = head;
}
static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}
static inline void list_append(struct list *head, struct list *node)
{
    node->previous = head->previous;
    node->next = head;
    head->previous->next = node;
    head->previous = node;
}
/* Leaves the node a list of its own, so that removing it twice is harmless. */
static inline void list_remove(struct list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    list_init(node);
}

#endif
