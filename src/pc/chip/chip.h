/* chip.h: what the machine knows about each of its devices.
 *
 * A device is a struct of its own, wired by pc.c through its `<name>_init` function, and this
 * constant description. Reset, snapshot, hash and report go through the description only. */
#ifndef PC_CHIP_CHIP_H
#define PC_CHIP_CHIP_H

#include "../field.h"

struct chip {
    const char *name; /* of its section in a snapshot */
    uint16_t version; /* of the fields' meaning; their shape is checked by itself */
    const struct pc_field *fields;
    void (*reset)(void *device);
    /* After a load: checks what is used as an index, and works out what is not a field. False
     * when the fields are not a state that this device can be in. NULL: nothing to do. */
    bool (*loaded)(void *device);
};

#endif
