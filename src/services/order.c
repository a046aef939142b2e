/* What stands in an order of the host: members by name, in the types that an executor needs. */
#include <stdlib.h>
#include <string.h>

#include "services/services.h"

char *order_text(struct json_value order, const char *key)
{
    struct json_value value;
    if (!json_member(order, key, &value) || value.type != JSON_STRING)
        return NULL;
    char *text = malloc(value.length + 1);
    long length = text ? json_string(value, text, value.length + 1) : -1;
    if (length < 0 || strlen(text) != (size_t)length) {
        free(text);
        return NULL;
    }
    return text;
}

int64_t order_integer(struct json_value order, const char *key, int64_t otherwise)
{
    struct json_value value;
    int64_t number;
    return json_member(order, key, &value) && json_integer(value, 0, INT64_MAX, &number)
               ? number
               : otherwise;
}
